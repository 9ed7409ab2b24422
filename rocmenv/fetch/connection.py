"""Opening a URL: proxies, redirects, and the words for what can go wrong on the way.

The urllib modules are imported inside functions: they cost about 60 ms, and most commands
open no connection.
"""

from __future__ import annotations

import contextlib
import re
import socket
import threading
import weakref
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TypeVar

import rocmenv
from rocmenv.errors import TransferError, visible
from rocmenv.fetch.stop import Interrupted, check

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator, Mapping
    from urllib.request import OpenerDirector, Request

T = TypeVar("T")

_CHUNK = 256 * 1024
_LONGEST_PAUSE = 30.0
_POLL = 0.2
_RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})
_ABSENT = frozenset({403, 404, 410})
# The second form has a `/` in the password, which no address may have, and people type.
_ACCOUNT = re.compile(
    r"^\s*([\w+.-]+://)(?:[^/?#\s]*|[^/:@?#\s\[][^/:@?#\s]*:(?!\d*(?:/|$))[^@?#\s]*)@"
)
_MIRROR_HINT = "check the connection and the proxy variables, or use `--mirror URL`"


class NotThereError(TransferError):
    """The server has no such file, or does not let us see it.

    Object storage answers 403 for an object that does not exist, so the two are one.
    """

    code = "not-there"


class RetryableError(TransferError):
    """A failure that may pass: the next attempt comes after `pause` seconds or more."""

    def __init__(self, message: str, *, hint: str | None = None, pause: float = 0.0) -> None:
        super().__init__(message, hint=hint)
        self.pause = pause


class Headers(Protocol):
    """What is used of a reply's headers."""

    def get(self, name: str) -> str | None:
        """The first header called `name`, in any case, or None."""


class Reply(Protocol):
    """An open reply: `status`, `headers`, and bytes in pieces."""

    status: int
    headers: Any

    def read1(self, n: int = -1, /) -> bytes:
        """Up to `n` bytes as soon as there are some; empty at the end."""

    def close(self) -> None:
        """Give the connection up."""


class Connections:
    """Opens replies and, once `cancel` is set, cuts all that are open.

    A thread that waits for a slow server sits in a system call; only shutting its socket
    down makes it return at once.
    """

    def __init__(
        self, *, timeout: float, cancel: threading.Event, attempts: int, pause: float
    ) -> None:
        self._timeout = timeout
        self._cancel = cancel
        self._attempts = attempts
        self._pause = pause
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._guard = threading.Lock()
        self._watcher: threading.Thread | None = None
        self._director: OpenerDirector | None = None

    def retried(self, attempt: Callable[[], T], *, progress: Callable[[], int] = int) -> T:
        """What `attempt` returns; repeated, with growing pauses, while failures may pass.

        Attempts are counted from the last one after which `progress()` was larger, so a
        link that breaks every few megabytes still gets a large file through.
        """
        pause, left, best = self._pause, self._attempts, progress()
        while True:
            left -= 1
            try:
                return attempt()
            except RetryableError as error:
                reached = progress()
                if reached > best:
                    pause, left, best = self._pause, self._attempts, reached
                if left <= 0:
                    raise
                if self._cancel.wait(max(pause, min(error.pause, _LONGEST_PAUSE))):
                    raise Interrupted from None
                pause *= 2

    def open(self, url: str, headers: Mapping[str, str]) -> Reply:
        """The reply to a GET of `url` (http, https or file).

        HTTP 304 and 416 come back as replies: they are about bytes that the caller has.

        Raises:
            NotThereError: HTTP 403, 404 or 410; no such local file.
            RetryableError: a failure that may pass.
            TransferError: any other.
        """
        check(self._cancel)
        scheme = url.partition(":")[0].lower()
        if scheme == "file":
            return _open_file(url)
        if scheme not in ("http", "https"):
            raise TransferError(f"`{shown(url)}` is not an http, https or file address")
        return self._open_web(url, headers)

    def pieces(self, url: str, reply: Reply) -> Iterator[bytes]:
        """The body of `reply`; raises `RetryableError` when the connection breaks."""
        import http.client  # noqa: PLC0415 - only when something is fetched

        while True:
            try:
                piece = reply.read1(_CHUNK)
            except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:
                check(self._cancel)
                # ValueError and AttributeError: a socket cut inside TLS or a chunk's length.
                lost = not isinstance(error, OSError | http.client.HTTPException)
                raise failure(url, ConnectionResetError() if lost else error) from error
            check(self._cancel)
            if not piece:
                return
            yield piece

    def _open_web(self, url: str, headers: Mapping[str, str]) -> Reply:
        import http.client  # noqa: PLC0415 - only when something is fetched
        import urllib.error  # noqa: PLC0415 - only when something is fetched

        try:
            request = _request(url, headers)
            return self._opener().open(request, timeout=self._timeout)  # type: ignore[no-any-return]  # urllib's stub
        except urllib.error.HTTPError as error:
            if error.code in (304, 416):
                return error  # type: ignore[return-value]  # an HTTPError is a reply too
            with error:
                raise _refusal(url, error.code, error.headers) from None
        except (ValueError, http.client.InvalidURL) as error:
            message = f"`{shown(url)}` cannot be asked for: {error}"
            raise TransferError(message) from None
        except (OSError, http.client.HTTPException) as error:
            check(self._cancel)
            raise failure(url, error) from error

    def _opener(self) -> OpenerDirector:
        with self._guard:
            if self._director is None:
                self._director = _director(self)
            return self._director

    def adopt(self, sock: socket.socket) -> None:
        """Note a new socket, so that it can be cut."""
        with self._guard:
            self._sockets.add(sock)
            if self._watcher is None or not self._watcher.is_alive():
                self._watcher = threading.Thread(target=self._watch, daemon=True)
                self._watcher.start()

    def _watch(self) -> None:
        while not self._cancel.wait(_POLL):
            with self._guard:
                if all(sock.fileno() < 0 for sock in self._sockets):
                    self._watcher = None
                    return
        with self._guard:
            for sock in list(self._sockets):
                _cut(sock)


