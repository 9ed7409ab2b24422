"""An archive that was unpacked into a folder apart becomes part of a tree."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rocmenv.fetch.wrapping import without

if TYPE_CHECKING:
    from rocmenv.fetch.settle import Settlement


def absorb(state: Settlement, part: Settlement, top: str, owner: str) -> None:
    """Put what `part`, the archive `owner`, has into `state`, without the wrapping folder `top`.

    A folder that the tree does not have yet moves as a whole, with all that is in it.
    """
    whole = _move_folders(state, part, top, owner)
    for path, file in part.files.items():
        inner = without(path, top)
        if inner.rpartition("/")[0] in whole:
            state.note_name(inner)
            state.files[inner] = file
            continue
        disk = state.claim(inner, file)
        if disk is None:
            state.written(inner, file, part.root / path)
        else:
            (part.root / path).rename(disk)
    for (path, _), link in part.offered.items():
        inner = without(path, top)
        state.add_link(inner, replace(link, member=without(link.member, top)))
    state.notes += part.notes
    state.pruned += [replace(left, member=without(left.member, top)) for left in part.pruned]


def _move_folders(state: Settlement, part: Settlement, top: str, owner: str) -> set[str]:
    """Move folders; the paths of those that are there with all that they hold."""
    whole: set[str] = set()
    for path in sorted(part.folders):
        inner, mtime = without(path, top), part.folders[path]
        if not inner:
            continue
        above = inner.rpartition("/")[0]
        if above in whole:
            state.note_name(inner)
            state.folders[inner] = mtime
            whole.add(inner)
        elif inner in state.folders or inner in state.files:
            state.add_folder(inner, owner, mtime)  # which refuses a file of that name
        else:
            state.note_name(inner)
            (part.root / path).rename(state.root / inner)
            state.folders[inner] = mtime
            whole.add(inner)
    return whole
