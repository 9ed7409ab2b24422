"""How AMD names its packages from 7.9 on, as .deb and as .rpm. Pure.

A name ends in X.Y and, for code of one GPU, in the GPU: `amdrocm-blas10.0-gfx1100`. All
releases of one X.Y have the same names, and the packages' own version tells them apart.
Source: TheRock, `build_tools/packaging/linux/package.json` and `docs/packaging/versioning.md`
(docs/sources.md, "The native channel").
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, TypeVar

from rocmenv.errors import InvalidVersionError, ResolveError, visible
from rocmenv.model.version import Version

if TYPE_CHECKING:
    from collections.abc import Iterable

_LIBRARIES = ("blas", "fft", "rand", "solver", "sparse", "rccl", "hiptensor", "rocalution")
PROFILES: dict[str, tuple[str, ...]] = {
    "runtime": ("amdrocm{xy}{gfx}",),
    "hip": (
        "amdrocm-core-dev{xy}",
        "amdrocm-llvm{xy}",
        "amdrocm-runtime{xy}",
        "amdrocm-runtime-dev{xy}",
        "amdrocm-hipify{xy}",
        "amdrocm-amdsmi{xy}",
        "amdrocm-base{xy}",
    ),
    "libraries": tuple(f"amdrocm-{name}{{xy}}{{gfx}}" for name in _LIBRARIES),
    "sdk": ("amdrocm-core-sdk{xy}{gfx}",),
    "ml": ("amdrocm-core-sdk{xy}{gfx}", "amdrocm-dnn{xy}{gfx}", "amdrocm-ck{xy}{gfx}"),
    "profilers": (
        "amdrocm-profiler{xy}",
        "amdrocm-profiler-base{xy}",
        "amdrocm-debugger{xy}",
        "amdrocm-developer-tools{xy}",
    ),
    "full": ("amdrocm-core-sdk{xy}{gfx}", "amdrocm-developer-tools{xy}", "amdrocm-opencl{xy}"),
}
"""The packages of each profile besides those of `hip`, in Debian's spelling.

`{gfx}` is one for each GPU, or nothing for all of them. A name that a release does not have
is passed over, if others of its row are there. Source: as above, `package.json`.
"""
_SERIES = re.compile(r"amdrocm.*?(\d+\.\d+)(?:-gfx\w+)?", re.ASCII)
# The packages that stand for a whole release: the run time, and what is needed to build.
_WHOLE = re.compile(r"amdrocm(?:-core(?:-sdk|-dev|-devel)?)?\d+\.\d+(?:-gfx\w+)?", re.ASCII)
# `10.0.0-15~24.04`, `7.13.0~rc2-3` (.rpm), `7.13.0~pre2-3` (.deb), `10.1.0~20260901`
_VERSION = re.compile(r"(?:\d+:)?(\d+\.\d+\.\d+)(?:~(?:rc|pre)(\d+)|~(?:a|dev)?(\d{8}))?", re.ASCII)


class Package(Protocol):
    """What is looked at of a package, of either kind."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def version(self) -> str:
        """Its whole version, as its repository writes it."""


_P = TypeVar("_P", bound=Package)


def series(name: str) -> str | None:
    """The X.Y in the name of a package, None where it has none.

    >>> series("amdrocm-blas10.0-gfx1100"), series("amdrocm-blas")
    ('10.0', None)
    """
    match = _SERIES.fullmatch(name)
    return match[1] if match else None


def release_in(version: str) -> Version | None:
    """The release that a package's own version tells, None for a version that tells none.

    >>> str(release_in("7.13.0~rc2-3")), str(release_in("7.13.0~pre2-3"))
    ('7.13.0rc2', '7.13.0rc2')
    """
    match = _VERSION.match(version)
    if match is None:
        return None
    phase = f"rc{match[2]}" if match[2] else f"a{match[3]}" if match[3] else ""
    with suppress(InvalidVersionError):
        return Version.parse(f"{match[1]}{phase}")
    return None


def profile(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The packages that a profile starts from, as `PROFILES` writes them: its own, and others.

    Of its own a release must have some. `ResolveError` for what is no profile.
    """
    if name not in PROFILES:
        names = ", ".join(f"`{known}`" for known in PROFILES)
        msg = f"{visible(name)} is not a profile of AMD's packages"
        raise ResolveError(msg, hint=f"profiles are {names}; `--with PACKAGE` adds one package")
    return PROFILES[name], () if name in ("runtime", "hip") else PROFILES["hip"]


def of_release(packages: Iterable[_P], release: Version) -> list[_P]:
    """Those of `packages` that are of `release`, by the X.Y in their names and their versions.

    They need each other by name alone, so a closure among all of them would mix in what is
    of a newer X.Y.Z, or of an X.Y that has the same libraries. Where no package says that it
    is of the candidate that is wanted, those that name its release alone are taken.
    """
    ours = [p for p in packages if series(p.name) in (None, release.xy)]
    wanted = release.without_local
    if not wanted.is_final and wanted not in {release_in(p.version) for p in ours}:
        wanted = Version(wanted.release)
    return [p for p in ours if release_in(p.version) in (wanted, None)]


def releases(packages: Iterable[Package]) -> list[Version]:
    """The releases that a repository with `packages` has, oldest first.

    Those count that stand for a whole release: a single newer part is none.
    """
    found = set()
    for package in packages:
        told = release_in(package.version) if _WHOLE.fullmatch(package.name) else None
        if told is not None and told.xy == series(package.name):
            found.add(told)
    return sorted(found)
