"""Which of AMD's RPM folders a machine can use. Pure: the machine is given as texts.

Source of the folders: AMD's documentation and installer configurations (docs/sources.md,
"RPM repositories"). The glibc of each build is that of the system it is named for.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rocmenv.model.version import Version


@dataclass(frozen=True, slots=True)
class Build:
    """One build: the system it is for, its glibc, and its folder's names, the newer first."""

    system: str
    glibc: tuple[int, ...]
    folders: tuple[str, ...]


_EL = {7: (2, 17), 8: (2, 28), 9: (2, 34), 10: (2, 39)}
# Of service pack 3 on, which AMD's documentation asks for.
_SLES = {15: (2, 31), 16: (2, 40)}
_AZURE = (2, 38)
# The systems that take builds for Red Hat's, and those that take builds for SUSE's.
_EL_IDS = ("rhel", "centos", "almalinux", "rocky", "ol", "fedora", "amzn")
_SLES_IDS = ("sles", "sled", "sle_hpc", "suse", "opensuse", "opensuse-leap", "opensuse-tumbleweed")
_AZURE_IDS = ("azurelinux", "mariner")


def legacy_folders(
    os_release: str, glibc: tuple[int, ...] | None, release: Version, *, asked: bool = False
) -> tuple[str, ...]:
    """The folders below `rocm/` of AMD's legacy server to try for `release`, the best first.

    `os_release` is the text of `/etc/os-release`, `glibc` the machine's. A build for another
    kind of system comes after those for its own, one that needs a newer glibc not at all;
    there may be none. A machine that does not use RPM gets none unless it is `asked` for.
    """
    return _folders(os_release, glibc, _legacy(release), asked=asked)


def profiles(
    os_release: str, glibc: tuple[int, ...] | None, *, asked: bool = False
) -> tuple[str, ...]:
    """As `legacy_folders`, the profiles of AMD's `amdrocm` package repositories."""
    return _folders(os_release, glibc, _PROFILES, asked=asked)


_PROFILES = (
    *(Build("el", _EL[n], (f"rhel{n}",)) for n in (10, 9, 8)),
    *(Build("sles", _SLES[n], (f"sles{n}",)) for n in (16, 15)),
    Build("azure", _AZURE, ("azl3",)),
)


def every_folder(release: Version, *, is_legacy: bool) -> tuple[str, ...]:
    """All folders, or profiles, that AMD may have builds of `release` in, for any machine."""
    if not is_legacy:
        return every_profile()
    return tuple(folder for build in _legacy(release) for folder in build.folders)


def every_profile() -> tuple[str, ...]:
    """All profiles of AMD's `amdrocm` package repositories."""
    return tuple(folder for build in _PROFILES for folder in build.folders)


def oldest_folders(release: Version, *, is_legacy: bool) -> tuple[str, ...]:
    """The names of the folder that may have the build for the oldest glibc, newer names first."""
    builds = _legacy(release) if is_legacy else _PROFILES
    return min(builds, key=lambda build: build.glibc).folders


def _legacy(release: Version) -> Iterable[Build]:
    numbers = release.release[:3]
    if numbers >= (7, 0, 2):
        yield Build("el", _EL[10], ("el10",))
    # `rhelN` up to 6.1, `elN` from 6.2 on; a few older names were kept for a time.
    if numbers >= (6, 2):
        yield from (Build("el", _EL[n], (f"el{n}", f"rhel{n}")) for n in (9, 8))
    else:
        known = (9, 8) if numbers >= (5, 3) else (8,)
        yield from (Build("el", _EL[n], (f"rhel{n}",)) for n in known)
    yield Build("sles", _SLES[15], ("zyp",))
    if numbers < (6, 2):
        yield Build("el", _EL[7], ("yum",))


def _folders(
    os_release: str,
    glibc: tuple[int, ...] | None,
    builds: Iterable[Build],
    *,
    asked: bool,
) -> tuple[str, ...]:
    system = _system(_fields(os_release))
    if glibc is None or not (system or asked):
        return ()
    fitting = [build for build in builds if build.glibc <= glibc]
    # A build for SUSE names libraries that Red Hat's systems have under other names, and the
    # other way round, so the system counts more than how new the build is.
    fitting.sort(key=lambda build: (build.system == (system or "el"), build.glibc), reverse=True)
    return tuple(folder for build in fitting for folder in build.folders)


def _system(fields: dict[str, str]) -> str:
    """`el`, `sles`, `azure`, or nothing for a machine that does not use RPM."""
    for name in (fields.get("ID", ""), *fields.get("ID_LIKE", "").split()):
        for system, names in (("el", _EL_IDS), ("sles", _SLES_IDS), ("azure", _AZURE_IDS)):
            if _is_one_of(name, names):
                return system
    return ""


def _is_one_of(name: str, names: Sequence[str]) -> bool:
    return name.lower() in names


def _fields(os_release: str) -> dict[str, str]:
    """The fields of an os-release file (os-release(5)); lines that are none are passed over."""
    found: dict[str, str] = {}
    for line in os_release.splitlines():
        name, mark, value = line.strip().partition("=")
        if not mark or name.startswith("#"):
            continue
        try:
            found[name] = "".join(shlex.split(value))
        except ValueError:
            continue
    return found
