"""Which packages of a distribution belong into a ROCm's prefix, and which are the host's.

Four kinds, asked for in this order:

* *needless*: what only a system-wide install has a use for; never fetched, never missed.
* *the host's*: what a program takes from the system for good reason, whatever the prefix
  holds. That is everything that the essential packages consist of (the C library first:
  a second one in a prefix ends every program that finds it), what compilers take headers
  from (a prefix with the C library's headers breaks `#include_next`), interpreters, and
  tools with their own folder compiled in. Never fetched; missing ones are named.
* *ROCm's own*: the parts of ROCm and the LLVM that they are built with. Always fetched,
  also when the host has them, so that the prefix does not change with the host.
* *the rest*: the host's where it has them, else fetched. A package that is wanted in one
  exact version (a `-dev` wants its library so) is fetched with what wants it.

An index tells the source of a package only where its name differs, so names decide.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmenv.errors import HostError, ResolveError
from rocmenv.sources.apt.relation import Relation, compare, upstream

if TYPE_CHECKING:
    from rocmenv.sources.apt.closure import Candidates, Closure, Need
    from rocmenv.sources.apt.dpkg import Host
    from rocmenv.sources.apt.relation import Group

RUNTIME = re.compile(r"libamdhip64-\d+")
"""The HIP runtime's package; the number is the library's."""
CORE = re.compile(r"(?:lib)?rocm-core\d*")
"""The package with ROCm's own version number, in distributions that have one."""
DEVELOPMENT = "libamdhip64-dev"
COMPILER = "hipcc"

# Names as in Debian and Ubuntu (sources: the archives' indexes of bookworm to experimental,
# and of noble to resolute).
# One that an index lacks is passed over, except hipcc.
PROFILES: dict[str, tuple[str, ...]] = {
    "runtime": ("rocminfo", "rocm-core"),
    "hip": (
        COMPILER,
        DEVELOPMENT,
        "hip-utils",
        "hipify-perl",
        "hipify-clang",
        "rocm-cmake",
        "rocm-device-libs",
        "rocm-smi",
        "amd-smi",
        "librocm-core-dev",
    ),
    "libraries": (
        "libhipblas-dev",
        "libhipblaslt-dev",
        "libhipfft-dev",
        "libhiprand-dev",
        "libhipsolver-dev",
        "libhipsparse-dev",
        "librccl-dev",
        "librocblas-dev",
        "librocfft-dev",
        "librocrand-dev",
        "librocsolver-dev",
        "librocsparse-dev",
    ),
    "sdk": (
        "libhipblas-dev",
        "libhipblaslt-dev",
        "libhipcub-dev",
        "libhipfft-dev",
        "libhiprand-dev",
        "libhipsolver-dev",
        "libhipsparse-dev",
        "libhipsparselt-dev",
        "libmiopen-dev",
        "librccl-dev",
        "librocalution-dev",
        "librocblas-dev",
        "librocfft-dev",
        "librocprim-dev",
        "librocrand-dev",
        "librocsolver-dev",
        "librocsparse-dev",
        "librocthrust-dev",
        "libroctx-dev",
        "librocwmma-dev",
        "rocm-opencl-icd",
    ),
    "ml": ("libmiopen-dev", "libmigraphx-c-dev", "migraphx", "migraphx-dev", "libck-dev"),
    "profilers": ("libroctx-dev", "libroctracer-dev", "rocprofiler-register", "rocm-gdb"),
    "full": (
        "amd-dbgapi-dev",
        "hipfort",
        "libamd-smi-dev",
        "libck-dev",
        "libcomposable-kernel-dev",
        "libhalf-dev",
        "libhipfort-dev",
        "libhsakmt-dev",
        "libmigraphx-c-dev",
        "librocm-dbgapi0",
        "librocm-smi-dev",
        "migraphx",
        "migraphx-dev",
    ),
}
INCLUDES = {
    "hip": ("runtime",),
    "libraries": ("runtime", "hip"),
    "sdk": ("runtime", "hip"),
    "ml": ("runtime", "hip", "sdk"),
    "profilers": ("runtime", "hip"),
    "full": ("runtime", "hip", "sdk"),
}

