"""Putting the newest release of a series in the place of an older one."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rocmenv.errors import NotInstalledError, RocmenvError, StoreError, UsageError
from rocmenv.model.target import ALL
from rocmenv.model.version import Spec, Version
from rocmenv.ops import current
from rocmenv.ops.outdated import AMDS, DISTRO
from rocmenv.ops.pinned import aliases_of, doubts_of, known_pins
from rocmenv.ops.plan import Wish, make_plan
from rocmenv.ops.uninstall import reasons_to_keep, uninstall
from rocmenv.settings import Settings
from rocmenv.sources.base import Request
from rocmenv.store import pins, registry

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.model.receipt import Receipt
    from rocmenv.ops.outdated import Known
    from rocmenv.ops.pinned import Pin
    from rocmenv.ops.report import Reporter
    from rocmenv.process import Process
    from rocmenv.sources.base import Plan
    from rocmenv.store.paths import Root
    from rocmenv.store.registry import Installed

_CHANNELS = (*AMDS, DISTRO)


@dataclass(frozen=True, slots=True)
class Step:
    """One upgrade: what is there, what comes in its place, and how that is asked for.

    `is_there` tells that the new one is installed already: only the old one has to go.
    """

    old: Installed
    new: Version
    wish: Wish
    is_there: bool
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Result:
    """What an upgrade did. `kept` are the reasons for which the old version is still there."""

    step: Step
    default: str = ""
    pins: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


def chosen(
    process: Process, root: Root, words: Sequence[str], *, everything: bool
) -> list[Installed]:
    """The installs that `words` name: versions in full, or the newest of a series.

    With `everything` the newest of each series, variants apart. Linked versions and those
    from files are refused when they are named, and left out otherwise.
    """
    installed = registry.load(root).installed
    if everything:
        ours = [i for i in installed.values() if i.receipt.source in _CHANNELS]
        newest = {(i.receipt.source, i.version.xy, i.version.local): i for i in ours}
        return list(newest.values())
    out: dict[Version, Installed] = {}
    for word in words:
        item = current.installed_for(process, root, current.asked(word))
        if item is None:
            msg = "the system's ROCm is not ours to upgrade"
            raise UsageError(msg, hint="name an installed version; `rocmenv versions` shows them")
        if item.receipt.source not in _CHANNELS:
            place = item.prefix if item.receipt.is_link else item.receipt.origin
            how = "is linked to" if item.receipt.is_link else "was made from"
            msg = f"version {item.version} {how} {place}, which no channel can make newer"
            raise StoreError(msg, hint="install the newer one: `rocmenv install latest`")
        out[item.version] = item
    return list(out.values())


def steps(
    process: Process, root: Root, items: Iterable[Installed], out: Known
) -> tuple[list[Step], list[Installed]]:
    """The upgrades of these installs, and those among them that are up to date."""
    todo: list[Step] = []
    done: list[Installed] = []
    settings = Settings(process, root)
    there = set(registry.versions(root))
    for item in items:
        release = out.newest_in_series(item.version, item.receipt.source)
        if release is None or release <= item.version.without_local:
            done.append(item)
            continue
        local = item.version.local
        new = Version.parse(f"{release}+{local}") if local else release
        wish = Wish(
            spec=str(release),
            channel=item.receipt.source,
            name=str(new) if local else None,
            gpus=item.receipt.targets or (ALL,),
            request=_request(item.receipt, settings),
        )
        notes: tuple[str, ...] = ()
        if not item.receipt.profile:
            words = f"the receipt of {item.version} does not tell its profile"
            notes = (f"{words}: `{wish.request.profile}` is taken",)
        todo.append(Step(item, new, wish, new in there, notes))
    return todo, done


def _request(receipt: Receipt, settings: Settings) -> Request:
    """What was asked for when it was installed, of the place where releases come from now."""
    suffix = receipt.version.xyz  # legacy's packages may have been named with their release
    return Request(
        profile=receipt.profile or settings["profile"],
        extra=tuple(name.removesuffix(suffix) for name in receipt.extra),
        suite=receipt.suite or None,
        prune=receipt.pruned is not None or None,  # otherwise the setting decides
    )


def plan(process: Process, root: Root, step: Step, downloads: Downloads, report: Reporter) -> Plan:
    """The plan for the new version. Reads indexes; changes nothing."""
    return make_plan(process, root, Settings(process, root), step.wish, downloads, report)


def pins_of(process: Process, root: Root, version: Version) -> list[Pin]:
    """The pins that name `version` in full: they would not follow to a newer one."""
    known = (pin for pin in known_pins(process, root) if not pin.is_lock)
    return [pin for pin in known if pin.spec and pin.spec.exact == version]


def settle(process: Process, root: Root, step: Step, *, edit_pins: bool, keep_old: bool) -> Result:
    """Let the default, and with `edit_pins` known pins, name the new version; remove the old.

    A version that something still asks for stays, and so does one with `keep_old`. The new
    one is looked for first: nothing moves to a version that is not whole.
    """
    result = Result(step)
    registry.find(root, step.new)
    old = step.old.version
    default = pins.read(str(root.default)) if os.path.isfile(root.default) else None
    if default is not None and default.exact == old:
        pins.write(root.default, Spec(exact=step.new))
        result.default = str(root.default)
    for pin in pins_of(process, root, old) if edit_pins else ():
        try:
            pins.write(Path(pin.path), Spec(exact=step.new))
            result.pins.append(pin.path)
        except RocmenvError as error:
            result.kept.append(error.message)
    if keep_old:
        result.kept.append("`--keep-old` was given")
        return result
    known = known_pins(process, root)
    result.kept += [str(r) for r in reasons_to_keep(process, root, old, known)]
    result.kept += doubts_of(root, known)
    result.kept += aliases_of(process, root, old)
    if not result.kept:
        with suppress(NotInstalledError):  # somebody else was faster
            uninstall(process, root, old)
    return result
