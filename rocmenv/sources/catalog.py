"""The known releases, and where each is published: what a version means before any network.

The data is `rocmenv/data/releases.json`, whose facts come from AMD's release notes and
repositories (docs/sources.md); `rocmenv.sources.catalog_file` reads it. `status` is
`released`, `preview`, `unlisted` (a folder of the repository with no release notes) or
`nightly-only`. `stream` is `legacy` (packages up to 7.2.4), `therock-preview` or `therock`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote

from rocmenv.errors import ResolveError, visible
from rocmenv.fetch.connection import without_account
from rocmenv.model.version import Spec, Version, choose, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

THEROCK = (7, 9, 0, 0)
"""From here on releases come from another build and other places."""
STABLE = "stable"
_LAST_LEGACY, _FIRST_TEN = (8, 0, 0, 0), (10, 0, 0, 0)
_SCHEMES = ("http", "https", "file")
# What a version's own text tells of the line that publishes it.
_LINES = {"a": "nightly", "rc": "rc", ".dev": "dev"}


@dataclass(frozen=True, slots=True)
class KnownRelease:
    """One release: `date` is ISO 8601 or empty, `suites` in the order of preference.

    `rpm` are the folders of AMD's RPM repositories that have it, `driver` the folder of the
    kernel driver of its time. `text` is how its archives are named where that is not the
    version, `groups` the GPU groups of its archives, by system. `runfile` is the build
    number of its installer. `unverified` names the fields that no primary source confirms.
    """

    version: Version
    stream: str
    status: str
    date: str = ""
    date_is: str = ""
    suites: tuple[str, ...] = ()
    rpm: tuple[str, ...] = ()
    driver: str = ""
    text: str = ""
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    runfile: str = ""
    hip_sdk: str = ""
    unverified: tuple[str, ...] = ()

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels that have it, the one that is taken without a wish first."""
        if self.stream == "legacy":
            return ("legacy", "rpm") if self.rpm else ("legacy",)
        return ("tarball", "native", "rpm", "wheels")


@dataclass(frozen=True, slots=True)
class Channel:
    """Address templates with `{mirror}`, `{dir}`, `{xyz}` and the like, and the signing key."""

    mirror: str
    base: str
    key: str = ""
    index: str = ""
    fingerprint: str = ""
    prefix: str = ""
    since: str = ""

    def at(self, mirror: str | None) -> str:
        """The base address: the channel's own, or `mirror`, which must look like one."""
        return checked_mirror(mirror) or self.mirror


@dataclass(frozen=True, slots=True)
class Place:
    """Where releases of one line and range of numbers lie, of the stream from 7.9 on.

    `line` is `stable`, `rc`, `nightly`, `bkc` or `dev`. `tarballs` and `wheels` are
    templates of index pages, to be tried in order; `packages` of a repository's base
    (`{profile}`), None where none is signed. Files stay where they were first published,
    hence the ranges.
    """

    name: str
    line: str
    mirror: str
    tarballs: tuple[str, ...] = ()
    wheels: tuple[str, ...] = ()
    packages: str | None = None
    key: str = ""
    fingerprint: str = ""
    runfile: str = ""
    since: Version | None = None
    before: Version | None = None
    keep_days: int | None = None

    def holds(self, version: Version) -> bool:
        """Whether the version's number is in the place's range; its line is not looked at."""
        number = version.release
        return (self.since is None or self.since.release <= number) and (
            self.before is None or number < self.before.release
        )

    def tarball_indexes(self, mirror: str | None = None) -> tuple[str, ...]:
        """The addresses of the pages that list archives, to be tried in order."""
        return tuple(t.format(mirror=checked_mirror(mirror) or self.mirror) for t in self.tarballs)

    def wheel_indexes(self, family: str, mirror: str | None = None) -> tuple[str, ...]:
        """The addresses of the indexes of wheels; early ones are split by GPU `family`."""
        base = checked_mirror(mirror) or self.mirror
        return tuple(t.format(mirror=base, family=family) for t in self.wheels)

    def packages_base(self, profile: str, mirror: str | None = None) -> str | None:
        """The base of the package repository for a system such as `ubuntu2404`."""
        base = checked_mirror(mirror) or self.mirror
        return self.packages and self.packages.format(mirror=base, profile=profile)

    def key_address(self, mirror: str | None = None) -> str:
        """The address of the key that signs the packages."""
        return self.key.format(mirror=checked_mirror(mirror) or self.mirror)


def native_prefix(version: Version) -> str:
    """Where AMD's packages from 7.9 on install: releases of one X.Y share the place."""
    return f"/opt/rocm/core-{version.xy}"


def tarball_name(system: str, group: str, text: str) -> str:
    """The file name of an archive; `system` is `linux` or `windows`."""
    return f"therock-dist-{system}-{group}-{text}.tar.gz"


def address(index: str, name: str) -> str:
    """The address of the file `name` beside the index page; `+` becomes `%2B`."""
    return f"{index.rstrip('/')}/{quote(name, safe='~')}"


