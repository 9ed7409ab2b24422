"""`rocm.lock` of a project: writing it, reading it, and what an install makes of it."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rocmenv.errors import PinError, UsageError
from rocmenv.fetch.connection import without_account
from rocmenv.model.lock import LOCK_NAME, Lock, Locked, moved
from rocmenv.model.release import Artifact
from rocmenv.model.selection import PIN_NAME, Origin, Selection, Source
from rocmenv.model.target import ALL
from rocmenv.model.version import Spec
from rocmenv.ops import current
from rocmenv.ops.plan import AUTO, channel_of, completed, for_gpus, make_plan, target
from rocmenv.sources.base import FromIndexes, Request
from rocmenv.sources.catalog import checked_mirror, is_legacy
from rocmenv.sources.catalog_file import load
from rocmenv.store import pins, registry
from rocmenv.store.locks import platform_name, read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.model.receipt import Item, Receipt
    from rocmenv.model.version import Version
    from rocmenv.ops.plan import Wish
    from rocmenv.ops.report import Reporter
    from rocmenv.process import Process
    from rocmenv.settings import Settings
    from rocmenv.sources.base import Plan
    from rocmenv.sources.catalog import Catalog
    from rocmenv.store.paths import Root


class Choices(NamedTuple):
    """What a lock is made with where nobody says otherwise.

    `gpus` are words of `--gpu`; with a `prune` of None the setting decides.
    """

    channel: str
    profile: str
    extra: tuple[str, ...]
    gpus: tuple[str, ...]
    prune: bool | None
    mirror: str | None


def place_of(process: Process) -> Path:
    """Where a new lock goes: beside the pin that counts here, else into this folder."""
    pin = pins.nearest(process.cwd)
    return Path(os.path.dirname(pin[0]) if pin else process.cwd) / LOCK_NAME


def pinned(process: Process, root: Root) -> Spec:
    """What the pin here asks for, else what the lock here was made for; `UsageError` without any.

    With what an alias stands for.
    """
    found = pins.nearest(process.cwd)
    if found is None:
        there = _platforms(place_of(process))
        mine = [entry for entry in there if entry.platform == platform_name()]
        spec = Spec.parse((mine or there)[0].spec) if there else None
    else:
        spec = current.without_alias(
            process, root, Selection(found[1], Origin(Source.PIN, found[0]))
        )
    if spec is None or spec.is_system:
        msg = f"no {PIN_NAME} here names a version to lock"
        raise UsageError(msg, hint="name one: `rocmenv lock 6.3`, or `rocmenv local 6.3` first")
    return spec


def _platforms(path: Path) -> tuple[Locked, ...]:
    """The entries of the lock at `path`, none where there is no file."""
    return read(path).platforms if path.is_file() else ()


def make(
    process: Process,
    root: Root,
    settings: Settings,
    wish: Wish,
    downloads: Downloads,
    report: Reporter,
) -> Locked:
    """What a wish means here and now, with address, size and SHA-256 of every file.

    An install that the wish would make, in the same form, tells all of it without a network.
    Else indexes are read, and files whose digest nobody publishes, or nobody signed, are
    downloaded once. Raises as planning and downloading do.
    """
    data = load(root.catalog)
    found = _installed(process, root, settings, data, wish)
    if found is not None:
        receipt, request = found
        items: Sequence[Item] = receipt.items
        version, channel, origin = receipt.version, receipt.source, receipt.origin
    else:
        plan = make_plan(process, root, settings, wish, downloads, report)
        for note in plan.notes:
            report.note(note)
        _prove(plan, downloads, report)
        request, items = plan.request, _whole(root, plan, downloads, report)
        if isinstance(plan, FromIndexes):
            plan.remembered.keep()
        version, channel, origin = plan.version, plan.channel, plan.origin
    return Locked(
        platform=platform_name(),
        spec=wish.spec,
        version=version,
        channel=channel,
        origin=origin,
        mirror=_base(data, channel, version, request),
        profile=request.profile,
        extra=request.extra,
        targets=request.words,
        prune=request.keep() is not None,
        items=tuple(sorted(items, key=lambda item: (item.name, item.url))),
    )


def choices(root: Root, settings: Settings, path: Path, spec: str) -> Choices:
    """What a lock of `spec` at `path` is made with: as it was for this platform, if it is there.

    Else as the settings say, and for this machine's GPUs. So a lock that is made again, or
    checked on another machine, differs by what is published alone. Raises as `read`.
    """
    before = Lock(_platforms(path)).on(platform_name())
    channel, profile = settings["channel"], settings["profile"]
    if before is None:
        return Choices(channel, profile, (), (), None, None)
    data = load(root.catalog)
    release = before.version.without_local
    is_own = before.channel == channel_of(data, release, AUTO)
    is_same = Spec.parse(spec).fits(before.version)
    return Choices(
        # A release's own channel may be none of another release's.
        channel=before.channel if is_same or not is_own else channel,
        profile=before.profile or profile,
        extra=before.extra,
        gpus=before.targets or (ALL,),
        prune=before.prune if before.targets else None,
        mirror=_own_mirror(data, settings, before),
    )


def _own_mirror(data: Catalog, settings: Settings, before: Locked) -> str | None:
    """The mirror that a lock was made from, where no setting names one and it is not AMD's."""
    group = "legacy" if is_legacy(data, before.version.without_local) else "therock"
    usual = _base(data, before.channel, before.version, Request())
    is_usual = before.mirror in ("", usual) or settings[f"{group}.mirror"]
    return None if is_usual else before.mirror


