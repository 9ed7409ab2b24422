"""Roots and projects to measure in."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from rocmenv.store.paths import Root
from tests.builders import clean_environ, root_with

TRUE = "/bin/true"


def project(folder: Path, *versions: str) -> tuple[Root, Path, dict[str, str]]:
    """A root, a folder four levels below a pin, and an environment for children there."""
    root = root_with(folder, *versions)
    for version in versions:
        shutil.copy2(TRUE, root.versions / version / "bin/hipcc")
    inner = folder / "project/a/b/c/d"
    inner.mkdir(parents=True)
    (folder / "project/.rocm-version").write_text(f"{versions[0]}\n")
    return root, inner, clean_environ(root, PWD=str(inner))


def pyenv_shim(folder: Path) -> tuple[str, dict[str, str]] | None:
    """The shim of pyenv for the same program, with a root and a pin in the same places.

    None when pyenv is not here.
    """
    program = shutil.which("pyenv")
    if program is None:
        return None
    home = folder / "pyenv"
    (home / "versions/6.3.0/bin").mkdir(parents=True)
    shutil.copy2(TRUE, home / "versions/6.3.0/bin/hipcc")
    environ = {"PATH": f"{os.path.dirname(program)}:/usr/bin:/bin", "PYENV_ROOT": str(home)}
    environ |= {"HOME": str(folder)}
    (folder / "project/.python-version").write_text("6.3.0\n")
    done = subprocess.run([program, "rehash"], env=environ, capture_output=True, check=False)
    shim = home / "shims/hipcc"
    return (str(shim), environ) if done.returncode == 0 and shim.exists() else None


def launcher() -> list[str]:
    """The installed console script, else the module."""
    script = Path(sys.executable).parent / "rocmenv"
    return [str(script)] if script.exists() else [sys.executable, "-m", "rocmenv"]
