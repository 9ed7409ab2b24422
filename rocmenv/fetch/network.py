"""How connections are made: what a person set, as one value."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from rocmenv.fetch.accounts import Accounts
from rocmenv.fetch.certificates import Certificates
from rocmenv.fetch.proxies import Proxies

CONNECTIONS = 4
"""How many files are downloaded at once when nobody says; servers mind more."""
RETRIES = 4
TIMEOUT = 30
_UNITS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3}
RATE = re.compile(r"([1-9][0-9]{0,11})([kmg]?)", re.ASCII | re.IGNORECASE)
"""A limit of bytes per second as people write it."""


@dataclass(frozen=True, slots=True)
class Network:
    """Manners of all connections of a run.

    `timeout` is in seconds, for connecting and for each wait for bytes. After a failure
    that may pass there are `retries` more tries, the first after `pause` seconds, then
    after growing ones. `rate` limits all downloads together, in bytes per second, None for
    no limit. `connections` is how many files are downloaded at once.
    """

    timeout: float = TIMEOUT
    retries: int = RETRIES
    pause: float = 1.0
    rate: int | None = None
    connections: int = CONNECTIONS
    proxies: Proxies = field(default_factory=Proxies)
    certificates: Certificates = field(default_factory=Certificates)
    accounts: Accounts = field(default_factory=Accounts)


def bytes_per_second(text: str) -> int:
    """The number that a rate spells; `K`, `M` and `G` are powers of 1000.

    >>> bytes_per_second("500K"), bytes_per_second("10m")
    (500000, 10000000)
    """
    match = RATE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no rate")
    return int(match[1]) * _UNITS[match[2].lower()]
