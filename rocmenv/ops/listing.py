"""Which releases can be installed: the known ones, or those in the channels' own indexes."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from rocmenv.errors import InvalidVersionError, RepositoryError, TransferError
from rocmenv.fetch.connection import shown
from rocmenv.model.version import Version
from rocmenv.sources.base import Request
from rocmenv.sources.catalog import line_of
from rocmenv.sources.folder_page import read_folder
from rocmenv.sources.index_page import read_page, release_folders

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.sources.catalog import Catalog
    from rocmenv.sources.tarball import Archive

_DAY = 86400
_STALE = 21
"""Days after which the newest nightly is old: they are made every day."""


@dataclass(frozen=True, slots=True)
class Row:
    """One release of a list; `date` is ISO 8601 or empty.

    `groups` are the GPU groups of its archives, where an index told them.
    """

    version: Version
    date: str
    status: str
    channels: tuple[str, ...]
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which releases to list: of which channel, and whether previews and unlisted ones too."""

    channel: str = "auto"
    pre: bool = False
    unlisted: bool = False

    def has(self, *channels: str) -> bool:
        """Whether one of `channels` is asked for."""
        return self.channel == "auto" or self.channel in channels


def known(data: Catalog, wanted: Wanted) -> list[Row]:
    """The releases of the catalogue, oldest first. Needs no network."""
    return [
        Row(r.version, r.date, r.status, r.channels)
        for r in data.offered(pre=wanted.pre, unlisted=wanted.unlisted)
        if wanted.has(*r.channels)
    ]


def online(
    data: Catalog,
    downloads: Downloads,
    mirrors: tuple[str | None, str | None],
    wanted: Wanted,
    tell: Callable[[str], None],
) -> list[Row]:
    """The releases in the channels' own indexes, oldest first.

    `mirrors` stand in for the servers of older and newer releases. `tell` gets what is odd
    about a source: gone, moved, stale. Raises what one source raised, when all did. Of a
    release that the catalogue does not know, only the channels that list it are told.
    """
    if wanted.channel == "distro":
        return _distro(downloads, tell)
    found: dict[Version, Row] = {}
    failures: list[RepositoryError | TransferError] = []
    count = 0
    for read in _sources(data, downloads, mirrors, wanted, tell):
        count += 1
        try:
            for row in read():
                have = found.get(row.version)
                found[row.version] = row if have is None else _both(have, row)
        except (TransferError, RepositoryError) as error:
            failures.append(error)
    if failures and len(failures) == count:
        # A page that is no list tells more than those that are gone.
        raise next((f for f in failures if isinstance(f, RepositoryError)), failures[0])
    for failure in failures:
        tell(failure.message)
    return [found[v] for v in sorted(found) if wanted.has(*found[v].channels)]


def _sources(
    data: Catalog,
    downloads: Downloads,
    mirrors: tuple[str | None, str | None],
    wanted: Wanted,
    tell: Callable[[str], None],
) -> Iterable[Callable[[], list[Row]]]:
    if wanted.has("legacy", "rpm"):
        yield lambda: _folders(data, downloads, mirrors[0], wanted)
    if not wanted.has("tarball", "native", "wheels"):
        return
    lines = ("stable", "rc", "nightly") if wanted.pre else ("stable",)
    read = _wheels if wanted.channel == "wheels" else _archives
    seen: set[str] = set()
    for place in data.places:
        pages = place.tarball_indexes(mirrors[1])
        if read is _wheels:  # those that are split by GPU have no list of releases
            by_gpu = place.wheel_indexes("?", mirrors[1])
            pages = tuple(p for p in place.wheel_indexes("", mirrors[1]) if p in by_gpu)
        for page in pages if place.line in lines else ():
            if page not in seen:
                seen.add(page)
                yield partial(read, data, downloads, page, wanted, tell)


