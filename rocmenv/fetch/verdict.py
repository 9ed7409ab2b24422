"""What a judge of signatures says: the words that both judges share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Fault(IntEnum):
    """Why one signature does not count; the first in this order is what gets reported."""

    ALTERED = 1
    KEY_REVOKED = 2
    KEY_EXPIRED = 3
    SIGNATURE_EXPIRED = 4
    WEAK_DIGEST = 5
    WEAK_KEY = 6
    OLD_FORM = 7
    KEY_UNKNOWN = 8
    UNREADABLE = 9


@dataclass(frozen=True, slots=True)
class Good:
    """A signature that holds: fingerprints (upper-case hex) of the primary and the signing key."""

    primary: str
    key: str


@dataclass(frozen=True, slots=True)
class Bad:
    """A signature that does not: `key` is a fingerprint or key id, `detail` a date or reason."""

    fault: Fault
    key: str
    primary: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """All signatures of one file; `text` is a clear-signed file's text as the judge read it."""

    good: tuple[Good, ...]
    bad: tuple[Bad, ...]
    text: bytes | None = None
