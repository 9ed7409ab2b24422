r"""The HIP SDK for Windows: `C:\Program Files\AMD\ROCm\X.Y`.

Source: ROCm/rocm-install-on-windows, and ROCm/rocm-cli for the second folder. The folder
has no patch level in its name, and its `bin\.hipVersion` is HIP's number.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from rocmenv.probe.discover.base import Clue, How, version_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocmenv.probe.discover.base import Look

_FOLDER = re.compile(r"\d+\.\d+(\.\d+)?")


def clues(look: Look) -> Iterator[Clue]:
    """Every folder with a release's name where the installer puts them."""
    for folder in look.host.places.program_files if look.host.windows else ():
        for name in look.names(folder):
            match = _FOLDER.fullmatch(name)
            if match:
                version = version_in(name) if match[1] else None
                path = os.path.join(folder, name)
                yield Clue(path, How.HIP_SDK, folder, sure=False, version=version)
