"""Unpacking: the samples of R16, hostile archives, several archives in one tree."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import os
import random
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import threading
import zlib
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmenv.errors import ArchiveError, SpaceError
from rocmenv.fetch import archive as archive_module
from rocmenv.fetch import decode, settle
from rocmenv.fetch.archive import Settled, Tree
from rocmenv.fetch.stop import Interrupted
from tests.tools import tool

if TYPE_CHECKING:
    from collections.abc import Iterator

OWN = ("/opt/rocm-6.3.0",)


def member(name: str, content: bytes = b"", **more: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    info.mode = 0o644
    for field, value in more.items():
        setattr(info, field, value)
    return info, content


def folder(name: str) -> tuple[tarfile.TarInfo, bytes]:
    return member(name, type=tarfile.DIRTYPE, mode=0o755)


def link(name: str, target: str) -> tuple[tarfile.TarInfo, bytes]:
    return member(name, type=tarfile.SYMTYPE, linkname=target)


def hard(name: str, target: str) -> tuple[tarfile.TarInfo, bytes]:
    return member(name, type=tarfile.LNKTYPE, linkname=target)


def tar(*members: tuple[tarfile.TarInfo, bytes], form: int = tarfile.GNU_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as made:
        for info, content in members:
            made.addfile(info, io.BytesIO(content))
    return out.getvalue()


def deb(content: bytes) -> bytes:
    """A Debian package with the tar archive `content`: no more of it than is read."""
    parts = [b"!<arch>\n"]
    for name, data in (("debian-binary", b"2.0\n"), ("data.tar", content)):
        parts += [f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(data):<10}`\n".encode(), data]
    return b"".join(parts)


Mapping = Callable[[str], "str | None"]


def add(tree: Tree, content: bytes, owner: str, mapping: Mapping | None = None) -> None:
    """The tar archive `content`; with `mapping`, as a Debian package."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / owner
        path.write_bytes(content if mapping is None else deb(content))
        if mapping is None:
            tree.add_tar(path, owner=owner)
        else:
            tree.add_deb(path, owner=owner, mapping=mapping)


def unpack(root: Path, *archives: bytes, mapping: Mapping | None = None) -> Settled:
    """Every archive under an owner of its own (`p0`, `p1`, …), then settled."""
    tree = Tree(root, own_prefix=OWN)
    for number, data in enumerate(archives):
        add(tree, data, f"p{number}", mapping)
    return tree.settle()


def refused(settled: Settled) -> list[str]:
    """The links that are left out, by the notes."""
    return [note.split("`")[1] for note in settled.notes if "is left out" in note]


def listing(root: Path) -> dict[str, str]:
    """Every path below `root`: `/` for a folder, `> TEXT` for a link, else the content."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            found[name] = f"> {path.readlink()}"
        elif path.is_dir():
            found[name] = "/"
        else:
            found[name] = path.read_bytes().decode("latin-1")
    return found


GOOD = {
    ".info": "/",
    ".info/version": "6.3.0-39\n",
    "bin": "/",
    "lib": "/",
    "lib/libamdhip64.so": "> libamdhip64.so.6",
    "lib/libamdhip64.so.6": "> libamdhip64.so.6.3.60300",
    "lib/llvm": "/",
    "lib/llvm/bin": "/",
    "llvm": "> lib/llvm",
}


def sample(root: Path, cases: Path, name: str) -> Settled:
    tree = Tree(root, own_prefix=OWN)
    tree.add_tar(cases / "archives" / f"{name}.tar.gz", owner="rocm")
    return tree.settle()


def test_flat_wrapped_and_dotted_archives_give_one_tree(tmp_path: Path, cases: Path) -> None:
    """R16: one wrapping folder is taken off, a flat archive is not stripped."""
    trees = []
    for name in ("flat-good", "wrapped-good", "dot-slash-good"):
        settled = sample(tmp_path / name, cases, name)
        assert settled.files == 5
        assert not settled.notes
        trees.append(listing(tmp_path / name))
    assert trees[0] == trees[1] == trees[2]
    assert GOOD.items() <= trees[0].items()
    assert os.access(tmp_path / "wrapped-good" / "bin" / "hipcc", os.X_OK)


def test_hard_links_have_one_content(tmp_path: Path, cases: Path) -> None:
    """R16: unpackers resolved them against the wrong folder."""
    settled = sample(tmp_path / "t", cases, "hard-link")
    names = [tmp_path / "t/lib/llvm/bin" / n for n in ("clang-18", "clang", "clang++")]
    assert len({n.read_bytes() for n in names}) == 1
    assert len({n.stat().st_ino for n in names}) == 1
    assert settled.files == 7


def test_an_absolute_link_to_the_own_prefix_stays_inside(tmp_path: Path, cases: Path) -> None:
    sample(tmp_path / "t", cases, "absolute-link-own-prefix")
    assert os.readlink(tmp_path / "t/bin/amdclang") == "../lib/llvm/bin/clang-18"
    assert (tmp_path / "t/bin/amdclang").exists()


def test_an_absolute_link_elsewhere_is_left_out_and_named(tmp_path: Path, cases: Path) -> None:
    settled = sample(tmp_path / "t", cases, "absolute-link-elsewhere")
    assert not os.path.lexists(tmp_path / "t/bin/python3")
    assert refused(settled) == ["bin/python3"]
    assert "`/usr/bin/python3`" in settled.notes[0]
    assert not settled.left_out


def test_a_truncated_archive_is_refused_by_name(tmp_path: Path, cases: Path) -> None:
    with pytest.raises(ArchiveError, match="the archive `rocm` is damaged"):
        sample(tmp_path / "t", cases, "truncated")


@pytest.mark.parametrize("version", ["3.10", "3.12", "3.13", "3.14"])
def test_the_result_is_the_same_on_every_python(tmp_path: Path, cases: Path, version: str) -> None:
    """R16: the outcome must not depend on the standard library's extraction filter."""
    python = shutil.which(f"python{version}")
    if python is None or subprocess.run([python, "-c", ""], check=False).returncode:
        pytest.skip(f"Python {version} is not here")
    code = (
        "import sys; from pathlib import Path; from rocmenv.fetch.archive import Tree\n"
        "t = Tree(Path(sys.argv[1]), own_prefix=['/opt/rocm-6.3.0'])\n"
        "t.add_tar(Path(sys.argv[2]), owner='x'); t.settle()"
    )
    for path in sorted((cases / "archives").glob("*.tar.gz")):
        if path.name == "truncated.tar.gz":
            continue
        words = [python, "-c", code, str(tmp_path / path.name), str(path)]
        subprocess.run(words, check=True, cwd=Path(__file__).parents[2])
        sample(tmp_path / f"own-{path.name}", cases, path.name.removesuffix(".tar.gz"))
        assert listing(tmp_path / path.name) == listing(tmp_path / f"own-{path.name}")