_ROCM = re.compile(
    r"hip(?:cc(?:-.+)?|config|fort|ify(?:-.+)?|-.+)"
    r"|roc(?:m|minfo|gdb|tx|tracer|profiler|decode|jpeg|al|wmma)(?:-.+)?"
    r"|(?:amd-dbgapi|amd-smi|migraphx|miopen|rdc|tensile)(?:-.+)?|amd-device-libs-.+"
    r"|lib(?:amdhip64|amd-comgr|amd-smi|amdocl64|amd-dbgapi|hsa-runtime|hsa-amd|hsakmt|hsa-ext).*"
    r"|libhip(?:rtc|blas|cub|dnn|fft|fort|rand|solver|sparse|tensor).*"
    r"|libroc(?:m-|alution|blas|decode|fft|jpeg|prim|profiler|rand|solver|sparse|thrust"
    r"|tracer|tx|wmma|al).*"
    r"|lib(?:ck|ck-connector|composable-kernel|half|migraphx|miopen|rccl|rdc|tensile)[-\d].*"
    r"|lib(?:oam|goamdsmi)-.+|python3-(?:amdsmi|hip.+|migraphx|roc.+|tensile)"
)
_LLVM = re.compile(
    # `-rocm` is the flavour that Ubuntu builds from AMD's branch.
    r"(?:lib)?(?:clang|clang-cpp|clang-common|clang-rt|clang-tools|flang|lld|llvm|mlir|omp)"
    r"(?:-?\d.*|-rocm(?:-.+)?)?"
    r"|clang-(?:format|tidy)-(?:\d+|rocm)"
)
_HOST = re.compile(
    r"(?:libc6|libc|libcrypt|linux-libc|libnsl|libtirpc)(?:\d*|-.+|\d+-.+)"
    r"|libgcc-.+|libstdc\+\+.+|(?:gcc|g\+\+|cpp|binutils|libbinutils)(?:-.+)?"
    r"|perl(?:-base|-modules.*)?|libperl[\d.]+"
    r"|(?:lib)?python3?(?:\.\d+)?(?:-minimal|-stdlib|-dev|-venv)?"
    r"|kmod|file|libmagic.*|pciutils|systemd.*|udev"
)
_NEEDLESS = re.compile(
    # Sanitizers for 32-bit programs and the Objective-C of clang.
    r"lib32.+|libc6-i386|libobjc.+"
    # Empty, or for maintainer scripts, which do not run here.
    r"|gcc-\d+-base|adduser|debconf.*|cdebconf|dpkg|emacsen-common|init-system-helpers"
    r"|install-info|lsb-base|sensible-utils|ucf"
)
_NEWER = frozenset({">=", ">>", ">"})
# Without these at the wanted version no program of the package starts.
_LIBRARIES = ("libc6", "libstdc++6", "libgcc-s1")
# The packages that Debian and Ubuntu mark as essential; asking an index for the mark would
# mean to read all its 60 000 entries.
_ESSENTIAL = tuple(
    re.findall(
        r"\S+",
        "base-files base-passwd bash bsdutils coreutils dash debianutils diffutils dpkg findutils "
        "grep gzip hostname init-system-helpers libc-bin login ncurses-base ncurses-bin perl-base "
        "sed sysvinit-utils tar util-linux",
    )
)


