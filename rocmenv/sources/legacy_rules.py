"""What AMD's legacy packages have in common, as .deb and as .rpm: profiles, places, finishing.

Source: the package names that AMD's installers use (docs/sources.md, "The legacy channel").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmenv.errors import ResolveError, visible
from rocmenv.sources.packages import Finished
from rocmenv.sources.relocate import finish_legacy, relocate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocmenv.model.version import Version
    from rocmenv.sources.base import Work
    from rocmenv.sources.packages import Named

# The root packages of each profile, without the release's suffix. A name that a release
# does not have is passed over: `hipcc` is a package of its own only from 5.7 or 6.0 on,
# and the metas changed. `hip` names its parts although `rocm-hip-runtime-dev` brings them,
# because in 7.1.0 the metas do not (ROCm issue 5610).
PROFILES: dict[str, tuple[str, ...]] = {
    "runtime": ("rocm-hip-runtime", "rocm-language-runtime", "rocminfo", "rocm-core"),
    "hip": (
        "rocm-hip-runtime-dev",
        "hipcc",
        "hip-dev",
        "hip-runtime-amd",
        "rocm-llvm",
        "rocm-device-libs",
        "rocm-cmake",
        "rocminfo",
        "rocm-core",
        "hipify-clang",
        "rocm-smi-lib",
        "amd-smi-lib",
    ),
    "libraries": (
        "rocm-hip-libraries",
        "rocblas",
        "rocfft",
        "rocrand",
        "rocsolver",
        "rocsparse",
        "rccl",
        "hipblas",
        "hipblaslt",
        "hipfft",
        "hiprand",
        "hipsolver",
        "hipsparse",
        "hipsparselt",
    ),
    "sdk": ("rocm-hip-sdk", "rocm-opencl-dev"),
    "ml": ("rocm-ml-sdk", "rocm-ml-libraries", "miopen-hip", "miopen-hip-dev", "migraphx"),
    "profilers": (
        "rocm-developer-tools",
        "rocprofiler",
        "rocprofiler-dev",
        "rocprofiler-sdk",
        "rocprofiler-systems",
        "rocprofiler-compute",
        "roctracer",
        "roctracer-dev",
        "rocm-gdb",
    ),
    "full": (
        "rocm",
        "rocm-dev",
        "rocm-libs",
        "rocdecode",
        "rocm-validation-suite",
        "rocm-llvm-dev",
        "rocm-language-runtime",
        "rocm-opencl-runtime",
        "rocprofiler-systems",
        "rocprofiler-compute",
        "rdc",
        "rocjpeg",
    ),
}
_INCLUDES = {
    "libraries": ("hip",),
    "sdk": ("hip",),
    "ml": ("hip", "sdk"),
    "profilers": ("hip",),
    "full": ("hip", "sdk"),
}
# Documentation, and what tells the system's loader of AMD's own place.
_LEFT_OUT = ("usr/share/", "etc/ld.so.conf.d/")


def bare_names(profile: str) -> list[str]:
    """The root packages of `profile` without the release's suffix; raises `ResolveError`."""
    if profile not in PROFILES:
        names = ", ".join(f"`{name}`" for name in PROFILES)
        msg = f"{visible(profile)} is not a profile of the legacy channel"
        raise ResolveError(msg, hint=f"profiles are {names}; `--with PACKAGE` adds one package")
    return [n for p in (*_INCLUDES.get(profile, ()), profile) for n in PROFILES[p]]


@dataclass(frozen=True, slots=True)
class Prefixed:
    """The recipe of packages for one place: what is below `prefix` becomes the prefix."""

    prefix: str

    @property
    def own_prefix(self) -> tuple[str, ...]:
        """The place that the packages were built for."""
        return (self.prefix,)

    def mapping(self, package: Named) -> _Mapping:  # noqa: ARG002 - the same for all of them
        """Where their members go."""
        return _Mapping(self.prefix.strip("/"))

    def is_expected(self, member: str) -> bool:
        """Whether `member` is of the system, not of the prefix."""
        return member.startswith(_LEFT_OUT)

    def finish(self, work: Work, paths: Sequence[str]) -> Finished:
        """Let texts name the new place."""
        return Finished((), relocate(work.tree, self.prefix, work.prefix, paths, work.jobs).left)


@dataclass(frozen=True, slots=True)
class Legacy(Prefixed):
    """The recipe of `/opt/rocm-X.Y.Z`; `release` is the X.Y.Z."""

    release: Version

    def finish(self, work: Work, paths: Sequence[str]) -> Finished:
        """Relocate texts, and make what maintainer scripts would have made."""
        relocated = relocate(work.tree, self.prefix, work.prefix, paths, work.jobs)
        made = finish_legacy(work.tree, work.prefix, self.release.packed)
        return Finished(tuple(made), relocated.left)


@dataclass(frozen=True, slots=True)
class _Mapping:
    """Paths below the packages' place, and the OpenCL registration, to paths in the tree."""

    prefix: str

    def __call__(self, member: str) -> str | None:
        if member == self.prefix:
            return ""
        if member.startswith(f"{self.prefix}/"):
            return member[len(self.prefix) + 1 :]
        return member if member.startswith("etc/OpenCL/vendors/") else None
