"""EasyBuild's software folders: `software/NAME/VERSION-TOOLCHAIN`, with its recipe inside.

Source: easybuilders/easybuild-easyconfigs (the names `ROCm` and `HIP`; HIP's own number may
stand in the folder's name, then the release stands behind `ROCm-`), EasyBuild's
documentation (`installpath`, `software`). The folder `easybuild` in a prefix: unverified.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from rocmenv.probe.discover.base import Clue, How, first_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocmenv.probe.discover.base import Look

_NAMES = ("ROCm", "rocm", "HIP")
PARTIAL = "EasyBuild has a prefix for each package: `module load` sets them up"


def clues(look: Look) -> Iterator[Clue]:
    """The packages `ROCm` and `HIP` of the usual places and those that variables name."""
    environ, home = look.host.environ, look.host.home
    tops = (
        environ.get("EASYBUILD_INSTALLPATH") or "",
        os.path.join(home, ".local", "easybuild"),
        *look.host.places.easybuild,
    )
    folders = [os.path.join(top, "software") for top in tops if os.path.isabs(top)]
    named = environ.get("EASYBUILD_INSTALLPATH_SOFTWARE") or ""
    for folder in dict.fromkeys((named, *folders)):
        if os.path.isabs(folder):
            yield from in_software(look, folder)


def in_software(look: Look, folder: str) -> Iterator[Clue]:
    """The same of one folder of software."""
    for package in _NAMES:
        for name in look.names(os.path.join(folder, package)):
            path = os.path.join(folder, package, name)
            recipes = os.path.join(path, "easybuild")
            if not any(n.endswith(".eb") for n in look.names(recipes)):
                continue
            release = re.search(r"ROCm-(\d+\.\d+\.\d+)", name)
            own = re.match(r"\d+\.\d+\.\d+", name) if package != "HIP" else None
            version = first_version(m[1] if m is release else m[0] for m in (release, own) if m)
            partial = PARTIAL if package == "HIP" else ""
            yield Clue(path, How.EASYBUILD, recipes, version=version, partial=partial)
