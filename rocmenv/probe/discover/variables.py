"""Variables that name a ROCm: of its own tools, of the HIP SDK, of EasyBuild's modules."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from rocmenv.probe.discover import easybuild
from rocmenv.probe.discover.base import Clue, How, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocmenv.probe.discover.base import Look

_NAMES = re.compile(r"ROCM_PATH|ROCM_HOME|HIP_PATH(_\d+)?|EBROOTROCM|EBROOTHIP")
_MODULE = re.compile(r"(rocm|ROCm|amd|HIP|hip)(/.+)?")


def clues(look: Look) -> Iterator[Clue]:
    """One for each variable that has a text; with what modules are loaded."""
    loaded = look.host.environ.get("LOADEDMODULES", "").split(":")
    modules = [name for name in loaded if _MODULE.fullmatch(name)]
    remark = f"module {shown(modules[-1])} is loaded" if modules else ""
    for name in sorted(look.host.environ):
        text = look.host.environ[name]
        if not _NAMES.fullmatch(name) or not text:
            continue
        if not os.path.isabs(text):
            look.note(f"{name} names {shown(text)}, which is not an absolute path")
        else:
            partial = easybuild.PARTIAL if name == "EBROOTHIP" else ""
            yield Clue(text, How.VARIABLE, name, partial=partial, remark=remark)
