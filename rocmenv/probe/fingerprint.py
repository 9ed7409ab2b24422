"""The fingerprint of a prefix, and whether a linked one is still what it was."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rocmenv.model.fingerprint import Fingerprint, compare
from rocmenv.probe.prefix import find_version, info_text

if TYPE_CHECKING:
    from rocmenv.model.fingerprint import Change
    from rocmenv.model.receipt import Receipt

_KEY_FILES = (
    ".info/version",
    "bin/hipcc",
    "bin/rocminfo",
    "lib/libamdhip64.so",
    "include/rocm-core/rocm_version.h",
)
_LONGEST = 200


def take(prefix: str) -> Fingerprint:
    """What the prefix is now. Reads one small file and asks for the state of a few."""
    version = find_version(prefix)
    marks = []
    for name in _KEY_FILES:
        try:
            state = os.stat(os.path.join(prefix, name))
        except OSError:
            continue
        marks.append((name, state.st_size, int(state.st_mtime)))
    text = info_text(prefix)[:_LONGEST]
    return Fingerprint(str(version) if version else "", text, tuple(marks))


def change_of(receipt: Receipt) -> Change | None:
    """What became of a link's prefix since it was registered; None for what is no link."""
    if receipt.prefix is None:
        return None
    return compare(receipt.fingerprint, take(receipt.prefix), receipt.version)
