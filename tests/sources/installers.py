"""Builders: installers made by the real makeself, in the shapes of AMD's two eras."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.builders import put
from tests.tools import tool

HEADER = Path("/usr/share/makeself/makeself-header.sh")
"""The script that makeself puts in front, where Debian and Ubuntu have it."""


def makeself(tree: Path, out: Path, *options: str, label: str = "ROCm Runfile Installer") -> Path:
    """Pack the folder `tree` into the self-extracting `out`."""
    command = [tool("makeself"), "--quiet", *options, str(tree), str(out), label]
    command.append("./install-init.sh")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def amd_header(folder: Path) -> Path:
    """Makeself's own header without what AMD's older one lacks: total size, signature."""
    tool("makeself")
    lines = HEADER.read_text().splitlines(keepends=True)
    kept = [x for x in lines if not x.startswith(("totalsize=", "SIGNATURE="))]
    text = "".join(kept).replace("if test \\$totalsize -ne", "if false && test 0 -ne")
    return put(folder, "header.sh", text)


def inner_archive(folder: Path, out: Path, *names: str, how: str = "J") -> Path:
    """Pack `names` of `folder` as AMD packs the content of a family: `tar -cJf`."""
    out.parent.mkdir(parents=True, exist_ok=True)
    command = ["tar", f"-c{how}f", str(out), "-C", str(folder), *names]
    subprocess.run([part for part in command if part], check=True, capture_output=True)
    return out


def legacy_tree(folder: Path, xyz: str = "6.4.0") -> Path:
    """The content of an installer up to 7.2: packages unpacked, each with its needs."""
    top = f"rocm-{xyz}"
    content = {
        "rocm-core": {".info/version": f"{xyz}-39\n"},
        "hipcc": {"bin/hipcc": f"#!/bin/sh\nexport X=/opt/{top}/bin\nprintf '%s' \"$ROCM_PATH\"\n"},
        "rocm-llvm": {"lib/llvm/bin/clang": "clang", "lib/llvm/bin/amdclang": "x"},
        "rocblas": {"lib/librocblas.so.4": "blas", "lib/cmake/b.cmake": f"set(B /opt/{top}/lib)\n"},
        "rocm-opencl": {"lib/libamdocl64.so": "cl"},
        "rccl": {"lib/librccl.so": "rccl"},
    }
    needs = {
        "rocm-hip-runtime-dev": "hipcc (= 1.1.1.60400-47~22.04)\nrocm-llvm\nlibc6 (>= 2.17)\n",
        "hipcc": "rocm-core (= 6.4.0.60400-47~22.04)\nlibnuma1 | libnuma2\n",
        "rocm-hip-sdk": "rocm-hip-runtime-dev\nrocblas (>= 4)\n",
        "rocblas": "rocm-core\n",
        "rocm-opencl-dev": "rocm-opencl\n",
    }
    rocm = folder / "component-rocm"
    for package, files in content.items():
        for name, text in files.items():
            mode = 0o755 if "/bin/" in f"/{name}" else 0o644
            put(rocm, f"{package}/content/{top}/{name}", text, mode)
    for package, text in needs.items():
        put(rocm, f"{package}/deps/deps.txt", text)
        put(rocm, f"{package}/scriptlets/postinst", "#!/bin/sh\ntouch /tmp/never\n", 0o755)
    (rocm / f"rocm-llvm/content/{top}/llvm").symlink_to("lib/llvm")
    (rocm / f"rocm-llvm/content/{top}/bin").mkdir()
    (rocm / f"rocm-llvm/content/{top}/bin/away").symlink_to(f"/opt/{top}/llvm/bin/clang")
    (rocm / f"rocblas/content/{top}/lib/librocblas.so").symlink_to("librocblas.so.4")
    put(rocm, "rocm-opencl/content-etc/OpenCL/vendors/amdocl64.icd", "libamdocl64.so\n")
    put(rocm, "rocm-core/content/usr/share/doc/rocm-core/copyright", "MIT\n")
    put(folder, "component-amdgpu/amdgpu-dkms/content/usr/src/x", "x")
    put(folder, "VERSION", f"1.2.5\n{xyz}\n22.04\n")
    put(folder, "install-init.sh", "#!/bin/sh\ntouch ran\n", 0o755)
    return folder


FAMILIES = {"gfx1100": "gfx110x", "gfx1101": "gfx110x", "gfx942": "gfx94x"}


def core_content(folder: Path, xy: str = "10.0", xyz: str = "10.0.0") -> Path:
    """The packages of an installer from 7.9 on, by tag: `TAG/PACKAGE/rocm/core-X.Y/...`."""
    core = f"rocm/core-{xy}"
    put(folder, f"base/amdrocm-base{xy}/{core}/.info/version", f"{xyz}\n")
    hipcc = f"#!/bin/sh\necho /opt/{core}\n"
    put(folder, f"base/amdrocm-core-dev{xy}/{core}/bin/hipcc", hipcc, 0o755)
    put(folder, f"base/amdrocm-llvm{xy}/{core}/lib/llvm/bin/clang++", "clang", 0o755)
    (folder / f"base/amdrocm-llvm{xy}/{core}/llvm").symlink_to("lib/llvm")
    for target in FAMILIES:
        package = f"{target}/amdrocm-blas{xy}-{target}/{core}"
        put(folder, f"{package}/.kpack/blas_{target}.kpack", target)
        put(folder, f"{package}/lib/rocblas/library/shared.dat", "the same in each")
    return folder


def gfx_lists() -> str:
    """The list of GPUs that AMD's build writes for its own scripts."""
    pairs = "".join(f'    ["{fine}"]="{coarse}"\n' for fine, coarse in FAMILIES.items())
    return (
        f'#!/bin/bash\nGFX_ARCHS_AVAILABLE="{" ".join(FAMILIES)}"\n'
        f"declare -A GFX_FINE_TO_COARSE=(\n{pairs})\n"
        'declare -A GFX_COARSE_TO_FINE=(\n    ["gfx110x"]="gfx1100 gfx1101"\n)\n'
    )


def core_tree(folder: Path, content: Path, how: str = "J") -> Path:
    """The content of an installer from 7.13 on: inner archives by family."""
    rocm = folder / "component-rocm"
    inner_archive(content, rocm / "content-base.tar.xz", "base", how=how)
    inner_archive(content, rocm / "content-gfx110x.tar.xz", "gfx1100", "gfx1101", how=how)
    inner_archive(content, rocm / "content-gfx94x.tar.xz", "gfx942", how=how)
    inner_archive(content, rocm / "tests-gfx94x.tar.xz", "base", how=how)
    put(rocm, ".gfx-lists", gfx_lists())
    put(folder, "component-amdgpu/content-amdgpu.tar.xz", "no archive")
    put(folder, "bin/xz-static", "#!/bin/sh\nexit 1\n", 0o755)
    put(folder, "VERSION", "2.1.0\n10.0\n")
    put(folder, "install-init.sh", "#!/bin/sh\ntouch ran\n", 0o755)
    return folder
