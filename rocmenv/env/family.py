"""The variables that select or describe a ROCm: one table for activation and undoing.

Source of each row: the reader that proves it, named in `why`; the readers are AMD's hipcc,
clang's ROCm toolchain, CMake's HIP language, PyTorch's build files and the dynamic loader
(docs/variables.md tells where to find each). Run-time tuning (HSA_*, *_VISIBLE_DEVICES,
MIOPEN_FIND_MODE ...) is the user's and is not here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocmenv.model.layout import Layout


class Role(Enum):
    """What activation does with a variable.

    `SELECT` is set to a place in the prefix, or cleared when the layout has none: each
    such variable beats ROCM_PATH in some reader. `CONSTANT` has one text for every
    layout. `CLEAR` is cleared. `DROP` is set where the layout has a place for it, and
    otherwise cleared when it points into another ROCm: its readers know more than ROCm.
    `LIST` gets entries in front and loses those of every other ROCm; `LIST_IF_SET` gets
    them only where it already has some.
    """

    SELECT = "select"
    CONSTANT = "constant"
    CLEAR = "clear"
    DROP = "drop"
    LIST = "list"
    LIST_IF_SET = "list-if-set"


@dataclass(frozen=True, slots=True)
class Variable:
    """One row: the name, what activation does with it, and why."""

    name: str
    role: Role
    why: str


FAMILY = (
    Variable("ROCM_PATH", Role.SELECT, "hipcc and clang: the only candidate when set"),
    Variable("ROCM_HOME", Role.SELECT, "PyTorch's cpp_extension and CuPy: before ROCM_PATH"),
    Variable("HIP_PATH", Role.SELECT, "hipcc and clang: headers and libraries of HIP"),
    Variable("HIP_PLATFORM", Role.CONSTANT, "hipcc becomes nvcc on a host with CUDA otherwise"),
    Variable("HIP_CLANG_PATH", Role.SELECT, "hipcc: before ROCM_PATH"),
    Variable("HIP_DEVICE_LIB_PATH", Role.SELECT, "clang: before ROCM_PATH"),
    Variable("HIP_LIB_PATH", Role.SELECT, "hipcc: before HIP_PATH"),
    Variable("HIPCXX", Role.SELECT, "CMake's HIP language: before hipconfig"),
    Variable("DEVICE_LIB_PATH", Role.CLEAR, "hipcc: before ROCM_PATH"),
    Variable("HIP_COMPILER", Role.CLEAR, "hipcc 5: before lib/.hipInfo"),
    Variable("HIP_RUNTIME", Role.CLEAR, "hipcc 5: before lib/.hipInfo"),
    Variable("HIP_ROCCLR_HOME", Role.CLEAR, "hipcc: before HIP_PATH"),
    Variable("HSA_PATH", Role.CLEAR, "hipcc: before ROCM_PATH"),
    Variable("HIP_ROOT_DIR", Role.CLEAR, "FindHIP.cmake: before ROCM_PATH"),
    Variable("hip_DIR", Role.CLEAR, "find_package(hip): before CMAKE_PREFIX_PATH"),
    Variable("hip_ROOT", Role.CLEAR, "find_package(hip): before CMAKE_PREFIX_PATH"),
    Variable("LLVM_PATH", Role.DROP, "recipes that name the compiler's folder"),
    Variable("ROCBLAS_TENSILE_LIBPATH", Role.DROP, "rocBLAS: kernels of another release"),
    Variable("HIPBLASLT_TENSILE_LIBPATH", Role.DROP, "hipBLASLt: kernels of another release"),
    Variable("MIOPEN_SYSTEM_DB_PATH", Role.DROP, "MIOpen: database of another release"),
    Variable("OCL_ICD_VENDORS", Role.DROP, "OpenCL loader: drivers of another release"),
    Variable("PATH", Role.LIST, "which tools run"),
    Variable("LD_LIBRARY_PATH", Role.LIST, "dynamic loader: before RUNPATH"),
    Variable("CMAKE_PREFIX_PATH", Role.LIST, "find_package"),
    Variable("PKG_CONFIG_PATH", Role.LIST, "pkg-config"),
    Variable("MANPATH", Role.LIST_IF_SET, "man follows PATH unless this is set"),
    Variable("LIBRARY_PATH", Role.LIST, "compilers: -L"),
    Variable("CPATH", Role.LIST, "compilers: -I"),
    Variable("C_INCLUDE_PATH", Role.LIST, "compilers: headers of C"),
    Variable("CPLUS_INCLUDE_PATH", Role.LIST, "compilers: headers of C++"),
    Variable("PYTHONPATH", Role.LIST, "the amdsmi module of another release"),
)

NAMES = frozenset(row.name for row in FAMILY)
"""The names of all of them."""

PATH_LISTS = frozenset(row.name for row in FAMILY if row.role in (Role.LIST, Role.LIST_IF_SET))
"""The variables that hold a list of folders: by this table, never by their name."""

CONSTANTS = {"HIP_PLATFORM": "amd"}


def selected(layout: Layout) -> dict[str, str | None]:
    """The place below the prefix for each `SELECT` variable, and for those `DROP` that have one."""
    return {
        "ROCM_PATH": "",
        "ROCM_HOME": "",
        "HIP_PATH": "",
        "HIP_CLANG_PATH": layout.hip_clang,
        "HIP_DEVICE_LIB_PATH": layout.device_libs,
        "HIP_LIB_PATH": layout.hip_lib,
        "HIPCXX": layout.hipcxx,
        "OCL_ICD_VENDORS": layout.icd,
    }


def entries(layout: Layout) -> dict[str, tuple[str, ...]]:
    """The folders below the prefix that each `LIST` variable gains, first one first."""
    return {
        "PATH": layout.bins,
        "LD_LIBRARY_PATH": layout.libs,
        "CMAKE_PREFIX_PATH": layout.cmake,
        "PKG_CONFIG_PATH": layout.pkgconfig,
        "MANPATH": layout.man,
    }
