"""The headers of tar archives: as Python's tarfile and GNU tar read them."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmenv.errors import ArchiveError
from rocmenv.fetch.archive import Tree
from rocmenv.fetch.decode import Stream
from rocmenv.fetch.tarheader import Head, heads
from tests.fetch.test_archive import folder, hard, link, listing, member, tar
from tests.tools import tool

Member = tuple[tarfile.TarInfo, bytes]
Facts = tuple[str, bytes, int, str, int, int]


def ours(data: bytes) -> list[Facts]:
    return [facts(head) for head in heads(Stream(io.BytesIO(data), "x"))]


def facts(head: Head) -> Facts:
    size = head.size if head.kind == b"0" else 0
    link = head.link if head.kind in (b"1", b"2") else ""
    return head.name, head.kind, size, link, head.mode & 0o777, int(head.mtime)


def theirs(data: bytes) -> list[Facts]:
    """What tarfile says; it takes the final slash off folders, and so do we below."""
    found = []
    with tarfile.open(fileobj=io.BytesIO(data), errors="surrogateescape", encoding="utf-8") as read:
        for info in read:
            kind = b"0" if info.isreg() else info.type
            size = info.size if info.isreg() else 0
            link = info.linkname if info.issym() or info.islnk() else ""
            found.append((info.name, kind, size, link, info.mode & 0o777, int(info.mtime)))
    return found


def same(data: bytes) -> None:
    assert [(name.rstrip("/"), *rest) for name, *rest in ours(data)] == [
        (name.rstrip("/"), *rest) for name, *rest in theirs(data)
    ]


part = st.text(
    st.characters(blacklist_characters="/\0", blacklist_categories=["Cs"]), min_size=1, max_size=60
).filter(lambda text: text not in (".", ".."))
names = st.lists(part, min_size=1, max_size=5).map("/".join)


@st.composite
def members(draw: st.DrawFn) -> Member:
    kind = draw(st.sampled_from(["file", "folder", "link", "hard"]))
    name = draw(names)
    mtime = draw(st.integers(0, 1 << 33))
    if kind == "file":
        return member(
            name, draw(st.binary(max_size=1500)), mtime=mtime, mode=draw(st.integers(0, 0o777))
        )
    if kind == "folder":
        return folder(name)
    return (link if kind == "link" else hard)(name, draw(names))


@settings(deadline=None)
@given(st.lists(members(), max_size=5), st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]))
def test_what_tarfile_writes_is_read_as_tarfile_reads_it(many: list[Member], form: int) -> None:
    same(tar(*many, form=form))


@given(st.lists(members(), max_size=5))
def test_the_same_for_the_oldest_form(many: list[Member]) -> None:
    try:
        data = tar(*many, form=tarfile.USTAR_FORMAT)
    except ValueError:
        return  # a name that is too long for it
    same(data)


@pytest.mark.parametrize("form", ["v7", "oldgnu", "gnu", "ustar", "pax"])
def test_what_gnu_tar_writes(tmp_path: Path, form: str) -> None:
    tree = tmp_path / "t"
    long = "x" * (90 if form in ("v7", "ustar") else 200)
    (tree / "d" / long[:80]).mkdir(parents=True)
    (tree / "d" / long[:80] / "f").write_bytes(b"1" * 700)
    (tree / long[: 90 if form == "v7" else None]).write_bytes(b"2")
    (tree / "l").symlink_to(long[:90])
    os.link(tree / "d" / long[:80] / "f", tree / "h")
    (tree / os.fsdecode(b"caf\xe9 \xc3\xa4")).write_bytes(b"")
    out = tmp_path / "x.tar"
    command = [tool("tar"), f"--format={form}", "-cf", str(out), "-C", str(tree), "."]
    subprocess.run(command, check=True)
    same(out.read_bytes())
    unpacked = Tree(tmp_path / "u")
    unpacked.add_tar(out, owner="x")
    unpacked.settle()
    assert listing(tmp_path / "u") == listing(tree)


@pytest.mark.parametrize(
    "options",
    [
        ("--format=gnu",),
        ("--format=pax", "--sparse-version=0.0"),
        ("--format=pax", "--sparse-version=0.1"),
        ("--format=pax", "--sparse-version=1.0"),
    ],
)
def test_sparse_files_of_every_form(tmp_path: Path, options: tuple[str, ...]) -> None:
    """With more pieces than fit into one header, and a size that needs the binary form."""
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        for number in range(60):
            file.seek(number * 200_000)
            file.write(bytes([number + 1]) * 5000)
        file.truncate(9 << 30)
    out = tmp_path / "x.tar"
    command = [tool("tar"), "-S", *options, "-cf", str(out), "-C", str(tmp_path), "sparse"]
    subprocess.run(command, check=True)
    (head,) = heads(Stream(io.BytesIO(out.read_bytes()), "x"))
    assert (head.name, head.kind, head.size) == ("sparse", b"0", 9 << 30)
    assert len([length for _, length in head.spans if length]) == 60
    same(out.read_bytes())
    path.unlink()


def test_a_size_and_a_time_in_binary(tmp_path: Path) -> None:
    size = 70 << 30
    info = tarfile.TarInfo("big")
    info.size, info.mtime = size, 1 << 40
    block = info.tobuf(tarfile.GNU_FORMAT)
    assert block[124] == 0x80
    found = heads(Stream(io.BytesIO(block), "x"))
    head = next(found)
    assert (head.size, head.stored, head.mtime) == (size, size, float(1 << 40))
    with pytest.raises(ArchiveError, match="ends inside `big`"):
        next(found)


def changed(block: bytes, at: int, data: bytes) -> bytes:
    """A header with other bytes and the right sum."""
    out = bytearray(block[:at] + data + block[at + len(data) :])
    out[148:156] = b" " * 8
    out[148:156] = f"{sum(out):06o}\0 ".encode()
    return bytes(out)


END = bytes(1024)


def one(**more: object) -> bytes:
    return member("a", b"", **more)[0].tobuf(tarfile.USTAR_FORMAT)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "ends too early"),
        (one()[:300], "ends too early"),
        (one(), "ends too early"),
        (b"x" * 512 + END, "header is not one"),
        (one()[:-1] + b"x" + END, "header is not one"),
        (changed(one(), 124, b"9" * 11) + END, "a number in a member's header"),
        (changed(one(), 124, b"\xff" * 12) + END, "a member's size is not one"),
        (changed(one(), 124, b"00000004000\0") + END, "ends inside `a`"),
        (one(type=b"x") + END, "its last member is missing"),
        (one(type=b"L") + END, "its last member is missing"),
    ],
)
def test_damaged_headers_are_named(data: bytes, words: str) -> None:
    with pytest.raises(ArchiveError, match=words):
        ours(data)


def pax(records: bytes, kind: bytes = b"x") -> bytes:
    info = tarfile.TarInfo("pax")
    info.type, info.size = kind, len(records)
    padded = records + bytes(-len(records) % 512)
    return info.tobuf(tarfile.USTAR_FORMAT) + padded


def record(key: str, value: str) -> bytes:
    rest = f" {key}={value}\n".encode()
    length = len(rest) + 1
    while len(f"{length}") + len(rest) != length:
        length += 1
    return f"{length}".encode() + rest


@pytest.mark.parametrize(
    "records",
    [
        b"x",
        b"99 path=a\n",
        b"3 =\n",
        b"8 path a\n",
        b"-1 path=a\n",
        record("size", "-1"),
        b"10 path=ab",
    ],
)
def test_damaged_records_are_refused(records: bytes) -> None:
    with pytest.raises(ArchiveError):
        ours(pax(records) + one() + END)


def test_records_for_all_members_and_for_one() -> None:
    data = pax(record("path", "all") + record("mtime", "7.5"), b"g")
    data += pax(record("path", "one")) + one() + one()
    data += pax(record("path", "")) + one() + END
    assert [(name, mtime) for name, _, _, _, _, mtime in ours(data)] == [
        ("one", 7),
        ("all", 7),
        ("all", 7),
    ]


def test_a_size_in_a_record_counts_for_the_content() -> None:
    content = b"x" * 600
    data = pax(record("size", "600")) + one() + content + bytes(424) + one() + END
    assert [(name, size) for name, _, size, *_ in ours(data)] == [("a", 600), ("a", 0)]
    same(data)


def test_a_volume_label_is_no_member() -> None:
    assert [name for name, *_ in ours(one(type=b"V") + one() + END)] == ["a"]


def test_what_follows_the_end_does_not_count() -> None:
    assert len(ours(one() + END + one() + b"garbage")) == 1


def test_a_folder_of_the_time_before_types() -> None:
    data = changed(one(), 156, b"\0")
    assert ours(changed(data, 0, b"a/") + END)[0][:2] == ("a/", b"5")


few = st.sampled_from(["a", "b", "d/a", "d/b", "d/e/a"])


@st.composite
def clashing(draw: st.DrawFn) -> Member:
    """Members of few names, which come again as something else."""
    name = draw(few)
    kind = draw(st.sampled_from(["file", "file", "link", "hard", "folder"]))
    if kind == "file":
        content = draw(st.binary(max_size=3))
        return member(name, content, mode=draw(st.sampled_from([0o644, 0o755, 0o4755])))
    if kind == "folder":
        return folder(draw(st.sampled_from(["d", "d/e", "f"])))
    return link(name, draw(few)) if kind == "link" else hard(name, draw(few))


@settings(max_examples=150, deadline=None)
@given(st.lists(clashing(), min_size=1, max_size=7))
def test_what_gnu_tar_unpacks_is_unpacked_alike(many: list[Member]) -> None:
    program = tool("tar")
    with tempfile.TemporaryDirectory() as name:
        path, theirs = Path(name) / "x.tar", Path(name) / "theirs"
        path.write_bytes(tar(*many))
        theirs.mkdir()
        done = subprocess.run(
            [program, "-xf", path, "-C", theirs], stderr=subprocess.DEVNULL, check=False
        )
        tree = Tree(Path(name) / "ours")
        try:
            tree.add_tar(path, owner="x")
            settled = tree.settle()
        except ArchiveError:
            return  # what clashes, or links to nothing before it: refused, where tar goes on
        if done.returncode:
            return  # a link in the way, which tar writes through and we do not
        if any("is left out" in note for note in settled.notes):
            return  # a circle, which tar makes
        assert solid(Path(name) / "ours") == solid(theirs)


def solid(root: Path) -> dict[str, str]:
    """Files and folders; the texts of links may be other ones that mean the same."""
    return {path: what for path, what in listing(root).items() if not what.startswith("> ")}


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_damage_is_more_than_a_refusal(data: st.DataObject) -> None:
    """And nothing is written beside the tree."""
    many = data.draw(st.lists(members(), min_size=1, max_size=3))
    form = data.draw(st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]))
    raw = bytearray(tar(*many, form=form)[: 1 << 14])
    block = 512 * data.draw(st.integers(0, len(raw) // 512 - 1))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[block + data.draw(st.integers(0, 511))] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):  # a sum that is right lets the rest be looked at
        raw[block : block + 512] = changed(bytes(raw[block : block + 512]), 0, b"")
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "x.tar"
        path.write_bytes(raw)
        tree = Tree(Path(name) / "t")
        try:
            tree.add_tar(path, owner="x")
            tree.settle()
        except ArchiveError:
            pass
        assert sorted(os.listdir(name)) == ["t", "x.tar"]
