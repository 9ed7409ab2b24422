"""RPM packages taken apart and put together again, as no tool would make them."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from rocmenv.fetch.rpm import Rpm, read_rpm

if TYPE_CHECKING:
    from pathlib import Path

REGION = 63
_ENTRY = struct.Struct(">IIiI")


def parts(path: Path) -> tuple[Rpm, bytes]:
    """The headers of a package, and its packed archive."""
    with path.open("rb") as file:
        rpm = read_rpm(file, path.name)
        return rpm, file.read()


def header_without(rpm: Rpm, *tags: int) -> bytes:
    """The package's header without some tags, as one closed region."""
    header = rpm.header
    left = [entry for tag, entry in header.entries.items() if tag not in tags]
    data = header.raw[header.data : -_ENTRY.size]
    size = len(left) * _ENTRY.size
    mark = _ENTRY.pack(REGION, 7, -size, _ENTRY.size)
    rows = b"".join(_ENTRY.pack(*entry) for entry in left)
    intro = struct.pack(">4s4xII", header.raw[:4], len(left), len(data) + len(mark))
    return intro + rows + data + mark


def header_with_more(rpm: Rpm) -> bytes:
    """The package's header with one more value behind its closed region."""
    header = rpm.header
    rows, data = header.raw[16 : header.data], header.raw[header.data :]
    count, value = len(header.entries) + 1, b"added\0"
    intro = struct.pack(">4s4xII", header.raw[:4], count, len(data) + len(value))
    return intro + rows + _ENTRY.pack(6000, 6, len(data), 1) + data + value


def signature_header(*values: tuple[int, int, bytes]) -> bytes:
    """A header of signatures: tag, type and bytes of each, padded as in a package."""
    rows, data = b"", b""
    for tag, kind, value in values:
        count = len(value) if kind == 7 else value.count(b"\0")
        rows += _ENTRY.pack(tag, kind, len(data), count)
        data += value
    raw = struct.pack(">4s4xII", b"\x8e\xad\xe8\x01", len(values), len(data)) + rows + data
    return raw + bytes(-len(raw) % 8)


def write(path: Path, lead: bytes, signatures: bytes, header: bytes, archive: bytes) -> Path:
    """A package of these parts."""
    path.write_bytes(lead[:96] + signatures + header + archive)
    return path


def newc(name: str, mode: int, content: bytes = b"", *, inode: int = 1, links: int = 1) -> bytes:
    """One member of a cpio archive."""
    encoded = name.encode("utf-8", "surrogateescape") + b"\0"
    fields = (inode, mode, 0, 0, links, 7, len(content), 0, 0, 0, 0, len(encoded), 0)
    head = b"070701" + b"".join(b"%08x" % field for field in fields) + encoded
    return padded(head) + padded(content)


def padded(data: bytes) -> bytes:
    """`data` up to a multiple of four bytes."""
    return data + bytes(-len(data) % 4)


END = newc("TRAILER!!!", 0)
