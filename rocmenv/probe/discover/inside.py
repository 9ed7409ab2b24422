"""Folders that a person named: each is walked, not too far."""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING

from rocmenv.probe.discover import easybuild, spack, wheels
from rocmenv.probe.discover.base import Clue, How, shown, words_for
from rocmenv.probe.prefix import is_rocm

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rocmenv.probe.discover.base import Look

DEEPEST = 5
MOST_ENTRIES = 20_000
_PASSED_OVER = {".git", "node_modules", "__pycache__"}
_NOT_ON_DISK = ("/proc", "/sys", "/dev")


def clues(look: Look) -> Iterator[Clue]:
    """The prefixes, environments, Spack trees and EasyBuild folders in the named folders."""
    for folder in look.host.inside:
        yield from _walk(look, folder)


def _walk(look: Look, top: str) -> Iterator[Clue]:
    """Folder by folder, the near ones first; links are looked at and not walked."""
    waiting = deque([(top, 0)])
    left = MOST_ENTRIES
    while waiting:
        folder, depth = waiting.popleft()
        known = _known(look, folder, top)
        if known is not None:
            yield from known
            continue
        if depth == DEEPEST:
            continue
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if left == 0:
                        look.note(
                            f"{shown(top)} has more than {MOST_ENTRIES} entries;"
                            " name a folder further down"
                        )
                        return
                    left -= 1
                    if entry.name in _PASSED_OVER or entry.path in _NOT_ON_DISK:
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append((entry.path, depth + 1))
                    elif entry.is_symlink() and _is_prefix(entry.path):
                        yield Clue(entry.path, How.NAMED, top)
        except OSError as error:
            look.note(f"{shown(folder)} cannot be read ({words_for(error)})")


def _known(look: Look, folder: str, top: str) -> Iterable[Clue] | None:
    """What a folder holds, when it is of a kind that we know; None when it is to be walked."""
    if _is_prefix(folder):
        return [Clue(folder, How.NAMED, top)]
    if wheels.is_environment(folder):
        return wheels.in_environment(look, folder, How.WHEEL, folder)
    if os.path.isfile(os.path.join(folder, spack.INDEX)):
        return spack.in_tree(look, folder)
    if os.path.basename(folder) == "software":
        return list(easybuild.in_software(look, folder)) or None
    return None


def _is_prefix(folder: str) -> bool:
    return os.path.isdir(os.path.join(folder, "bin")) and is_rocm(folder)
