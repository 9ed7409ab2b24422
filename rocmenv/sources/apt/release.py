"""A repository's Release file: which suite this is, and the digests of its indexes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

from rocmenv.errors import RepositoryError, visible
from rocmenv.fetch.numbers import whole
from rocmenv.sources.apt.stanza import fields

_SHA256 = re.compile(r"[0-9a-f]{64}\Z")


@dataclass(frozen=True, slots=True)
class ReleaseFile:
    """What a Release file says.

    `files` maps a path below the suite's folder to (size in bytes, SHA-256 in hex). MD5 and
    SHA-1 entries are not kept: nothing may be trusted for having them.
    """

    suite: str
    codename: str
    origin: str
    components: tuple[str, ...]
    architectures: tuple[str, ...]
    date: datetime | None
    valid_until: datetime | None
    acquire_by_hash: bool
    files: dict[str, tuple[int, str]]


def parse_release(text: str) -> ReleaseFile:
    """The Release file `text`.

    Raises:
        RepositoryError: it has no SHA-256 list, or a date or a line that cannot be read.
    """
    found = fields(text.replace("\r\n", "\n"))
    if "sha256" not in found:
        message = "the repository's Release file lists no SHA-256 digests"
        raise RepositoryError(message, hint="use another mirror, or a newer release")
    return ReleaseFile(
        suite=found.get("suite", ""),
        codename=found.get("codename", ""),
        origin=found.get("origin", ""),
        components=tuple(found.get("components", "").split()),
        architectures=tuple(found.get("architectures", "").split()),
        date=_date(found.get("date"), "Date"),
        valid_until=_date(found.get("valid-until"), "Valid-Until"),
        acquire_by_hash=found.get("acquire-by-hash", "").lower() == "yes",
        files=dict(_file(line) for line in found["sha256"].split("\n") if line.strip()),
    )


def _date(text: str | None, name: str) -> datetime | None:
    if not text:
        return None
    try:
        date = parsedate_to_datetime(re.sub(r"\bUTC\b", "+0000", text))
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        message = f"the Release file's {name} {visible(text)} is not a date"
        raise RepositoryError(message) from error
    return date if date.tzinfo else date.replace(tzinfo=timezone.utc)


def _file(line: str) -> tuple[str, tuple[int, str]]:
    parts = line.split()
    size = whole(parts[1]) if len(parts) == 3 else None  # noqa: PLR2004 - the fields of a line
    if size is None:
        raise RepositoryError(f"the Release file has the line {visible(line)} among its digests")
    digest = parts[0].lower()
    if not _SHA256.match(digest):
        raise RepositoryError(f"the Release file has {visible(parts[0])} for a SHA-256 digest")
    return parts[2], (size, digest)