def _distro(downloads: Downloads, tell: Callable[[str], None]) -> list[Row]:
    from rocmenv.sources import distro  # noqa: PLC0415 - for the machines that have it

    versions, notes = distro.releases(Request(), downloads)
    for note in notes:
        tell(note)
    return [Row(version, "", "released", ("distro",)) for version in versions]


def _folders(data: Catalog, downloads: Downloads, mirror: str | None, wanted: Wanted) -> list[Row]:
    channel = data.channels["legacy"]
    url = channel.index.format(mirror=channel.at(mirror))
    rows = []
    for version in release_folders(read_folder(downloads, url, limit=4 << 20), url):
        release = data.release(version)
        row = (
            Row(version, release.date, release.status, release.channels)
            if release
            else Row(version, "", "new", ("legacy",))
        )
        if wanted.unlisted or row.status != "unlisted":
            rows.append(row)
    return rows


def _archives(
    data: Catalog,
    downloads: Downloads,
    index: str,
    wanted: Wanted,
    tell: Callable[[str], None],
) -> list[Row]:
    from rocmenv.sources import tarball  # noqa: PLC0415 - only for an online list

    page = read_page(downloads, index)
    for note in page.notes:
        tell(note)
    rows: dict[Version, Row] = {}
    found = [a for a in tarball.archives(page.files, index) if a.system == "linux"]
    if not found:
        msg = f"the listing {shown(index)} has no archives for Linux"
        raise RepositoryError(
            msg, hint="it may have moved; `rocmenv install --list` needs no server"
        )
    _tell_stale([a for a in found if line_of(a.version) == "nightly"], index, tell)
    for archive in found:
        version = archive.version
        known_as = next((r for r in data.releases if r.text == archive.text), None)
        release = known_as or data.release(version)
        is_pre = not version.is_final or (release is not None and release.status == "preview")
        if release is None:
            status = "new" if version.is_final else line_of(version)
            row = Row(version, _date(archive.time), status, ("tarball",))
        else:
            row = Row(release.version, release.date, release.status, release.channels)
        if wanted.pre or not is_pre:
            have = rows.get(row.version, row)
            rows[row.version] = replace(have, groups=tuple(sorted({*have.groups, archive.group})))
    return list(rows.values())


def _wheels(
    data: Catalog,
    downloads: Downloads,
    index: str,
    wanted: Wanted,
    tell: Callable[[str], None],
) -> list[Row]:
    """The releases that an index of wheels has, by the files of `rocm` in it."""
    from rocmenv.sources.wheel_index import WheelIndex  # noqa: PLC0415 - only for an online list

    rows = {}
    for pick in WheelIndex(index, downloads).releases():
        try:
            version = Version.parse(str(pick.version))
        except InvalidVersionError:
            tell(f"`{pick.file.name}` at {shown(index)} has no version of ROCm's")
            continue
        known_as = next((r for r in data.releases if r.text == str(version)), None)
        release = known_as or data.release(version)
        if release is not None:
            row = Row(release.version, release.date, release.status, release.channels)
        else:
            status = "new" if version.is_final else line_of(version)
            row = Row(version, "", status, ("wheels",))
        is_pre = not version.is_final or row.status == "preview"
        if wanted.pre or not is_pre:
            rows[row.version] = row
    return list(rows.values())


def _tell_stale(found: Iterable[Archive], index: str, tell: Callable[[str], None]) -> None:
    newest = max((a.time for a in found if a.time is not None), default=None)
    if newest is not None and (days := int((time.time() - newest) / _DAY)) > _STALE:
        tell(f"the newest archive at {shown(index)} is {days} days old: the place may have moved")


def _both(one: Row, other: Row) -> Row:
    return replace(
        one,
        channels=tuple(dict.fromkeys((*one.channels, *other.channels))),
        groups=tuple(sorted({*one.groups, *other.groups})),
    )


def _date(seconds: float | None) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(seconds)) if seconds else ""