# Members that no archive may have.


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (member("../evil", b"x"), "outside the archive's folder"),
        (member("a/../../evil", b"x"), "outside the archive's folder"),
        (member("/etc/evil", b"x"), "outside the archive's folder"),
        (folder("a/.."), "outside the archive's folder"),
        (link("../evil", "x"), "outside the archive's folder"),
        (hard("a", "../evil"), "outside the archive's folder"),
        (hard("a", "/etc/passwd"), "outside the archive's folder"),
        (member("dev", type=tarfile.CHRTYPE), "is a device"),
        (member("dev", type=tarfile.BLKTYPE), "is a device"),
        (member("pipe", type=tarfile.FIFOTYPE), "is a pipe"),
        (member("odd", type=b"Z"), "not known"),
        (hard("a", "missing"), "no file of that name comes before it"),
    ],
)
@pytest.mark.parametrize("mapping", [None, str])
def test_unsafe_members_are_refused_by_name(
    tmp_path: Path, bad: tuple[tarfile.TarInfo, bytes], words: str, mapping: Mapping | None
) -> None:
    with pytest.raises(ArchiveError) as caught:
        unpack(tmp_path / "t", tar(member("good", b"x"), bad), mapping=mapping)
    assert words in caught.value.message
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t"]


def test_a_nul_in_a_name_is_refused(tmp_path: Path) -> None:
    data = tar(member("a\0b", b"x", pax_headers={"path": "a\0b"}), form=tarfile.PAX_FORMAT)
    with pytest.raises(ArchiveError, match="NUL"):
        unpack(tmp_path / "t", data)


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, b"x", b"g"])
def test_a_huge_header_is_refused_before_it_is_read(tmp_path: Path, kind: bytes) -> None:
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = kind, 8 << 30
    with pytest.raises(ArchiveError, match=r"header claims 8589934592 bytes"):
        unpack(tmp_path / "t", info.tobuf(tarfile.GNU_FORMAT) + bytes(4096))


def test_many_nested_headers_are_refused(tmp_path: Path) -> None:
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 1
    block = info.tobuf(tarfile.GNU_FORMAT) + b"x".ljust(512, b"\0")
    with pytest.raises(ArchiveError):
        unpack(tmp_path / "t", block * 5000)


def test_modes_are_brought_to_two(tmp_path: Path) -> None:
    data = tar(
        member("setuid", b"x", mode=0o6755),
        member("plain", b"x", mode=0o1000),
        member("group", b"x", mode=0o674),
        member("d", type=tarfile.DIRTYPE, mode=0o2700),
    )
    before = os.umask(0o077)
    try:
        unpack(tmp_path / "t", data)
    finally:
        os.umask(before)
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "t").iterdir()}
    assert modes == {"setuid": 0o755, "plain": 0o644, "group": 0o644, "d": 0o755}


def test_times_are_kept_and_impossible_ones_are_not(tmp_path: Path) -> None:
    data = tar(
        member("a", b"x", mtime=1_600_000_000),
        member("d", type=tarfile.DIRTYPE, mode=0o755, mtime=1_500_000_000),
        member("d/x", b"", mtime=-5.0),
        member("nan", b"", pax_headers={"mtime": "nan"}),
        member("late", b"", pax_headers={"mtime": "9e99"}),
        form=tarfile.PAX_FORMAT,
    )
    unpack(tmp_path / "t", data)
    assert (tmp_path / "t/a").stat().st_mtime == 1_600_000_000
    assert (tmp_path / "t/d").stat().st_mtime == 1_500_000_000
    assert (tmp_path / "t/nan").stat().st_mtime == 0


def test_the_later_of_two_members_of_one_name_counts(tmp_path: Path) -> None:
    settled = unpack(tmp_path / "t", tar(member("a", b"one"), member("a", b"second")))
    assert listing(tmp_path / "t") == {"a": "second"}
    assert (settled.files, settled.size) == (1, 6)


def test_sparse_members_have_their_holes(tmp_path: Path) -> None:
    tool("tar")
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.write(b"start")
        file.seek(3_000_000)
        file.write(b"middle")
        file.truncate(5_000_000)
    for form in ("gnu", "pax"):
        out = tmp_path / f"{form}.tar"
        subprocess.run(
            ["tar", "-S", f"--format={form}", "-cf", out, "-C", tmp_path, "sparse"], check=True
        )
        assert out.stat().st_size < 1_000_000
        settled = unpack(tmp_path / form, out.read_bytes())
        assert (tmp_path / form / "sparse").read_bytes() == path.read_bytes()
        assert settled.size == 5_000_000


def test_names_beyond_ascii_and_long_ones_survive(tmp_path: Path) -> None:
    names = ["ä/日本", "x" * 90 + "/" + "y" * 90 + "/" + "z" * 90]
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        data = tar(*(member(n, b"1") for n in names), form=form)
        assert set(unpack(tmp_path / str(form), data).paths) == set(names)


def test_bytes_that_are_no_text_stay_as_they_are(tmp_path: Path) -> None:
    data = tar(member("caf?", b"1")).replace(b"caf?", b"caf\xe9")
    header = bytearray(data[:512])
    header[148:156] = b" " * 8
    header[148:156] = f"{sum(header):06o}\0 ".encode()
    unpack(tmp_path / "t", bytes(header) + data[512:])
    assert os.listdir(os.fsencode(tmp_path / "t")) == [b"caf\xe9"]


