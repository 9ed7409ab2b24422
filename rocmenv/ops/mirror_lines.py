"""Of which line the signed files of a mirror are: stable releases, candidates, ...

They have the same paths on different servers, so that the index of one would take the place
of the other's, whose releases could not be installed from the mirror any more.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rocmenv.errors import RepositoryError, visible
from rocmenv.ops.mirror_folder import put

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rocmenv.sources.base import MirrorPlan

LINES = ".rocmenv-lines.json"
"""A table of paths and lines at the top of a mirror; without it nothing is known."""


def check_lines(folder: Path, wanted: Iterable[MirrorPlan]) -> None:
    """`RepositoryError` where a plan would write over a signed file of another line."""
    known = _read(folder)
    for plan in wanted:
        for path in _signed(plan):
            if known.get(path, plan.line) != plan.line:
                msg = (
                    f"{visible(path, 200)} of {folder} is that of the line `{known[path]}`, and "
                    f"{plan.version} is of `{plan.line}`"
                )
                raise RepositoryError(msg, hint="make a mirror for each line: `--to OTHER`")


def note_lines(folder: Path, wanted: Iterable[MirrorPlan]) -> None:
    """Remember the lines of what the plans have brought."""
    known = _read(folder)
    found = known | {path: plan.line for plan in wanted for path in _signed(plan)}
    if found != known:
        put(folder / LINES, f"{json.dumps(dict(sorted(found.items())), indent=0)}\n".encode())


def _signed(plan: MirrorPlan) -> list[str]:
    return [file.path for file in plan.files if file.artifact is None] if plan.line else []


def _read(folder: Path) -> dict[str, str]:
    try:
        table = json.loads((folder / LINES).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    rows = table.items() if isinstance(table, dict) else ()
    return {path: line for path, line in rows if isinstance(line, str)}
