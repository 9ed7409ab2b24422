"""Folders in which AMD's packages install: `/opt/rocm-X.Y.Z`, `/opt/rocm/core-X.Y`."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from rocmenv.probe.discover.base import Clue, How, version_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocmenv.probe.discover.base import Look

_LEGACY = re.compile(r"rocm(?:-(?P<version>\d.*))?")
_CORE = re.compile(r"core(?:-.*)?")


def clues(look: Look) -> Iterator[Clue]:
    """Every folder with a name that AMD's packages give, below the searched ones."""
    for folder in dict.fromkeys((*look.host.search, *look.host.places.usual)):
        yield from below(look, folder)


def below(look: Look, folder: str) -> Iterator[Clue]:
    """As `clues`, of one folder."""
    for name in look.names(folder):
        match = _LEGACY.fullmatch(name)
        if match is None:
            continue
        path = os.path.join(folder, name)
        yield Clue(path, How.FOLDER, folder, sure=False, version=version_in(match["version"]))
        if match["version"] is None:
            for inner in look.names(path):
                if _CORE.fullmatch(inner):
                    yield Clue(os.path.join(path, inner), How.FOLDER, path, sure=False)
