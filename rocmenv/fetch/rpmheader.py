"""The headers of an RPM package: values of a few types under numbered tags.

Source: "RPM v4 Package format" of rpm.org's documentation.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rocmenv.fetch.ar import damaged

if TYPE_CHECKING:
    from typing import BinaryIO

_MAGIC = b"\x8e\xad\xe8\x01"
_INTRO = struct.Struct(">4s4xII")
_ENTRY = struct.Struct(">IIiI")
_REGION = 63
_BINARY = 7
# rpm itself takes 65 535 entries; the lists of files of the largest packages are some MiB.
_MOST_ENTRIES = 0xFFFF
_MOST_DATA = 128 << 20
_NUMBERS = {2: "B", 3: "H", 4: "I", 5: "Q"}
_TEXTS = (6, 8, 9)


class _Entry(NamedTuple):
    tag: int
    type: int
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Header:
    """One header; `raw` are its bytes from the magic number to its end.

    An absent tag reads as nothing. A value that lies outside, or is of another type than
    asked for, is an `ArchiveError` that names the `package`.
    """

    raw: bytes
    package: str
    entries: dict[int, _Entry]
    data: int
    """Where in `raw` the values start."""

    def texts(self, tag: int) -> tuple[str, ...]:
        """The texts under `tag`."""
        entry = self.entries.get(tag)
        if entry is None:
            return ()
        if entry.type not in _TEXTS:
            raise self._odd(tag)
        found: list[str] = []
        start = self.data + entry.offset
        for _ in range(entry.length):
            end = self.raw.find(b"\0", start)
            if end < 0:
                raise self._odd(tag)
            found.append(self.raw[start:end].decode("utf-8", "surrogateescape"))
            start = end + 1
        return tuple(found)

    def text(self, tag: int) -> str:
        """The first text under `tag`."""
        return next(iter(self.texts(tag)), "")

    def numbers(self, tag: int) -> tuple[int, ...]:
        """The numbers under `tag`, unsigned."""
        entry = self.entries.get(tag)
        if entry is None:
            return ()
        letter = _NUMBERS.get(entry.type)
        if letter is None:
            raise self._odd(tag)
        size = struct.calcsize(letter) * entry.length
        return struct.unpack(f">{entry.length}{letter}", self._bytes(tag, entry.offset, size))

    def blob(self, tag: int) -> bytes:
        """The bytes under `tag`."""
        entry = self.entries.get(tag)
        if entry is None:
            return b""
        if entry.type != _BINARY:
            raise self._odd(tag)
        return self._bytes(tag, entry.offset, entry.length)

    def _bytes(self, tag: int, offset: int, size: int) -> bytes:
        start = self.data + offset
        if size > len(self.raw) - start:
            raise self._odd(tag)
        return self.raw[start : start + size]

    def _odd(self, tag: int) -> Exception:
        return damaged(self.package, f"the value {tag} of its header is not one")

    @property
    def is_immutable(self) -> bool:
        """Whether all of it is one region that the packager has closed.

        Only then is what its signature covers the same as what is read here.
        """
        count = len(self.entries)
        first = self.entries.get(_REGION)
        size = len(self.raw) - self.data
        if first is None or next(iter(self.entries)) != _REGION:
            return False
        if (first.type, first.offset, first.length) != (_BINARY, size - _ENTRY.size, _ENTRY.size):
            return False
        mark = _Entry(*_ENTRY.unpack(self.raw[-_ENTRY.size :]))
        return mark == (_REGION, _BINARY, -count * _ENTRY.size, _ENTRY.size)


def read_header(file: BinaryIO, package: str) -> Header:
    """The header that starts at the place of `file`, which is then behind it.

    Raises:
        ArchiveError: it is none, is cut, or claims more than any package has.
    """
    intro = file.read(_INTRO.size)
    if len(intro) < _INTRO.size or not intro.startswith(_MAGIC):
        raise damaged(package, "it has no header where one should be")
    _, count, size = _INTRO.unpack(intro)
    if not 0 < count <= _MOST_ENTRIES or size > _MOST_DATA:
        raise damaged(package, f"its header claims {count} entries and {size} bytes")
    body = file.read(count * _ENTRY.size + size)
    if len(body) < count * _ENTRY.size + size:
        raise damaged(package, "it ends inside its header")
    entries: dict[int, _Entry] = {}
    for number in range(count):
        entry = _Entry(*_ENTRY.unpack_from(body, number * _ENTRY.size))
        # Two values under one tag could be read in two ways.
        if entry.tag in entries or not 0 <= entry.offset <= size or entry.length > size:
            raise damaged(package, f"the entry {entry.tag} of its header is not one")
        entries[entry.tag] = entry
    return Header(intro + body, package, entries, len(intro) + count * _ENTRY.size)
