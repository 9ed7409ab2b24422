"""The ROCm of a distribution, among everything else in `/usr`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rocmenv.probe.discover.base import Clue, How

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocmenv.probe.discover.base import Look

_PROGRAMS = ("bin/hipcc", "bin/rocminfo")
_LIBRARIES = ("lib/x86_64-linux-gnu", "lib64", "lib")


def clues(look: Look) -> Iterator[Clue]:
    """`/usr`, when a program or the runtime of ROCm is really there.

    With AMD's packages `/usr/bin/hipcc` is a link into `/opt`: that is none of the
    distribution's.
    """
    usr = look.host.places.usr
    marks = [os.path.join(usr, name) for name in _PROGRAMS]
    for folder in _LIBRARIES:
        names = look.names(os.path.join(usr, folder))
        marks += [os.path.join(usr, folder, n) for n in names if n.startswith("libamdhip64.so")]
    real = os.path.realpath(usr)
    for mark in marks:
        if os.path.isfile(mark) and os.path.realpath(mark).startswith(real + os.sep):
            yield Clue(usr, How.SYSTEM, mark)
            return
