"""From wheels that are at hand to a prefix: the environment, and what is in it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rocmenv.fetch.address import file_name
from rocmenv.fetch.inventory import Inventory
from rocmenv.fetch.pipeline import download
from rocmenv.model.release import Artifact
from rocmenv.sources.base import Built
from rocmenv.sources.wheel_program import make_prefix
from rocmenv.sources.wheel_tree import Venv

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rocmenv.model.receipt import Item
    from rocmenv.sources.base import Work


def fill(fetched: Sequence[tuple[Item, Path]], work: Work) -> Built:
    """Fill an environment in `work.tree` with these files and nothing else.

    An item's address ends in the file's name, which tells wheels from the one source archive.
    """
    venv = Venv.make(work.tree, work.prefix, work.downloads.cancel)
    for item, path in fetched:
        name = file_name(item.url)
        if name.endswith(".whl"):
            venv.add_wheel(path, name)
        else:
            venv.add_sources(path, name, item.version)
    inner = make_prefix(venv)
    files, size = _counted(work.tree)
    return Built(
        tuple(item for item, _ in fetched),
        files,
        size,
        Inventory(),
        cached=tuple(path for _, path in fetched),
        inner=inner,
    )


def fetch(items: Sequence[Item], work: Work) -> list[tuple[Item, Path]]:
    """The files of a receipt or lock, which must have the digests that it names."""
    artifacts = [Artifact(i.url, file_name(i.url), i.size, i.sha256) for i in items]
    return list(zip(items, download(artifacts, work.downloads, work.on_bytes), strict=True))


def _counted(tree: Path) -> tuple[int, int]:
    """How many files a tree has, and their bytes: one with several names counts once."""
    seen: dict[tuple[int, int], int] = {}
    count = 0
    for folder, _, names in os.walk(tree):
        for name in names:
            status = os.lstat(os.path.join(folder, name))
            count += 1
            seen[status.st_dev, status.st_ino] = status.st_size
    return count, sum(seen.values())
