"""AMD's names for releases, places and packages; what a build is asked for, and what it gives."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

BUILD = 98
"""AMD's build number in `.info/version` and in package versions; ours is made up."""

UBUNTU = {"focal": "20.04", "jammy": "22.04", "noble": "24.04"}
"""AMD's codename for a repository → the Ubuntu version in package versions."""

AMD_NAMES = (
    (r"libamdhip64-dev", "hip-dev"),
    (r"libamdhip64-\d|libhiprtc", "hip-runtime-amd"),
    (r"hipcc$|hip-utils$", "hipcc"),
    (r"libamd-comgr", "comgr"),
    (r"rocm-device-libs", "rocm-device-libs"),
    (r"libhsa-runtime-dev", "hsa-rocr-dev"),
    (r"libhsa-runtime64|libhsakmt1", "hsa-rocr"),
    (r"libhsakmt-dev", "hsakmt-roct-dev"),
    (r"rocminfo", "rocminfo"),
    (r"(lib)?rocm-smi", "rocm-smi-lib"),
    (r"(lib)?amd-smi|libe-smi", "amd-smi-lib"),
    (r"hipify", "hipify-clang"),
    (r"rocm-cmake", "rocm-cmake"),
    (r"rocm-opencl-icd", "rocm-opencl"),
    (r"librocblas-dev", "rocblas-dev"),
    (r"librocblas\d", "rocblas"),
    (r"(clang|llvm|lld|clang-tools|libllvm|libclang(-cpp|-common|-rt)?1?)-?\d\d", "rocm-llvm"),
)
"""Debian package (start of the name) → AMD's; any other is the operating system's."""

POST_INSTALL_TOOLS = (
    *("amdclang", "amdclang++", "amdclang-cl", "amdclang-cpp", "amdflang", "amdlld"),
    "offload-arch",
)
"""What AMD's packages link into `bin` only when they are configured."""


@dataclass(frozen=True, slots=True)
class BuiltRepository:
    """A repository below `root`, which is the folder to serve."""

    suite: str
    """Debian's suite the content comes from."""
    version: str
    root: Path
    base_url_path: str
    """From the server's root to the folder that holds `dists` and `pool`: `rocm/apt/5.2.3`."""
    suite_codename: str
    """The folder below `dists`: `focal`."""
    key_file: Path
    """The signing key, armoured."""
    fingerprint: str
    """Of the signing key, 40 upper case hexadecimal digits."""
    packages: tuple[str, ...]
    """The names in the index, sorted."""
    tarball: Path | None
    sysroot: Path | None
    """Where the loader and C library of the content are, if not the machine's."""
    notes: tuple[str, ...]
    """What a report should mention, such as that the mirror was out of reach."""


@dataclass(frozen=True, slots=True)
class Options:
    """What may be asked for; part of the cache key."""

    codename: str | None = None
    """Folder below `dists`, if not the one AMD has for the release."""
    twins: bool = False
    """Also the unversioned twins of large packages."""
    tarball: bool = False
    """Also one archive of the whole tree, as TheRock publishes it."""
    extra: tuple[str, ...] = ()
    """More Debian packages that `AMD_NAMES` knows: `librocblas-dev` (2 to 4 GB unpacked)."""


@dataclass(frozen=True, slots=True)
class Release:
    """AMD's names for a ROCm version and for the places in it."""

    version: str
    codename: str

    @property
    def parts(self) -> tuple[int, int, int]:
        """Major, minor, patch."""
        major, minor, patch = (int(part) for part in self.version.split("."))
        return major, minor, patch

    @property
    def directory(self) -> str:
        """Below `rocm/apt`: `6.4` for 6.4.0, `6.4.3` for 6.4.3."""
        return self.version.removesuffix(".0")

    @property
    def prefix(self) -> str:
        """The place of the files, without the leading slash: `opt/rocm-5.2.3`."""
        return f"opt/rocm-{self.version}"

    @property
    def llvm(self) -> str:
        """The folder of LLVM below the prefix; AMD moved it in 6.0."""
        return "lib/llvm" if self.parts >= (6, 0, 0) else "llvm"

    @property
    def suffix(self) -> str:
        """What AMD appends to a component's version: `.50203-98~20.04`."""
        major, minor, patch = self.parts
        return f".{major}{minor:02}{patch:02}-{BUILD}~{UBUNTU.get(self.codename, self.codename)}"


def release(version: str, codename: str | None = None) -> Release:
    """The release, under AMD's codename for it unless another is given.

    Source: the repositories' `dists`: 5.0 to 5.2 focal, from 5.3 on jammy as well.
    """
    named = Release(version, codename or "jammy")
    if codename is None and named.parts < (5, 3, 0):
        return replace(named, codename="focal")
    return named


def amd_name(package: str) -> str | None:
    """AMD's name for what a Debian package holds; `None` for the operating system's."""
    return next((name for start, name in AMD_NAMES if re.match(start, package)), None)