def test_a_name_too_long_for_the_system_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="too long"):
        unpack(tmp_path / "t", tar(member("x" * 300, b"1")))


# Links.


def test_links_come_in_any_order(tmp_path: Path) -> None:
    data = tar(link("a", "b"), link("b", "c/d"), member("c/d", b"x"))
    unpack(tmp_path / "t", data)
    assert listing(tmp_path / "t") == {"a": "> b", "b": "> c/d", "c": "/", "c/d": "x"}
    assert (tmp_path / "t/a").read_bytes() == b"x"


def test_a_link_without_target_is_kept_and_noted(tmp_path: Path) -> None:
    settled = unpack(tmp_path / "t", tar(link("a", "missing"), link("b", "a")))
    assert listing(tmp_path / "t") == {"a": "> missing", "b": "> a"}
    assert settled.notes == (
        "p0: the link `a` points at nothing",
        "p0: the link `b` points at nothing",
    )


@pytest.mark.parametrize("target", ["..", "../x", "a/../../x", "/etc", "/", "/opt/rocm-6.3.0/../x"])
def test_a_link_that_leaves_the_tree_is_left_out(tmp_path: Path, target: str) -> None:
    settled = unpack(tmp_path / "t", tar(link("l", target), member("l/x", b"inside")))
    assert listing(tmp_path / "t") == {"l": "/", "l/x": "inside"}
    assert refused(settled) == ["l"]


def test_links_in_a_circle_are_left_out(tmp_path: Path) -> None:
    data = tar(link("a", "b"), link("b", "a"), link("c", "c/d"), member("c/d/e", b"x"))
    settled = unpack(tmp_path / "t", data)
    assert refused(settled) == ["a", "b", "c"]
    assert listing(tmp_path / "t") == {"c": "/", "c/d": "/", "c/d/e": "x"}


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    for target in (str(outside), "../outside", "/"):
        root = tmp_path / f"t{len(target)}"
        unpack(root, tar(link("l", target), member("l/evil", b"x"), hard("h", "l/evil")))
        assert (root / "l/evil").read_bytes() == b"x"
    assert list(outside.iterdir()) == []


def test_a_link_that_steps_through_a_link_means_what_it_means_to_the_kernel(
    tmp_path: Path,
) -> None:
    data = tar(
        link("a", "real/dir"),
        folder("real/dir"),
        member("real/b", b"right"),
        member("b", b"wrong"),
        link("l", "a/../b"),
        link("real/up", "../a/../../b"),
    )
    settled = unpack(tmp_path / "t", data)
    assert os.readlink(tmp_path / "t/l") == "real/b"
    assert (tmp_path / "t/l").read_bytes() == b"right"
    assert (tmp_path / "t/real/up").read_bytes() == b"wrong"
    assert not settled.notes


def test_a_link_below_a_link_counts_from_where_it_really_is(tmp_path: Path) -> None:
    one = tar(folder("sub/lib"), member("sub/x", b"right"), member("x", b"wrong"))
    other = tar(link("lib64", "sub/lib"), link("lib64/y", "../x"))
    for number, archives in enumerate(((one, other), (other, one))):
        root = tmp_path / str(number)
        settled = unpack(root, *archives)
        assert os.readlink(root / "sub/lib/y") == "../x"
        assert (root / "lib64/y").read_bytes() == b"right"
        assert not settled.notes


def test_a_link_out_of_the_tree_by_way_of_a_link_is_left_out(tmp_path: Path) -> None:
    data = tar(
        folder("d/e"),
        link("d/up", ".."),
        link("l", "d/up/../secret"),
        link("d/up/m", "../secret"),
        link("n", "d/up/d/e"),
    )
    settled = unpack(tmp_path / "t", data)
    assert refused(settled) == ["d/up/m", "l"]
    assert (tmp_path / "t/n").samefile(tmp_path / "t/d/e")


@pytest.mark.parametrize("target", ["no/../x", "f/../x", "l/../x", "no/up/../../x"])
def test_a_link_that_steps_up_from_nothing_is_left_out(tmp_path: Path, target: str) -> None:
    """The kernel finds nothing there, so neither does the tree."""
    settled = unpack(tmp_path / "t", tar(member("x", b"1"), member("f", b"2"), link("l", target)))
    assert refused(settled) == ["l"]
    assert settled.notes[0].endswith(f"it points at `{target}`, which is not in the tree")
    assert listing(tmp_path / "t") == {"f": "2", "x": "1"}


def test_a_chain_of_more_links_than_the_kernel_follows_is_left_out(tmp_path: Path) -> None:
    links = [link(f"l{n:02}", f"l{n + 1:02}") for n in range(60)]
    settled = unpack(tmp_path / "t", tar(*links, member("l60", b"1")))
    assert refused(settled) == [f"l{n:02}" for n in range(20)]
    assert (tmp_path / "t/l20").read_bytes() == b"1"


def test_links_of_packages_step_up_in_the_packages_own_names(tmp_path: Path) -> None:
    def mapping(name: str) -> str | None:
        return name.removeprefix("usr/") if name.startswith("usr/") else None

    data = tar(
        folder("usr/lib/real/deep"),
        member("usr/lib/real/x", b"right"),
        member("usr/lib/x", b"wrong"),
        member("x", b"wrong"),
        link("usr/lib/a", "/usr/lib/real/deep"),
        link("usr/l", "lib/a/../x"),
        link("usr/lib/a/m", "../../../../usr/lib/a/../x"),
        link("usr/out", "../x"),
    )
    settled = unpack(tmp_path / "t", data, mapping=mapping)
    assert (tmp_path / "t/l").read_bytes() == b"right"
    assert (tmp_path / "t/lib/a/m").read_bytes() == b"right"
    assert refused(settled) == ["usr/out"]


def test_a_link_may_step_up_twice_past_folders_that_are_not_in_the_tree(tmp_path: Path) -> None:
    def mapping(name: str) -> str | None:
        return name.removeprefix("usr/") if name.startswith("usr/") else None

    data = tar(
        folder("usr/lib/real"),
        member("usr/lib/x", b"right"),
        link("usr/lib/a", "real/../../../usr/lib/x"),
    )
    assert not unpack(tmp_path / "t", data, mapping=mapping).notes
    assert (tmp_path / "t/lib/a").read_bytes() == b"right"


