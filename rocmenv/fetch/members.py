"""The members of a tar archive, one after the other, with names that are safe to join."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from rocmenv.errors import ArchiveError, visible
from rocmenv.fetch import tarheader
from rocmenv.fetch.ar import damaged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocmenv.fetch.decode import Stream
    from rocmenv.fetch.tarheader import Head

_PIECE = 1 << 20
_LATEST = float(1 << 33)
# Linux takes no longer path (PATH_MAX, with a NUL at its end), nor a longer link's text.
LONGEST_PATH = 4095
# No ROCm has a tenth of it, and much code is recursive over folders.
_MOST_PARTS = 256
# Found in `/{name}/` when a name is not clean yet.
_UNCLEAN = ("//", "/./", "/../", "\0")


@dataclass(frozen=True, slots=True)
class Entry:
    """One member.

    `name` is relative, without `.` and `..` parts; empty for the archive's own folder.
    `kind` is `file`, `folder`, `link` or `hard`. `target` is a symbolic link's text as it
    stands, or the name of the member that a hard link repeats. `size` is in bytes, `mtime`
    in seconds since the epoch. `spans` are a file's pieces (offset, length) in the order in
    which the archive holds them: one for the whole unless the member is sparse.
    """

    name: str
    kind: str
    target: str = ""
    executable: bool = False
    mtime: float = 0.0
    size: int = 0
    spans: tuple[tuple[int, int], ...] = field(default=())


def entries(stream: Stream) -> Iterator[Entry]:
    """The members of the archive in `stream`; read an entry's `content` before the next one.

    Raises:
        ArchiveError: a damaged or cut archive, a name that leaves it, a device or a pipe.
    """
    for head in tarheader.heads(stream):
        yield _entry(head, stream.name)
    stream.finish()


def content(stream: Stream, entry: Entry) -> Iterator[tuple[int, memoryview]]:
    """The pieces of the file `entry`, which was the last one read: offset and bytes."""
    for offset, length in entry.spans:
        done = 0
        while done < length:
            piece = stream.read_some(min(length - done, _PIECE))
            if not piece:
                raise damaged(stream.name, f"it ends inside `{entry.name}`")
            yield offset + done, piece
            done += len(piece)


def _entry(head: Head, archive: str) -> Entry:
    name = clean(head.name, archive)
    mtime = min(max(head.mtime, 0.0), _LATEST)
    if head.kind == tarheader.FOLDER:
        return Entry(name, "folder", mtime=mtime)
    if not name:
        refuse(archive, head.name, "has no name")
    if head.kind == tarheader.LINK:
        return symlink(archive, name, head.link, mtime)
    if head.kind == tarheader.HARD:
        return Entry(name, "hard", target=clean(head.link, archive), mtime=mtime)
    if head.kind != tarheader.FILE:
        refuse(archive, head.name, _SPECIAL.get(head.kind, "is of a kind that is not known"))
    if any(start + length > head.size for start, length in head.spans):
        refuse(archive, head.name, "has an impossible size")
    return Entry(name, "file", "", bool(head.mode & 0o100), mtime, head.size, head.spans)


def symlink(archive: str, name: str, target: str, mtime: float) -> Entry:
    """The symbolic link `name`; `ArchiveError` for a `target` that no link can have."""
    if not target or "\0" in target:
        refuse(archive, name, "is a link to nowhere")
    if _is_long(target):
        refuse(archive, name, "is a link with a text that is too long")
    return Entry(name, "link", target=target, mtime=mtime)


_SPECIAL = {b"3": "is a device", b"4": "is a device", b"6": "is a pipe"}


def clean(name: str, archive: str) -> str:
    """`name` without empty and `.` parts.

    Raises:
        ArchiveError: it is absolute or too long, has a `..` part, a NUL, or cannot be a
            file name.
    """
    if not name.isascii():
        _check_bytes(name, archive)
    if _is_long(name):
        refuse(archive, name, "has a name that is too long")
    whole = f"/{name}/"
    if not any(bad in whole for bad in _UNCLEAN):  # most are clean, and this is asked often
        return name
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or ".." in parts:
        refuse(archive, name, "lies outside the archive's folder")
    if "\0" in name:
        refuse(archive, name, "has a NUL in its name")
    return "/".join(parts)


def _is_long(path: str) -> bool:
    if path.count("/") >= _MOST_PARTS:
        return True
    size = len(path) if path.isascii() else len(path.encode("utf-8", "surrogateescape"))
    return size > LONGEST_PATH


def _check_bytes(name: str, archive: str) -> None:
    try:
        name.encode(sys.getfilesystemencoding(), "surrogateescape")
    except UnicodeError:
        refuse(archive, name, "has a name that no file can have")


def refuse(archive: str, name: str, words: str) -> NoReturn:
    """Raise the error for a member that is not unpacked; `words` say what is wrong."""
    message = f"the archive `{archive}` is refused: its member {visible(name, 200)} {words}"
    raise ArchiveError(message)
