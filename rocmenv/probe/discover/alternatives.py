"""The links of update-alternatives, and its register of choices.

AMD's packages up to 7.2 have the alternative `rocm`, with the prefix as its target. Those
of the Core SDK have `core` and `core-N` (the prefix), and `rocm-bin`, `rocm-lib` and others
for folders in it (docs/sources.md, "Places").
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from rocmenv.probe.discover.base import Clue, How

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocmenv.probe.discover.base import Look

_PREFIX = re.compile(r"rocm|core(-\d+)?")
_PART = re.compile(r"rocm-(bin|lib|include|libexec|share|llvm|amdgcn)")


def clues(look: Look) -> Iterator[Clue]:
    """What the links point to, then every choice of the register."""
    for folder in look.host.places.alternatives:
        for name in look.names(folder):
            path = os.path.join(folder, name)
            if _PREFIX.fullmatch(name):
                yield Clue(path, How.ALTERNATIVE, path)
            elif _PART.fullmatch(name) and (target := _target(path)):
                yield Clue(os.path.dirname(target), How.ALTERNATIVE, path)
    for folder in look.host.places.registers:
        for name in look.names(folder):
            if _PREFIX.fullmatch(name):
                register = os.path.join(folder, name)
                for choice in choices(look.text(register) or ""):
                    yield Clue(choice, How.ALTERNATIVE, register)


def choices(text: str) -> list[str]:
    """The paths that a register offers.

    The form is that of dpkg's update-alternatives: the mode, the link, name and link of
    each slave, an empty line; then for each choice its path, its priority, and a line for
    each slave; an empty line. The one of chkconfig is taken to be alike (unverified).
    """
    lines = text.split("\n")
    try:
        end = lines.index("", 2)
    except ValueError:
        return []
    slaves = (end - 2) // 2
    found = []
    place = end + 1
    while place < len(lines) and lines[place]:
        if os.path.isabs(lines[place]):
            found.append(lines[place])
        place += 2 + slaves
    return found


def _target(path: str) -> str | None:
    try:
        return os.path.join(os.path.dirname(path), os.readlink(path))
    except OSError:
        return None