class _File:
    """A local file as a reply."""

    status = 200

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self.headers = {"Content-Length": str(size)}

    def read1(self, n: int = -1, /) -> bytes:
        return self._file.read(n)

    def close(self) -> None:
        self._file.close()


def _open_file(url: str) -> Reply:
    from pathlib import Path  # noqa: PLC0415 - only for file: addresses
    from urllib.parse import urlsplit  # noqa: PLC0415 - only when something is fetched
    from urllib.request import url2pathname  # noqa: PLC0415 - only when something is fetched

    parts = urlsplit(url)
    path = Path(url2pathname(parts.path))
    if parts.netloc not in ("", "localhost") or not path.is_absolute():
        raise TransferError(f"`{shown(url)}` does not name a file of this machine")
    try:
        if not path.is_file():  # a pipe or device would give bytes without end, or none ever
            path.stat()
            raise NotThereError(f"`{path}` cannot be read: it is not a file")
        file = path.open("rb")
        return _File(file, path.stat().st_size)
    except OSError as error:
        words = (error.strerror or "cannot be read").lower()
        raise NotThereError(f"`{path}` cannot be read: {words}") from error


def length(reply: Reply) -> int | None:
    """The number of bytes that `reply` announces, or None."""
    text = reply.headers.get("Content-Length")
    return int(text) if text and text.isdigit() else None


