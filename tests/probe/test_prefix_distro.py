"""The layout of a distribution's tree in a prefix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rocmenv.model.layout import Kind
from rocmenv.probe.prefix import find_layout

if TYPE_CHECKING:
    from pathlib import Path

ARCH = "lib/x86_64-linux-gnu"


def tree(root: Path, *files: str) -> str:
    for name in ("bin/hipcc", *files):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return str(root)


def test_debian_12(tmp_path: Path) -> None:
    path = tree(
        tmp_path,
        f"{ARCH}/libamdhip64.so.5",
        f"{ARCH}/amdgcn/bitcode/ocml.bc",
        f"{ARCH}/pkgconfig/hip.pc",
        "lib/librocm_smi64.so.1",
        "lib/llvm-15/bin/clang++",
        "lib/llvm-15/lib/libLLVM-15.so",
        "share/man/man1/hipcc.1",
    )
    layout = find_layout(path)
    assert layout.kind is Kind.DISTRO
    assert layout.bins == ("bin", "lib/llvm-15/bin")
    assert layout.libs == (ARCH, "lib", "lib/llvm-15/lib")
    assert layout.pkgconfig == (f"{ARCH}/pkgconfig",)
    assert layout.man == ("share/man",)
    assert layout.device_libs == f"{ARCH}/amdgcn/bitcode"
    assert layout.hip_clang == "lib/llvm-15/bin"
    assert layout.hip_lib == ARCH
    assert layout.hipcxx == "lib/llvm-15/bin/clang++"


@pytest.mark.parametrize("version", ["17", "21", "17.0.6"])
def test_device_libraries_with_the_compiler(tmp_path: Path, version: str) -> None:
    bitcode = f"lib/llvm-17/lib/clang/{version}/amdgcn/bitcode"
    path = tree(
        tmp_path, f"{ARCH}/libamdhip64.so.5", "lib/llvm-17/bin/clang++", f"{bitcode}/ocml.bc"
    )
    assert find_layout(path).device_libs == bitcode


def test_links_at_amds_places_do_not_make_it_amds(tmp_path: Path) -> None:
    path = tree(tmp_path, f"{ARCH}/libamdhip64.so.5", "lib/llvm-15/bin/clang++")
    (tmp_path / "llvm").symlink_to("lib/llvm-15")
    layout = find_layout(path)
    assert (layout.kind, layout.hip_clang) == (Kind.DISTRO, "lib/llvm-15/bin")


def test_the_runtime_alone_has_no_compiler(tmp_path: Path) -> None:
    layout = find_layout(tree(tmp_path, f"{ARCH}/libamdhip64.so.6"))
    assert layout.kind is Kind.DISTRO
    assert layout.bins == ("bin",)
    assert layout.libs == (ARCH,)
    assert (layout.hip_clang, layout.hipcxx, layout.device_libs) == (None, None, None)


def test_the_llvm_with_the_compiler_is_taken(tmp_path: Path) -> None:
    path = tree(
        tmp_path, f"{ARCH}/libamdhip64.so.5", "lib/llvm-9/bin/clang++", "lib/llvm-15/bin/llc"
    )
    assert find_layout(path).hip_clang == "lib/llvm-9/bin"
    tree(tmp_path, "lib/llvm-15/bin/clang++")
    assert find_layout(path).hip_clang == "lib/llvm-15/bin"


@pytest.mark.parametrize("name", ["libc.so.6", "ld-linux-x86-64.so.2"])
def test_a_folder_with_a_libc_stays_off_the_library_path(tmp_path: Path, name: str) -> None:
    path = tree(tmp_path, f"{ARCH}/libamdhip64.so.5", f"{ARCH}/{name}", "lib/llvm-15/bin/clang++")
    assert ARCH not in find_layout(path).libs


def test_a_numbered_llvm_without_architecture_folders(tmp_path: Path) -> None:
    layout = find_layout(tree(tmp_path, "lib64/libamdhip64.so.6", "lib/llvm-19/bin/clang++"))
    assert (layout.kind, layout.hip_lib) == (Kind.DISTRO, "lib64")
