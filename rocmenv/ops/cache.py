"""The download cache: what is in it, who needs it, and clearing it."""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmenv.errors import UsageError, visible
from rocmenv.fetch import cache
from rocmenv.fetch.cache import INDEX, NOTE, PACKAGE, PARTIAL, Entry
from rocmenv.store import registry
from rocmenv.store.lock import must_be_writable

if TYPE_CHECKING:
    from rocmenv.model.version import Version
    from rocmenv.store.paths import Root

_AGE = re.compile(r"(\d{1,6})([hdw])", re.ASCII)
_SECONDS = {"h": 3600, "d": 86400, "w": 7 * 86400}


@dataclass(frozen=True, slots=True)
class Held:
    """One file of the cache, what it is called, and the versions that were made from it."""

    entry: Entry
    name: str
    users: tuple[Version, ...]


@dataclass(frozen=True, slots=True)
class Cleared:
    """What was deleted, what could not be, each with the reason."""

    gone: tuple[Entry, ...]
    kept: tuple[tuple[Entry, str], ...]

    @property
    def size(self) -> int:
        """The bytes that were freed."""
        return sum(entry.size for entry in self.gone)


def held(root: Root) -> list[Held]:
    """Every file of the cache, the largest first."""
    names: dict[str, str] = {}
    users: dict[str, list[Version]] = {}
    for version, item in registry.load(root).installed.items():
        for part in item.receipt.items:
            names[part.sha256] = part.name
            users.setdefault(part.sha256, []).append(version)
    found = [
        Held(entry, names.get(entry.digest, ""), tuple(users.get(entry.digest, ())))
        for entry in cache.entries(root.cache)
    ]
    return sorted(found, key=lambda h: (-h.entry.size, h.entry.path))


def unneeded(root: Root) -> list[Entry]:
    """What no install was made from: packages of versions that are gone, and parts.

    Indexes stay, for installs that are offline.
    """
    found = held(root)
    going = [h.entry for h in found if h.entry.kind == PARTIAL]
    going += [h.entry for h in found if h.entry.kind == PACKAGE and not h.users]
    return going


def clearable(root: Root, *, everything: bool, age: int | None) -> list[Entry]:
    """What `clear` deletes: packages and parts, with `everything` indexes and keys too.

    With `age`, in seconds, only what was not changed for that long.
    """
    until = None if age is None else time.time() - age
    kinds = {PACKAGE, PARTIAL, NOTE, INDEX} if everything else {PACKAGE, PARTIAL, NOTE}
    found = cache.entries(root.cache)
    return [e for e in found if e.kind in kinds and (until is None or e.time < until)]


def clear(root: Root, chosen: list[Entry]) -> Cleared:
    """Delete these files; `LockedError` while another process uses the cache."""
    if not chosen:
        return Cleared((), ())
    must_be_writable(root)
    with cache.alone(root.cache):
        gone, kept = cache.remove(chosen)
    return Cleared(tuple(gone), tuple(kept))


def damaged(root: Root) -> tuple[int, list[Entry]]:
    """How many verified files there are, and those whose content is not what it was."""
    checked = [e for e in cache.entries(root.cache) if e.digest]
    never = threading.Event()
    return len(checked), [e for e in checked if not cache.is_right(e, never)]


def age_of(text: str) -> int:
    """The seconds that `30d`, `12h` or `4w` means; `UsageError` for anything else."""
    match = _AGE.fullmatch(text.strip().lower())
    if match is None:
        msg = f"{visible(text)} is not an age"
        raise UsageError(msg, hint="write hours, days or weeks: `12h`, `30d` or `4w`")
    return int(match[1]) * _SECONDS[match[2]]
