"""Putting single files of an install right, each in one step.

There is never half a file: a new one is whole in the stage before it takes the place of the
old one by a rename. Stopped at any point, what was mended is mended and the rest is as it
was; the stage goes as that of an install does (`transaction`).
"""

from __future__ import annotations

import errno
import os
import shlex
import stat
from typing import TYPE_CHECKING

from rocmenv.errors import StoreError
from rocmenv.model.manifest import FILE, FOLDER, LINK
from rocmenv.store.share import WRITABLE
from rocmenv.store.transaction import sync

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rocmenv.model.manifest import Entry
    from rocmenv.store.transaction import Stage


def mend(stage: Stage, prefix: str, repairs: Iterable[tuple[Entry, Path | None]]) -> None:
    """Let paths below `prefix` be as their entries say.

    With each entry comes the file below `stage` that takes its place, None where it has the
    right content and only its mode is wrong. Folders and links are made here. A folder, or
    what is no file, that stands in the way goes into the stage.

    Raises `StoreError` when one cannot be put in place; those before it are. A full disk is
    an `OSError`, as in every change of a stage.
    """
    sync(stage.tree)  # after a power cut, a name must not stand for content that is not there
    aside = stage.folder / "aside"
    aside.mkdir()
    ordered = sorted(repairs, key=lambda pair: pair[0].path)  # folders before what is in them
    for number, (entry, new) in enumerate(ordered):
        place = os.path.join(prefix, entry.path)
        made = stage.folder / f"link-{number}" if entry.kind == LINK else new
        if made is not None and entry.kind == LINK:
            made.symlink_to(entry.target)
        try:
            _mend(place, entry, made, aside / str(number))
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise
            msg = f"{place} cannot be put right ({error.strerror})"
            hint = f"see what keeps it as it is: `ls -ld {shlex.quote(os.path.dirname(place))}`"
            raise StoreError(msg, hint=hint) from error


def _mend(place: str, entry: Entry, new: Path | None, aside: Path) -> None:
    if entry.kind == FOLDER:
        _mend_folder(place, entry.mode, aside)
    elif new is not None:
        if entry.kind == FILE:
            new.chmod(entry.mode)
        _let_in(place, new, aside)
    else:
        # A file of several installs stays read-only (`store.share`).
        is_shared = os.lstat(place).st_nlink > 1
        os.chmod(place, entry.mode & ~WRITABLE if is_shared else entry.mode)


def _mend_folder(place: str, mode: int, aside: Path) -> None:
    mode_now = _mode(place)
    if mode_now is not None and not stat.S_ISDIR(mode_now):
        os.rename(place, aside)
        mode_now = None
    if mode_now is None:
        os.mkdir(place)
    os.chmod(place, mode)


def _let_in(place: str, new: Path, aside: Path) -> None:
    mode = _mode(place)
    if mode is not None and stat.S_ISDIR(mode):
        os.rename(place, aside)
    os.rename(new, place)


def _mode(place: str) -> int | None:
    try:
        return os.lstat(place).st_mode
    except FileNotFoundError:
        return None
