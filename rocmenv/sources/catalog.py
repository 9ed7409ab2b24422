"""The known releases and channels: package data, read when an install or a list asks.

The file is `rocmenv/data/releases.json`; its facts come from AMD's release notes and
repositories (docs/sources.md). `status` is `released`, `preview`, `unlisted` (a folder of
the repository with no release notes) or `nightly-only`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from rocmenv.errors import ResolveError, visible
from rocmenv.fetch.connection import without_account
from rocmenv.model.version import Spec, Version, choose, nearest

# From here on releases come from another build and other places; there is no 8 or 9.
_THEROCK = (7, 9, 0, 0)
_SCHEMES = ("http", "https", "file")
_FILE = Path(__file__).parent.parent / "data" / "releases.json"


@dataclass(frozen=True, slots=True)
class KnownRelease:
    """One release: `date` is ISO 8601 or empty, `suites` in the order of preference.

    `unverified` names the fields that no primary source confirms.
    """

    version: Version
    stream: str
    status: str
    date: str = ""
    suites: tuple[str, ...] = ()
    unverified: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Channel:
    """An apt channel: address templates with `{mirror}`, `{dir}`, `{xyz}`, and its key."""

    mirror: str
    base: str
    key: str
    index: str
    fingerprint: str
    component: str
    architecture: str
    prefix: str

    def at(self, mirror: str | None) -> str:
        """The base address: the channel's own, or `mirror`, which must look like one."""
        if mirror is None:
            return self.mirror
        scheme, mark, rest = mirror.partition("://")
        if not mark or scheme.lower() not in _SCHEMES or not rest.strip("/"):
            msg = f"{visible(without_account(mirror), 200)} is not the address of a mirror"
            hint = (
                "write it like `https://mirror.example.org/rocm` or `file:///mnt/rocm`; "
                "`rocmenv config list` shows where it is set"
            )
            raise ResolveError(msg, hint=hint)
        return mirror.rstrip("/")


@dataclass(frozen=True, slots=True)
class Catalog:
    """All releases, oldest first, the channels by name, and each suite's glibc."""

    releases: tuple[KnownRelease, ...]
    channels: dict[str, Channel]
    suites: dict[str, tuple[int, ...]]

    def release(self, version: Version) -> KnownRelease | None:
        """The row of a version, None when it is not known."""
        return next((r for r in self.releases if r.version == version), None)

    def legacy(self, *, unlisted: bool = False) -> list[KnownRelease]:
        """The releases in AMD's legacy repositories, oldest first."""
        statuses = {"released", "unlisted"} if unlisted else {"released"}
        return [r for r in self.releases if r.stream == "legacy" and r.status in statuses]


def load() -> Catalog:
    """The catalogue that came with this rocmenv."""
    value = json.loads(_FILE.read_text(encoding="utf-8"))
    releases = [
        KnownRelease(
            Version.parse(row["version"]),
            row["stream"],
            row["status"],
            row.get("date", ""),
            tuple(row.get("suites", ())),
            tuple(row.get("unverified", ())),
        )
        for row in value["releases"]
    ]
    return Catalog(
        tuple(sorted(releases, key=lambda r: r.version)),
        {name: Channel(**row) for name, row in value["channels"].items()},
        {name: tuple(map(int, text.split("."))) for name, text in value["suites"].items()},
    )


def pick(catalog: Catalog, spec: Spec) -> Version:
    """The release to install for a request: the newest known one, or one named in full.

    A full version that is not in the catalogue is let through: a mirror may have it.
    """
    if spec.exact is not None and spec.exact.is_final:
        _refuse_other_streams(catalog, spec.exact)
        return spec.exact
    offered = [r.version for r in catalog.legacy()]
    found = choose(spec, offered)
    if found is None and spec.exact is not None:
        _refuse_other_streams(catalog, spec.exact)
    if found is None:
        elsewhere = choose(spec, [r.version for r in catalog.releases])
        if elsewhere is not None:
            _refuse_other_streams(catalog, elsewhere)
        near = nearest(str(spec), offered)
        guess = f"did you mean `{near[0]}`? " if near else ""
        msg = f"no known release fits `{spec}`"
        raise ResolveError(msg, hint=f"{guess}`rocmenv install --list` shows them all")
    return found


def _refuse_other_streams(catalog: Catalog, version: Version) -> None:
    known = catalog.release(version)
    if version.release >= _THEROCK if known is None else known.stream != "legacy":
        msg = (
            f"release {version} is not in AMD's legacy repositories, and this rocmenv installs "
            "from no other channel of AMD yet"
        )
        hint = f"download its tarball, then: `rocmenv install {version} --from FILE`"
        raise ResolveError(msg, hint=hint)