def test_a_link_whose_folder_is_behind_too_many_links_is_left_out(tmp_path: Path) -> None:
    """Each chain alone is one that the kernel follows, both together are not."""
    first = [link(f"a{n}", f"a{n + 1}" if n < 29 else "d") for n in range(30)]
    second = [link(f"d/b{n}", f"b{n + 1}" if n < 29 else "e") for n in range(30)]
    data = tar(folder("d/e"), *first, *second, link("a0/b0/l", "x"), link("a0/b9/l", "x"))
    settled = unpack(tmp_path / "t", data)
    assert refused(settled) == ["a0/b0/l", "a0/b9/l"]


def test_nothing_moves_for_a_link_that_is_left_out(tmp_path: Path) -> None:
    stray = tar(link("lib", "x/../lib64"))
    data = tar(member("lib/foo", b"1"), link("lib/l", "foo"), link("m", "lib/foo"))
    settled = unpack(tmp_path / "t", stray, data)
    assert refused(settled) == ["lib"]
    assert len(settled.notes) == 1
    assert listing(tmp_path / "t") == {
        "lib": "/",
        "lib/foo": "1",
        "lib/l": "> foo",
        "m": "> lib/foo",
    }


def test_a_link_below_one_that_is_left_out_stands_in_the_real_folder(tmp_path: Path) -> None:
    data = tar(link("d", "x/../e"), link("d/in", "../bin/a"), member("bin/a", b"1"), folder("e"))
    assert refused(unpack(tmp_path / "t", data)) == ["d"]
    assert (tmp_path / "t/d/in").read_bytes() == b"1"


def test_a_link_may_step_up_from_a_folder_that_another_link_makes(tmp_path: Path) -> None:
    moved = tar(member("l/sub/f", b"1"), member("x", b"2"), link("l", "real"))
    data = tar(link("a", "real/sub/../../x"), link("b", "only/../x"), link("only/m", "../x"))
    assert not unpack(tmp_path / "t", moved, data).notes
    assert (tmp_path / "t/a").read_bytes() == (tmp_path / "t/b").read_bytes() == b"2"
    assert (tmp_path / "t/real/sub/f").read_bytes() == b"1"


MERGE = [
    (tar(link("llvm", "lib/llvm")), tar(member("llvm/bin/clang", b"1"))),
    (tar(member("llvm/bin/clang", b"1")), tar(link("llvm", "lib/llvm"))),
    (tar(member("llvm/bin/clang", b"1"), link("llvm", "lib/llvm")),),
    (
        tar(folder("llvm"), member("llvm/bin/clang", b"1")),
        tar(link("llvm", "/opt/rocm-6.3.0/lib/llvm")),
    ),
]


@pytest.mark.parametrize("archives", MERGE)
def test_files_under_a_link_move_into_its_target(
    tmp_path: Path, archives: tuple[bytes, ...]
) -> None:
    settled = unpack(tmp_path / "t", *archives, tar(member("lib/llvm/lib/a", b"2")))
    assert listing(tmp_path / "t") == {
        "lib": "/",
        "lib/llvm": "/",
        "lib/llvm/bin": "/",
        "lib/llvm/bin/clang": "1",
        "lib/llvm/lib": "/",
        "lib/llvm/lib/a": "2",
        "llvm": "> lib/llvm",
    }
    assert settled.paths == ("lib/llvm/bin/clang", "lib/llvm/lib/a", "llvm")


def test_links_under_links_end_where_they_mean_to(tmp_path: Path) -> None:
    one = tar(link("llvm", "lib/llvm"), link("lib/llvm/amd", "../../amd"))
    other = tar(member("llvm/amd/x", b"1"), link("llvm/bin/l", "../amd/x"), member("amd/y", b"2"))
    unpack(tmp_path / "t", one, other)
    root = tmp_path / "t"
    assert (root / "llvm/amd/x").read_bytes() == b"1"
    assert (root / "amd/x").read_bytes() == b"1"
    assert (root / "llvm/bin/l").read_bytes() == b"1"
    assert os.readlink(root / "llvm") == "lib/llvm"


def test_a_file_that_would_move_deeper_than_any_path_is_refused(tmp_path: Path) -> None:
    name, target = "/".join(["l", "y" * 200, "z" * 200, "f"]), "/".join(["x" * 200] * 19)
    data = tar(member(name, b"1"), link("l", target), form=tarfile.PAX_FORMAT)
    with pytest.raises(ArchiveError, match="deeper than any path"):
        unpack(tmp_path / "t", data)
    assert not (tmp_path / "t/f").exists()


def test_the_same_file_under_a_link_and_in_its_target_is_one(tmp_path: Path) -> None:
    same = (tar(link("a", "b")), tar(member("a/x", b"1")), tar(member("b/x", b"1")))
    settled = unpack(tmp_path / "t", *same)
    assert settled.files == 1
    other = (*same[:2], tar(member("b/x", b"2")))
    with pytest.raises(ArchiveError, match=r"`b/x` is a file.* in `p1` and a file.* in `p2`"):
        unpack(tmp_path / "u", *other)


def test_two_owners_may_share_a_file_of_one_content(tmp_path: Path) -> None:
    one, other = tar(member("a", b"1")), tar(member("a", b"1", mode=0o755))
    settled = unpack(tmp_path / "t", one, other)
    assert settled.files == 1
    assert listing(tmp_path / "t") == {"a": "1"}
    assert os.access(tmp_path / "t/a", os.X_OK)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (member("a", b"1"), member("a", b"2")),
        (member("a", b"1"), member("a/b", b"2")),
        (member("a/b", b"1"), member("a", b"2")),
        (member("a", b"1"), link("a", "b")),
        (link("a", "b"), member("a", b"1")),
        (link("a", "b"), link("a", "c")),
        (member("a", b"1"), folder("a")),
    ],
)
def test_owners_that_disagree_are_both_named(
    tmp_path: Path, one: tuple[tarfile.TarInfo, bytes], other: tuple[tarfile.TarInfo, bytes]
) -> None:
    messages = set()
    for number, pair in enumerate(((one, other), (other, one))):
        with pytest.raises(ArchiveError, match="`a` is ") as caught:
            unpack(tmp_path / str(number), *(tar(m) for m in pair))
        messages.add(caught.value.message.replace("p0", "p").replace("p1", "p"))
    assert any("`p`" in m for m in messages)


