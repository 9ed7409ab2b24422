"""What the installed versions and the rest of the root take on the disk."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmenv.errors import StoreError, UsageError
from rocmenv.ops import current
from rocmenv.store import registry
from rocmenv.store.share import REFLINK
from rocmenv.store.usage import Meter, Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocmenv.process import Process
    from rocmenv.store.paths import Root


@dataclass(frozen=True, slots=True)
class Row:
    """One entry of `versions/`: its name, prefix, and usage, None for what was not measured.

    `problem` says why an entry is no install.
    """

    name: str
    prefix: str
    usage: Usage | None
    is_link: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """The versions, oldest first, and the rest of the root.

    `total` is in bytes on the disk; what several have in common is counted once. `cache`,
    `staging` and `trash` are None when only some versions were asked for.
    """

    rows: tuple[Row, ...]
    total: int
    cache: Usage | None = None
    staging: Usage | None = None
    trash: Usage | None = None


def measure(process: Process, root: Root, words: Sequence[str], *, linked: bool) -> Report:
    """Measure the versions that `words` name, else everything.

    Linked versions belong to somebody else and may be large: they are measured with
    `linked` only. Raises what a request raises that fits nothing.
    """
    rows = _named(process, root, words) if words else _all(root)
    meter = meter_for(root)
    rows = [_measured(row, meter, linked=linked) for row in rows]
    if words:
        return Report(tuple(rows), meter.total)
    cache, staging, trash = (
        meter.measure(str(folder)) for folder in (root.cache, root.staging, root.trash)
    )
    return Report(tuple(rows), meter.total, cache, staging, trash)


def meter_for(root: Root) -> Meter:
    """A meter for this root; it looks for clones only where an install has made some."""
    return Meter(
        clones=any(
            item.receipt.shared is not None and item.receipt.shared.method == REFLINK
            for item in registry.load(root).installed.values()
        )
    )


def _all(root: Root) -> list[Row]:
    listing = registry.load(root)
    rows = [
        Row(str(version), item.folder, None, is_link=item.receipt.is_link)
        for version, item in listing.installed.items()
    ]
    rows += [
        Row(os.path.basename(entry.path), entry.path, None, problem=entry.reason)
        for entry in listing.broken
    ]
    return rows


def _named(process: Process, root: Root, words: Sequence[str]) -> list[Row]:
    rows: dict[str, Row] = {}
    for word in words:
        version = current.named(process, root, current.asked(word))
        if version is None:
            msg = "the system's ROCm is not in the root"
            raise UsageError(msg, hint="name an installed version; `rocmenv versions` shows them")
        try:
            item = registry.find(root, version)
            row = Row(str(version), item.folder, None, is_link=item.receipt.is_link)
        except StoreError as error:
            row = Row(str(version), str(root.version(version)), None, problem=error.message)
        rows[row.name] = row
    return list(rows.values())


def _measured(row: Row, meter: Meter, *, linked: bool) -> Row:
    if row.is_link and not linked:
        return row
    place = os.path.realpath(row.prefix) if row.is_link else row.prefix
    return Row(row.name, row.prefix, meter.measure(place), row.is_link, row.problem)
