"""Makeself files, held to the script's own behaviour."""

from __future__ import annotations

import functools
import hashlib
import io
import re
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmenv.errors import ArchiveError
from rocmenv.fetch.makeself import Makeself, read_makeself
from rocmenv.fetch.members import content, entries
from rocmenv.fetch.stop import Interrupted
from tests.builders import put
from tests.sources.installers import amd_header, makeself

HOW: dict[str, tuple[str, ...]] = {
    "gzip": (),
    "none": ("--nocomp", "--sha256"),
    "xz": ("--xz",),
    "zstd": ("--zstd",),
    "bzip2": ("--bzip2", "--nomd5"),
    "bare": ("--nomd5", "--nocrc"),
}


def small(folder: Path) -> Path:
    put(folder, "bin/tool", "#!/bin/sh\n", 0o755)
    put(folder, "share/data", bytes(range(256)) * 500)
    (folder / "lib").mkdir()
    (folder / "lib/link").symlink_to("../share/data")
    return folder


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One file for each way to pack it."""
    folder = tmp_path_factory.mktemp("makeself")
    tree = small(folder / "tree")
    return {name: makeself(tree, folder / f"{name}.run", *how) for name, how in HOW.items()}


def read(path: Path) -> Makeself:
    with path.open("rb") as file:
        return read_makeself(file, path.name)


def members(path: Path) -> dict[str, bytes]:
    """Files and links in all archives of the file, as they are read."""
    found = {}
    with path.open("rb") as file:
        made = read_makeself(file, path.name)
        for number in range(len(made.sections)):
            stream = made.open(file, number)
            for entry in entries(stream):
                if entry.kind == "file":
                    found[entry.name] = b"".join(bytes(p) for _, p in content(stream, entry))
                elif entry.kind == "link":
                    found[entry.name] = entry.target.encode()
    return found


def extracted(path: Path, folder: Path) -> dict[str, bytes]:
    """The same, as the script itself unpacks it."""
    command = ["sh", str(path), "--noexec", "--nox11", "--quiet", "--target", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return {
        str(p.relative_to(folder)): str(p.readlink()).encode() if p.is_symlink() else p.read_bytes()
        for p in folder.rglob("*")
        if p.is_symlink() or p.is_file()
    }


def checks(path: Path) -> bool:
    """What the script says of itself."""
    return (
        subprocess.run(["sh", str(path), "--check"], capture_output=True, check=False).returncode
        == 0
    )


@pytest.mark.parametrize("how", HOW)
def test_it_is_read_as_the_script_unpacks_it(
    files: dict[str, Path], tmp_path: Path, how: str
) -> None:
    assert members(files[how]) == extracted(files[how], tmp_path / "out")


@pytest.mark.parametrize("how", HOW)
def test_what_the_script_says_is_read(files: dict[str, Path], how: str) -> None:
    made = read(files[how])
    size = files[how].stat().st_size
    (section,) = made.sections
    assert (made.label, section.offset + section.size) == ("ROCm Runfile Installer", size)
    assert made.compression == ("gzip" if how == "bare" else how)
    assert made.unpacked is not None
    assert 128_000 <= made.unpacked < 1_000_000
    assert (section.md5 is None) == (how in ("bzip2", "bare"))
    assert (section.crc is None) == (how == "bare")
    assert (section.sha256 is not None) == (how == "none")
    assert made.has_sums == (how != "bare")


@pytest.mark.parametrize("how", HOW)
def test_the_check_sums_are_compared(files: dict[str, Path], tmp_path: Path, how: str) -> None:
    made = read(files[how])
    with files[how].open("rb") as file:
        digest = made.verify(file)
    data = files[how].read_bytes()
    assert digest == hashlib.sha256(data).hexdigest()
    section = made.sections[0]
    for place in (section.offset, section.offset + section.size // 2, len(data) - 1):
        broken = tmp_path / f"{place}.run"
        broken.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        assert checks(broken) == (how == "bare")
        with broken.open("rb") as file:
            if how == "bare":
                assert made.verify(file) != digest
            else:
                with pytest.raises(ArchiveError, match="is not the one that it has of itself"):
                    made.verify(file)


def test_each_sum_alone_is_enough(files: dict[str, Path], tmp_path: Path) -> None:
    """A file may have several; one that differs is a damaged file, whatever the others say."""
    data = files["none"].read_bytes()
    for which in (b"CRCsum", b"MD5", b"SHA"):
        start = data.index(which + b'="') + len(which) + 2
        other = b"1" if data[start : start + 1] != b"1" else b"2"
        broken = put(tmp_path, which.decode(), data[:start] + other + data[start + 1 :])
        with broken.open("rb") as file, pytest.raises(ArchiveError, match="not the one that"):
            read_makeself(file, "x").verify(file)


def test_verifying_can_be_stopped(files: dict[str, Path]) -> None:
    stop = threading.Event()
    stop.set()
    with files["gzip"].open("rb") as file, pytest.raises(Interrupted):
        read_makeself(file, "x").verify(file, stop)


@pytest.mark.parametrize("options", [(), ("--nocomp", "--sha256"), ("--nomd5",)])
def test_several_archives_in_one_file(tmp_path: Path, options: tuple[str, ...]) -> None:
    """As the scripts read them; today's makeself writes one."""
    put(tmp_path / "two", "bin/tool", "another\n")
    put(tmp_path / "two", "bin/more", "more\n" * 999)
    first = makeself(small(tmp_path / "one"), tmp_path / "1.run", *options).read_bytes()
    second = makeself(tmp_path / "two", tmp_path / "2.run", *options).read_bytes()
    both, sizes = first, [len(data) - header_end(data) for data in (first, second)]
    for name in (b"CRCsum", b"MD5", b"SHA", b"filesizes"):
        one, other = (
            re.findall(rb'^%s="(.*)"$' % name, d, re.MULTILINE)[0] for d in (first, second)
        )
        both = edited(both, b'%s="%s"' % (name, one), b'%s="%s %s"' % (name, one, other))
    total = b'totalsize="%d"'
    both = edited(both, total % sizes[0], total % sum(sizes)) + second[header_end(second) :]
    out = put(tmp_path, "x.run", both)
    assert checks(out)
    assert len(read(out).sections) == 2
    assert members(out) == extracted(out, tmp_path / "out")
    assert members(out)["bin/tool"] == b"another\n"
    with out.open("rb") as file:
        read(out).verify(file)