@pytest.mark.parametrize("turn", ["before", "between", "after"])
@pytest.mark.parametrize(
    ("members", "more", "words"),
    [
        ([member("a", b"1"), member("now"), link("a", "b")], member("c"), "a file in `q`"),
        ([member("a", b"1"), member("now"), link("a", "b")], member("a/c"), "`a` is a f"),
        ([member("a", b"0"), member("now"), member("a", b"1")], member("c"), ""),
    ],
)
def test_a_member_that_is_replaced_leaves_no_trace_whenever_others_come(
    tmp_path: Path,
    members: list[tuple[tarfile.TarInfo, bytes]],
    more: tuple[tarfile.TarInfo, bytes],
    words: str,
    turn: str,
) -> None:
    """The archive `q` has the file `a` too, and is read before, in the midst of or after `p`."""
    tree = Tree(tmp_path / "t")

    def mapping(name: str) -> str:
        if turn == "between" and name == "now":
            add(tree, tar(member("a", b"1")), "q")
        return name

    def run() -> None:
        if turn == "before":
            add(tree, tar(member("a", b"1")), "q")
        add(tree, tar(*members), "p", mapping)
        if turn == "after":
            add(tree, tar(member("a", b"1")), "q")
        add(tree, tar(more), "r")
        tree.settle()

    if words:
        with pytest.raises(ArchiveError, match=words):
            run()
    else:
        run()
        assert listing(tmp_path / "t") == {"a": "1", "c": "", "now": ""}


def test_a_file_that_its_owner_replaced_is_not_compared(tmp_path: Path) -> None:
    """Also when the link in its place is left out afterwards."""
    second = tar(member("x", b"2"), link("x", "../out"))
    assert refused(unpack(tmp_path / "t", tar(member("x", b"1")), second)) == ["x"]
    assert listing(tmp_path / "t") == {"x": "1"}


def test_names_that_differ_in_case_are_noted(tmp_path: Path) -> None:
    settled = unpack(tmp_path / "t", tar(member("Lib/a", b"1"), member("lib/b", b"2")))
    assert "`Lib` and `lib` differ only in case" in settled.notes


@pytest.mark.parametrize("code", [errno.EACCES, errno.EIO, errno.EROFS, errno.ENOSPC])
def test_other_failures_of_links_are_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def fail(*_args: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "symlink", fail)
    with pytest.raises((ArchiveError, SpaceError), match="all packages together"):
        unpack(tmp_path / "t", tar(member("a", b"1"), link("l", "a")))


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_links_says_so_in_one_of_these_ways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def fail(*_args: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "symlink", fail)
    unpack(tmp_path / "t", tar(member("a", b"1"), link("l", "a")))
    assert listing(tmp_path / "t") == {"a": "1", "l": "1"}


def test_a_strangers_file_in_the_place_of_a_link_is_not_overwritten(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "t")
    add(tree, tar(member("a", b"1"), link("l", "a")), "p")
    (tmp_path / "t/l").write_text("mine")
    with pytest.raises(ArchiveError, match="was changed by another program"):
        tree.settle()
    assert (tmp_path / "t/l").read_text() == "mine"


@pytest.fixture
def no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settle, "symlink", lambda _text, _path: False)


@pytest.mark.usefixtures("no_links")
def test_where_links_cannot_be_made_files_are_copied(tmp_path: Path, cases: Path) -> None:
    """R16: unpackers skip them, write empty files, or fail when the link comes first."""
    sample(tmp_path / "t", cases, "flat-good")
    found = listing(tmp_path / "t")
    assert found["lib/libamdhip64.so"] == found["lib/libamdhip64.so.6.3.60300"]
    assert found["llvm/bin/clang-18"] == found["lib/llvm/bin/clang-18"]
    assert not any(v.startswith("> ") for v in found.values())
    data = tar(link("a", "b"), link("b", "c"), link("c/l", "../d"), member("d/x", b"1"))
    unpack(tmp_path / "u", data, tar(member("c/y", b"2")))
    assert listing(tmp_path / "u")["a/l/x"] == "1"


@pytest.mark.usefixtures("no_links")
def test_where_links_cannot_be_made_a_missing_target_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="target is missing"):
        unpack(tmp_path / "t", tar(link("a", "missing")))
    with pytest.raises(ArchiveError, match="holds itself"):
        unpack(tmp_path / "u", tar(member("d/x", b"1"), link("d/up", ".")))


def test_hard_links_without_the_system_call_are_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: object, **_more: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    unpack(tmp_path / "t", tar(member("a", b"1", mode=0o755), hard("b", "a"), hard("a", "a")))
    assert listing(tmp_path / "t") == {"a": "1", "b": "1"}
    assert os.access(tmp_path / "t/b", os.X_OK)


def test_a_hard_link_to_a_link_is_that_link(tmp_path: Path) -> None:
    unpack(tmp_path / "t", tar(member("a", b"1"), link("d/l", "../a"), hard("d/h", "d/l")))
    assert os.readlink(tmp_path / "t/d/h") == "../a"


def test_hard_links_follow_the_mapping(tmp_path: Path) -> None:
    mapping = {"x/a": "lib/a", "x/b": "bin/b"}.get
    unpack(tmp_path / "t", tar(member("x/a", b"1"), hard("x/b", "x/a")), mapping=mapping)
    assert listing(tmp_path / "t")["bin/b"] == "1"


def keep_bin(name: str) -> str | None:
    return name if name == "bin" or name.startswith("bin/") else None


