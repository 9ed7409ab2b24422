"""What of a lock goes into a static mirror: its files and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from rocmenv.errors import ResolveError
from rocmenv.fetch.connection import shown
from rocmenv.model.release import Artifact
from rocmenv.sources.base import MirrorFile, MirrorPlan, largest_first
from rocmenv.sources.catalog import checked_mirror

if TYPE_CHECKING:
    from rocmenv.model.lock import Locked


def plan(locked: Locked, source: str | None = None) -> MirrorPlan:
    """The mirror of the files of one platform's entry, at their own places; reads nothing.

    They come from where they were locked from, or from below `source`.

    `ResolveError` when a file is at no place that a mirror can stand in for.
    """
    base = f"{locked.mirror.rstrip('/')}/"
    outside = [i for i in locked.items if not (locked.mirror and i.url.startswith(base))]
    if outside:
        msg = f"a mirror cannot stand in for `{shown(outside[0].url)}` of the lock"
        why = "its files are from a server of its own" if locked.mirror else "it is not AMD's"
        raise ResolveError(msg, hint=f"{why}; lock another channel: `rocmenv lock --channel auto`")
    paths = [unquote(item.url.removeprefix(base)) for item in locked.items]
    moved = locked.at(checked_mirror(source)).items
    return MirrorPlan(
        version=locked.version,
        channel=locked.channel,
        origin=locked.origin,
        files=tuple(
            largest_first(
                MirrorFile(
                    path,
                    Artifact(item.url, path.rpartition("/")[2], item.size or None, item.sha256),
                )
                for path, item in zip(paths, moved, strict=True)
            )
        ),
    )