def is_rocm(name: str) -> bool:
    """Whether the package `name` is one of ROCm's own.

    >>> [is_rocm(n) for n in ("libamdhip64-5", "clang-15", "libllvm17t64", "librocksdb-dev")]
    [True, True, True, False]
    """
    return _ROCM.fullmatch(name) is not None or _LLVM.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class Rules:
    """The four kinds, for one host and what its sources offer.

    `core` are the names of what the essential packages consist of, as `core_of` finds them.
    """

    offers: Candidates
    host: Host
    architecture: str
    core: frozenset[str]

    def is_from_host(self, relation: Relation) -> bool:
        """What the closure asks about a relation: whether nothing is to be fetched for it."""
        name = relation.name
        if self.is_needless(name) or self.is_hosts(name):
            return True
        candidates = self.offers.named(name)
        if is_rocm(name) and (candidates or self.offers.providing(name)):
            return False
        if relation.operator == "=" and any(relation.accepts(p.version) for p in candidates):
            return False
        return self.host.meets(relation) is True

    def is_needless(self, name: str) -> bool:
        """Whether nobody misses the package `name` in a prefix."""
        return _NEEDLESS.fullmatch(name) is not None

    def is_hosts(self, name: str) -> bool:
        """Whether only the host can provide `name`, which may be a virtual one."""
        if is_rocm(name):
            return False
        if name in self.core or _HOST.fullmatch(name) is not None:
            return True
        if self.offers.named(name):
            return False
        owners = {p.name for p in self.offers.providing(name)}
        return bool(owners) and all(
            owner in self.core or _HOST.fullmatch(owner) is not None for owner in owners
        )

    def missing(self, closure: Closure) -> tuple[str, ...]:
        """What the host lacks of what the packages of `closure` need of it, sorted.

        Raises:
            HostError: a library of the host is too old for a package.
            ResolveError: neither the sources nor the host have something.
        """
        open_ones = [n for n in closure.from_host if not self._is_met(n.group, closure)]
        needs = sorted((*open_ones, *closure.unmet), key=_rank)
        for need in needs:
            if self._is_too_old(need.group[0]):
                raise self._too_old(need, closure)
        for need in needs:
            if not any(self.is_hosts(r.name) for r in need.group):
                msg = (
                    f"{' -> '.join(need.chain)} needs `{need}`, which neither this machine's "
                    "package sources nor the machine itself has"
                )
                raise ResolveError(msg, hint="are all components of the distribution enabled?")
        return tuple(sorted(map(str, needs)))

    def _is_met(self, group: Group, closure: Closure) -> bool:
        return any(
            self.is_needless(r.name) or self.host.meets(r) is True or closure.meets(r)
            for r in group
        )

    def _is_too_old(self, relation: Relation) -> bool:
        has = self.host.versions.get(relation.name)
        is_core = relation.name in self.core or relation.name in _LIBRARIES
        return bool(has) and is_core and relation.operator in _NEWER

    def _too_old(self, need: Need, closure: Closure) -> HostError:
        relation, chain = need.group[0], need.chain
        version = next(upstream(p.version) for p in closure.packages if p.name == chain[0])
        has = upstream(self.host.versions[relation.name][0])
        way = f" ({' -> '.join((*chain, relation.name))})" if len(chain) > 1 else ""
        msg = f"{chain[0]} {version} needs {relation}, and this machine has {has}{way}"
        hint = "take a build for an older system: `rocmenv install latest --channel legacy`"
        offered = any(relation.accepts(p.version) for p in self.offers.named(relation.name))
        if offered and compare(upstream(relation.version), has) <= 0:
            hint = f"sudo apt-get install {relation.name}"  # an update of the same series
        return HostError(msg, hint=hint)


def core_of(offers: Candidates) -> frozenset[str]:
    """The names of the essential packages and of all that they depend on."""
    names = set(_ESSENTIAL)
    waiting = [package for name in _ESSENTIAL for package in offers.named(name)]
    while waiting:
        package = waiting.pop()
        for group in package.needs():
            for name in {r.name for r in group} - names:
                found = offers.named(name) or offers.providing(name)
                waiting += [p for p in found if p.name not in names or p.name == name]
                names.update((name, *(p.name for p in found)))
    return frozenset(names)


def _rank(need: Need) -> tuple[int, int, str]:
    """The most telling need first: the C library's, then the one with the shortest chain."""
    name = need.group[0].name
    known = _LIBRARIES.index(name) if name in _LIBRARIES else len(_LIBRARIES)
    return known, len(need.chain), name
