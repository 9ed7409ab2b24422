"""Copying a folder as it is: links stay links."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from rocmenv.errors import ArchiveError

if TYPE_CHECKING:
    from pathlib import Path


def copy_tree(source: str, target: Path) -> tuple[int, int]:
    """Copy what is in the folder `source` into the empty folder `target`; files and bytes.

    Absolute links that lead into `source`, by its name here or its real one, become
    relative; every other link is kept as it is. Sockets, pipes and devices are an
    `ArchiveError`, and so is a `source` that holds `target`. Raises `OSError` for what
    cannot be read: a copy is whole or not at all.
    """
    files = size = 0
    whole = (os.path.realpath(source), os.path.normpath(source))
    if os.path.realpath(target).startswith(f"{whole[0].rstrip('/')}/"):
        msg = f"{source} cannot be copied into itself ({target})"
        raise ArchiveError(msg)
    for folder, folders, names in os.walk(source, onerror=_give_up):
        below = os.path.relpath(folder, source)
        here = os.path.normpath(os.path.join(target, below))
        os.makedirs(here, exist_ok=True)
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        for name in (*names, *links):
            path = os.path.join(folder, name)
            if os.path.islink(path):
                os.symlink(_inside(os.readlink(path), whole, below), os.path.join(here, name))
            elif os.path.isfile(path):
                shutil.copy2(path, os.path.join(here, name))
                files, size = files + 1, size + os.path.getsize(path)
            else:
                msg = f"{path} is neither a file, a folder nor a link"
                raise ArchiveError(msg)
    return files, size


def tree_size(source: str) -> int:
    """The bytes of all files below a folder; links count nothing."""
    return sum(
        os.lstat(os.path.join(folder, name)).st_size
        for folder, _, names in os.walk(source)
        for name in names
        if not os.path.islink(os.path.join(folder, name))
    )


def _give_up(error: OSError) -> None:
    raise error


def _inside(link: str, whole: tuple[str, ...], below: str) -> str:
    for start in whole:
        if link.startswith(f"{start}/"):
            return os.path.relpath(link[len(start) + 1 :], below)
    return link