def _installed(
    process: Process, root: Root, settings: Settings, data: Catalog, wish: Wish
) -> tuple[Receipt, Request] | None:
    """The receipt of the install that `wish` would make, where there is one, and its request."""
    version = target(root, wish)
    if version is None or not root.receipt(version).is_file():
        return None
    receipt = registry.find(root, version).receipt
    release = version.without_local
    channel = channel_of(data, release, wish.channel)
    request = completed(wish.request, settings, is_legacy=is_legacy(data, release))
    request, _, _ = for_gpus(process, settings, wish.gpus, request, release)
    base = _base(data, channel, version, request)
    is_same = (
        receipt.source == channel
        and all(item.sha256 for item in receipt.items)
        and (not base or any(i.url.startswith(f"{base.rstrip('/')}/") for i in receipt.items))
        and (
            (receipt.profile, receipt.extra, receipt.suite, receipt.targets)
            == (request.profile, request.extra, request.suite or "", request.words)
            and (receipt.pruned is None or request.prune)
        )
    )
    return (receipt, request) if is_same and receipt.items else None


def would_change(path: Path, locked: Locked) -> bool:
    """Whether the lock at `path` has another entry, or none, for this platform."""
    return Lock(_platforms(path)).on(locked.platform) != locked


def write(path: Path, locked: Locked) -> bool:
    """Put an entry into the lock at `path`; whether that changed the file."""
    if not would_change(path, locked):
        return False
    new = Lock(_platforms(path)).with_platform(locked)
    pins.replace_file(path, new.render().encode())
    return True


def wanted_at(path: Path) -> Locked:
    """The entry for this machine in the lock at `path`, as long as it fits the pin beside it.

    Raises `PinError` when the lock has none, or was made for another pin.
    """
    locked = read(path).on(platform_name())
    if locked is None:
        msg = f"{path} has nothing for {platform_name()}"
        raise PinError(msg, hint=f"add it: `cd {shlex.quote(str(path.parent))} && rocmenv lock`")
    pin = path.parent / PIN_NAME
    spec = pins.read(str(pin)) if pin.is_file() else None
    if spec is not None and spec.is_system:
        msg = f"{pin} asks for the system's ROCm, and {path} is for {locked.version}"
        raise PinError(msg, hint=f"remove one of them: `rm {shlex.quote(str(path))}`")
    if spec is not None and not spec.is_alias and not spec.fits(locked.version):
        msg = f"{path} is for {locked.version}, and {pin} asks for {spec}"
        raise PinError(msg, hint=f"lock anew: `cd {shlex.quote(str(path.parent))} && rocmenv lock`")
    return locked


