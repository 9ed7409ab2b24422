"""Self-extracting archives made by makeself: read as data, never run.

Such a file is a shell script of a known number of lines, and behind it one or more archives,
whose sizes and check sums the script has in variables. Source: the scripts that makeself 2.1
to 2.5 writes, and AMD's own header for it (ROCm/rocm-installer-runfile).
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from rocmenv.errors import ArchiveError, visible
from rocmenv.fetch.ar import Member, damaged
from rocmenv.fetch.decode import Stream
from rocmenv.fetch.kind import HEAD, kind
from rocmenv.fetch.stop import check

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator
    from typing import BinaryIO

# A licence text or a script for before the extraction may be in it; most have 20 kB.
_LONGEST_SCRIPT = 4 << 20
_MOST_ARCHIVES = 64
_PIECE = 1 << 20
# `name="text"`, `name='text'` or `name=text` at the start of a line; a text may have lines.
_ASSIGNMENT = re.compile(
    r"""^([A-Za-z_]\w*)=(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([\w./:~+-]*))[ \t]*$""",
    re.MULTILINE | re.DOTALL | re.ASCII,
)
# How the oldest ones say how many lines they have.
_LINES = re.compile(r"""head -n (\d{1,6}) "\$[01]\"""", re.ASCII)
_COMPRESSION = re.compile(r"^\s*echo Compression: ([\w-]+)", re.MULTILINE | re.ASCII)
_UNPACKED = re.compile(r"^\s*echo Uncompressed size: (\d{1,12}) KB", re.MULTILINE | re.ASCII)
_NUMBER = re.compile(r"\d{1,15}", re.ASCII)
_READ = ("gzip", "xz", "zstd", "bzip2", "tar")
_REVERSED = bytes(int(f"{n:08b}"[::-1], 2) for n in range(256))
_ALL_ONES = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Section:
    """One archive of the file: where it is, in bytes, and its check sums.

    `sha256` and `md5` are lower-case hex, `crc` is what POSIX's `cksum` prints; each None
    where the script has none.
    """

    offset: int
    size: int
    sha256: str | None = None
    md5: str | None = None
    crc: int | None = None


@dataclass(frozen=True, slots=True)
class Makeself:
    """A makeself file that fits its script.

    `name` is its name for messages, `label` its title. `help_text` is what its builder added
    to the help, `compression` the script's word for it, `unpacked` the size of the content
    in bytes, None where the script does not say.
    """

    name: str
    label: str
    help_text: str
    compression: str
    unpacked: int | None
    sections: tuple[Section, ...]

    @property
    def has_sums(self) -> bool:
        """Whether each archive has a check sum."""
        return all(s.sha256 or s.md5 or s.crc is not None for s in self.sections)

    def open(self, file: BinaryIO, number: int, threads: int = 1) -> Stream:
        """The unpacked archive `number` (from 0) of the makeself file open as `file`."""
        section = self.sections[number]
        file.seek(section.offset)
        return Stream(Member(file, section.size, self.name), self.name, threads=threads)

    def verify(self, file: BinaryIO, cancel: threading.Event | None = None) -> str:
        """Compare the check sums; the SHA-256 of the whole file, as hex.

        Raises:
            ArchiveError: an archive is not the one that the script was written for.
            Interrupted: `cancel` was set.
        """
        whole = hashlib.sha256()
        file.seek(0)
        for piece in _pieces(file, self.sections[0].offset, self.name, cancel):
            whole.update(piece)
        for section in self.sections:
            sums = _Sums(section)
            for piece in _pieces(file, section.size, self.name, cancel):
                whole.update(piece)
                sums.update(piece)
            wrong = sums.wrong()
            if wrong:
                raise damaged(self.name, f"its {wrong} is not the one that it has of itself")
        return whole.hexdigest()


