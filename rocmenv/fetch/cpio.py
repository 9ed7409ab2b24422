"""The members of a package's cpio archive, in the two forms that RPM writes.

The "newc" form (070701) has a header for each member. RPM's own form (07070X), for packages
with files above 4 GiB, has only the number of a file in the package's list. Source: cpio(5)
and rpm's `lib/cpio.c`. In both, hard links come one after the other, and only the last of
them has the content.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from rocmenv.fetch.ar import damaged
from rocmenv.fetch.members import LONGEST_PATH, Entry, clean, refuse, symlink

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rocmenv.fetch.decode import Stream

_MAGIC = 6
_NEWC = b"070701"
_STRIPPED = b"07070X"
_FIELD = 8
_FIELDS = 13
_END = "TRAILER!!!"
_HEX = frozenset(b"0123456789abcdefABCDEF")
_KINDS = {
    stat.S_IFBLK: "is a device",
    stat.S_IFCHR: "is a device",
    stat.S_IFIFO: "is a pipe",
    stat.S_IFSOCK: "is a socket",
}


class Member(NamedTuple):
    """One member as its header, or the package's list, has it.

    `links` is how many names its file has in the package, `group` what these share.
    """

    name: str
    mode: int
    mtime: int
    size: int
    links: int
    group: tuple[int, ...]


@dataclass(slots=True)
class _Links:
    """The hard links of one file: names that wait for the content, and the one that has it."""

    waiting: list[str] = field(default_factory=list)
    first: str | None = None


def entries(stream: Stream, listed: Sequence[Member]) -> Iterator[Entry]:
    """The members of the archive in `stream`; read an entry's content before the next one.

    `listed` are the package's files by number. A file's name with content comes first, as
    an `Entry` of kind `file`; the other names follow as `hard`.

    Raises:
        ArchiveError: a damaged or cut archive, a name that leaves it, a device or a pipe.
    """
    groups: dict[tuple[int, ...], _Links] = {}
    while (member := _next(stream, listed)) is not None:
        end = stream.position + member.size
        yield from _entries(stream, member, groups)
        stream.skip_to(end)
        _pad(stream)
        if stream.position < end:
            raise damaged(stream.name, f"it ends inside `{member.name}`")
    left = next((name for links in groups.values() for name in links.waiting), None)
    if left is not None:
        raise damaged(stream.name, f"its member `{left}` is a hard link without content")
    stream.finish()


def _entries(
    stream: Stream, member: Member, groups: dict[tuple[int, ...], _Links]
) -> Iterator[Entry]:
    archive = stream.name
    name = clean(member.name, archive)
    kind = stat.S_IFMT(member.mode)
    mtime = float(member.mtime)
    if kind == stat.S_IFDIR:
        yield Entry(name, "folder", mtime=mtime)
        return
    if not name:
        refuse(archive, member.name, "has no name")
    if kind == stat.S_IFLNK:
        text = stream.read(min(member.size, LONGEST_PATH + 1))
        target = text.decode("utf-8", "surrogateescape")
        yield symlink(archive, name, target, mtime)
        return
    if kind != stat.S_IFREG:
        refuse(archive, member.name, _KINDS.get(kind, "is of a kind that is not known"))
    spans = ((0, member.size),)
    file = Entry(name, "file", "", bool(member.mode & 0o100), mtime, member.size, spans)
    if member.links <= 1:
        yield file
        return
    yield from _linked(file, member, groups.setdefault(member.group, _Links()))


def _linked(file: Entry, member: Member, links: _Links) -> Iterator[Entry]:
    if links.first is not None and not file.size:
        yield Entry(file.name, "hard", target=links.first)
    elif file.size or len(links.waiting) + 1 == member.links:
        links.first = file.name
        yield file
        for name in links.waiting:
            yield Entry(name, "hard", target=file.name)
        links.waiting.clear()
    else:
        links.waiting.append(file.name)


def _next(stream: Stream, listed: Sequence[Member]) -> Member | None:
    """The next member, None at the archive's end mark."""
    magic = stream.read(_MAGIC)
    if magic == _STRIPPED:
        (number,) = _numbers(stream, 1)
        _pad(stream)
        if number >= len(listed):
            raise damaged(stream.name, f"it has no file number {number}")
        return listed[number]
    if magic != _NEWC:
        raise damaged(stream.name, "a member's header is not one" if magic else "it ends too early")
    inode, mode, _, _, links, mtime, size, major, minor, *_, length, _ = _numbers(stream, _FIELDS)
    if not 0 < length <= LONGEST_PATH + 1:
        raise damaged(stream.name, f"a member's name has {length} bytes")
    name = stream.read(length)
    if len(name) < length or name[-1:] != b"\0":
        raise damaged(stream.name, "a member's name is not one")
    _pad(stream)
    text = name[:-1].decode("utf-8", "surrogateescape")
    if text == _END:
        return None
    return Member(text, mode, mtime, size, links, (major, minor, inode))


def _numbers(stream: Stream, count: int) -> list[int]:
    text = stream.read(count * _FIELD)
    if len(text) < count * _FIELD or not _HEX.issuperset(text):
        raise damaged(stream.name, "a member's header is not one")
    return [int(text[at : at + _FIELD], 16) for at in range(0, len(text), _FIELD)]


def _pad(stream: Stream) -> None:
    stream.skip_to((stream.position + 3) & ~3)
