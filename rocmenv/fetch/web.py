"""GET requests over http and https: proxies, redirects, accounts, connections used again.

The parts of the standard library are imported inside functions: they cost about 50 ms, and
most commands open no connection.
"""

from __future__ import annotations

import contextlib
import threading
import time
import weakref
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import rocmenv
from rocmenv.errors import TransferError
from rocmenv.fetch.address import quoted, shown
from rocmenv.fetch.proxies import basic
from rocmenv.fetch.trouble import ProxyFailure, bad_redirect, redirect_circle, refusal

if TYPE_CHECKING:
    import http.client
    import socket
    import ssl
    from collections.abc import Callable, Mapping

    from rocmenv.fetch.accounts import Found
    from rocmenv.fetch.network import Network
    from rocmenv.fetch.proxies import Proxy

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS = 10
# The body of a redirect that is read, so that the connection can be used again.
_SMALL = 64 * 1024
# Seconds; servers close what was idle for longer, mostly after 5 to 60.
_IDLE = 20.0
_PORTS = {"http": 80, "https": 443}
_PARTIAL, _UNCHANGED, _BEYOND = 206, 304, 416


Place = tuple[str, str, int]
"""A scheme, a host and a port: what a password is for."""


class _Route(NamedTuple):
    """Where a connection leads; those with the same route may stand in for each other."""

    scheme: str
    host: str
    port: int
    proxy: Proxy | None


@dataclass(frozen=True, slots=True)
class _Target:
    """One address, taken apart: the route to it, what to ask for there, and its account."""

    url: str
    route: _Route
    path: str
    account: str | None

    @property
    def place(self) -> Place:
        """Where the route ends."""
        return self.route[:3]


class Answer:
    """An open reply: `status`, `headers`, and the address that it came from in the end."""

    def __init__(
        self,
        url: str,
        response: http.client.HTTPResponse,
        give_back: Callable[[], None],
        give_up: Callable[[], None],
    ) -> None:
        self.url = url
        self.status = response.status
        self.headers: Any = response.headers
        self._response = response
        self._give_back = give_back
        self._give_up = give_up

    def read1(self, n: int = -1, /) -> bytes:
        """Up to `n` bytes as soon as there are some; empty at the end."""
        return self._response.read1(n)

    def close(self) -> None:
        """Keep the connection for the next request when all was read, else end it."""
        response = self._response
        is_read = response.length == 0 or (response.chunked and response.isclosed())
        response.close()
        (self._give_back if is_read and not response.will_close else self._give_up)()


