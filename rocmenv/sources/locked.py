"""An install from a lock: exactly the files that it names, and no index."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rocmenv.errors import HostError, ResolveError, visible
from rocmenv.fetch.address import file_name
from rocmenv.fetch.connection import shown, without_account
from rocmenv.fetch.transfer import NotThereError
from rocmenv.sources.base import Part, Request
from rocmenv.sources.incomplete import missing
from rocmenv.sources.packages import assemble, job_of
from rocmenv.sources.recipes import recipe_of
from rocmenv.sources.remembered import Remembered
from rocmenv.sources.tarball import Archive, TarballPlan
from rocmenv.sources.therock import check_host

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.model.lock import Locked
    from rocmenv.model.receipt import Item
    from rocmenv.model.version import Version
    from rocmenv.sources.base import Built, Plan, Work
    from rocmenv.sources.catalog import Catalog
    from rocmenv.sources.packages import Recipe


@dataclass(frozen=True, slots=True)
class LockedFiles:
    """The files of a lock, as a `base.Plan` has them. What they take on disk is not known."""

    locked: Locked
    notes: tuple[str, ...] = ()
    host: tuple[str, ...] = ()
    installed: int | None = None

    @property
    def version(self) -> Version:
        """The locked version."""
        return self.locked.version

    @property
    def channel(self) -> str:
        """The channel that it was locked from."""
        return self.locked.channel

    @property
    def origin(self) -> str:
        """Where it was locked from."""
        return self.locked.origin

    @property
    def request(self) -> Request:
        """What was locked."""
        return _request(self.locked)

    @property
    def items(self) -> tuple[Item, ...]:
        """The locked files; a mirror's account is not for receipts."""
        return _plain(self.locked)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The locked files, largest first."""
        items = sorted(self.items, key=lambda i: (-i.size, i.name))
        return tuple(Part(i.name, i.version, i.size) for i in items)

    @property
    def download(self) -> int:
        """The sum of their sizes."""
        return sum(item.size for item in self.items)


@dataclass(frozen=True, slots=True)
class LockedPackages(LockedFiles):
    """The packages of a lock; a `base.Plan`."""

    recipe: Recipe = field(kw_only=True)

    def build(self, work: Work) -> Built:
        """Fetch the files, which must have the locked digests, and make a prefix of them.

        `HostError` when they are for a machine with a newer C library.
        """
        jobs = [job_of(item, self.recipe) for item in self.locked.items]
        built = assemble(self.recipe, jobs, self.items, work, self.request.keep())
        self._must_run_here(built.cached)
        return built

    def _must_run_here(self, paths: Iterable[Path]) -> None:
        from rocmenv.sources.at_hand import lacking, this_host  # noqa: PLC0415 - for packages
        from rocmenv.sources.loose_files import libc_needs  # noqa: PLC0415 - as above

        ours = {item.name for item in self.items}
        needs = (need for need in libc_needs(paths) if need[1][0].name not in ours)
        try:
            lacking(needs, this_host())
        except HostError as error:
            hint = "lock it on the oldest system that it is for: `rocmenv lock`"
            raise HostError(error.message, hint=hint) from error


@dataclass(frozen=True, slots=True)
class LockedWheels(LockedFiles):
    """The wheels of a lock; a `base.Plan`."""

    def build(self, work: Work) -> Built:
        """Fetch the files, which must have the locked digests, and fill an environment."""
        from rocmenv.sources.wheel_fill import fetch, fill  # noqa: PLC0415 - for wheels alone
        from rocmenv.sources.wheel_needs import must_be_whole  # noqa: PLC0415 - as above

        fetched = fetch(self.locked.items, work)
        must_be_whole([(file_name(item.url), path) for item, path in fetched])
        return fill([(i, path) for i, (_, path) in zip(self.items, fetched, strict=True)], work)


def plan(data: Catalog, locked: Locked, downloads: Downloads) -> Plan:
    """The plan for a lock's entry; reads nothing.

    `ResolveError` for a channel that cannot be installed from a lock, `HostError` when this
    machine cannot use what is in it.
    """
    recipe = recipe_of(locked.channel, data, locked.version.without_local)
    if recipe is not None:
        return LockedPackages(locked, recipe=recipe)
    if locked.channel == "tarball" and len(locked.items) == 1:
        check_host(locked.version)
        return _tarball(locked, downloads)
    if locked.channel == "wheels":
        return _wheels(locked)
    msg = f"this rocmenv cannot install from a lock what the channel {visible(locked.channel)} gave"
    raise ResolveError(msg, hint="update rocmenv, or lock another channel: `rocmenv lock`")


def refuse_incomplete(locked: Locked, mirror: str, downloads: Downloads) -> None:
    """Refuse a mirror for which there is no file in the lock, or that is known to lack one."""
    base = f"{mirror.rstrip('/')}/"
    if locked.mirror and not any(item.url.startswith(base) for item in locked.items):
        msg = f"no mirror can stand in for `{shown(locked.items[0].url)}` of the lock"
        raise ResolveError(msg, hint="lock it from a mirror: `rocmenv lock --mirror URL`")
    error = missing(_plain(locked), mirror, downloads)
    if error is not None:
        msg = f"{error.message}, though the lock names it"
        hint = "`rocmenv mirror --locked --to DIR` makes a mirror with all of them"
        raise NotThereError(msg, hint=hint) from error


def _tarball(locked: Locked, downloads: Downloads) -> TarballPlan:
    (item,) = locked.items
    index = item.url.rpartition("/")[0]
    archive = Archive(file_name(item.url), "linux", "", item.version, index, size=item.size)
    return TarballPlan(
        version=locked.version,
        archive=archive,
        sha256=item.sha256,
        remembered=Remembered(downloads),
        request=_request(locked),
    )


def _wheels(locked: Locked) -> LockedWheels:
    from rocmenv.sources.wheel_index import check_machine  # noqa: PLC0415 - for wheels alone

    check_host(locked.version)
    for item in locked.items:
        check_machine(file_name(item.url))
    return LockedWheels(locked)


def _plain(locked: Locked) -> tuple[Item, ...]:
    return tuple(replace(item, url=without_account(item.url)) for item in locked.items)


def _request(locked: Locked) -> Request:
    request = Request(profile=locked.profile, extra=locked.extra, prune=locked.prune)
    return request.of_words(locked.targets)