def test_hard_links_to_what_is_left_out_have_its_content(tmp_path: Path) -> None:
    data = tar(
        member("doc/a", b"old"),
        hard("bin/old", "doc/a"),
        member("doc/a", b"new", mode=0o755),
        hard("doc/b", "doc/a"),
        hard("bin/new", "doc/b"),
        hard("bin/too", "bin/new"),
        hard("bin/gone", "doc/a"),
        member("bin/gone", b"later"),
        link("doc/l", "../bin/new"),
        hard("bin/l", "doc/l"),
    )
    settled = unpack(tmp_path / "t", data, mapping=keep_bin)
    assert listing(tmp_path / "t") == {
        "bin": "/",
        "bin/gone": "later",
        "bin/l": "> ../bin/new",
        "bin/new": "new",
        "bin/old": "old",
        "bin/too": "new",
    }
    assert os.access(tmp_path / "t/bin/new", os.X_OK)
    assert (tmp_path / "t/bin/new").samefile(tmp_path / "t/bin/too")
    assert {x.member for x in settled.left_out} == {"doc/a", "doc/b", "doc/l"}
    assert settled.files == 4


def test_a_link_replaces_a_hard_link_to_what_is_left_out(tmp_path: Path) -> None:
    data = tar(member("doc/f", b"1"), hard("bin/h", "doc/f"), link("bin/h", "y"))
    unpack(tmp_path / "t", data, mapping=keep_bin)
    assert listing(tmp_path / "t") == {"bin": "/", "bin/h": "> y"}


def test_a_hard_link_repeats_the_member_that_came_last(tmp_path: Path) -> None:
    data = tar(link("a", "b"), member("a", b"1"), member("b", b"2"), hard("c", "a"))
    unpack(tmp_path / "t", data)
    assert listing(tmp_path / "t")["c"] == "1"


def test_the_mapping_moves_links_with_their_meaning(tmp_path: Path) -> None:
    def mapping(name: str) -> str | None:
        for old, new in (("usr/lib/x86", "lib"), ("opt/rocm", "")):
            if name == old or name.startswith(f"{old}/"):
                return f"{new}{name[len(old) :]}".strip("/")
        return None

    data = tar(
        folder("usr"),
        member("usr/lib/x86/libhip.so.6", b"1"),
        link("usr/lib/x86/libhip.so", "libhip.so.6"),
        link("opt/rocm/hip", "../../usr/lib/x86/libhip.so"),
        link("opt/rocm/etc", "../../etc/alternatives"),
        member("usr/share/doc/x", b"2"),
    )
    settled = unpack(tmp_path / "t", data, mapping=mapping)
    assert listing(tmp_path / "t") == {
        "hip": "> lib/libhip.so",
        "lib": "/",
        "lib/libhip.so": "> libhip.so.6",
        "lib/libhip.so.6": "1",
    }
    assert refused(settled) == ["opt/rocm/etc"]
    assert [(x.member, x.reason) for x in settled.left_out] == [
        ("usr/share/doc/x", "not part of the tree")
    ]


@pytest.mark.parametrize("bad", ["../x", "/x", "a/../../x"])
def test_a_mapping_cannot_lead_outside(tmp_path: Path, bad: str) -> None:
    with pytest.raises(ArchiveError, match="outside"):
        unpack(tmp_path / "t", tar(member("a", b"1")), mapping=lambda _name: bad)


@pytest.mark.parametrize(
    ("names", "first"),
    [
        (["rocm/bin/a", "rocm/lib/b"], "bin"),
        (["bin/a"], "bin"),
        (["lib/llvm/bin/a"], "lib"),
        (["rocm/bin/a", "README"], "README"),
        (["odd/a", "odd/b"], "odd"),
        (["rocm"], "rocm"),
    ],
)
def test_only_a_folder_that_wraps_a_tree_is_taken_off(
    tmp_path: Path, names: list[str], first: str
) -> None:
    unpack(tmp_path / "t", tar(*(member(n, b"1") for n in names)))
    assert min(os.listdir(tmp_path / "t")) == first


def test_a_wrapped_archive_keeps_its_links(tmp_path: Path) -> None:
    data = tar(
        folder("w"),
        member("w/lib/a", b"1"),
        hard("w/bin/b", "w/lib/a"),
        link("w/bin/c", "../lib/a"),
        link("w/out", "../other"),
        link("w/own", "/opt/rocm-6.3.0/lib/a"),
    )
    settled = unpack(tmp_path / "t", data)
    found = listing(tmp_path / "t")
    assert (found["bin/b"], found["bin/c"], found["own"]) == ("1", "> ../lib/a", "> lib/a")
    assert refused(settled) == ["out"]
    assert not list((tmp_path / "t").glob(".unpacking*"))


# Compression and damage.

COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    "none": bytes,
    "gz": gzip.compress,
    "xz": lzma.compress,
    "bz2": bz2.compress,
    "zst": lambda b: decode._zstd_module().compress(b),  # noqa: SLF001 - the test reaches inside on purpose
    "zst behind a frame to skip": lambda b: b"\x50\x2a\x4d\x18\x03\0\0\0abc" + COMPRESSED["zst"](b),
    "two gz": lambda b: gzip.compress(b[:700]) + gzip.compress(b[700:]),
    "two xz": lambda b: lzma.compress(b[:700]) + bytes(8) + lzma.compress(b[700:]) + bytes(4),
    "padded gz": lambda b: gzip.compress(b) + bytes(1024),
}


@pytest.mark.parametrize("name", COMPRESSED)
@pytest.mark.parametrize("fast", [True, False])
def test_every_compression_is_known_by_its_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, *, fast: bool
) -> None:
    if not fast:
        for module in ("lzma_mt", "isal.igzip_lib"):
            monkeypatch.setitem(sys.modules, module, None)
    body = random.Random(1).randbytes(3_000_000)  # noqa: S311 - test data, not a secret
    data = COMPRESSED[name](tar(member("a", body), member("b", b"1")))
    unpack(tmp_path / "t", data)
    assert (tmp_path / "t/a").read_bytes() == body


