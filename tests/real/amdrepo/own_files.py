"""What AMD's packages have and Debian's do not."""

from __future__ import annotations

from tests.real.amdrepo.files import write_file
from tests.real.amdrepo.names import BUILD
from tests.real.amdrepo.stage import Stage


def add_own_files(stage: Stage) -> None:
    """What AMD's packages have and Debian's do not."""
    named = stage.release
    root = f"/{named.prefix}"
    core = stage.prefix("rocm-core")
    write_file(core / ".info" / "version", f"{named.version}-{BUILD}\n")
    names = zip(("MAJOR", "MINOR", "PATCH"), named.parts, strict=True)
    lines = [f"#define ROCM_VERSION_{name} {number}\n" for name, number in names]
    build = f'#define ROCM_BUILD_INFO "{named.version}.0-{BUILD}-made-for-tests"\n'
    write_file(core / "include" / "rocm-core" / "rocm_version.h", "".join([*lines, build]))
    # The one absolute link: AMD's older packages have some, and a moved tree must mend them.
    header = core / "include" / "rocm_version.h"
    header.symlink_to(f"{root}/include/rocm-core/rocm_version.h")
    write_file(stage.prefix("rocm-clang-ocl") / "bin" / "clang-ocl", _CLANG_OCL.format(root), 0o755)
    hsa = stage.prefix("hsa-rocr-dev")
    if not list(stage.root.glob(f"*/{named.prefix}/lib/pkgconfig/libhsakmt.pc")):
        write_file(hsa / "lib" / "pkgconfig" / "libhsakmt.pc", _HSAKMT_PC.format(root))
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
