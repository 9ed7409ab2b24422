"""Opening an address, trying again, and ending at once when told to."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import weakref
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TypeVar

from rocmenv.errors import TransferError, visible
from rocmenv.fetch.address import is_local, shown, without_account
from rocmenv.fetch.numbers import whole
from rocmenv.fetch.rate import Limit
from rocmenv.fetch.stop import Interrupted, check
from rocmenv.fetch.trouble import Headers, NotThereError, RetryableError, failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from io import BufferedReader

    from rocmenv.fetch.network import Network
    from rocmenv.fetch.web import Web

__all__ = [
    "Connections",
    "Headers",
    "NotThereError",
    "Reply",
    "RetryableError",
    "encoded",
    "length",
    "shown",
    "without_account",
]

T = TypeVar("T")

_CHUNK = 256 * 1024
_LONGEST_PAUSE = 30.0
_JITTER = 0.5
_POLL = 0.2


class Reply(Protocol):
    """An open reply: `status`, `headers`, its final address, and bytes in pieces."""

    status: int
    headers: Any
    url: str

    def read1(self, n: int = -1, /) -> bytes:
        """Up to `n` bytes as soon as there are some; empty at the end."""

    def close(self) -> None:
        """Give the connection up."""


class Connections:
    """Opens replies and, once `cancel` is set, cuts all that are open.

    A thread that waits for a slow server sits in a system call; only shutting its socket
    down makes it return at once. This is the one door to the network: when `offline` is
    set, nothing gets through it but files of this machine.
    """

    def __init__(
        self, network: Network, *, cancel: threading.Event, limit: Limit, offline: bool
    ) -> None:
        self._network = network
        self._cancel = cancel
        self._limit = limit
        self._offline = offline
        self._guard = threading.Lock()
        self._opened: Web | None = None

    def retried(self, attempt: Callable[[], T], *, progress: Callable[[], int] = int) -> T:
        """What `attempt` returns; repeated, with growing pauses, while failures may pass.

        Attempts are counted from the last one after which `progress()` was larger, so a
        link that breaks every few megabytes still gets a large file through. Pauses are a
        little random: clients that were cut off together should not come back together.
        """
        import random  # noqa: PLC0415 - it loads a dozen modules

        pause, left, best = self._network.pause, self._network.retries, progress()
        while True:
            try:
                return attempt()
            except RetryableError as error:
                reached = progress()
                if reached > best:
                    pause, left, best = self._network.pause, self._network.retries, reached
                if left <= 0:
                    raise
                own = pause * random.uniform(1, 1 + _JITTER)  # noqa: S311 - no secret
                if self._cancel.wait(min(max(own, error.pause), _LONGEST_PAUSE)):
                    raise Interrupted from None
                pause *= 2
                left -= 1

    def open(self, url: str, headers: Mapping[str, str]) -> Reply:
        """The reply to a GET of `url` (http, https or file).

        HTTP 304 and 416 come back as replies: they are about bytes that the caller has; so
        does 206 to a request with a range.

        Raises:
            NotThereError: HTTP 403, 404 or 410; no such local file.
            RetryableError: a failure that may pass.
            TransferError: any other; the run is offline.
        """
        check(self._cancel)
        if is_local(url):
            return _File(url, open_local(url))
        if url.partition(":")[0].lower() not in ("http", "https"):
            raise TransferError(f"`{shown(url)}` is not an http, https or file address")
        if self._offline:
            message = f"`{shown(url)}` cannot be read: this run is offline"
            raise TransferError(message, hint="run the command once without `--offline`")
        return self._open_web(url, headers)

    def pieces(self, url: str, reply: Reply) -> Iterator[bytes]:
        """The body of `reply`; raises `RetryableError` when the connection breaks."""
        import http.client  # noqa: PLC0415 - only when something is fetched

        limit = None if is_local(url) else self._limit
        size = limit.piece(_CHUNK) if limit else _CHUNK
        while True:
            try:
                piece = reply.read1(size)
            except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:
                check(self._cancel)
                # ValueError and AttributeError: a socket cut inside TLS or a chunk's length.
                lost = not isinstance(error, OSError | http.client.HTTPException)
                raise failure(url, ConnectionResetError() if lost else error) from error
            check(self._cancel)
            if not piece:
                return
            if limit:
                limit.take(len(piece), self._cancel)
            yield piece

    def _open_web(self, url: str, headers: Mapping[str, str]) -> Reply:
        import http.client  # noqa: PLC0415 - only when something is fetched

        try:
            return self._web().open(url, headers)
        except (OSError, http.client.HTTPException) as error:
            check(self._cancel)
            raise failure(url, error) from error
        except ValueError as error:  # a header that cannot be sent, or a socket that was cut
            check(self._cancel)
            message = f"`{shown(url)}` cannot be asked for: {error}"
            raise TransferError(message) from None

    def _web(self) -> Web:
        from rocmenv.fetch.web import Web  # noqa: PLC0415 - only when something is fetched

        with self._guard:
            if self._opened is None:
                self._opened = Web(self._network, _Sockets(self._cancel).adopt)
            return self._opened


class _Sockets:
    """The open sockets, which a thread of its own cuts once `cancel` is set.

    The thread holds no reference to this object: it ends when all connections have gone.
    """

    def __init__(self, cancel: threading.Event) -> None:
        self.cancel = cancel
        self._open: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._guard = threading.Lock()
        self._watcher: threading.Thread | None = None

    def adopt(self, sock: socket.socket) -> None:
        """Note a new socket, so that it can be cut."""
        with self._guard:
            self._open.add(sock)
            if self._watcher is None or not self._watcher.is_alive():
                words = (weakref.ref(self), self.cancel)
                self._watcher = threading.Thread(target=_watch, args=words, daemon=True)
                self._watcher.start()

    def is_idle(self) -> bool:
        """Whether all are closed: then nobody needs to watch, until the next one."""
        with self._guard:
            if any(sock.fileno() >= 0 for sock in self._open):
                return False
            self._watcher = None
            return True

    def cut(self) -> None:
        """Let every thread that waits for one of them return at once."""
        with self._guard:
            for sock in list(self._open):
                _cut(sock)


def _watch(watched: weakref.ref[_Sockets], cancel: threading.Event) -> None:
    while not cancel.wait(_POLL):
        sockets = watched()
        if sockets is None or sockets.is_idle():
            return
        del sockets
    if sockets := watched():
        sockets.cut()


class _File:
    """A local file as a reply."""

    status = 200

    def __init__(self, url: str, file: BinaryIO) -> None:
        self.url = url
        self._file = file
        self.headers = {"Content-Length": str(os.fstat(file.fileno()).st_size)}

    def read1(self, n: int = -1, /) -> bytes:
        return self._file.read(n)

    def close(self) -> None:
        self._file.close()


def open_local(url: str) -> BufferedReader:
    """The file that a `file:` address names; `NotThereError` when it is none that can be read."""
    from pathlib import Path  # noqa: PLC0415 - only for file: addresses
    from urllib.parse import unquote_to_bytes, urlsplit  # noqa: PLC0415 - as above

    parts = urlsplit(url)
    # A name is bytes, in an address as on the disk; not all of them are UTF-8.
    path = Path(os.fsdecode(unquote_to_bytes(os.fsencode(parts.path))))
    if parts.netloc not in ("", "localhost") or not path.is_absolute():
        raise TransferError(f"`{shown(url)}` does not name a file of this machine")
    if path.is_dir():  # as a web server has it for a folder
        path /= "index.html"
    try:
        if not path.is_file():  # a pipe or device would give bytes without end, or none ever
            path.stat()
            raise NotThereError(f"`{path}` cannot be read: it is not a file")
        return path.open("rb")
    except OSError as error:
        words = (error.strerror or "cannot be read").lower()
        raise NotThereError(f"`{path}` cannot be read: {words}") from error
    except ValueError as error:  # a NUL
        raise NotThereError(f"{visible(str(path), 300)} is not the name of a file") from error


def length(reply: Reply) -> int | None:
    """The number of bytes that `reply` announces, or None."""
    text = reply.headers.get("Content-Length")
    return whole(text) if text else None


def encoded(reply: Reply) -> str:
    """The content encoding that came although none was asked for; empty for none."""
    text = (reply.headers.get("Content-Encoding") or "").strip().lower()
    return "" if text == "identity" else text


def _cut(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        # The plain socket's method: the TLS one first drops state that the reader is using.
        socket.socket.shutdown(sock, socket.SHUT_RDWR)