@pytest.mark.parametrize("name", ["gz", "xz", "bz2", "zst", "two gz"])
def test_an_archive_cut_anywhere_is_damaged(tmp_path: Path, name: str) -> None:
    data = COMPRESSED[name](tar(member("a", b"x" * 2000), member("b", b"1")))
    for number, end in enumerate((1, 5, len(data) // 3, len(data) // 2, len(data) - 1)):
        with pytest.raises(ArchiveError):
            unpack(tmp_path / str(number), data[:end])


def test_a_tar_archive_without_its_end_mark_is_damaged(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="too early"):
        unpack(tmp_path / "t", tar(member("a", b"1"))[:1024])


@pytest.mark.parametrize("junk", [b"junk" * 300, b"<html>", b"", b"PK\x03\x04"])
def test_what_is_no_archive_is_damaged(tmp_path: Path, junk: bytes) -> None:
    with pytest.raises(ArchiveError, match="damaged"):
        unpack(tmp_path / "t", junk)


def test_junk_after_a_compressed_archive_is_damaged(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="something follows"):
        unpack(tmp_path / "t", gzip.compress(tar(member("a", b"1"))) + b"junk")


def test_a_wrong_checksum_in_the_middle_is_damaged(tmp_path: Path) -> None:
    data = bytearray(tar(member("a", b"1"), member("b", b"2"), member("c", b"3")))
    data[1024 + 3] ^= 1
    with pytest.raises(ArchiveError, match="header"):
        unpack(tmp_path / "t", bytes(data))


def test_a_bomb_takes_no_memory(tmp_path: Path) -> None:
    code = (
        "import io, lzma, resource, sys, tarfile; from pathlib import Path\n"
        "from rocmenv.fetch.archive import Tree\n"
        "path = Path(sys.argv[1])\n"
        "with lzma.open(path / 'x.tar.xz', 'wb', preset=1) as f:\n"
        "    i = tarfile.TarInfo('big'); i.size = 200 << 20; f.write(i.tobuf())\n"
        "    for _ in range(200): f.write(bytes(1 << 20))\n"
        "    f.write(bytes(1024))\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "t = Tree(path / 't'); t.add_tar(path / 'x.tar.xz', owner='x'); t.settle()\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True
    )
    assert int(run.stdout) < 32
    assert (tmp_path / "t/big").stat().st_size == 200 << 20


def greedy(data: bytes) -> bytes:
    """`data` as an xz file that asks for a dictionary of 1 GiB (the .xz format 1.2.1, 3.1)."""
    packed = bytearray(lzma.compress(data, preset=0))
    start, size = 12, (packed[12] + 1) * 4
    assert packed[start + 2 : start + 4] == b"\x21\x01"  # LZMA2, one byte of properties
    packed[start + 4] = 36
    end = start + size - 4
    packed[end : end + 4] = zlib.crc32(packed[start:end]).to_bytes(4, "little")
    return bytes(packed)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fast", [True, False])
def test_an_archive_that_wants_much_memory_is_refused(
    monkeypatch: pytest.MonkeyPatch, threads: int, *, fast: bool
) -> None:
    if not fast:
        monkeypatch.setitem(sys.modules, "lzma_mt", None)
    stream = decode.Stream(io.BytesIO(greedy(b"x" * 1000)), "x.tar", threads=threads)
    with pytest.raises(ArchiveError, match=r"`x\.tar` is damaged: memory usage limit"):
        stream.read(1000)


def test_a_missing_decoder_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = COMPRESSED["zst"](tar(member("a", b"1")))
    monkeypatch.setitem(sys.modules, "backports.zstd", None)
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    with pytest.raises(ArchiveError, match="zstd") as caught:
        unpack(tmp_path / "t", data)
    assert "pip install" in (caught.value.hint or "")


# The tree itself.


def test_a_folder_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("mine")
    with pytest.raises(ArchiveError, match="not an empty folder"):
        Tree(tmp_path)
    (tmp_path / "l").symlink_to("nowhere")
    with pytest.raises((ArchiveError, FileExistsError)):
        Tree(tmp_path / "l")


def test_a_root_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("mine")
    with pytest.raises(ArchiveError, match="x"):
        Tree(tmp_path / "x")


def test_folders_may_be_deep(tmp_path: Path) -> None:
    unpack(tmp_path / "t", tar(member("a/" * 255 + "f", b"1"), form=tarfile.PAX_FORMAT))
    assert (tmp_path / "t" / ("a/" * 255 + "f")).read_bytes() == b"1"


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (member("a/" * 256 + "f", b"1"), "has a name that is too long"),
        (member("a/" * 300_000 + "f", b"1"), "has a name that is too long"),
        (member("/".join(["a" * 200] * 21), b"1"), "has a name that is too long"),
        (member("/".join(["ä" * 120] * 18), b"1"), "has a name that is too long"),
        (hard("x", "a/" * 256 + "f"), "has a name that is too long"),
        (link("l", "a/" * 255 + "../f"), "is a link with a text that is too long"),
        (link("l", "a/" * 300_000 + ".."), "is a link with a text that is too long"),
        (link("l", "a" * 4096), "is a link with a text that is too long"),
    ],
)
def test_what_is_longer_than_any_path_is_refused(
    tmp_path: Path, bad: tuple[tarfile.TarInfo, bytes], words: str
) -> None:
    with pytest.raises(ArchiveError, match=words):
        unpack(tmp_path / "t", tar(bad, form=tarfile.PAX_FORMAT))
    assert not list((tmp_path / "t").glob("a*"))


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_args: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(SpaceError, match="no space is left while unpacking the archive `p0`"):
        unpack(tmp_path / "t", tar(member("a", b"1")))


def test_cancel_stops_unpacking(tmp_path: Path) -> None:
    cancel = threading.Event()
    tree = Tree(tmp_path / "t", cancel=cancel)
    cancel.set()
    with pytest.raises(Interrupted):
        add(tree, tar(member("a", b"1")), "x")


def test_threads_give_the_tree_that_one_thread_gives(tmp_path: Path) -> None:
    archives = [
        tar(*(member(f"d{n % 3}/f{n}-{m}", b"%d" % m) for m in range(20)), member("same", b"1"))
        for n in range(12)
    ] + [tar(link("d0", "deep/d0"), link("x", "d0/f0-1"))]
    unpack(tmp_path / "one", *archives)
    tree = Tree(tmp_path / "many", own_prefix=OWN)
    threads = [
        threading.Thread(target=add, args=(tree, archives[n], f"p{n}"))
        for n in random.Random(3).sample(range(13), 13)  # noqa: S311 - test data, not a secret
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tree.settle()
    assert listing(tmp_path / "many") == listing(tmp_path / "one")


# Anything at all.

PARTS = st.sampled_from(["a", "b", "c", "..", ".", "", "d"])
NAMES = st.lists(PARTS, min_size=1, max_size=4).map("/".join) | st.sampled_from(
    ["/etc/x", "/", "../../x", "a\nb", "ä", " ", "a" * 120]
)
KINDS = st.sampled_from(
    [tarfile.REGTYPE] * 4
    + [tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.SYMTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE]
    + [tarfile.FIFOTYPE, tarfile.CHRTYPE, b"9"]
)
SAFE = st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=1, max_size=3).map("/".join)
TARGETS = NAMES | SAFE | st.sampled_from(["/opt/rocm-6.3.0/a", "../a", "../../a/b", "."])