def mirror_for(root: Root, settings: Settings, locked: Locked, asked: str | None) -> str | None:
    """The base address in place of a lock's own: the one asked for, else that of the settings."""
    release = locked.version.without_local
    group = "legacy" if is_legacy(load(root.catalog), release) else "therock"
    return checked_mirror(asked or settings[f"{group}.mirror"])


def differs(receipt: Receipt, locked: Locked) -> str | None:
    """What an install has that the lock does not say, or the other way round; None for nothing."""
    have = {(item.name, item.sha256) for item in receipt.items}
    want = {(item.name, item.sha256) for item in locked.items}
    if have == want:
        return None
    return min(name for name, _ in have ^ want)


def _prove(plan: Plan, downloads: Downloads, report: Reporter) -> None:
    """Check the signatures of packages whose index is not signed.

    An install from a lock looks at digests alone, so these must be of what was signed.
    """
    from rocmenv.sources.packages import PackagePlan  # noqa: PLC0415 - as `make_plan` does

    unproven = plan.unproven() if isinstance(plan, PackagePlan) else []
    if not unproven:
        return
    size = sum(artifact.size or 0 for artifact, _ in unproven)
    report.start("downloading what only its own signature vouches for", size)
    try:
        for artifact, voucher in unproven:
            voucher.check(downloads.fetch(artifact, report.advance), downloads.cancel)
    finally:
        report.finish()


def _whole(root: Root, plan: Plan, downloads: Downloads, report: Reporter) -> Sequence[Item]:
    known: dict[str, Item] = {}
    for item in registry.load(root).installed.values():
        known.update((i.url, i) for i in item.receipt.items if i.sha256)
    missing = [i for i in plan.items if not i.sha256 and i.url not in known]
    is_wheels = plan.channel == "wheels"
    if missing:
        report.start("downloading what has no published digest", sum(i.size for i in missing))
    elif is_wheels:
        report.start("reading what the wheels need", 0)
    try:
        if is_wheels:
            return _wheels(plan, known, report)
        fetched = {i.url: _fetched(i, plan.request.mirror, downloads, report) for i in missing}
    finally:
        if missing or is_wheels:
            report.finish()
    return [i if i.sha256 else fetched.get(i.url) or known[i.url] for i in plan.items]


def _wheels(plan: Plan, known: dict[str, Item], report: Reporter) -> Sequence[Item]:
    from rocmenv.sources.wheels import WheelsPlan  # noqa: PLC0415 - for wheels alone

    if not isinstance(plan, WheelsPlan):  # no other plan is of this channel
        raise TypeError
    return plan.locked(known, report.advance)


def _fetched(item: Item, mirror: str | None, downloads: Downloads, report: Reporter) -> Item:
    # What a plan says of itself has no password; the mirror's address may.
    (at,) = moved([item], without_account(mirror), mirror) if mirror else (item,)
    path = downloads.fetch(Artifact(at.url, item.name, item.size or None), report.advance)
    return replace(item, size=path.stat().st_size, sha256=path.name)


def _base(data: Catalog, channel: str, version: Version, request: Request) -> str:
    """The address that a mirror may stand in for, empty where there is none."""
    mirror = request.mirror
    release = version.without_local
    if mirror is None and channel in data.channels and is_legacy(data, release):
        mirror = data.channels[channel].mirror
    elif mirror is None and channel != "distro":
        mirror = data.place(release).mirror
    return without_account(mirror) if mirror else ""
