"""From a folder to its version and layout: AMD's own trees."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocmenv.errors import StoreError
from rocmenv.model.layout import Kind
from rocmenv.model.version import Version
from rocmenv.probe.prefix import find_layout, find_version, look_at
from tests.builders import fake_prefix

HEADER = """#ifndef ROCM_VERSION_H
#define ROCM_VERSION_MAJOR   6
#define ROCM_VERSION_MINOR   3
#define ROCM_VERSION_PATCH   0
#define ROCM_BUILD_INFO "6.3.0.0-39-abcdef"
"""
HIP_HEADER = (
    "#define HIP_VERSION_MAJOR 6\n#define HIP_VERSION_MINOR 3\n#define HIP_VERSION_PATCH 42131\n"
)


def put(folder: Path, name: str, text: str = "") -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("name", "text", "version"),
    [
        (".info/version", "6.3.0-39\n", "6.3.0"),
        (".info/version", "6.3.0", "6.3.0"),
        (".info/version", "7.0.0.70000-38", "7.0.0.70000"),
        (".info/version", "5.0-1", "5.0.0"),
        (".info/version-dev", "5.7.1-98", "5.7.1"),
        (".info/version-libs", "5.7.1-98", "5.7.1"),
        ("include/rocm-core/rocm_version.h", HEADER, "6.3.0"),
        ("include/rocm_version.h", HEADER, "6.3.0"),
        ("include/rocm_version.h", HEADER.replace("   6", "   10"), "10.3.0"),
        ("include/rocm_version.h", "#define ROCM_VERSION_MAJOR 6\n", None),
        ("include/hip/hip_version.h", HIP_HEADER, None),
        (".hipVersion", "HIP_VERSION_MAJOR=6\n", None),
    ],
)
def test_where_the_version_stands(
    tmp_path: Path, name: str, text: str, version: str | None
) -> None:
    """R13: HIP's number is never taken for ROCm's."""
    put(tmp_path, name, text)
    found = find_version(str(tmp_path))
    assert (str(found) if found else None) == version


def test_a_file_without_a_version_is_passed_over(tmp_path: Path) -> None:
    put(tmp_path, ".info/version", "unknown\n")
    put(tmp_path, ".info/version-dev", "\n")
    put(tmp_path, "include/rocm-core/rocm_version.h", HEADER)
    assert find_version(str(tmp_path)) == Version.parse("6.3.0")


def test_a_number_that_no_version_has_is_passed_over(tmp_path: Path) -> None:
    put(tmp_path, "include/rocm_version.h", HEADER.replace("   6", "   123456"))
    assert find_version(str(tmp_path)) is None


def test_what_is_no_rocm_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is not the prefix of a ROCm"):
        look_at(str(tmp_path))
    with pytest.raises(StoreError, match="is not the prefix of a ROCm"):
        look_at(str(tmp_path / "nowhere"))
    put(tmp_path, "bin/hipcc")
    with pytest.raises(StoreError, match="does not say which release it is") as caught:
        look_at(str(tmp_path))
    assert "`rocmenv link PREFIX VERSION`" in str(caught.value.hint)


def test_amds_packages(tmp_path: Path) -> None:
    prefix = fake_prefix(tmp_path / "rocm-6.3.0", "6.3.0")
    put(prefix, "lib/pkgconfig/hip.pc")
    put(prefix, "share/man/man1/hipcc.1")
    put(prefix, "amdgcn/bitcode/ocml.bc")
    put(prefix, "etc/OpenCL/vendors/amdocl64.icd")
    layout = look_at(str(prefix)).layout
    assert layout.kind is Kind.LEGACY
    assert layout.bins == ("bin", "lib/llvm/bin")
    assert layout.libs == ("lib",)
    assert layout.pkgconfig == ("lib/pkgconfig",)
    assert layout.man == ("share/man",)
    assert layout.device_libs is None, "every clang finds `amdgcn` at the top"
    assert layout.hipcxx == "lib/llvm/bin/clang++"
    assert layout.icd == "etc/OpenCL/vendors"


def test_a_tree_without_a_compiler(tmp_path: Path) -> None:
    put(tmp_path, "bin/rocminfo")
    layout = find_layout(str(tmp_path))
    assert layout.bins == ("bin",)
    assert (layout.hipcxx, layout.device_libs, layout.icd, layout.libs) == (None, None, None, ())


def test_an_older_compiler_stands_at_the_top(tmp_path: Path) -> None:
    put(tmp_path, "llvm/bin/clang++")
    assert find_layout(str(tmp_path)).bins == ("bin", "llvm/bin")
    assert find_layout(str(tmp_path)).hipcxx == "llvm/bin/clang++"


@pytest.mark.parametrize(
    ("folder", "marker", "kind"),
    [
        ("core-7.10", "bin/hipcc", Kind.CORE),
        ("x", "share/therock/therock_manifest.json", Kind.FLAT),
        ("x", ".kpack/a", Kind.FLAT),
        ("_rocm_sdk_devel", ".kpack/a", Kind.WHEELS),
        ("_rocm_sdk_core", "share/therock/dist_info.json", Kind.WHEELS),
        ("rocm-6.3.0", "bin/hipcc", Kind.LEGACY),
    ],
)
def test_the_kinds_of_amds_trees(tmp_path: Path, folder: str, marker: str, kind: Kind) -> None:
    put(tmp_path / folder, marker)
    put(tmp_path / folder, "lib/llvm/amdgcn/bitcode/ocml.bc")
    layout = find_layout(str(tmp_path / folder))
    assert layout.kind is kind
    assert layout.device_libs == "lib/llvm/amdgcn/bitcode"


def test_wheels_have_no_library_folder(tmp_path: Path) -> None:
    """A framework's own wheels find theirs by RUNPATH, which LD_LIBRARY_PATH comes before."""
    put(tmp_path / "_rocm_sdk_devel", "lib/libamdhip64.so.7")
    put(tmp_path / "x", "lib/libamdhip64.so.7")
    assert find_layout(str(tmp_path / "x")).libs == ("lib",)
    assert find_layout(str(tmp_path / "_rocm_sdk_devel")).libs == ()


def test_two_names_of_one_library_folder_count_once(tmp_path: Path) -> None:
    put(tmp_path, "lib/libx.so")
    (tmp_path / "lib64").symlink_to("lib")
    assert find_layout(str(tmp_path)).libs == ("lib",)
    (tmp_path / "lib64").unlink()
    put(tmp_path, "lib64/liby.so")
    assert find_layout(str(tmp_path)).libs == ("lib", "lib64")


@pytest.mark.parametrize("name", ["libc.so.6", "ld-linux-x86-64.so.2", "libpthread.so.0"])
def test_a_folder_with_a_libc_is_no_library_folder(tmp_path: Path, name: str) -> None:
    """It would be taken by every program of the host."""
    put(tmp_path, f"lib/{name}")
    put(tmp_path, "lib64/libx.so")
    assert find_layout(str(tmp_path)).libs == ("lib64",)
