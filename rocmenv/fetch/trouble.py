"""What can go wrong on the way to a server: the errors, and the words for them."""

from __future__ import annotations

import math
import re
import socket
import time
from typing import TYPE_CHECKING, Protocol

from rocmenv.errors import TransferError, visible
from rocmenv.fetch.address import shown

if TYPE_CHECKING:
    import ssl

_ABSENT = frozenset({403, 404, 410})
# 4xx that pass; of 5xx all but those that say "never".
_RETRIED = frozenset({408, 425, 429})
_NEVER = frozenset({501, 505, 511})
_SERVERS_FAULT = 500
_PORTAL = 511
_NO_ACCOUNT = 401
_PROXY_REFUSES = 407
_TUNNEL = re.compile(r"Tunnel connection failed: (\d+)")
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


class ProxyFailure(OSError):  # noqa: N818  (never seen by people)
    """The connection to a proxy, or its answer to CONNECT, failed; the cause is the `__cause__`."""

    def __init__(self, proxy: str) -> None:
        super().__init__(proxy)
        self.proxy = proxy


class Headers(Protocol):
    """What is used of a reply's headers."""

    def get(self, name: str) -> str | None:
        """The first header called `name`, in any case, or None."""


def refusal(
    url: str, status: int, headers: Headers, *, account: str = "", proxy: str = ""
) -> TransferError:
    """The error for a reply that is none of the file.

    `account` is what to know about names and passwords: why those at hand were not sent.
    `proxy` is the address of the proxy that may have answered in the server's place.
    """
    how = f"(HTTP {status}, through the proxy `{proxy}`)" if proxy else f"(HTTP {status})"
    if status in _ABSENT:
        message = f"`{shown(url)}` is not there or not allowed {how}"
        hint = "check the version and the mirror's address"
        return NotThereError(message, hint=f"{account}; {hint}" if account else hint)
    if status == _PORTAL:
        message = f"the network wants a login before it lets `{shown(url)}` through {how}"
        return TransferError(message, hint="open any page in a browser, and log in")
    if status in _RETRIED or (status >= _SERVERS_FAULT and status not in _NEVER):
        message = f"`{shown(url)}` is not served at the moment {how}"
        hint = "try again later, or use another mirror with `--mirror URL`"
        pause = retry_after(headers.get("Retry-After"))
        return RetryableError(message, hint=hint, pause=pause)
    message = f"`{shown(url)}` is refused {how}"
    if status == _NO_ACCOUNT and account:
        return TransferError(message, hint=account)
    return TransferError(message, hint=_STATUS_HINTS.get(status, _MIRROR_HINT))


_STATUS_HINTS = {
    401: "the server wants a name and password: put them into `~/.netrc`, or write "
    "`https://NAME:PASSWORD@HOST/…`",
    407: "write them into the proxy's address, in `network.proxy` or `https_proxy`: "
    "`http://NAME:PASSWORD@HOST:PORT`",
}


def retry_after(text: str | None) -> float:
    """The seconds that a server asks to wait: a number or a date; 0 for none or nonsense."""
    if not text:
        return 0.0
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(text)
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - only for such replies

    try:
        pause = parsedate_to_datetime(text).timestamp() - time.time()
    except (ValueError, TypeError, IndexError, OverflowError):
        return 0.0
    return max(0.0, math.ceil(pause))


def bad_redirect(old: str, target: str) -> TransferError:
    """The error for a redirect that is not followed."""
    scheme = target.partition(":")[0].lower()
    if scheme in ("http", "https"):
        message = f"`{shown(old)}` redirects to `{shown(target)}`, which is not encrypted"
        return TransferError(message, hint="use another mirror with `--mirror URL`")
    message = f"`{shown(old)}` redirects to {visible(target, 200)}, which is not a web address"
    return TransferError(message, hint=_MIRROR_HINT)


def redirect_circle(url: str, status: int) -> TransferError:
    """The error for redirects that lead nowhere."""
    return TransferError(f"`{shown(url)}` redirects in a circle (HTTP {status})", hint=_MIRROR_HINT)


def failure(url: str, error: BaseException) -> TransferError:  # noqa: PLR0911  (a table)
    """The error to raise for a connection's `error`; a `RetryableError` when it may pass."""
    import http.client  # noqa: PLC0415 - only when something is fetched
    import ssl  # noqa: PLC0415 - only when something is fetched

    where, who, hint = shown(url), f"`{shown(url)}`", _MIRROR_HINT
    if isinstance(error, ProxyFailure):
        where = error.proxy
        who = f"the proxy `{where}` (on the way to `{shown(url)}`)"
        hint = "check `network.proxy` and the variables `https_proxy`, `all_proxy`, `no_proxy`"
        error = error.__cause__ or error
        if match := _TUNNEL.search(str(error)):
            return _proxy_refusal(who, int(match[1]), hint)
    if isinstance(error, socket.gaierror):
        host = re.sub(r"^\w+://([^/]*@)?", "", where).partition("/")[0]
        message = f"the host `{host}` is not known (`{shown(url)}`)"
        is_passing = error.errno == socket.EAI_AGAIN
        return (
            RetryableError(message, hint=hint) if is_passing else TransferError(message, hint=hint)
        )
    if isinstance(error, TimeoutError):
        slow = f"{hint}; `network.timeout` sets how long to wait"
        return RetryableError(f"{who} does not answer in time", hint=slow)
    cut = (ConnectionResetError, BrokenPipeError, ConnectionAbortedError)
    ended = (ssl.SSLEOFError, ssl.SSLZeroReturnError, http.client.IncompleteRead)
    if isinstance(error, (*cut, *ended)):
        return RetryableError(f"the connection to {who} was cut", hint=hint)
    if isinstance(error, ssl.SSLError):
        return _not_encrypted(where, error)
    if isinstance(error, http.client.HTTPException):
        return RetryableError(f"{who} does not answer as a web server does", hint=hint)
    words = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return TransferError(f"no connection to {who}: {words.lower()}", hint=hint)


def _proxy_refusal(who: str, status: int, hint: str) -> TransferError:
    if status in (_PROXY_REFUSES, _NO_ACCOUNT):  # the second is what some say to wrong ones
        message = f"{who} wants another name and password (HTTP {status})"
        return TransferError(message, hint=_STATUS_HINTS[_PROXY_REFUSES])
    message = f"{who} does not let us through (HTTP {status})"
    passes = status in _RETRIED or status >= _SERVERS_FAULT
    return RetryableError(message, hint=hint) if passes else TransferError(message, hint=hint)


def _not_encrypted(where: str, error: ssl.SSLError) -> TransferError:
    if error.reason == "CERTIFICATE_VERIFY_FAILED":
        why = getattr(error, "verify_message", "")
        message = f"the certificate of `{where}` is not accepted: {why}"
        hint = (
            "behind a company proxy, name its certificate: "
            "`rocmenv config set network.ca FILE`, or `SSL_CERT_FILE=FILE`"
        )
        return TransferError(message, hint=hint)
    why = (error.reason or str(error)).replace("_", " ").lower()
    hint = "a server without encryption has an address with `http:`"
    return TransferError(f"no encrypted connection to `{where}`: {why}", hint=hint)
