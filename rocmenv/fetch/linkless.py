"""Symbolic links, and copies in their place for file systems that have none."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Protocol

from rocmenv.errors import ArchiveError

# What a file system says that has no symbolic links.
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})


def symlink(text: str, path: Path) -> bool:
    """Make the link `path`, which must be new; False where the file system takes no links."""
    try:
        os.symlink(text, path)
    except FileExistsError:
        message = f"`{path}` was changed by another program while unpacking"
        raise ArchiveError(message) from None
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return False
    return True


class Links(Protocol):
    """What is used of a tree: its root, and where its links lead."""

    root: Path

    def physical(self, path: str) -> str | None:
        """`path` with all its links followed."""


class Copies:
    """The links `paths` of the tree `state`, to be replaced by what they lead to."""

    def __init__(self, state: Links, paths: list[str]) -> None:
        self._state = state
        self._waiting = dict.fromkeys(paths)

    def run(self) -> None:
        """Copy each target once everything inside it is there."""
        while self._waiting:
            ready = [path for path in self._waiting if self._is_ready(path)]
            if not ready:
                first = min(self._waiting)
                message = f"the link `{first}` cannot be made here, and holds itself"
                raise ArchiveError(message, hint="install to a file system that has links")
            for path in ready:
                self._copy(path)
                del self._waiting[path]

    def _is_ready(self, path: str) -> bool:
        target = self._state.physical(path) or ""
        below = f"{target}/" if target else ""
        return not any(other.startswith(below) for other in self._waiting)

    def _copy(self, path: str) -> None:
        root = self._state.root
        target = root / (self._state.physical(path) or "")
        if target.is_dir():
            shutil.copytree(target, root / path)
        else:
            shutil.copy2(target, root / path)
