"""Which proxy stands between this machine and an address.

The variables are those of curl and of Python's own library: `http_proxy`, `https_proxy`,
`all_proxy`, `no_proxy`, in small or large letters, small ones first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from rocmenv.errors import TransferError
from rocmenv.fetch.address import without_account

if TYPE_CHECKING:
    from collections.abc import Mapping

SETTING = "network.proxy"
NONE = "none"
"""What the setting says for "no proxy, whatever the variables say"."""
_PORTS = {"http": 80, "https": 443}
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Proxy:
    """One proxy; `is_encrypted` is about the way to it. `account` goes into a header."""

    host: str
    port: int
    is_encrypted: bool
    account: str | None = field(default=None, repr=False)

    @property
    def shown(self) -> str:
        """Its address without the account."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.is_encrypted else 'http'}://{host}:{self.port}"

    @property
    def headers(self) -> dict[str, str]:
        """What the proxy wants to see of us."""
        return {"Proxy-Authorization": basic(self.account)} if self.account else {}


@dataclass(frozen=True, slots=True)
class Proxies:
    """The proxy's address for each scheme, with where it was set; and what goes without."""

    by_scheme: Mapping[str, tuple[str, str]] = field(default_factory=dict, repr=False)
    direct: tuple[str, ...] = ()

    @classmethod
    def of(cls, environ: Mapping[str, str], setting: str | None) -> Proxies:
        """What the variables say; `setting` stands in for all but `no_proxy`."""
        direct = _variable(environ, "no_proxy")[0].replace(",", " ").split()
        if setting:
            one = {} if setting == NONE else dict.fromkeys(_PORTS, (setting, SETTING))
            return cls(one, tuple(direct))
        found = {s: _variable(environ, f"{s}_proxy") for s in _PORTS}
        rest = _variable(environ, "all_proxy")
        chosen = {s: pair if pair[0] else rest for s, pair in found.items()}
        return cls({s: pair for s, pair in chosen.items() if pair[0]}, tuple(direct))

    def find(self, scheme: str, host: str, port: int) -> Proxy | None:
        """The proxy for a host, None for a direct connection.

        Raises:
            TransferError: what was set is no address of a proxy that can be used.
        """
        text, origin = self.by_scheme.get(scheme, ("", ""))
        if not text or any(_covers(entry, host, port) for entry in self.direct):
            return None
        return _parse(text, origin)


def basic(account: str) -> str:
    """`NAME:PASSWORD`, each percent-encoded or not, for a header."""
    import base64  # noqa: PLC0415 - only for accounts

    return "Basic " + base64.b64encode(unquote(account).encode()).decode()


def _variable(environ: Mapping[str, str], name: str) -> tuple[str, str]:
    for spelling in (name, name.upper()):
        if spelling in environ:  # an empty one in small letters takes the other away
            return environ[spelling].strip(), spelling
    return "", name


def _parse(text: str, origin: str) -> Proxy:
    address = text if _SCHEME.match(text) else f"http://{text}"
    plain = without_account(address)
    try:
        parts = urlsplit(address)
        port = parts.port or _PORTS.get(parts.scheme)
        host = parts.hostname or ""
    except ValueError:
        port, host = None, ""
        parts = urlsplit("")
    if parts.scheme not in _PORTS or port is None or not host:
        msg = f"`{plain}` is not the address of an http proxy ({origin})"
        hint = f"write `http://HOST:PORT` into {origin}"
        if plain.lower().startswith("socks"):
            hint = f"SOCKS is not spoken here: {hint}"
        raise TransferError(msg, hint=hint)
    account = parts.netloc.rpartition("@")[0] or None
    return Proxy(host, port, parts.scheme == "https", account)


def _covers(entry: str, host: str, port: int) -> bool:
    """Whether an entry of `no_proxy` is for a host.

    It may be `*`, an address or a network (`10.0.0.0/8`), a name, or the end of names with
    or without a dot in front; each name may have a port.
    """
    import ipaddress  # noqa: PLC0415 - only where proxies are set

    if entry == "*":
        return True
    name, wanted = _host_and_port(entry.lower())
    if wanted and wanted != port:
        return False
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        bare = name.lstrip("*").lstrip(".").rstrip(".")
        own = host.lower().rstrip(".")
        return bool(bare) and (own == bare or own.endswith(f".{bare}"))
    try:
        return address in ipaddress.ip_network(name, strict=False)
    except ValueError:
        return False


def _host_and_port(entry: str) -> tuple[str, int]:
    match = re.fullmatch(r"(?:\[([^\]]*)\]|([^:]*))(?::(\d{1,5}))?", entry)
    if match is None:  # an IPv6 address or network as it is
        return entry, 0
    return match[1] or match[2] or "", int(match[3] or 0)