def test_a_header_of_amds_form_is_read(tmp_path: Path) -> None:
    version = put(tmp_path, "VERSION", 'it\n7.2.2\nfilesizes="1"\nskip="9"\n')
    header = amd_header(tmp_path)
    how = ("--nocomp", "--header", str(header), "--help-header", str(version))
    out = makeself(small(tmp_path / "tree"), tmp_path / "x.run", *how)
    assert b'\ntotalsize="' not in out.read_bytes()
    made = read(out)
    assert made.help_text.splitlines()[:2] == ["it", "7.2.2"]
    assert members(out) == extracted(out, tmp_path / "out")


def test_headers_that_do_not_count_their_lines_in_a_variable(
    files: dict[str, Path], tmp_path: Path
) -> None:
    """Makeself 2.1 has the number in its commands; without any, the sizes alone decide."""
    data = files["gzip"].read_bytes()
    start = data.index(b'skip="')
    lines = data[start:].split(b'"')[1]
    old = data.replace(b'skip="%s"\n' % lines, b"\n").replace(
        b'head -n "$skip"', b"head -n " + lines
    )
    none = data.replace(b'skip="%s"\n' % lines, b"\n").replace(b'head -n "$skip"', b"head -n x")
    for name, changed in (("old", old), ("none", none)):
        path = put(tmp_path, name, changed)
        assert members(path) == members(files["gzip"])


def test_a_plain_tar_inside_is_passed_over_without_reading_it(tmp_path: Path) -> None:
    """Gigabytes lie between two headers of AMD's installers."""
    for name in ("a", "b", "c"):
        put(tmp_path / "tree", name, bytes(4 << 20))
    with makeself(tmp_path / "tree", tmp_path / "x.run", "--nocomp").open("rb") as file:
        made = read_makeself(file, "x")
        seen = io.BufferedReader(Counted(file))
        stream = made.open(seen, 0)
        assert sorted(e.name for e in entries(stream) if e.kind == "file") == ["a", "b", "c"]
    raw = seen.raw
    assert isinstance(raw, Counted)
    assert raw.count < 2 << 20 < 12 << 20 < made.sections[0].size


class Counted(io.RawIOBase):
    """An open file that counts what is read of it."""

    def __init__(self, file: io.BufferedReader) -> None:
        self._file = file
        self.count = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, place: int, whence: int = 0) -> int:
        return self._file.seek(place, whence)

    def readinto(self, buffer: object) -> int:
        assert isinstance(buffer, memoryview)
        data = self._file.read(min(len(buffer), 8192))
        buffer[: len(data)] = data
        self.count += len(data)
        return len(data)


# What is refused.


