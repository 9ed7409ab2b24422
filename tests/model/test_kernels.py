"""Which files are for one target alone: real lists of files, and the law of what is kept."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmenv.model.kernels import PATTERNS, keep, targets_of
from rocmenv.model.target import Target

LIST = Path(__file__).with_name("kernel_files.txt")


def debian() -> list[tuple[str, str]]:
    """Paths of Debian's files, relative to the prefix, each with its target, `-` for none."""
    found, folder = [], ""
    for line in LIST.read_text().splitlines():
        if not line.startswith((" ", "#")):
            folder = line
        elif line.startswith(" "):
            name, *sets = line.split()
            for target, contraction, end in product(*(column.split(",") for column in sets)):
                path = (folder + name).format(t=target, c=contraction, e=end)
                found.append((path, target.partition("-")[0] or "-"))
    return found


FILES = debian()


def test_debians_files_are_recognised() -> None:
    wrong = {
        path: targets_of(path)
        for path, target in FILES
        if targets_of(path) != (None if target == "-" else {target})
    }
    assert wrong == {}
    assert len(FILES) == 2845


def test_what_is_left_out_for_one_gpu() -> None:
    """The other targets' files and nothing else: the fallbacks of all targets stay."""
    wanted = [Target.parse("gfx90a:xnack-")]
    kept = Counter(target for path, target in FILES if keep(path, wanted))
    assert kept == {"gfx90a": 596, "-": 55}


# Names as they stand in AMD's trees. Sources: lists in public build files and reports of 5.0 to
# 7.2; of 7.14 and 10.x: TheRock's splitter of device code and its tests.
AMD = {
    "lib/rocblas/library/Kernels.so-000-gfx90a-xnack+.hsaco": "gfx90a",
    "lib/rocblas/library/Kernels.so-000-gfx906-xnack-.hsaco": "gfx906",
    "lib/rocblas/library/Kernels.so-000-gfx803.hsaco": "gfx803",
    "rocblas/lib/library/Kernels.so-000-gfx1030.hsaco": "gfx1030",
    "rocblas/lib/library/TensileLibrary_gfx90a.co": "gfx90a",
    "rocblas/lib/library/TensileLibrary.dat": None,
    "lib/rocblas/library/TensileLibrary_gfx900.dat": "gfx900",
    "lib/rocblas/library/TensileLibrary_lazy_gfx1100.dat": "gfx1100",
    "lib/rocblas/library/TensileLibrary_Type_SS_Contraction_l_Alik_Bljk_Cijk_Dijk_fallback.dat": (
        None
    ),
    "lib/rocblas/library/TensileLibrary_Type_DD_Contraction_l_Ailk_Bjlk_Cijk_Dijk_fallback_gfx1101.hsaco": (  # noqa: E501 - a real name
        "gfx1101"
    ),
    "lib/rocblas/library/gfx1151/TensileManifest.txt": "gfx1151",
    "lib/rocblas/library/gfx90a/Kernels.so-000-gfx90a-xnack+.hsaco": "gfx90a",
    "lib/rocblas/library/TensileManifest.txt": None,
    "lib/hipblaslt/library/extop_gfx942.co": "gfx942",
    "lib/hipblaslt/library/hipblasltTransform.hsaco": None,
    "lib/hipblaslt/library/hipblasltExtOpLibrary.dat": None,
    "lib/hipblaslt/library/TensileLiteLibrary_lazy_Mapping.dat": None,
    "lib/hipblaslt/library/gfx1100/TensileLibrary_lazy_gfx1100.dat.zlib": "gfx1100",
    "lib/hipblaslt/library/gfx950/rr_custom_kernels_gfx950.co": "gfx950",
    "lib/hipblaslt/library/gfx1250-strict/extop.co": None,
    "lib/hipsparselt/library/Kernels.so-000-gfx950.hsaco": "gfx950",
    "lib/hipsparselt/library/gfx950/TensileLibrary_BB_BB_A_fallback.dat": "gfx950",
    "share/miopen/db/gfx90a68.kdb": "gfx90a",
    "share/miopen/db/gfx90a6e.HIP.fdb.txt": "gfx90a",
    "share/miopen/db/gfx90878.HIP.fdb.txt": "gfx908",
    "share/miopen/db/gfx90878.db.txt": "gfx908",
    "share/miopen/db/gfx942130.db": "gfx942",
    "share/miopen/db/gfx942e4.db.txt": "gfx942",
    "share/miopen/db/gfx950100.HIP.fdb.txt": "gfx950",
    "share/miopen/db/gfx1030_36.db.txt": "gfx1030",
    "share/miopen/db/gfx900_56.OpenCL.fdb.txt": "gfx900",
    "share/miopen/db/gfx900_64.kdb": "gfx900",
    "share/miopen/db/gfx906_nosramecc_60.db": "gfx906",
    "share/miopen/db/gfx90a_sramecc_xnack68.db": "gfx90a",
    "share/miopen/db/gfx942.kdb": "gfx942",
    "miopen/share/miopen/db/gfx803_36.cd.pdb.txt": "gfx803",
    "share/miopen/db/gfx942_3d_metadata.tn.model": "gfx942",
    "share/miopen/db/gfx908_ConvAsm1x1U_decoder.ktn.model": "gfx908",
    "share/miopen/db/generic.tn.model": None,
    # Numbers that MIOpen would have written in another way: so the name means something else.
    "share/miopen/db/gfx906_72.kdb": None,
    "share/miopen/db/gfx906_0.kdb": None,
    "share/miopen/db/gfx90640.kdb": None,
    "share/miopen/db/gfx9087.kdb": None,
    "share/miopen/db/gfx908078.kdb": None,
    "share/miopen/db/gfx9081234.kdb": None,
    "lib/libMIOpenCKGroupedConv_gfx942.so": "gfx942",
    "lib/libMIOpenCKGroupedConv_gfx942-xnack+.so": "gfx942",
    "lib/libMIOpenCKGroupedConv_gfx12-generic.so": "gfx12-generic",
    "lib/libMIOpenCKGroupedConv.so": None,
    "lib/libMIOpen.so.1": None,
    "lib/rocfft/rocfft_kernel_cache.db": None,
    "lib/rocfft_kernel_cache_gfx1201.db": "gfx1201",
    "lib/rocfft/rocfft_kernel_cache_gfx10-3-generic.db": "gfx10-3-generic",
    ".kpack/blas_lib_gfx1100.kpack": "gfx1100",
    ".kpack/fft_lib_gfx90a.kpack": "gfx90a",
    ".kpack/blas_lib_gfx1250-strict.kpack": None,
    ".kpack/blas_lib_gfx12_5.kpack": None,
    ".kpack/blas_lib.kpm": None,
    # What compilers link is for all.
    "amdgcn/bitcode/oclc_isa_version_1100.bc": None,
    "lib/llvm/amdgcn/bitcode/oclc_isa_version_90a.bc": None,
    "lib/llvm/lib/libomptarget-amdgpu-gfx90a.bc": None,
    "lib/librocshmem_device_gfx942.bc": None,
    "lib/llvm/lib/amdgcn-amd-amdhsa/gfx90a/libc.a": None,
    # Elsewhere a name says nothing of who reads the file.
    "share/doc/rocblas/library/notes_gfx1100.txt": None,
    "share/other/db/gfx908.kdb": None,
    "lib/other/library/TensileLibrary_gfx1100.dat": None,
    "lib/rocblas/libraries/TensileLibrary_gfx1100.dat": None,
    "lib/rocblas/library/TensileLibrary_gfx1100.so": None,
    "lib/rocblas/library/TensileLibrary_gfx9010.dat": None,
    "bin/gfx1100": None,
    "": None,
}


