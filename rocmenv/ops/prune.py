"""Removing what nothing asks for: versions, downloads, and what stopped changes have left."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rocmenv.errors import RocmenvError
from rocmenv.ops import cache
from rocmenv.ops.pinned import aliases_of, doubts_of, known_pins
from rocmenv.ops.rehash import tidy
from rocmenv.ops.uninstall import reasons_to_keep, uninstall
from rocmenv.ops.usage import meter_for
from rocmenv.probe.running import users_of
from rocmenv.store import registry, transaction, trash

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rocmenv.fetch.cache import Entry
    from rocmenv.model.version import Version
    from rocmenv.ops.pinned import Pin
    from rocmenv.process import Process
    from rocmenv.store.paths import Root
    from rocmenv.store.registry import Installed
    from rocmenv.store.usage import Usage


@dataclass(frozen=True, slots=True)
class Choice:
    """What to look at, and how many of the newest versions stay in any case."""

    unused: bool = True
    cache: bool = True
    staging: bool = True
    keep: int = 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """One version: why it stays, or nothing, and it goes. `usage` is None for linked ones."""

    version: Version
    reasons: tuple[str, ...] = ()
    usage: Usage | None = None
    is_link: bool = False


@dataclass(frozen=True, slots=True)
class Left:
    """What a change that has ended or stopped has left: a path, and the bytes that it frees."""

    path: str
    size: int


@dataclass(frozen=True, slots=True)
class Look:
    """What would go. `frees` is in bytes; what two that go have in common counts once."""

    going: tuple[Verdict, ...] = ()
    staying: tuple[Verdict, ...] = ()
    downloads: tuple[Entry, ...] = ()
    left: tuple[Left, ...] = ()
    frees: int = 0
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing would go."""
        return not (self.going or self.downloads or self.left)


@dataclass(slots=True)
class Outcome:
    """What has gone, and what could not go: its name and why."""

    versions: list[Version] = field(default_factory=list)
    downloads: int = 0
    left: int = 0
    failed: list[tuple[str, RocmenvError]] = field(default_factory=list)


def look(process: Process, root: Root, choice: Choice) -> Look:
    """Find what would go, and why the rest stays. Changes nothing."""
    verdicts: list[Verdict] = []
    notes: list[str] = []
    frees = 0
    if choice.unused:
        known = known_pins(process, root)
        notes = [pin.problem for pin in known if pin.problem]
        # Nobody knows what is in such a folder, so only `uninstall` takes it, by its name.
        broken = registry.load(root).broken
        notes += [f"{entry.path} is not an install and stays: {entry.reason}" for entry in broken]
        verdicts, frees = _measured(root, _judged(process, root, choice.keep, known))
    downloads = tuple(cache.unneeded(root)) if choice.cache else ()
    left = tuple(_left(root)) if choice.staging else ()
    return Look(
        tuple(v for v in verdicts if not v.reasons),
        tuple(v for v in verdicts if v.reasons),
        downloads,
        left,
        frees + sum(entry.size for entry in downloads) + sum(one.size for one in left),
        tuple(notes),
    )


def carry_out(process: Process, root: Root, found: Look, choice: Choice) -> Outcome:
    """Remove what `look` has found, each by itself: one that cannot go leaves the others.

    A version that something asks for by now stays.
    """
    done = Outcome()
    tidy(process, root)
    for verdict in found.going:
        try:
            known = known_pins(process, root)
            still = {v.version: v.reasons for v in _judged(process, root, choice.keep, known)}
            reasons = still.get(verdict.version, ())
            if reasons:
                msg = f"{verdict.version} is needed by now: {'; '.join(reasons)}"
                raise RocmenvError(msg)
            uninstall(process, root, verdict.version)
        except RocmenvError as error:
            done.failed.append((str(verdict.version), error))
        else:
            done.versions.append(verdict.version)
    if found.left:
        trash.empty(root)
        done.left = len(found.left)
    if found.downloads:
        _clear(root, found.downloads, done)
    return done


def _clear(root: Root, downloads: Iterable[Entry], done: Outcome) -> None:
    try:
        cleared = cache.clear(root, list(downloads))
    except RocmenvError as error:
        done.failed.append(("cache", error))
        return
    done.downloads = len(cleared.gone)
    for entry, why in cleared.kept:
        done.failed.append((entry.path, RocmenvError(f"{entry.path} cannot be removed ({why})")))


def _judged(process: Process, root: Root, keep: int, known: Sequence[Pin]) -> Iterator[Verdict]:
    """Every version with the reasons for which it stays, oldest first."""
    installed = registry.load(root).installed
    running = users_of(str(root.versions))
    doubts = doubts_of(root, known)
    links = _links_inside(root, installed)
    newest = _newest([v for v, item in installed.items() if not item.receipt.is_link], keep)
    for version, item in installed.items():
        if item.receipt.is_link:
            yield Verdict(version, (f"linked to {item.prefix}",), is_link=True)
            continue
        reasons = [str(r) for r in reasons_to_keep(process, root, version, known, running)]
        reasons += aliases_of(process, root, version)
        reasons += [f"where {link} leads, which is linked" for link in links.get(str(version), ())]
        reasons += doubts
        if version in newest:
            reasons.append("the newest" if keep == 1 else f"one of the {keep} newest")
        yield Verdict(version, tuple(reasons))


def _links_inside(root: Root, installed: Mapping[Version, Installed]) -> dict[str, list[Version]]:
    """The linked versions that lead to others of this root by now, by the names of these."""
    top = os.path.realpath(root.versions)
    found: dict[str, list[Version]] = {}
    for version, item in installed.items():
        place = os.path.realpath(item.prefix) if item.receipt.is_link else ""
        if place.startswith(f"{top}/"):
            found.setdefault(place[len(top) + 1 :].partition("/")[0], []).append(version)
    return found


def _newest(versions: Sequence[Version], keep: int) -> set[Version]:
    """The newest releases, and as many of the pre-releases, which no short request takes."""
    finals = [v for v in versions if v.is_final]
    others = [v for v in versions if not v.is_final]
    return {v for some in (finals, others) for v in sorted(some, reverse=True)[:keep]}


def _measured(root: Root, verdicts: Iterable[Verdict]) -> tuple[list[Verdict], int]:
    """The verdicts with usages, and the bytes that go with those that go."""
    found = list(verdicts)
    meter = meter_for(root)
    usages: dict[Version, Usage] = {}
    before = 0
    # What stays first: then the rest adds to the total what is in nothing that stays.
    for goes in (False, True):
        before = meter.total
        for one in found:
            if (not one.reasons) == goes and not one.is_link:
                usages[one.version] = meter.measure(str(root.version(one.version)))
    return [replace(v, usage=usages.get(v.version)) for v in found], meter.total - before


def _left(root: Root) -> Iterator[Left]:
    meter = meter_for(root)
    for path in transaction.leftovers(root):
        yield Left(path, meter.measure(path).frees)
