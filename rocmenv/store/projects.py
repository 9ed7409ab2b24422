"""The projects whose pins or locks rocmenv has seen: what they ask for should stay installed.

`ROOT/projects` is JSON, one folder each, the last one seen at the end. Only commands that
write anyway add to it; hooks, shims and commands that read never do.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from rocmenv.errors import RocmenvError
from rocmenv.model.lock import LOCK_NAME
from rocmenv.model.selection import PIN_NAME
from rocmenv.store.lock import WRITERS, locked
from rocmenv.store.pins import replace_file

if TYPE_CHECKING:
    from rocmenv.store.paths import Root

MOST = 1000
"""Folders that are remembered; the oldest make room for new ones."""
_LARGEST = 8 << 20
_SCHEMA = 1
_PATIENCE = 5.0


def folders(root: Root) -> list[str]:
    """The folders whose files were seen, oldest first, those that have none now among them.

    Empty when the file cannot be read: it is no more than a memory.
    """
    return load(root)[0]


def load(root: Root) -> tuple[list[str], str]:
    """As `folders`, and why the file cannot be read where it is there and cannot."""
    try:
        with open(root.projects, "rb") as file:
            value = json.loads(file.read(_LARGEST))
        found = [text for text in value["projects"] if text.startswith("/")]
    except FileNotFoundError:
        return [], ""
    except OSError as error:
        return [], f"{root.projects} cannot be read ({error.strerror})"
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return [], f"{root.projects} is damaged, so no project is known; remove it to begin anew"
    return found[-MOST:], ""


def record(root: Root, folder: str) -> None:
    """Remember that `folder` has a pin or a lock. Those that have none any more are forgotten.

    Nothing happens where the root is not there or not ours to write: the pin itself was
    written, and that is what was asked for.
    """
    if folder in folders(root) or not os.access(root.path, os.W_OK | os.X_OK):
        return
    if os.path.lexists(root.projects) and not os.access(root.projects, os.R_OK):
        return  # what somebody else remembers would be lost
    with suppress(RocmenvError), locked(root, WRITERS, "remember a project", _PATIENCE):
        known = [other for other in folders(root) if other != folder and not _is_dead(other)]
        value = {"schema": _SCHEMA, "projects": [*known, folder][-MOST:]}
        replace_file(root.projects, f"{json.dumps(value, indent=1)}\n".encode())


def _is_dead(folder: str) -> bool:
    """Whether neither is there any more. What may not be looked into may have one."""
    for name in (PIN_NAME, LOCK_NAME):
        try:
            os.stat(f"{folder.rstrip('/')}/{name}")
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError):
            return False
        return False
    return True
