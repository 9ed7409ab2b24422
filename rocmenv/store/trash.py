"""What is on its way out, and how it is deleted.

Also a program, `trash.py TRASH JOURNAL`, which deletes while nobody waits for it. It is
started without a path to any module of ours.
"""

from __future__ import annotations

import os
import shutil
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
    if os.path.islink(path) or not os.path.isdir(path):
        with suppress(OSError):
            os.unlink(path)
        return
    shutil.rmtree(path, ignore_errors=True)
    if os.path.lexists(path):
        _open_up(path)
        shutil.rmtree(path, ignore_errors=True)


def first_foreign(path: str) -> str | None:
    """The first folder of the tree at `path` from which `delete` could not delete, else None.

    One that is not writable and, being another user's, cannot be made so.
    """
    if os.geteuid() == 0:
        return None
    for folder, _, _ in os.walk(path):
        if not os.access(folder, os.W_OK | os.X_OK) and os.stat(folder).st_uid != os.geteuid():
            return folder
    return None


def _open_up(path: str | Path) -> None:
    """Give the owner all rights to every folder of a tree: files go by their folder's."""
    _let_write(path)
    for folder, folders, _ in os.walk(path):
        for name in folders:
            _let_write(os.path.join(folder, name))


def _let_write(folder: str | Path) -> None:
    if not os.path.islink(folder):
        with suppress(OSError):
            os.chmod(folder, 0o700)


if __name__ == "__main__":
    empty_now(*sys.argv[1:])
