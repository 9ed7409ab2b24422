"""From a name to a shell."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from rocmenv.errors import UsageError, visible
from rocmenv.shells.fish import FishShell
from rocmenv.shells.posix import PosixShell

if TYPE_CHECKING:
    from rocmenv.shells.base import Shell

SHELLS: dict[str, Shell] = {
    **{name: PosixShell(name) for name in ("bash", "zsh", "sh", "dash", "ksh", "mksh", "ash")},
    "fish": FishShell(),
}


def shell_named(name: str) -> Shell:
    """The shell of this name; a path or a login shell's `-bash` will do."""
    bare = name.rpartition("/")[2].removeprefix("-").removesuffix(".exe")
    shell = SHELLS.get(bare)
    if shell is None:
        near = difflib.get_close_matches(bare, SHELLS, n=1, cutoff=0.7)
        known = ", ".join(f"`{known}`" for known in SHELLS)
        guess = f"did you mean `{near[0]}`? " if near else ""
        msg = f"{visible(name)} is not a shell that rocmenv knows"
        raise UsageError(msg, hint=f"{guess}it knows {known}")
    return shell
