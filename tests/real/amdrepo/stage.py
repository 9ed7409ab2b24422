"""Debian's files at AMD's places: one tree for each AMD package."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.real import debian
from tests.real.amdrepo.adapt import adapt
from tests.real.amdrepo.files import files_below
from tests.real.amdrepo.names import Release


class Stage:
    """Trees of AMD packages that are being filled: `root/PACKAGE/opt/rocm-X.Y.Z/…`."""

    def __init__(self, root: Path, named: Release, llvm_number: str) -> None:
        self.root = root
        self.release = named
        self.llvm_number = llvm_number
        self.depends: defaultdict[str, list[str]] = defaultdict(list)
        self.upstream: dict[str, str] = {}
        self.own_loader = False
        self._places = _places(named, llvm_number)

    def prefix(self, name: str) -> Path:
        """`/opt/rocm-X.Y.Z` in the tree of an AMD package."""
        return self.root / name / self.release.prefix

    def names(self) -> list[str]:
        """The AMD packages, sorted."""
        return sorted(path.name for path in self.root.iterdir())

    def add(self, package: debian.Package, name: str, source: Path) -> None:
        """Move the files of an unpacked Debian package to AMD's places."""
        self.upstream[name] = max(self.upstream.get(name, ""), package.upstream, key=_numbers)
        target = self.prefix(name)
        target.mkdir(parents=True, exist_ok=True)
        for path in files_below(source):
            relative = str(path.relative_to(source))
            place = self.place(relative, name)
            if place is None:
                continue
            destination = target / place
            destination.parent.mkdir(parents=True, exist_ok=True)
            if path.is_symlink():
                self._link(path, relative, name, destination)
            else:
                if name != "rocm-llvm":
                    adapt(path, relative, self.release, self.llvm_number)
                path.rename(destination)

    def place(self, relative: str, name: str) -> str | None:
        """Below the prefix, where AMD has Debian's file `relative`; `None`: nowhere."""
        found = ((pattern.match(relative), place) for pattern, place in self._places)
        match, start = next((pair for pair in found if pair[0]), (None, None))
        if match is None or start is None:
            return None
        place = match.expand(start) + relative[match.end() :]
        # What LLVM's packages have outside of their own folder is Debian's integration.
        outside = name == "rocm-llvm" and not place.startswith(self.release.llvm)
        return None if outside else place

    def library_folders(self) -> list[Path]:
        """Every folder with shared libraries in the trees."""
        folders = ("lib", f"{self.release.llvm}/lib")
        return [self.prefix(name) / folder for name in self.names() for folder in folders]

    def elf_files(self) -> Iterator[Path]:
        """Programs and shared libraries for this machine's architecture."""
        for name in self.names():
            yield from filter(_is_elf, files_below(self.prefix(name)))

    def _link(self, path: Path, relative: str, name: str, destination: Path) -> None:
        text = os.readlink(path)
        pointed = os.path.normpath(os.path.join(os.path.dirname(f"/{relative}"), text))
        place = self.place(pointed[1:], name)
        if place is None or self.prefix(name) / place == destination or destination.exists():
            return
        to = os.path.relpath(self.prefix(name) / place, destination.parent)
        destination.symlink_to(to)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def _places(named: Release, llvm: str) -> list[tuple[re.Pattern[str], str | None]]:
    """Debian's path (its start) → the start of AMD's, first match wins; `None`: left out."""
    multiarch = f"usr/lib/{debian.MULTIARCH}"
    own_bitcode = "amdgcn"
    if named.parts >= (6, 0, 0):
        own_bitcode = rf"{named.llvm}/lib/clang/\1/lib/amdgcn"
    table: list[tuple[str, str | None]] = [
        (rf"usr/lib/llvm-{llvm}/lib/clang/([\d.]+)/amdgcn", own_bitcode),
        (rf"{multiarch}/amdgcn", "amdgcn"),
        (r"usr/lib/(.*/)?cmake/AMDDeviceLibs", "lib/cmake/AMDDeviceLibs"),
        (rf"usr/lib/llvm-{llvm}/(?={_LLVM_KEPT})", f"{named.llvm}/"),
        (rf"{multiarch}/(?=lib(LLVM|clang-cpp)[-.\d])", f"{named.llvm}/lib/"),
        (rf"usr/lib/(llvm-{llvm}|clang|python3)\b", None),
        (multiarch, "lib"),
        (r"usr/share/(doc|man|lintian|bug|doc-base|info|bash-completion)\b", None),
        (r"usr/(?=(bin|include|lib|libexec|share)/)", ""),
    ]
    return [(re.compile(pattern), place) for pattern, place in table]


_LLVM_KEPT = (
    r"bin/(clang(\+\+|-cpp|-cl|-\d+|-offload.*|-linker.*|-nvlink.*|-sycl.*)?$|lld$|ld\.lld|lld-link$"
    r"|amdgpu-arch|offload-arch|opt$|llc$"
    r"|llvm-(addr2line|ar|as|cxxfilt|dis|link|mc|nm|objcopy|objdump|offload.*|ranlib"
    r"|readelf|readobj|size|strings|strip|symbolizer)$)"
    r"|lib/(libLLVM|libclang-cpp)[-.\d]"
    r"|lib/clang/[^/]+/(include|share)/"
    r"|lib/clang/[^/]+/lib/linux/(libclang_rt\.builtins|clang_rt\.crt)"
)
"""Of LLVM, what compiling, linking and looking at HIP programs needs: 40 % of it.

Sanitizers, Clang's C interface and rarely used tools only cost time in every test.
"""


def _is_elf(path: Path) -> bool:
    if path.is_symlink() or path.suffix in {".o", ".a", ".bc", ".h"}:
        return False
    with path.open("rb") as file:
        head = file.read(20)
    executable_or_shared, x86_64 = (2, 3), 62
    return head[:4] == b"\x7fELF" and head[16] in executable_or_shared and head[18] == x86_64


def require_content(stage: Stage) -> None:
    """Refuse a suite whose packages no longer have what a release is made of."""
    named = stage.release
    wanted = (
        "bin/hipcc",
        "include/hip/hip_runtime.h",
        "lib/cmake/hip/hip-config.cmake",
        "lib/libamdhip64.so.*.*",
        f"{named.llvm}/bin/clang++",
        f"{named.llvm}/bin/ld.lld",
        f"{'lib/llvm/lib/clang/*/lib/' if named.parts >= (6, 0, 0) else ''}amdgcn/bitcode/ocml.bc",
    )
    missing = [name for name in wanted if not list(stage.root.glob(f"*/{named.prefix}/{name}"))]
    if missing:
        raise debian.SuiteUnavailable(f"ROCm {named.version} without {', '.join(missing)}")
