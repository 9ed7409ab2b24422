"""`rocm.lock` files on the disk: which one counts, and what it says."""

from __future__ import annotations

import os
import platform
import re
import shlex
import sys
from pathlib import Path
from typing import Any

from rocmenv.errors import PinError
from rocmenv.model.lock import LOCK_NAME, Lock, no_lock, unmerged
from rocmenv.store import pins

_LIMIT = 64 << 20
# What git puts before the first side of a conflict.
_UNMERGED = re.compile(r"^<{7}( |\r?$)", re.MULTILINE)


def platform_name() -> str:
    """This machine's platform, as locks name it: `linux-x86_64`."""
    return f"{sys.platform}-{platform.machine().lower()}"


def nearest(folder: str) -> Path | None:
    """The lock that counts in `folder`: beside the nearest pin, else the nearest one upward."""
    pin = pins.nearest(folder)
    here = Path(os.path.dirname(pin[0]) if pin else folder)
    for place in (here, *(() if pin else here.parents)):
        if (place / LOCK_NAME).is_file():
            return place / LOCK_NAME
    return None


def read(path: Path) -> Lock:
    """The lock at `path`; `PinError` when it is none, or cannot be read."""
    text = ""
    try:
        with path.open("rb") as file:
            text = file.read(_LIMIT).decode("utf-8-sig")
        return Lock.from_table(_parsed(text), str(path))
    except OSError as error:
        msg = f"{path} cannot be read ({error.strerror})"
        raise PinError(msg, hint=f"check its rights: `ls -l {shlex.quote(str(path))}`") from error
    except (ValueError, RecursionError) as error:
        if _UNMERGED.search(text):
            raise unmerged(str(path)) from error
        raise no_lock(str(path), str(error)) from error


def _parsed(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib  # noqa: PLC0415 - where there is a lock

        return tomllib.loads(text)
    import tomlkit  # noqa: PLC0415 - no reader in the library before 3.11

    return tomlkit.parse(text).unwrap()
