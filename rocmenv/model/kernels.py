"""Which files of a prefix hold device code for one GPU target only.

Most of a ROCm's size is kernels that libraries load from files, one for each target. What names a
target in its path, in a place where a library looks for such files, is recognised; everything else
is for all. Files that name no target are for all too, even beside others that do: rocBLAS's
fallbacks, indexes, manifests.

Never recognised, though their names have a target: bitcode (`oclc_isa_version_1100.bc`,
`libomptarget-amdgpu-gfx90a.bc`, `librocshmem_device_gfx942.bc`). Compilers link it, also for GPUs
that this machine has not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmenv.model.target import FEATURES, GENERIC, NAME, Generic, Target

if TYPE_CHECKING:
    from collections.abc import Collection

# Features follow a hyphen in file names: a colon separates folders in path lists.
_TARGET = rf"(?P<target>{NAME}|{GENERIC})(?:[-:](?:{'|'.join(FEATURES)})[+-])*"
_TENSILE = r"(?:.*/)?(?:rocblas|hipblaslt|hipsparselt)/(?:[^/]+/)*library/"
# MIOpen appends the number of compute units: `_60` in decimal up to 64, `78` in hex above.
_FEW = r"_(?P<few>\d{1,2})"
_MANY = r"(?P<many>[1-9a-f][0-9a-f]{1,2})"
_LARGEST_FEW = 64


@dataclass(frozen=True, slots=True)
class Pattern:
    """Files of one kind: whose they are, an expression for the whole path, and who says so.

    The group `target` of the expression is the target; `few` and `many` are numbers of compute
    units, as MIOpen writes them.
    """

    library: str
    path: re.Pattern[str]
    source: str


def _pattern(library: str, path: str, source: str) -> Pattern:
    return Pattern(library, re.compile(path, re.ASCII), source)


PATTERNS = (
    _pattern(
        "rocBLAS, hipBLASLt, hipSPARSELt",
        rf"{_TENSILE}{_TARGET}/.+",
        "ROCm/rocm-libraries, pull request 5976; tree of 7.14",
    ),
    _pattern(
        "rocBLAS, hipBLASLt, hipSPARSELt",
        rf"{_TENSILE}(?:[^/]*[_-])?{_TARGET}\.(?:co|hsaco|dat|dat\.zlib)",
        "lists of Debian's librocblas4 and libhipblaslt1; lists of AMD's packages 5.0 to 7.2",
    ),
    _pattern(
        "MIOpen",
        rf"(?:.*/)?miopen/db/{_TARGET}(?:_(?:no)?sramecc)?(?:_xnack)?(?:{_FEW}|{_MANY})?"
        r"\.(?:[A-Za-z]+\.)?(?:kdb|db|(?:db|fdb|pdb)\.txt)",
        "ROCm/MIOpen, src/target_properties.cpp and src/include/miopen/handle.hpp",
    ),
    _pattern(
        "MIOpen",
        rf"(?:.*/)?miopen/db/{_TARGET}(?:_\w+)?\.k?tn\.model",
        "list of Debian's libmiopen1-tests",
    ),
    _pattern(
        "MIOpen with Composable Kernel",
        rf"(?:.*/)?libMIOpenCK\w+_{_TARGET}\.so(?:\.\d+)*",
        "ROCm/rocm-systems, the splitter of kernel packs",
    ),
    _pattern(
        "rocFFT",
        rf"(?:.*/)?rocfft_kernel_cache_{_TARGET}\.db",
        "ROCm/rocm-libraries, changes of rocFFT",
    ),
    _pattern(
        "all of TheRock's",
        rf"(?:.*/)?\.kpack/[^/]+_{_TARGET}\.kpack",
        "ROCm/TheRock, docs/rfcs/RFC0008-Multi-Arch-Packaging.md",
    ),
)


def targets_of(path: str) -> frozenset[str] | None:
    """The targets, or the generic name, that a file is for, without features; None: for all.

    `path` is relative to the prefix, with `/` between its parts. In doubt the answer is None.

    >>> sorted(targets_of("share/miopen/db/gfx90a68.HIP.fdb.txt"))
    ['gfx90a']
    >>> targets_of("amdgcn/bitcode/oclc_isa_version_1100.bc")
    """
    for pattern in PATTERNS:
        match = pattern.path.fullmatch(path)
        if match is not None and _has_fit_count(match):
            return frozenset({match["target"]})
    return None


def _has_fit_count(match: re.Match[str]) -> bool:
    """Whether a number of compute units is written as MIOpen would; else the name means another."""
    given = match.groupdict()
    few, many = given.get("few"), given.get("many")
    if few is not None:
        return 0 < int(few) <= _LARGEST_FEW
    return many is None or int(many, 16) > _LARGEST_FEW


def keep(path: str, wanted: Collection[Target]) -> bool:
    """Whether a file of a prefix is needed where the GPUs are `wanted`.

    Features are not looked at: whether a GPU retries page faults (xnack) is decided when a
    program starts, not when ROCm is installed.
    """
    names = targets_of(path)
    return names is None or any(_serves(name, target) for name in names for target in wanted)


def _serves(name: str, target: Target) -> bool:
    generic = Generic.parse(name)
    return str(target.base) == name if generic is None else generic.may_serve(target)