@pytest.mark.parametrize("path", AMD)
def test_amds_names(path: str) -> None:
    expected = AMD[path]
    assert targets_of(path) == (None if expected is None else {expected})


def test_every_pattern_has_a_file_and_a_source() -> None:
    paths = [*AMD, *(path for path, _ in FILES)]
    for pattern in PATTERNS:
        assert pattern.source
        assert any(pattern.path.fullmatch(path) for path in paths), pattern.library


@pytest.mark.parametrize(
    ("path", "target", "is_kept"),
    [
        ("lib/rocblas/library/Kernels.so-000-gfx90a-xnack+.hsaco", "gfx90a:xnack-", True),
        ("lib/rocblas/library/Kernels.so-000-gfx90a-xnack+.hsaco", "gfx906", False),
        ("share/miopen/db/gfx90a68.kdb", "gfx906", False),
        ("share/miopen/db/gfx90a68.kdb", "gfx90a", True),
        (".kpack/blas_lib_gfx11-generic.kpack", "gfx1151", True),
        (".kpack/blas_lib_gfx9-4-generic.kpack", "gfx950", True),
        (".kpack/blas_lib_gfx11-generic.kpack", "gfx1201", False),
    ],
)
def test_what_a_gpu_needs(path: str, target: str, *, is_kept: bool) -> None:
    assert keep(path, [Target.parse(target)]) is is_kept


def test_without_targets_only_what_is_for_all_stays() -> None:
    assert not keep(".kpack/blas_lib_gfx1100.kpack", [])
    assert keep(".kpack/blas_lib.kpm", [])


names = st.sampled_from([*AMD, *(path for path, _ in FILES[::20])])
some = st.lists(
    st.sampled_from(["gfx803", "gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"])
).map(lambda found: [Target.parse(name) for name in found])


@given(names, some, some)
def test_more_gpus_never_need_fewer_files(path: str, one: list[Target], two: list[Target]) -> None:
    assert keep(path, [*one, *two]) == (keep(path, one) or keep(path, two))


@given(names, st.text("abc/._-0", max_size=6))
def test_the_folder_of_the_prefix_does_not_matter(path: str, above: str) -> None:
    assert targets_of(f"{above}/{path}") == targets_of(path) or not path


@given(st.text(st.sampled_from("gfx0189ac-_.+/krobilasty"), max_size=60))
def test_no_path_is_for_what_its_text_does_not_name(path: str) -> None:
    for name in targets_of(path) or ():
        assert name in path
        assert re.fullmatch(r"gfx[0-9a-z-]+", name)
