"""TheRock's wheels in virtual environments: `_rocm_sdk_devel` and `_rocm_sdk_core`."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from rocmenv.probe.discover.base import Clue, How, first_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocmenv.model.version import Version
    from rocmenv.probe.discover.base import Look

DEVEL, CORE = "_rocm_sdk_devel", "_rocm_sdk_core"
_PYTHON = re.compile(r"python3(\.\d+)?|pypy3(\.\d+)?")
_PACKAGE = re.compile(r"rocm_sdk_(devel|core)-(?P<version>[^-]+)\.dist-info")
_MARKS = ("pyvenv.cfg", "conda-meta")


def clues(look: Look) -> Iterator[Clue]:
    """Those of the environment that is active."""
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        folder = look.host.environ.get(variable)
        if folder and os.path.isabs(folder):
            yield from in_environment(look, folder, How.WHEEL, variable)


def is_environment(folder: str) -> bool:
    """Whether a folder is a virtual environment of Python or conda."""
    return any(os.path.exists(os.path.join(folder, mark)) for mark in _MARKS)


def in_environment(look: Look, folder: str, how: How, told: str) -> Iterator[Clue]:
    """What the wheels have put into one environment.

    The whole tree is in `_rocm_sdk_devel`, once `rocm-sdk init` has unpacked it; it has
    links into the other packages. `_rocm_sdk_core` alone runs programs.
    """
    remark = f"goes with the environment {folder}"
    for packages in _packages(look, folder):
        version = _version(look, packages)
        devel, core = os.path.join(packages, DEVEL), os.path.join(packages, CORE)
        if os.path.isdir(os.path.join(devel, "bin")):
            yield Clue(devel, how, told, version=version, remark=remark)
        elif os.path.isdir(core):
            missing = "`rocm-sdk init`" if os.path.isdir(devel) else "`rocm[devel]`"
            partial = f"only runs programs: {missing} gives the headers"
            yield Clue(core, how, told, version=version, partial=partial, remark=remark)


def _packages(look: Look, folder: str) -> Iterator[str]:
    """The `site-packages` of an environment, each once."""
    seen = set()
    found = [os.path.join(folder, "Lib", "site-packages")] if look.host.windows else []
    for lib in ("lib", "lib64"):
        pythons = filter(_PYTHON.fullmatch, look.names(os.path.join(folder, lib)))
        found += [os.path.join(folder, lib, name, "site-packages") for name in pythons]
    for path in found:
        real = os.path.realpath(path)
        if real not in seen and os.path.isdir(path):
            seen.add(real)
            yield path


def _version(look: Look, packages: str) -> Version | None:
    """The version of the wheels, by the folders in which pip keeps what it knows of them."""
    matches = map(_PACKAGE.fullmatch, look.names(packages))
    return first_version(match["version"].replace("_", "+") for match in matches if match)
