"""What the machine's own package sources offer, all of them taken together."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmenv.errors import ResolveError, RocmenvError
from rocmenv.sources.apt.hostkeys import needs_trusted, repository_of, trusted_keys
from rocmenv.sources.apt.sourcelist import read_sources
from rocmenv.sources.remembered import Remembered

if TYPE_CHECKING:
    from pathlib import Path

    from rocmenv.sources.apt.hostkeys import TrustedKeys
    from rocmenv.sources.apt.index import Package
    from rocmenv.sources.apt.repository import LoadedRepository
    from rocmenv.sources.apt.sourcelist import SourceEntry

_MOST_AT_ONCE = 4
# Suites that complete another one: security fixes and updates of Debian and Ubuntu.
_COMPLETING = ("-updates", "-security")


@dataclass(frozen=True, slots=True)
class Offers:
    """The packages of several repositories as one; `Candidates` of the closure."""

    repositories: tuple[LoadedRepository, ...]

    def named(self, name: str) -> tuple[Package, ...]:
        """The packages called `name`, one of several that are the same."""
        found = [p for r in self.repositories for p in r.index.named(name)]
        return tuple(dict.fromkeys(found))

    def providing(self, name: str) -> tuple[Package, ...]:
        """The packages that provide `name`."""
        found = [p for r in self.repositories for p in r.index.providing(name)]
        return tuple(dict.fromkeys(found))

    def names(self) -> tuple[str, ...]:
        """The names of all packages."""
        return tuple(dict.fromkeys(n for r in self.repositories for n in r.index.names()))

    def home(self, package: Package) -> LoadedRepository:
        """The first repository that has `package`."""
        return next(r for r in self.repositories if package in r.index.named(package.name))


@dataclass(frozen=True, slots=True)
class Read:
    """What was read: the repositories in the order of the sources, notes, and failures.

    A repository that fails is left out with a note: nothing is ever installed from it.
    """

    repositories: tuple[LoadedRepository, ...]
    notes: tuple[str, ...]
    failures: tuple[RocmenvError, ...]


def read(etc: Path, architecture: str, suite: str | None, remembered: Remembered) -> Read:
    """Load and verify every enabled repository of `etc` (`/etc/apt`), several at once.

    With `suite`, only that one and those that complete it (`-updates`, `-security`). The
    preferences of apt (pinning) are not looked at. What was right is kept at once where
    there is a cache, so that an index is read once; planning makes no folders.

    Raises:
        ResolveError: there are no such sources.
    """
    sources = read_sources(etc)
    entries = _wanted(sources.entries, architecture, suite)
    if not entries:
        some = sorted({entry.suite for entry in sources.entries})
        msg = f"`{etc}` has no package sources for {architecture}"
        if suite and some:
            msg = f"the package sources of `{etc}` have no suite `{suite}`"
        hint = f"suites are {', '.join(some)}" if some else "is this a Debian or Ubuntu?"
        raise ResolveError(msg, hint=hint)
    trusted = trusted_keys(etc)
    with ThreadPoolExecutor(_MOST_AT_ONCE) as pool:
        try:
            found = list(pool.map(lambda e: _load(e, architecture, trusted, remembered), entries))
        except BaseException:
            remembered.downloads.cancel.set()  # an interrupt: the other threads must end, too
            raise
    if remembered.downloads.cache.is_dir():
        remembered.keep()
    loaded = tuple(one for one in found if not isinstance(one, RocmenvError))
    failures = tuple(one for one in found if isinstance(one, RocmenvError))
    notes = [*sources.notes, *(trusted.notes if any(map(needs_trusted, entries)) else ())]
    notes += [note for one in loaded for note in one.notes]
    notes += [f"a package source is left out: {failure.message}" for failure in failures]
    return Read(loaded, tuple(notes), failures)


def _wanted(
    entries: tuple[SourceEntry, ...], architecture: str, suite: str | None
) -> list[SourceEntry]:
    suites = {f"{suite}{more}" for more in ("", *_COMPLETING)} if suite else None
    wanted: dict[tuple[str, str, tuple[str, ...]], SourceEntry] = {}
    for entry in entries:
        fits = not entry.architectures or architecture in entry.architectures
        if fits and (suites is None or entry.suite in suites):
            wanted.setdefault((entry.uri, entry.suite, entry.components), entry)
    return list(wanted.values())


def _load(
    entry: SourceEntry, architecture: str, trusted: TrustedKeys, remembered: Remembered
) -> LoadedRepository | RocmenvError:
    attempt = Remembered(remembered.downloads)
    try:
        loaded = repository_of(entry, architecture=architecture, trusted=trusted).load(attempt)
    except RocmenvError as error:  # what is wrong must not take the place of what was right
        return error
    remembered.include(attempt)
    return loaded