class Web:
    """Opens answers; connections that were read to the end are used again.

    `adopt` is told of every new socket. Threads may share one.
    """

    def __init__(self, network: Network, adopt: Callable[[socket.socket], None]) -> None:
        self._network = network
        self._adopt = adopt
        self._guard = threading.Lock()
        self._idle: dict[_Route, list[tuple[float, Any]]] = {}
        self._context: ssl.SSLContext | None = None
        self._accounts: Found | None = None
        weakref.finalize(self, _close_all, self._idle)

    def open(self, url: str, headers: Mapping[str, str]) -> Answer:
        """The answer to a GET of `url`, redirects followed; HTTP 200, 206, 304 or 416.

        Raises:
            TransferError: the server or a redirect refuses, or an address is none.
            OSError, http.client.HTTPException: the connection failed; see `trouble.failure`.
        """
        first = target = self._target(url)
        seen: set[str] = set()
        while True:
            seen.add(target.url)
            answer = self._ask(target, headers, is_first=is_same_server(first.place, target.place))
            status = answer.status
            location = answer.headers.get("Location") if status in _REDIRECTS else None
            if location is None:
                break
            _drain(answer)
            target = self._redirected(target, location)
            if target.url in seen or len(seen) > _MOST_REDIRECTS:
                raise redirect_circle(url, status)
        if status in (_UNCHANGED, _BEYOND) or (status == _PARTIAL and "Range" in headers):
            return answer
        if status != 200:  # noqa: PLR2004 - HTTP: OK
            _drain(answer)
            proxy = target.route.proxy if target.route.scheme == "http" else None
            raise refusal(
                target.url,
                status,
                answer.headers,
                account=self._known().problem,
                proxy=proxy.shown if proxy else "",
            )
        return answer

    def _target(self, url: str) -> _Target:
        from urllib.parse import urlsplit, urlunsplit  # noqa: PLC0415 - only when fetching

        try:
            parts = urlsplit(quoted(url))
            scheme, host = parts.scheme.lower(), parts.hostname or ""
            port = parts.port or _PORTS[scheme]
            host.encode("idna")
            if not host or any(char <= " " for char in parts.netloc):
                raise ValueError("it names no host")
        except ValueError as error:
            msg = f"`{shown(url)}` cannot be asked for: {error}"
            raise TransferError(msg) from None
        route = _Route(scheme, host, port, self._network.proxies.find(scheme, host, port))
        plain = parts._replace(netloc=parts.netloc.rpartition("@")[2])
        # A proxy that is not asked for a tunnel wants the whole address.
        if route.proxy is None or scheme == "https":
            plain = plain._replace(scheme="", netloc="")
        account = parts.netloc.rpartition("@")[0] or None
        return _Target(url, route, urlunsplit(plain), account)

    def _redirected(self, target: _Target, location: str) -> _Target:
        from urllib.parse import urljoin  # noqa: PLC0415 - only for redirects

        new = urljoin(target.url, location.strip())
        scheme = new.partition(":")[0].lower()
        is_downgrade = scheme == "http" and target.route.scheme == "https"
        if scheme not in _PORTS or is_downgrade:
            raise bad_redirect(target.url, new)
        found = self._target(new)
        if found.account is None and found.place == target.place:
            return replace(found, account=target.account)
        return found

    def _ask(self, target: _Target, headers: Mapping[str, str], *, is_first: bool) -> Answer:
        import http.client  # noqa: PLC0415 - only when something is fetched

        words = {
            "User-Agent": f"rocmenv/{rocmenv.__version__}",
            "Accept": "*/*",
            "Accept-Encoding": "identity",
            **headers,
            **self._authorization(target, is_first=is_first),
        }
        proxy = target.route.proxy
        if proxy is not None and target.route.scheme == "http":
            words |= proxy.headers
        while True:
            connection, is_used = self._take(target.route)
            try:
                connection.request("GET", target.path, headers=words)
                response = connection.getresponse()
            except TimeoutError:
                connection.close()
                raise
            except (OSError, http.client.HTTPException):
                connection.close()
                if is_used:  # the server had closed it meanwhile
                    continue
                raise
            except BaseException:
                connection.close()
                raise
            return Answer(
                target.url,
                response,
                lambda c=connection: self._give(target.route, c),  # type: ignore[misc]
                connection.close,
            )

    def _authorization(self, target: _Target, *, is_first: bool) -> dict[str, str]:
        """The account of the address, else of the netrc file; other hosts never see one.

        A host that somebody else's redirect named gets only what the file has for its name.
        """
        if target.account:
            return {"Authorization": basic(target.account)}
        found = self._known().of(target.route.host, by_name=not is_first)
        if found is None:
            return {}
        from urllib.parse import quote  # noqa: PLC0415 - only for accounts

        return {"Authorization": basic(":".join(quote(word, safe="") for word in found))}

    def _known(self) -> Found:
        if self._accounts is None:
            self._accounts = self._network.accounts.read()
        return self._accounts

    def _take(self, route: _Route) -> tuple[http.client.HTTPConnection, bool]:
        """A connection, and whether it was used before."""
        with self._guard:
            idle = self._idle.get(route, [])
            while idle:
                since, connection = idle.pop()
                if time.monotonic() - since < _IDLE:
                    return connection, True
                connection.close()
        return self._connect(route), False

    def _give(self, route: _Route, connection: http.client.HTTPConnection) -> None:
        with self._guard:
            self._idle.setdefault(route, []).append((time.monotonic(), connection))

    def _connect(self, route: _Route) -> http.client.HTTPConnection:
        import http.client  # noqa: PLC0415 - only when something is fetched

        timeout, proxy = self._network.timeout, route.proxy
        connection: http.client.HTTPConnection
        host, port = (proxy.host, proxy.port) if proxy else (route.host, route.port)
        if proxy is not None and proxy.is_encrypted and route.scheme == "https":
            msg = f"the proxy `{proxy.shown}` cannot be used for https addresses"
            hint = f"write `{proxy.shown.replace('https:', 'http:')}` if it listens unencrypted"
            raise TransferError(msg, hint=hint)
        if route.scheme == "https" or (proxy is not None and proxy.is_encrypted):
            connection = http.client.HTTPSConnection(
                host, port, timeout=timeout, context=self._ssl()
            )
        else:
            connection = http.client.HTTPConnection(host, port, timeout=timeout)
        if proxy is not None and route.scheme == "https":
            connection.set_tunnel(route.host, route.port, headers=proxy.headers)
        self._open(connection, proxy)
        return connection

    def _open(self, connection: http.client.HTTPConnection, proxy: Proxy | None) -> None:
        import ssl  # noqa: PLC0415 - only when something is fetched

        try:
            connection.connect()
        except ssl.SSLError:
            connection.close()
            raise
        except OSError as error:
            connection.close()
            if proxy is not None:
                # Without its frames, which in Python 3.10 hold the socket open.
                raise ProxyFailure(proxy.shown) from error.with_traceback(None)
            raise
        except BaseException:
            connection.close()
            raise
        self._adopt(connection.sock)

    def _ssl(self) -> ssl.SSLContext:
        with self._guard:
            if self._context is None:
                self._context = self._network.certificates.context()
            return self._context


def is_same_server(first: Place, other: Place) -> bool:
    """Whether a redirect stays with one server: the same place, or it encrypted."""
    host = first[1]
    upgrade = (("http", host, _PORTS["http"]), ("https", host, _PORTS["https"]))
    return other == first or (first, other) == upgrade


def _drain(answer: Answer) -> None:
    """Read a body that nobody wants, if it is short: its connection can be used again."""
    import http.client  # noqa: PLC0415 - only when something is fetched

    quiet = contextlib.suppress(OSError, ValueError, http.client.HTTPException)
    with contextlib.closing(answer), quiet:
        size = str(answer.headers.get("Content-Length"))
        while size.isdigit() and int(size) <= _SMALL and answer.read1(_SMALL):
            pass


def _close_all(idle: dict[_Route, list[tuple[float, Any]]]) -> None:
    for connections in idle.values():
        for _, connection in connections:
            connection.close()
