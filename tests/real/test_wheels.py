"""AMD's own programs and libraries, in the form of wheels, through the wheels channel.

The public index has one wheel that holds a part of a ROCm as AMD built it, 5.4.2: run time,
code generator, linker, bitcode and headers. Here they stand where the wheels of releases
from 7.9 on have theirs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from rocmenv.model.version import Version
from rocmenv.store import registry
from rocmenv.store.paths import Root
from tests.cli.runner import run
from tests.fetch.server import Site, serving
from tests.wheelhouse import File, Index, development, sources, text, the_libraries

pytestmark = pytest.mark.real
_NAME, _TOP = "pytorch-triton-rocm==2.1.0", "triton/third_party/rocm/"
# The number that this build gives: HIP 5.4.22803.
_HIP = 50422803
# Compiles a kernel with the run time's own compiler; prints its number and the code's size.
_COMPILE = """
import ctypes, os
assert "LD_LIBRARY_PATH" not in os.environ, os.environ["LD_LIBRARY_PATH"]
hip = ctypes.CDLL(os.environ["ROCM_PATH"] + "/lib/libamdhip64.so")
number = ctypes.c_int()
assert hip.hipRuntimeGetVersion(ctypes.byref(number)) == 0
source = b'extern "C" __global__ void twice(float *a) { a[threadIdx.x] *= 2; }'
program, size = ctypes.c_void_p(), ctypes.c_size_t()
assert hip.hiprtcCreateProgram(ctypes.byref(program), source, b"twice", 0, None, None) == 0
options = (ctypes.c_char_p * 1)(b"--offload-arch=gfx1030")
assert hip.hiprtcCompileProgram(program, 1, options) == 0
assert hip.hiprtcGetCodeSize(program, ctypes.byref(size)) == 0
print(number.value, size.value)
"""


@dataclass
class Release:
    """The release that was installed, and what its files were made of."""

    root: Root
    prefix: Path
    files: dict[str, bytes]


def fetched(folder: Path) -> Path:
    """AMD's files, from the public index; skipped at home where that cannot be reached."""
    words = ["--no-deps", "--only-binary", ":all:", "--python-version", "311", "-d", str(folder)]
    tags = ["--platform", "manylinux2014_x86_64", "--platform", "linux_x86_64"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", *words, *tags, _NAME],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        message = f"{_NAME} cannot be fetched: {done.stderr.strip()[-200:]}"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return next(folder.glob("*.whl"))


def place(name: str) -> str:
    """Where a file of the old wheel belongs in the new form."""
    if name.startswith("lib/bitcode/"):
        return f"lib/llvm/amdgcn/bitcode/{name.rpartition('/')[2]}"
    return f"lib/{name}" if name.startswith("llvm/") else name


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    folder = tmp_path_factory.mktemp("wheels")
    with zipfile.ZipFile(fetched(folder)) as archive:
        names = [n for n in archive.namelist() if n.startswith(_TOP) and not n.endswith("/")]
        files = {place(n.removeprefix(_TOP)): archive.read(n) for n in names}
    with serving(Site()) as site:
        index = Index(site)
        publish(index, files)
        root = Root(folder / "root")
        words = ("install", "10.0.0", "--channel", "wheels", "--mirror", f"{site.url}/rocm", "-q")
        assert run(root, *words, timeout=240).status == 0
    return Release(root, Path(registry.find(root, Version.parse("10.0.0")).prefix), files)


def publish(index: Index, files: dict[str, bytes]) -> None:
    """A release whose core has the programs and libraries, with headers in its devel wheel."""
    core = {
        f"_rocm_sdk_core/{name}": File(data, 0o755 if "/bin/" in name else 0o644)
        for name, data in files.items()
        if not name.startswith("include/")
    }
    headers = {name: data for name, data in files.items() if name.startswith("include/")}
    packages = {"rocm_sdk_core/__init__.py": text(""), "_rocm_sdk_core/__init__.py": text("")}
    links = {"bin/ld.lld": "../lib/llvm/bin/ld.lld"}
    index.add("rocm", "rocm-10.0.0.tar.gz", sources("10.0.0", {}))
    index.wheel("rocm-sdk-core", "10.0.0", {**packages, **core})
    index.wheel("rocm-sdk-libraries", "10.0.0", the_libraries("rocm-sdk-libraries"))
    index.wheel("rocm-sdk-devel", "10.0.0", development(core, headers, links))


def test_every_file_is_as_amd_made_it(release: Release) -> None:
    assert len(release.files) > 100
    for name, data in release.files.items():
        path = release.prefix / name
        assert path.read_bytes() == data, name
        assert os.access(path, os.X_OK) == ("/bin/" in name), name
        if not name.startswith("include/"):  # one file, in the core and in the prefix
            assert path.samefile(release.prefix.parent / "_rocm_sdk_core" / name)


def test_its_linker_runs(release: Release) -> None:
    for path in ("bin/ld.lld", "lib/llvm/bin/ld.lld"):
        program = str(release.prefix / path)
        said = run(release.root, "+10.0.0", "exec", program, "--version").fine()
        assert said.startswith("AMD LLD 15.0.0"), said
    assert (
        run(release.root, "+10.0.0", "which", "ld.lld").fine() == f"{release.prefix}/bin/ld.lld\n"
    )


def test_its_run_time_compiles_without_a_library_path(release: Release) -> None:
    said = run(release.root, "+10.0.0", "exec", sys.executable, "-c", _COMPILE).fine()
    number, size = map(int, said.split()[-2:])
    assert number == _HIP
    assert size > 1000
