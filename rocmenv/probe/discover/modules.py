"""AMD's own module files: links `rocm/X.Y.Z` to `lib/rocmmod` of a prefix, since 5.5."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rocmenv.probe.discover.base import Clue, How

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocmenv.probe.discover.base import Look


def clues(look: Look) -> Iterator[Clue]:
    """The prefixes of module files in the usual places and on MODULEPATH.

    Only the path is looked at. A module file that a site has written itself is a program,
    and is not read.
    """
    path = [folder for folder in look.host.environ.get("MODULEPATH", "").split(":") if folder]
    for folder in dict.fromkeys((*path, *look.host.places.modules)):
        rocm = os.path.join(folder, "rocm")
        for name in look.names(rocm):
            file = os.path.join(rocm, name)
            real = os.path.realpath(file)
            if os.path.basename(real) == "rocmmod":
                yield Clue(os.path.dirname(os.path.dirname(real)), How.MODULE, file)