class _Sums:
    """The check sums of one section while it is read."""

    def __init__(self, section: Section) -> None:
        self._section = section
        self._sha256 = hashlib.sha256() if section.sha256 else None
        self._md5 = hashlib.md5(usedforsecurity=False) if section.md5 else None
        # POSIX's CRC takes the bits of a byte from the other end than zlib's, and starts
        # with zeros where that has ones; the rest is the same.
        self._crc = _ALL_ONES

    def update(self, piece: bytes) -> None:
        if self._sha256 is not None:
            self._sha256.update(piece)
        if self._md5 is not None:
            self._md5.update(piece)
        if self._section.crc is not None:
            self._crc = zlib.crc32(piece.translate(_REVERSED), self._crc)

    def wrong(self) -> str:
        """The name of the sum that differs, or nothing."""
        section = self._section
        if self._sha256 is not None and self._sha256.hexdigest() != section.sha256:
            return "SHA-256"
        if self._md5 is not None and self._md5.hexdigest() != section.md5:
            return "MD5"
        if section.crc is None:
            return ""
        size = section.size
        length = size.to_bytes((size.bit_length() + 7) // 8, "little")
        register = zlib.crc32(length.translate(_REVERSED), self._crc) ^ _ALL_ONES
        return "" if int(f"{register:032b}"[::-1], 2) ^ _ALL_ONES == section.crc else "CRC"


def read_makeself(file: BinaryIO, name: str) -> Makeself:
    """The makeself file open as `file`, whatever it is called; `name` is for messages.

    Raises:
        ArchiveError: it is no makeself file, is cut or longer than it should be, or is
            encrypted or compressed in a way that is not read.
    """
    file.seek(0)
    start = file.read(_LONGEST_SCRIPT)
    file.seek(0, os.SEEK_END)
    size = file.tell()
    text = start.decode("utf-8", "surrogateescape")
    values = _values(text)
    if not start.startswith(b"#!") or "filesizes" not in values:
        msg = f"`{name}` is a {_what(start)}, and no installer made by makeself"
        raise ArchiveError(msg, hint="AMD's installers are called `rocm-installer*.run`")
    sizes = _sizes(values["filesizes"], name)
    offset = _offset(start, text, values, size - sum(sizes), name)
    # Once more without the archives: what is in them is nothing that the script says.
    text = start[:offset].decode("utf-8", "surrogateescape")
    values = _values(text)
    _check_length(size, offset, sizes, values, name)
    compression = match[1] if (match := _COMPRESSION.search(text)) else ""
    if values.get("decrypt_cmd") or compression.startswith("gpg"):
        raise ArchiveError(f"`{name}` is encrypted, and is not read")
    made = Makeself(
        name=name,
        label=values.get("label", ""),
        help_text=values.get("helpheader", ""),
        compression=compression,
        unpacked=int(match[1]) * 1024 if (match := _UNPACKED.search(text)) else None,
        sections=tuple(_sections(offset, sizes, values, name)),
    )
    for section in made.sections:
        file.seek(section.offset)
        found = kind(file.read(min(HEAD, section.size)))
        if found not in _READ:
            how = f"packed with {visible(compression)}" if compression else "one"
            raise ArchiveError(f"`{name}` holds {found}, not an archive that is read: it is {how}")
    return made


def _what(start: bytes) -> str:
    return "shell script" if start.startswith(b"#!") else f"file of another kind ({kind(start)})"


def _values(text: str) -> dict[str, str]:
    """The script's variables, each as it is set first, which is before any of its code."""
    found: dict[str, str] = {}
    for match in _ASSIGNMENT.finditer(text):
        value = next((group for group in match.groups()[1:] if group is not None), "")
        found.setdefault(match[1], value)
    return found


def _sizes(text: str, name: str) -> list[int]:
    words = text.split()
    if not 0 < len(words) <= _MOST_ARCHIVES or not all(map(_NUMBER.fullmatch, words)):
        _refuse(name, "the sizes of its archives", text)
    sizes = [int(word) for word in words]
    if not all(sizes):
        _refuse(name, "the sizes of its archives", text)
    return sizes


def _offset(start: bytes, text: str, values: dict[str, str], rest: int, name: str) -> int:
    """Where the archives begin: behind as many lines as the script says that it has.

    One that does not say leaves `rest`, what its archives leave of the file.
    """
    match = _LINES.search(text)
    lines = values.get("skip") or (match[1] if match else "")
    if not lines:
        if not 0 < rest <= len(start) or start[rest - 1 : rest] != b"\n":
            raise damaged(name, "its archives do not begin behind its script")
        return rest
    if not _NUMBER.fullmatch(lines):
        _refuse(name, "the number of its lines", lines)
    offset = 0
    for _ in range(min(int(lines), len(start))):
        offset = start.find(b"\n", offset) + 1
        if not offset:
            raise damaged(name, f"it ends before its archives: its script has {lines} lines")
    if not offset:
        _refuse(name, "the number of its lines", lines)
    return offset


def _check_length(
    size: int, offset: int, sizes: list[int], values: dict[str, str], name: str
) -> None:
    total = values.get("totalsize", "")
    if total and total != str(sum(sizes)):
        _refuse(name, "the sum of its archives", total)
    missing = offset + sum(sizes) - size
    if missing > 0:
        raise damaged(name, f"it ends too early: {missing} bytes are missing")
    if missing < 0:
        raise damaged(name, f"it has {-missing} bytes more than it says")


def _sections(
    offset: int, sizes: list[int], values: dict[str, str], name: str
) -> Iterator[Section]:
    count = len(sizes)
    sha256 = _sums(values, "SHA", re.compile(r"[0-9a-f]{64}"), count, name)
    md5 = _sums(values, "MD5", re.compile(r"[0-9a-f]{32}"), count, name)
    crc = _sums(values, "CRCsum", re.compile(r"\d{1,10}", re.ASCII), count, name)
    for number, size in enumerate(sizes):
        sum_ = crc[number]
        yield Section(
            offset, size, sha256[number], md5[number], None if sum_ is None else int(sum_)
        )
        offset += size


def _sums(
    values: dict[str, str], which: str, form: re.Pattern[str], count: int, name: str
) -> list[str | None]:
    """One sum for each archive; None for those of zeros, which makeself writes for none."""
    words = values.get(which, "").split()
    if not words:
        return [None] * count
    if len(words) != count or not all(map(form.fullmatch, words)):
        _refuse(name, f"its check sum ({which})", values[which])
    return [word if word.strip("0") else None for word in words]


def _pieces(
    file: BinaryIO, size: int, name: str, cancel: threading.Event | None
) -> Iterator[bytes]:
    source = Member(file, size, name)
    while piece := source.read(_PIECE):
        check(cancel)
        yield piece


def _refuse(name: str, what: str, text: str) -> NoReturn:
    raise damaged(name, f"{what} cannot be {visible(text)}")
