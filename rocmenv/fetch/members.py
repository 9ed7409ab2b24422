"""The members of a tar archive, one after the other, with names that are safe to join.

`tarfile` parses the headers (ustar, GNU, pax, sparse); nothing of its extraction is used,
because that differs between Python releases (the `filter` argument and its defaults).
"""

from __future__ import annotations

import math
import sys
import tarfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn, TypeVar, cast

from rocmenv.errors import ArchiveError, visible
from rocmenv.fetch.ar import damaged
from rocmenv.fetch.stop import Interrupted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import IO

    from rocmenv.fetch.decode import Stream

T = TypeVar("T")

_BLOCK = 512
_PIECE = 1 << 20
# tarfile reads a whole pax header or long name, whatever size its header claims.
_LONGEST_HEADER = 1 << 20
_HEADER_TYPES = (
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
)
_TYPE = 156  # where a header has its type
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
    forward = _Forward(stream)
    tar = _called(stream.name, lambda: _open(forward))
    while (member := _called(stream.name, tar.next)) is not None:
        vars(tar)["members"] = []  # tarfile would keep every member it has seen
        forward.seek(member.offset_data)
        yield _entry(member, stream.name)
    if forward.last.strip(b"\0"):
        raise damaged(stream.name, "a member's header is not one")
    if len(forward.last) < _BLOCK:
        raise damaged(stream.name, "it ends too early")
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


class _Forward:
    """A `Stream` as the file object that tarfile expects; it can only go forward."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.last = b""

    def tell(self) -> int:
        return self._stream.position

    def seek(self, position: int) -> None:
        if position < self._stream.position:
            raise damaged(self._stream.name, "a member's size is not one")
        self._stream.skip_to(position)

    def read(self, n: int = -1) -> bytes:
        self._check(n)
        data = self._stream.read(n)
        if n == _BLOCK:
            self.last = data
            self._check(_claimed(data))
        return data

    def _check(self, size: int) -> None:
        if not 0 <= size <= _LONGEST_HEADER:
            raise damaged(self._stream.name, f"a member's header claims {size} bytes")


def _claimed(block: bytes) -> int:
    """The size that `block` claims for a long name or pax header; 0 for all other blocks.

    Known before tarfile asks for it: since Python 3.14 that reads it in many pieces.
    """
    if block[_TYPE : _TYPE + 1] not in _HEADER_TYPES:
        return 0
    try:
        return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape").size
    except tarfile.TarError:
        return 0  # no header but the content of one, or tarfile refuses it too


def _open(forward: _Forward) -> tarfile.TarFile:
    return tarfile.TarFile(
        fileobj=cast("IO[bytes]", forward), encoding="utf-8", errors="surrogateescape"
    )


def _called(name: str, function: Callable[[], T]) -> T:
    try:
        return function()
    except (ArchiveError, Interrupted):
        raise
    except Exception as error:
        # Damage shows as TarError, ValueError, IndexError, RecursionError, UnicodeError…
        words = str(error).lower() or type(error).__name__
        raise damaged(name, words) from error


def _entry(member: tarfile.TarInfo, archive: str) -> Entry:
    name = clean(member.name, archive)
    mtime = float(member.mtime)
    mtime = min(max(mtime, 0.0), _LATEST) if math.isfinite(mtime) else 0.0
    if member.isdir():
        return Entry(name, "folder", mtime=mtime)
    if not name:
        refuse(archive, member.name, "has no name")
    if member.issym():
        return symlink(archive, name, member.linkname, mtime)
    if member.islnk():
        return Entry(name, "hard", target=clean(member.linkname, archive), mtime=mtime)
    if not member.isreg():
        refuse(archive, member.name, _special(member))
    spans: tuple[tuple[int, int], ...] = ((0, member.size),)
    if member.issparse():
        spans = tuple(
            (int(start), int(length))
            for start, length in cast("list[tuple[int, int]]", member.sparse)
        )
    if member.size < 0 or any(s < 0 or n < 0 or s + n > member.size for s, n in spans):
        refuse(archive, member.name, "has an impossible size")
    return Entry(name, "file", "", bool(member.mode & 0o100), mtime, member.size, spans)


def symlink(archive: str, name: str, target: str, mtime: float) -> Entry:
    """The symbolic link `name`; `ArchiveError` for a `target` that no link can have."""
    if not target or "\0" in target:
        refuse(archive, name, "is a link to nowhere")
    if _is_long(target):
        refuse(archive, name, "is a link with a text that is too long")
    return Entry(name, "link", target=target, mtime=mtime)


def _special(member: tarfile.TarInfo) -> str:
    if member.ischr() or member.isblk():
        return "is a device"
    return "is a pipe" if member.isfifo() else "is of a kind that is not known"


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
