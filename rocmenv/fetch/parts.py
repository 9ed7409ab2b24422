"""A file on a server of which only what is read comes over, such as the end of a zip archive."""

from __future__ import annotations

import contextlib
import io
import os
import re

from rocmenv.errors import TransferError
from rocmenv.fetch.address import is_local, shown
from rocmenv.fetch.connection import Connections, Reply, encoded, open_local
from rocmenv.fetch.trouble import RetryableError

_SPAN = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})", re.ASCII)
# What is asked for at first: of most archives the whole list of members.
_TAIL = 64 * 1024
_PIECE = 64 * 1024
# Whoever needs more of a file than this is better off with all of it.
_MOST = 16 << 20
_PARTIAL = 206


class NoPartsError(TransferError):
    """The server refuses parts, sends files whole only, or sends other parts."""


class Parts(io.RawIOBase):
    """The file at `url`, read where it is; `size` is the whole in bytes.

    Parts are not verified. Raises `NoPartsError` where it must be fetched whole, which also
    tells what is wrong with it, and `RetryableError`; so does reading.
    """

    def __init__(self, url: str, connections: Connections) -> None:
        super().__init__()
        self._url = url
        self._connections = connections
        self._have = 0
        self.size: int | None = None
        self._start, self._tail = self._asked(f"-{_TAIL}", _TAIL)
        self._at = 0

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def tell(self) -> int:
        """The place of the next read."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Go to another place."""
        end = self._start + len(self._tail)
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: end}[whence]
        if base + offset < 0:
            msg = f"no file has a byte {base + offset}"
            raise ValueError(msg)
        self._at = base + offset
        return self._at

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]  # any buffer
        """Fill `buffer`, at the end of the file a part of it."""
        end = self._start + len(self._tail)
        count = max(0, min(len(buffer), end - self._at))
        if not count:
            return 0
        if self._at >= self._start:
            first, data = self._start, self._tail
        else:
            count = min(count, self._start - self._at)
            first, data = self._asked(f"{self._at}-{self._at + count - 1}", count)
        if first > self._at or len(data) < self._at - first + count:
            raise _no_parts(self._url)
        buffer[:count] = data[self._at - first : self._at - first + count]
        self._at += count
        return count

    def _asked(self, span: str, most: int) -> tuple[int, bytes]:
        """A part, as `Range` names it, of at most `most` bytes; where it begins."""
        self._have += max(most, _PIECE)  # a request has its price, too
        if self._have > _MOST:
            raise _no_parts(self._url)
        return self._connections.retried(lambda: self._answer(span, most))

    def _answer(self, span: str, most: int) -> tuple[int, bytes]:
        with contextlib.closing(self._reply(span)) as reply:
            match = _SPAN.fullmatch(reply.headers.get("Content-Range") or "")
            if reply.status != _PARTIAL or match is None or encoded(reply):
                raise _no_parts(self._url)
            first, last, size = map(int, match.groups())
            length = last - first + 1
            if self.size not in (None, size) or not 0 < length <= most or last >= size:
                raise _no_parts(self._url)
            data = bytearray()
            for piece in self._connections.pieces(self._url, reply):
                data += piece
                if len(data) > length:
                    raise _no_parts(self._url)
        if len(data) < length:
            msg = f"`{shown(self._url)}` ended after {len(data)} of {length} bytes of a part"
            raise RetryableError(msg)
        if self.size is None and last != size - 1:
            raise _no_parts(self._url)  # the first part is the end
        self.size = size
        return first, bytes(data)

    def _reply(self, span: str) -> Reply:
        try:
            return self._connections.open(self._url, {"Range": f"bytes={span}"})
        except RetryableError:
            raise
        except TransferError as error:  # not all servers without parts send the whole instead
            raise NoPartsError(error.message, hint=error.hint) from error


def opened(url: str, connections: Connections) -> io.BufferedReader:
    """The file at `url` (http, https or file), to be closed by the caller; raises as `Parts`."""
    if is_local(url):
        return open_local(url)
    return io.BufferedReader(Parts(url, connections), _PIECE)


def _no_parts(url: str) -> NoPartsError:
    return NoPartsError(f"`{shown(url)}` does not come in the parts that were asked for")
