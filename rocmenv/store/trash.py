"""What is on its way out, and how it is deleted.

Also a program, `trash.py TRASH JOURNAL`, which deletes while nobody waits for it. It is
started without a path to any module of ours.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from rocmenv.store.paths import Root


def empty(root: Root) -> None:
    """Delete what is in the trash, by a process of its own that nobody waits for."""
    if not any(root.trash.iterdir()):
        return
    program = [sys.executable, "-I", "-S", __file__, str(root.trash), str(root.journal)]
    with suppress(OSError):
        # By way of a shell, so that the child outlives us and is no zombie of a longer run.
        subprocess.run(
            ["/bin/sh", "-c", '"$@" &', "sh", *program],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            check=False,
        )


def empty_now(trash: str, journal: str) -> None:
    """Delete what is in the folder `trash`, but for what has a note in `journal`.

    That is under way: a replacement may still need it back.
    """
    for name in os.listdir(trash):
        if not os.path.lexists(os.path.join(journal, name)):
            delete(os.path.join(trash, name))


def delete(path: str | Path) -> None:
    """Delete a file, a link, or a folder with all that is in it, read-only or not.

    What cannot be deleted stays, and is tried again when the trash is emptied next.
    """
    place, name = os.path.split(path)
    with suppress(OSError):
        _delete(os.open(place or ".", os.O_RDONLY), name)


def _delete(here: int, name: str) -> None:
    """Delete `name` in the open folder `here`, which is closed at the end.

    With neither recursion nor more than two folders open: an archive may bring a tree that is
    deeper than Python's stack, than a path is long, and than a process may have files open.
    """
    left = [[name]]
    above: list[tuple[str, tuple[int, int]]] = []  # each folder's name, and what its parent is
    try:
        while True:
            if left[-1]:
                name = left[-1].pop()
                below = None if _removed(here, name) else _open(here, name)
                if below is None:
                    continue
                above.append((name, _identity(here)))
                here = _instead(here, below)
                left.append(os.listdir(here))
            elif above:
                left.pop()
                name, parent = above.pop()
                here = _instead(here, os.open("..", os.O_RDONLY, dir_fd=here))
                if _identity(here) != parent:
                    return  # somebody has moved it meanwhile, and this is theirs
                _removed(here, name)
            else:
                return
    finally:
        os.close(here)


def _removed(here: int, name: str) -> bool:
    """Whether the file, the link or the empty folder is gone now."""
    for remove in (os.unlink, os.rmdir):
        with suppress(OSError):
            remove(name, dir_fd=here)
            return True
    return False


def _open(here: int, name: str) -> int | None:
    """The folder `name`, its owner given all rights; None when it cannot be looked into."""
    with suppress(OSError):
        mode = os.stat(name, dir_fd=here, follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode) and ~mode & stat.S_IRWXU:
            with suppress(OSError):
                os.chmod(name, stat.S_IRWXU, dir_fd=here)
        number = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
        try:
            os.stat("..", dir_fd=number)  # the way back
        except OSError:
            os.close(number)
        else:
            return number
    return None


def _instead(old: int, new: int) -> int:
    os.close(old)
    return new


def _identity(folder: int) -> tuple[int, int]:
    found = os.fstat(folder)
    return found.st_dev, found.st_ino


def first_foreign(path: str) -> str | None:
    """The first folder of the tree at `path` that `delete` could not empty, else None.

    One that is another user's, and that we may not write to, or only to what is ours in it
    (the sticky bit). An empty one goes by the rights of the folder above it. What is in a
    folder of ours that we have locked ourselves out of is not looked at.
    """
    left = [] if os.geteuid() == 0 else [path]
    while left:
        folder = left.pop()
        with suppress(OSError):  # gone meanwhile, or too deep for a path
            entries = _entries(folder)
            if not _may_empty(folder, entries):
                return folder
            left += [e.path for e in entries or () if e.is_dir(follow_symlinks=False)]
    return None


def _entries(folder: str) -> list[os.DirEntry[str]] | None:
    """What is in a folder, None when we may not know."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except PermissionError:
        return None


def _may_empty(folder: str, entries: list[os.DirEntry[str]] | None) -> bool:
    found, us = os.stat(folder, follow_symlinks=False), os.geteuid()
    if found.st_uid == us or entries == []:
        return True
    if entries is None or not os.access(folder, os.W_OK | os.X_OK):
        return False
    is_sticky = found.st_mode & stat.S_ISVTX
    return not is_sticky or all(e.stat(follow_symlinks=False).st_uid == us for e in entries)


if __name__ == "__main__":
    empty_now(*sys.argv[1:])