def _cut(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        # The plain socket's method: the TLS one first drops state that the reader is using.
        socket.socket.shutdown(sock, socket.SHUT_RDWR)


def _request(url: str, headers: Mapping[str, str]) -> Request:
    import base64  # noqa: PLC0415 - only when something is fetched
    from urllib.parse import unquote, urlsplit, urlunsplit  # noqa: PLC0415 - only when something is fetched
    from urllib.request import Request  # noqa: PLC0415 - only when something is fetched

    parts = urlsplit(url)
    account, at, host = parts.netloc.rpartition("@")
    request = Request(urlunsplit(parts._replace(netloc=host)), headers=dict(headers))  # noqa: S310 - the scheme was checked before
    request.add_header("User-Agent", f"rocmenv/{rocmenv.__version__}")
    request.add_header("Accept-Encoding", "identity")
    if at:
        token = base64.b64encode(unquote(account).encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {token}")
    return request


def _director(connections: Connections) -> OpenerDirector:
    """An opener with urllib's proxy handling, strict redirects and sockets that can be cut."""
    import urllib.request as u  # noqa: PLC0415 - only when something is fetched

    http_connection, https_connection = _classes(connections)

    class Http(u.HTTPHandler):
        def http_open(self, req: Request) -> Any:  # noqa: ANN401 - as in urllib
            return self.do_open(http_connection, req)

    class Https(u.HTTPSHandler):
        def https_open(self, req: Request) -> Any:  # noqa: ANN401 - as in urllib
            return self.do_open(https_connection, req)

    class Redirects(u.HTTPRedirectHandler):
        def redirect_request(self, req: Request, *rest: Any) -> Request | None:  # noqa: ANN401 - as in urllib
            _check_redirect(req.full_url, rest[-1])
            return super().redirect_request(req, *rest)

    director = u.OpenerDirector()
    for handler in (
        u.ProxyHandler(),
        Http(),
        Https(),
        u.HTTPDefaultErrorHandler(),
        Redirects(),
        u.HTTPErrorProcessor(),
        u.UnknownHandler(),
    ):
        director.add_handler(handler)
    return director


def _classes(connections: Connections) -> tuple[Any, Any]:
    import http.client  # noqa: PLC0415 - only when something is fetched

    class Http(http.client.HTTPConnection):
        def connect(self) -> None:
            super().connect()
            connections.adopt(self.sock)

    class Https(http.client.HTTPSConnection):
        def connect(self) -> None:
            super().connect()
            connections.adopt(self.sock)

    return Http, Https


def _check_redirect(old: str, new: str) -> None:
    scheme = new.partition(":")[0].lower()
    if scheme not in ("http", "https"):
        message = f"`{shown(old)}` redirects to {visible(new, 200)}, which is not a web address"
        raise TransferError(message, hint=_MIRROR_HINT)
    if scheme == "http" and old.lower().startswith("https:"):
        message = f"`{shown(old)}` redirects to `{shown(new)}`, which is not encrypted"
        raise TransferError(message, hint="use another mirror with `--mirror URL`")


def _refusal(url: str, status: int, headers: Headers) -> TransferError:
    if status in _ABSENT:
        message = f"`{shown(url)}` is not there or not allowed (HTTP {status})"
        return NotThereError(message, hint="check the version and the mirror's address")
    if status in _RETRIED:
        after = headers.get("Retry-After")
        pause = float(after) if after and after.isdigit() else 0.0
        message = f"`{shown(url)}` is not served at the moment (HTTP {status})"
        hint = "try again later, or use another mirror with `--mirror URL`"
        return RetryableError(message, hint=hint, pause=pause)
    if status // 100 == 3:  # noqa: PLR2004  (those that urllib would not follow)
        target = headers.get("Location") or ""
        is_web = target.lower().startswith(("http:", "https:", "/"))
        why = "in a circle" if is_web else f"to {visible(target, 200)}, which is not a web address"
        return TransferError(f"`{shown(url)}` redirects {why} (HTTP {status})", hint=_MIRROR_HINT)
    message = f"`{shown(url)}` is refused (HTTP {status})"
    return TransferError(message, hint=_STATUS_HINTS.get(status, _MIRROR_HINT))


_STATUS_HINTS = {
    401: "the server wants a name and password: write `https://NAME:PASSWORD@HOST/…`",
    407: "the proxy wants a name and password: see the variable `https_proxy`",
}


def failure(url: str, error: BaseException) -> TransferError:
    """The error to raise for a connection's `error`; a `RetryableError` when it may pass."""
    import http.client  # noqa: PLC0415 - only when something is fetched
    import ssl  # noqa: PLC0415 - only when something is fetched

    cause = getattr(error, "reason", error)
    cause = cause if isinstance(cause, BaseException) else error
    where = shown(url)
    if isinstance(cause, socket.gaierror):
        host = re.sub(r"^\w+://([^/]*@)?", "", where).partition("/")[0]
        message = f"the host `{host}` is not known (`{where}`)"
        return TransferError(message, hint=_MIRROR_HINT)
    if isinstance(cause, TimeoutError):
        return RetryableError(f"`{where}` does not answer in time", hint=_MIRROR_HINT)
    cut = (ConnectionResetError, BrokenPipeError, ConnectionAbortedError)
    ended = (ssl.SSLEOFError, ssl.SSLZeroReturnError, http.client.IncompleteRead)
    if isinstance(cause, (*cut, *ended)):
        return RetryableError(f"the connection to `{where}` was cut", hint=_MIRROR_HINT)
    if isinstance(cause, ssl.SSLError):
        return _not_encrypted(where, cause)
    if isinstance(cause, http.client.HTTPException):
        return RetryableError(f"`{where}` does not answer as a web server does")
    words = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    return TransferError(f"no connection to `{where}`: {words.lower()}", hint=_MIRROR_HINT)


def _not_encrypted(where: str, error: ssl.SSLError) -> TransferError:
    if error.reason == "CERTIFICATE_VERIFY_FAILED":
        why = getattr(error, "verify_message", "")
        message = f"the certificate of `{where}` is not accepted: {why}"
        hint = "behind a company proxy, put its certificate into `SSL_CERT_FILE=FILE`"
        return TransferError(message, hint=hint)
    why = (error.reason or str(error)).replace("_", " ").lower()
    hint = "a server without encryption has an address with `http:`"
    return TransferError(f"no encrypted connection to `{where}`: {why}", hint=hint)


def shown(url: str) -> str:
    """`url` for a message: no account, no control characters, and `...` for a query.

    A query may be the token that opens a private download.
    """
    return visible(re.sub(r"\?.+", "?...", without_account(url), flags=re.DOTALL), 300).strip("`")


def without_account(url: str) -> str:
    """`url` without name and password, which belong into no file and no message."""
    return _ACCOUNT.sub(r"\1", url)
