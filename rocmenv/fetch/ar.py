"""The outer layer of a `.deb`: an `ar` archive of three members.

Source: deb(5) and ar(5). This is 60-byte headers and nothing else, hence no dependency:
`arpy` would do it, and `debian-inspector`, which the project has, does not.
"""

from __future__ import annotations

from typing import BinaryIO

from rocmenv.errors import ArchiveError, visible

_MAGIC = b"!<arch>\n"
_HEADER = 60
_HEADER_END = b"`\n"


class Member:
    """A piece of an open file, from its place on: that of an `ar` member, for one.

    A file that ends inside it is an `ArchiveError`; `deb` is its name for messages.
    """

    def __init__(self, file: BinaryIO, size: int, deb: str) -> None:
        self._file = file
        self._left = size
        self._deb = deb

    def read(self, n: int = -1, /) -> bytes:
        """Up to `n` bytes; empty at the member's end."""
        want = self._left if n < 0 else min(n, self._left)
        piece = self._file.read(want) if want else b""
        if want and not piece:
            raise damaged(self._deb, "it ends too early")
        self._left -= len(piece)
        return piece

    def skip(self, n: int) -> int:
        """Go over up to `n` bytes without reading them; how many there were."""
        n = min(n, self._left)
        self._file.seek(n, 1)
        self._left -= n
        return n


def data_member(file: BinaryIO, deb: str) -> Member:
    """The `data.tar` member of the `.deb` open as `file`; all else is as for `member`."""
    return member(file, deb, "data.tar")


def member(file: BinaryIO, deb: str, start: str) -> Member:
    """The member of the `.deb` open as `file`, at its start, whose name begins with `start`.

    `deb` is its name for messages.

    Raises:
        ArchiveError: it is no Debian package, or a damaged one.
    """
    if file.read(len(_MAGIC)) != _MAGIC:
        raise damaged(deb, "it is not a Debian package")
    first = True
    while True:
        name, size = _header(file, deb, start)
        if first and name != "debian-binary":
            raise damaged(deb, f"it starts with {visible(name)}, not with `debian-binary`")
        if name.startswith(start):
            return Member(file, size, deb)
        content = file.read(size + size % 2) if first else b""
        if first and not content.startswith(b"2."):
            raise damaged(deb, f"it has format {visible(content.strip())}, not 2")
        if not first:
            file.seek(size + size % 2, 1)
        first = False


def _header(file: BinaryIO, deb: str, wanted: str) -> tuple[str, int]:
    header = file.read(_HEADER)
    if len(header) < _HEADER:
        raise damaged(deb, f"it ends before its content (`{wanted}`)")
    size = header[48:58].strip()
    if header[58:] != _HEADER_END or not size.isdigit():
        raise damaged(deb, "a member's header is not one")
    return header[:16].decode("ascii", "replace").strip().rstrip("/"), int(size)


def damaged(name: str, words: str) -> ArchiveError:
    """The error for an archive called `name` that cannot be read on."""
    return ArchiveError(f"the archive `{name}` is damaged: {words}", hint="download it again")