def edited(data: bytes, old: bytes, new: bytes) -> bytes:
    assert old in data
    return data.replace(old, new, 1)


def refusals(data: bytes) -> Iterator[tuple[bytes, str]]:
    size = data.split(b'filesizes="')[1].split(b'"')[0]
    lines = data.split(b'skip="')[1].split(b'"')[0]
    yield b"", "is a file of another kind (empty)"
    yield b"#!/bin/sh\necho hello\n", "is a shell script, and no installer"
    yield data[1:], "is a file of another kind"
    yield data[:-1], "1 bytes are missing"
    yield data[:5000], "it ends before its archives"
    yield data + b"x", "1 bytes more than it says"
    yield edited(data, b'filesizes="' + size, b'filesizes="x'), "the sizes of its archives"
    yield edited(data, b'filesizes="' + size, b'filesizes="'), "the sizes of its archives"
    yield edited(data, b'filesizes="' + size, b'filesizes="0'), "the sizes of its archives"
    yield edited(data, b'filesizes="' + size, b'filesizes="' + b"1 " * 99), "the sizes"
    yield edited(data, b'filesizes="' + size, b'filesizes="' + b"9" * 15), "the sum of its archives"
    yield edited(data, b'totalsize="', b'totalsize="1'), "the sum of its archives"
    yield edited(data, b'skip="' + lines, b'skip="0'), "the number of its lines"
    yield edited(data, b'skip="' + lines, b'skip="-1'), "the number of its lines"
    yield edited(data, b'skip="' + lines, b'skip="9'), "it has"
    yield edited(data, b'skip="' + lines, b'skip="' + b"9" * 15), "it ends before its archives"
    yield edited(data, b'MD5="', b'MD5="z'), "its check sum (MD5)"
    yield edited(data, b'CRCsum="', b'CRCsum="1 '), "its check sum (CRCsum)"
    yield edited(data, b'decrypt_cmd="', b'decrypt_cmd="openssl'), "is encrypted"


def test_what_is_not_one_is_refused(files: dict[str, Path]) -> None:
    for changed, words in refusals(files["gzip"].read_bytes()):
        with pytest.raises(ArchiveError) as caught:
            read_makeself(io.BytesIO(changed), "x.run")
        assert words in str(caught.value)


def test_forms_that_are_not_read_are_refused(tmp_path: Path) -> None:
    out = makeself(small(tmp_path / "tree"), tmp_path / "x.run", "--base64")
    with pytest.raises(ArchiveError, match="packed with `base64`"):
        read(out)


@functools.cache
def one() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        put(tree, "f", "content\n")
        return makeself(tree, Path(folder) / "x.run", "--nocomp").read_bytes()


def header_end(data: bytes) -> int:
    return read_makeself(io.BytesIO(data), "x").sections[0].offset


@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_a_changed_header_is_refused_or_stays_inside_the_file(data: st.DataObject) -> None:
    whole = one()
    end = header_end(whole)
    interesting = st.sampled_from([b'"', b"'", b"\\", b"\n", b"\0", b"9", b"-", b" ", b"="])
    places = st.one_of(st.integers(0, end), st.integers(150, 1200))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(places)
        cut = data.draw(st.integers(0, 3))
        whole = whole[:place] + data.draw(interesting) + whole[place + cut :]
    file = io.BytesIO(whole)
    try:
        made = read_makeself(file, "x")
        made.verify(file)
    except ArchiveError:
        return
    last = made.sections[-1]
    assert made.sections[0].offset > 0
    assert last.offset + last.size == len(whole)


@given(
    label=st.text(
        st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_characters='"\\`$!')
    ),
    text=st.text(st.characters(categories=["L", "N", "Zs", "P"], exclude_characters="'")),
)
@settings(deadline=None)
def test_texts_in_a_header_are_only_texts(label: str, text: str) -> None:
    """Whatever a label or a help text holds, also what looks like another variable."""
    whole = one()
    old = whole.split(b"label=")[1].split(b"\n")[0]
    whole = edited(whole, b"label=" + old, b'label="' + label.encode() + b'"')
    lines = f"helpheader='{text}\nfilesizes=\"7\"\n'".encode()
    whole = edited(whole, b"helpheader=''", lines)
    skip = whole.split(b'skip="')[1].split(b'"')[0]
    more = str(int(skip) + lines.count(b"\n")).encode()
    made = read_makeself(io.BytesIO(edited(whole, b'skip="' + skip, b'skip="' + more)), "x")
    assert made.label == label
    assert made.help_text == f'{text}\nfilesizes="7"\n'
