"""Spack's install trees: a prefix for each package, and no tree that has them all.

Source: Spack's documentation of its database (`TREE/.spack-db/index.json`) and of spec
files (`PREFIX/.spack/spec.json`). Its package `hip` has the number of the ROCm release.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rocmenv.probe.discover.base import Clue, How, version_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocmenv.probe.discover.base import Look

INDEX = os.path.join(".spack-db", "index.json")
_MOST = 64 << 20
PARTIAL = "Spack has a prefix for each package: `spack load hip` sets them up"


def clues(look: Look) -> Iterator[Clue]:
    """The package `hip` of the trees below SPACK_ROOT and the usual places."""
    tops = [look.host.environ.get("SPACK_ROOT") or "", os.path.join(look.host.home, "spack")]
    for top in dict.fromkeys((*tops, *look.host.places.spack)):
        if os.path.isabs(top):
            for tree in (os.path.join(top, "opt", "spack"), top):
                yield from in_tree(look, tree)


def in_tree(look: Look, tree: str) -> Iterator[Clue]:
    """The package `hip` of one tree; an external one is a whole ROCm of somebody else's."""
    index = os.path.join(tree, INDEX)
    value = look.json(index, _MOST)
    database = value.get("database") if isinstance(value, dict) else None
    installs = database.get("installs") if isinstance(database, dict) else None
    for record in installs.values() if isinstance(installs, dict) else ():
        if not isinstance(record, dict) or not record.get("installed", True):
            continue
        spec = _spec(record.get("spec"))
        path = record.get("path")
        if spec.get("name") == "hip" and isinstance(path, str) and os.path.isabs(path):
            partial = "" if spec.get("external") else PARTIAL
            version = version_in(spec.get("version"))
            yield Clue(path, How.SPACK, index, version=version, partial=partial)


def _spec(value: object) -> dict[str, object]:
    """A spec's own fields; before Spack 0.17 they stood below the package's name."""
    if not isinstance(value, dict):
        return {}
    if "name" not in value and len(value) == 1:
        name, fields = next(iter(value.items()))
        return {**fields, "name": name} if isinstance(fields, dict) else {}
    return value
