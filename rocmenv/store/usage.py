"""What trees take on the disk, and what of it they share."""

from __future__ import annotations

import array
import fcntl
import os
import stat
import struct
from contextlib import suppress
from dataclasses import dataclass, field

_BLOCK = 512
"""The unit of `st_blocks`, whatever the file system's own is (POSIX)."""
_SMALLEST_CLONE = 4096
"""Bytes from which a file can have an extent of its own that others share."""
# linux/fiemap.h: the request, its header, and what it tells of one extent.
_FIEMAP = 0xC020660B
_HEADER = struct.Struct("=QQLLLL")
_EXTENT = struct.Struct("=QQQQQLLLL")
_LAST, _SHARED = 0x1, 0x2000
_AT_ONCE = 64


@dataclass(slots=True)
class Usage:
    """One tree.

    `logical` is the sum of the sizes of its files, `physical` the bytes of its blocks with
    each file counted once, `frees` what removing this tree alone would give back: blocks
    that nothing outside of it has too. `files` counts files by their names. `unread` are
    folders and files that could not be looked at.
    """

    files: int = 0
    logical: int = 0
    physical: int = 0
    frees: int = 0
    unread: int = 0

    @property
    def shared(self) -> int:
        """The bytes on the disk that something else has too."""
        return self.physical - self.frees


@dataclass(slots=True)
class Meter:
    """Measures trees, one after the other; what several have in common is in `total` once.

    With `clones`, blocks that copies share by reflink are found too, where the file system
    tells (FIEMAP): that opens every file of some size.
    """

    clones: bool = False
    total: int = 0
    _files: set[tuple[int, int]] = field(default_factory=set)
    _extents: set[tuple[int, int, int]] = field(default_factory=set)

    def measure(self, path: str) -> Usage:
        """What the folder or file at `path` takes; nothing when it is not there.

        What vanishes meanwhile is not counted. Links are not followed.
        """
        usage = Usage()
        linked: dict[tuple[int, int], list[int]] = {}
        try:
            self._add(usage, linked, path, os.lstat(path))
        except OSError:
            return usage
        left = [path]
        while left:
            try:
                with os.scandir(left.pop()) as entries:
                    for entry in entries:
                        try:
                            found = entry.stat(follow_symlinks=False)
                        except FileNotFoundError:
                            continue
                        self._add(usage, linked, entry.path, found)
                        if stat.S_ISDIR(found.st_mode):
                            left.append(entry.path)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError:
                usage.unread += 1
        for names, links, size in linked.values():
            # Names elsewhere keep the blocks.
            usage.frees += size if names >= links else 0
        return usage

    def _add(
        self,
        usage: Usage,
        linked: dict[tuple[int, int], list[int]],
        path: str,
        found: os.stat_result,
    ) -> None:
        size = found.st_blocks * _BLOCK
        is_file = stat.S_ISREG(found.st_mode)
        if is_file:
            usage.files += 1
            usage.logical += found.st_size
        if is_file and found.st_nlink > 1:
            key = (found.st_dev, found.st_ino)
            if key in linked:
                linked[key][0] += 1
                return
            linked[key] = [1, found.st_nlink, size]
            if key not in self._files:
                self._files.add(key)
                self.total += size
        else:
            others = self._cloned(usage, path, found) if self.clones and is_file else 0
            usage.frees += size - others
            self.total += size
        usage.physical += size

    def _cloned(self, usage: Usage, path: str, found: os.stat_result) -> int:
        """The bytes of a file that other files have too; `total` gets them once."""
        if found.st_size < _SMALLEST_CLONE:
            return 0
        try:
            extents = shared_extents(path)
        except FileNotFoundError:
            return 0
        except OSError:
            usage.unread += 1
            return 0
        both = 0
        for start, length in extents:
            both += length
            key = (found.st_dev, start, length)
            if key in self._extents:
                self.total -= length
            self._extents.add(key)
        return min(both, found.st_blocks * _BLOCK)


def shared_extents(path: str) -> list[tuple[int, int]]:
    """The pieces of a file that other files have too: place on the device, and bytes.

    Empty where the file system does not tell.
    """
    number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        with suppress(OSError):
            return _extents(number)
    finally:
        os.close(number)
    return []


def _extents(number: int) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    start = 0
    while True:
        request = array.array("B", bytes(_HEADER.size + _AT_ONCE * _EXTENT.size))
        _HEADER.pack_into(request, 0, start, (1 << 64) - 1 - start, 0, 0, _AT_ONCE, 0)
        fcntl.ioctl(number, _FIEMAP, request, True)  # noqa: FBT003 - its signature
        count = _HEADER.unpack_from(request)[3]
        for index in range(count):
            place = _HEADER.size + index * _EXTENT.size
            logical, physical, length, _, _, flags, *_ = _EXTENT.unpack_from(request, place)
            if flags & _SHARED:
                out.append((physical, length))
            if flags & _LAST:
                return out
            start = logical + length
        if not count:
            return out