@dataclass(frozen=True, slots=True)
class Catalog:
    """All releases, oldest first, the channels by name, the places, and each suite's glibc.

    `profiles` are the systems that the newer packages are built for, with their glibc.
    `hashes` are SHA-256 of archives by version, system and group: AMD publishes none, these
    were recorded by others.
    """

    releases: tuple[KnownRelease, ...]
    channels: Mapping[str, Channel]
    suites: Mapping[str, tuple[int, ...]]
    places: tuple[Place, ...] = ()
    profiles: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    hashes: Mapping[tuple[str, str, str], str] = field(default_factory=dict)

    def release(self, version: Version) -> KnownRelease | None:
        """The row of a version, None when it is not known."""
        return next((r for r in self.releases if r.version == version), None)

    def offered(self, *, pre: bool = False, unlisted: bool = False) -> list[KnownRelease]:
        """The releases that are offered, oldest first.

        Previews and lines that have only nightlies come with `pre`, folders without release
        notes with `unlisted`.
        """
        statuses = {"released"}
        if pre:
            statuses |= {"preview", "nightly-only"}
        if unlisted:
            statuses.add("unlisted")
        return [r for r in self.releases if r.status in statuses]

    def legacy(self, *, unlisted: bool = False) -> list[KnownRelease]:
        """The releases in AMD's legacy repositories, oldest first."""
        return [r for r in self.offered(unlisted=unlisted) if r.stream == "legacy"]

    def place(self, version: Version) -> Place:
        """Where a version of the newer stream is published; `ResolveError` for nowhere."""
        line = line_of(version)
        known = self.release(version)
        if known is not None and known.status == "nightly-only":
            line = "nightly"
        for place in self.places:
            if place.line == line and place.holds(version):
                return place
        msg = f"nobody knows where release {version} is published"
        raise ResolveError(msg, hint="`rocmenv install --list` shows the known ones")


def line_of(version: Version) -> str:
    """The line that publishes a version: told by its own text."""
    text = str(version)
    if "+bkc" in text:
        return "bkc"
    return next((line for mark, line in _LINES.items() if mark in text.partition("+")[0]), STABLE)


def is_legacy(catalog: Catalog, version: Version) -> bool:
    """Whether a version is one of AMD's older packages: by the catalogue, else by number."""
    known = catalog.release(version)
    return version.release < THEROCK if known is None else known.stream == "legacy"


def pick(catalog: Catalog, spec: Spec, channel: str = "") -> Version:
    """The release to install for a request: the newest known one, or one named in full.

    `channel` narrows to what it has. A full version that is not in the catalogue is let
    through: a mirror may have it.
    """
    if spec.exact is not None:
        _refuse_other_streams(catalog, spec.exact, channel)
        if spec.exact.is_final or not is_legacy(catalog, spec.exact):
            return spec.exact
    offered = [r.version for r in catalog.offered() if not channel or channel in r.channels]
    found = choose(spec, offered)
    if found is None and spec.prefix:  # a series that has only previews was named
        previews = [r for r in catalog.offered(pre=True) if r.status == "preview"]
        found = choose(spec, [r.version for r in previews if not channel or channel in r.channels])
    if found is None:
        elsewhere = choose(spec, [r.version for r in catalog.releases])
        if elsewhere is not None:
            _refuse_other_streams(catalog, elsewhere, channel)
        near = nearest(str(spec), offered)
        guess = f"did you mean `{near[0]}`? " if near else ""
        see = "`rocmenv install --list` shows them all"
        newest = max(offered, default=None)
        if newest and spec.prefix > newest.release[: len(spec.prefix)]:
            guess, see = "", "`rocmenv catalog update` learns of newer ones"
        msg = f"no known release fits `{spec}`"
        raise ResolveError(msg, hint=f"{guess}{see}")
    return found


def _refuse_other_streams(catalog: Catalog, version: Version, channel: str) -> None:
    if _LAST_LEGACY <= version.release < _FIRST_TEN and catalog.release(version) is None:
        msg = f"there is no release {version}: 7.14 was followed by 10.0"
        raise ResolveError(msg, hint="`rocmenv install --list` shows them all")
    legacy = is_legacy(catalog, version)
    if channel == "legacy" and not legacy:
        msg = f"release {version} is not in AMD's legacy repositories, which end with 7.2.4"
        hint = f"leave the channel out: `rocmenv install --channel auto {version}`"
        raise ResolveError(msg, hint=hint)
    if channel in ("tarball", "native", "wheels") and legacy:
        msg = f"release {version} is not in the channel `{channel}`, which begins with 7.9.0"
        hint = f"leave the channel out: `rocmenv install --channel auto {version}`"
        raise ResolveError(msg, hint=hint)


def checked_mirror(mirror: str | None) -> str | None:
    """A mirror's address without a slash at its end; `ResolveError` when it is no address."""
    if mirror is None:
        return None
    scheme, mark, rest = mirror.partition("://")
    if not mark or scheme.lower() not in _SCHEMES or not rest.strip("/"):
        msg = f"{visible(without_account(mirror), 200)} is not the address of a mirror"
        hint = (
            "write it like `https://mirror.example.org/rocm` or `file:///mnt/rocm`; "
            "`rocmenv config list` shows where it is set"
        )
        raise ResolveError(msg, hint=hint)
    if "?" in rest or "#" in rest:
        # Names of folders and files come after it, which these two would keep from the server.
        msg = f"{visible(without_account(mirror), 200)} cannot be a mirror: it has a `?` or `#`"
        raise ResolveError(msg, hint="a folder's own `#` is `%23` in an address, its `?` is `%3F`")
    return mirror.rstrip("/")