@st.composite
def tars(draw: st.DrawFn, names: st.SearchStrategy[str]) -> bytes:
    members = []
    for _ in range(draw(st.integers(1, 7))):
        kind = draw(KINDS)
        content = draw(st.binary(max_size=3)) if kind == tarfile.REGTYPE else b""
        info = {"type": kind, "linkname": draw(TARGETS), "mode": draw(st.integers(0, 0o7777))}
        members.append(member(draw(names), content, **info))
    data = tar(*members, form=draw(st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])))
    if draw(st.integers(0, 4)) == 0:
        at = draw(st.integers(0, len(data) - 1))
        data = data[:at] + draw(st.binary(max_size=4)) + data[at + draw(st.integers(0, 600)) :]
    return data


@contextmanager
def watched() -> Iterator[Path]:
    """A folder `inner` beside a file and a folder that must stay as they are."""
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        (base / "a").mkdir()
        (base / "a" / "secret").write_text("secret")
        (base / "x").write_text("before")
        yield base
        outside = {p: v for p, v in listing(base).items() if p.split("/")[0] != "inner"}
        assert outside == {"a": "/", "a/secret": "secret", "x": "before"}


@settings(max_examples=400, deadline=None)
@given(st.lists(tars(NAMES) | tars(SAFE), min_size=1, max_size=3), st.sampled_from([None, str]))
def test_no_archive_reaches_outside_or_raises_anything_else(
    archives: list[bytes],
    mapping: Mapping | None,
) -> None:
    with watched() as base:
        root = base / "inner" / "root"
        try:
            unpack(root, *archives, mapping=mapping)
        except ArchiveError:
            return
        for path in root.rglob("*"):
            assert path.is_symlink() or path.is_dir() or path.is_file()
            if path.is_symlink():
                assert os.path.realpath(path).startswith(os.path.realpath(root))
            elif path.is_file():
                assert stat.S_IMODE(path.stat().st_mode) in (0o644, 0o755)


@settings(max_examples=200, deadline=None)
@given(st.lists(tars(SAFE), min_size=1, max_size=3), st.randoms(), st.sampled_from([None, str]))
def test_the_order_of_archives_does_not_matter(
    archives: list[bytes], rng: random.Random, mapping: Mapping | None
) -> None:
    """Threads finish in any order; the tree, and whether there is one, must not show it."""
    results = []
    for order in (list(range(len(archives))), rng.sample(range(len(archives)), len(archives))):
        with tempfile.TemporaryDirectory() as name:
            tree = Tree(Path(name) / "t")
            try:
                for number in order:
                    add(tree, archives[number], f"p{number}", mapping)
                tree.settle()
                results.append(listing(Path(name) / "t"))
            except ArchiveError:
                results.append({})
    assert results[0] == results[1]


# Links against those of tar.

FOLDERS = st.lists(st.sampled_from("ab"), min_size=1, max_size=3)
STEPS = st.sampled_from(["a", "b", "c", "l", "m", "n", "x", "y", "..", "..", "."])


@st.composite
def farms(draw: st.DrawFn) -> bytes:
    """Files that hold their own names, then links into and through one another."""
    files = draw(st.sets(st.tuples(FOLDERS.map(tuple), st.sampled_from("xy")), min_size=1))
    members = [member(n, n.encode()) for n in sorted("/".join([*f, name]) for f, name in files)]
    folders = st.lists(st.sampled_from("aabblmn"), min_size=1, max_size=3)
    for _ in range(draw(st.integers(1, 7))):
        name = "/".join([*draw(folders), draw(st.sampled_from("lmn"))])
        target = "/".join(draw(st.lists(STEPS, min_size=1, max_size=4)))
        members.append(link(name, target))
    return tar(*members)


def readable(root: Path) -> dict[str, bytes]:
    """What can be read in `root` through its links without leaving it, by path."""
    found = {}
    real = os.path.realpath(root)
    for path in sorted(root.rglob("*")):
        places = [path]
        if path.is_symlink() and path.is_dir():
            places = sorted(path.iterdir())
        for place in places:
            is_inside = os.path.realpath(place).startswith(f"{real}/")
            if is_inside and place.is_file():
                found[str(place.relative_to(root))] = place.read_bytes()
    return found


@settings(max_examples=300, deadline=None)
@given(farms(), st.sampled_from([None, str]))
def test_links_read_what_they_read_after_tar(farm: bytes, mapping: Mapping | None) -> None:
    """Whatever tar's tree has inside, ours has too, or a note says that a link is left out."""
    tool("tar")
    with tempfile.TemporaryDirectory() as name:
        # Deep, as tar with -P follows links out of its folder too.
        theirs = Path(name, *("deep" for _ in range(12)), "theirs")
        theirs.mkdir(parents=True)
        run = subprocess.run(
            ["tar", "-P", "-x", "-C", theirs], input=farm, capture_output=True, check=False
        )
        if run.returncode:
            return  # a folder stands where a link should: it needs another order
        try:
            settled = unpack(Path(name) / "ours", farm, mapping=mapping)
        except ArchiveError:
            return
        wanted, has = readable(theirs), readable(Path(name) / "ours")
        assert {p: has[p] for p in wanted if p in has} == {p: wanted[p] for p in wanted if p in has}
        assert wanted.keys() <= has.keys() or refused(settled)


def test_the_public_names() -> None:
    assert set(archive_module.__all__) == {"LeftOut", "Settled", "Tree", "Unpacked"}
