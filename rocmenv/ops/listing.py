"""Which releases can be installed: the known ones, or those in the channels' own indexes."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from rocmenv.errors import (
    InvalidVersionError,
    RepositoryError,
    RocmenvError,
    SignatureError,
    TransferError,
)
from rocmenv.fetch.connection import shown
from rocmenv.model.version import Version
from rocmenv.ops.plan import completed
from rocmenv.sources.base import Request
from rocmenv.sources.catalog import STABLE, line_of
from rocmenv.sources.index_page import read_folders, read_page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.settings import Settings
    from rocmenv.sources.catalog import Catalog, KnownRelease, Place
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


@dataclass(frozen=True, slots=True)
class Servers:
    """What stands in for AMD's servers of older and of newer releases, and for their keys."""

    legacy: Request = field(default_factory=Request)
    therock: Request = field(default_factory=Request)


def servers(settings: Settings, asked: Request | None = None) -> Servers:
    """What was `asked` for, completed by the settings of each."""
    request = asked or Request()
    legacy, therock = (completed(request, settings, is_legacy=one) for one in (True, False))
    return Servers(legacy, therock)


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
    at: Servers,
    wanted: Wanted,
    tell: Callable[[str], None],
) -> list[Row]:
    """The releases in the channels' own indexes, oldest first.

    Of all channels together, one index of each of AMD's places is read: the folders of .deb
    packages, and the archives. `tell` gets what is odd about a source: gone, moved, stale.
    Raises what one source raised, when all did. Of a release that the catalogue does not
    know, only the channels that list it are told.
    """
    if wanted.channel == "distro":
        return _distro(downloads, tell)
    found: dict[Version, Row] = {}
    failures: list[RocmenvError] = []
    count = 0
    for read in _sources(data, downloads, at, wanted, tell):
        count += 1
        try:
            for row in read():
                have = found.get(row.version)
                found[row.version] = row if have is None else _both(have, row)
        except (TransferError, RepositoryError, SignatureError) as error:
            failures.append(error)
    if failures and len(failures) == count:
        # A page that is no list tells more than those that are gone.
        raise min(failures, key=_is_gone)
    for failure in failures:
        tell(failure.message)
    return [found[v] for v in sorted(found) if wanted.has(*found[v].channels)]


def _is_gone(error: RocmenvError) -> bool:
    return isinstance(error, TransferError) or isinstance(error.__cause__, TransferError)


def _sources(
    data: Catalog,
    downloads: Downloads,
    at: Servers,
    wanted: Wanted,
    tell: Callable[[str], None],
) -> Iterable[Callable[[], list[Row]]]:
    lines = ("stable", "rc", "nightly") if wanted.pre else ("stable",)
    places = [place for place in data.places if place.line in lines]
    if wanted.channel in ("rpm", "native"):
        yield from _packages(data, downloads, at, wanted, tell, places)
        return
    if wanted.has("legacy"):
        yield partial(_listed, data, _apt_folders(data, downloads, at.legacy), wanted, tell)
    if not wanted.has("tarball", "wheels"):
        return
    mirror = at.therock.mirror
    read_one = _wheels if wanted.channel == "wheels" else _archives
    seen: set[str] = set()
    for place in places:
        pages = place.tarball_indexes(mirror)
        if read_one is _wheels:  # those that are split by GPU have no list of releases
            by_gpu = place.wheel_indexes("?", mirror)
            pages = tuple(p for p in place.wheel_indexes("", mirror) if p in by_gpu)
        for page in pages:
            if page not in seen:
                seen.add(page)
                yield partial(read_one, data, downloads, page, wanted, tell)


def _packages(
    data: Catalog,
    downloads: Downloads,
    at: Servers,
    wanted: Wanted,
    tell: Callable[[str], None],
    places: Sequence[Place],
) -> Iterable[Callable[[], list[Row]]]:
    """The indexes of `rpm` or `native`: a signed one of each place, and folders of older RPMs."""
    from rocmenv.sources import package_lists as lists  # noqa: PLC0415 - only for an online list

    channel, request = wanted.channel, at.therock
    if channel == "rpm":
        old = data.channels["rpm"].mirror
        read = partial(lists.folders, data, at.legacy, downloads, tell)
        index = _Index(read, channel, old, at.legacy, lambda r: r.stream == "legacy")
        yield partial(_listed, data, index, wanted, tell)
    signed: dict[str | None, list[Place]] = {}
    for place in places:
        if place.fingerprint:
            signed.setdefault(place.packages_base("", request.mirror), []).append(place)
    for same in signed.values():
        place = same[0]
        if channel == "rpm":
            read = partial(lists.of_rpms, place, request, downloads)
        else:
            read = partial(lists.of_debs, data, place, request, downloads)
        index = _Index(read, channel, place.mirror, request, partial(_is_in, same))
        yield partial(_listed, data, index, wanted, tell)


def _is_in(places: Sequence[Place], release: KnownRelease) -> bool:
    stable = (place for place in places if place.line == STABLE)
    return release.stream != "legacy" and any(p.holds(release.version) for p in stable)


def _apt_folders(data: Catalog, downloads: Downloads, request: Request) -> _Index:
    channel = data.channels["legacy"]
    url = channel.index.format(mirror=channel.at(request.mirror))
    read = partial(read_folders, downloads, url)
    return _Index(read, "legacy", url, request, lambda r: r.stream == "legacy")


@dataclass(frozen=True, slots=True)
class _Index:
    """An index of packages that a channel has at `where`; `has` says of a release if it should."""

    read: Callable[[], list[Version]]
    channel: str
    where: str
    request: Request
    has: Callable[[KnownRelease], bool]


def _listed(data: Catalog, index: _Index, wanted: Wanted, tell: Callable[[str], None]) -> list[Row]:
    found = index.read()
    known = [r for r in data.offered() if index.channel in r.channels and index.has(r)]
    last = max(known, key=lambda r: r.version, default=None)
    # A mirror may have some releases only.
    if last is not None and max(found) < last.version and not index.request.mirror:
        came = f"{last.version} came out on {last.date}" if last.date else f"{last.version} is out"
        tell(
            f"the newest release at {shown(index.where)} is {max(found)}, and {came}: "
            "the place is stale, or has moved"
        )
    rows = (_row(data, version, str(version), index.channel) for version in found)
    return [row for row in rows if _is_wanted(row, wanted)]


def _row(data: Catalog, version: Version, text: str, channel: str, date: str = "") -> Row:
    """What is known of a release that the index of `channel` has, where it is called `text`."""
    known_as = next((r for r in data.releases if r.text == text), None)
    release = known_as or data.release(version)
    if release is None:
        status = "new" if version.is_final else line_of(version)
        return Row(version, date, status, (channel,))
    channels = tuple(dict.fromkeys((*release.channels, channel)))
    return Row(release.version, release.date, release.status, channels)


def _is_wanted(row: Row, wanted: Wanted) -> bool:
    is_pre = not row.version.is_final or row.status == "preview"
    return (wanted.pre or not is_pre) and (wanted.unlisted or row.status != "unlisted")


def _distro(downloads: Downloads, tell: Callable[[str], None]) -> list[Row]:
    from rocmenv.sources import distro  # noqa: PLC0415 - for the machines that have it

    versions, notes = distro.releases(Request(), downloads)
    for note in notes:
        tell(note)
    return [Row(version, "", "released", ("distro",)) for version in versions]


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
        row = _row(data, archive.version, archive.text, "tarball", _date(archive.time))
        if _is_wanted(row, wanted):
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
        row = _row(data, version, str(version), "wheels")
        if _is_wanted(row, wanted):
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
