"""Installing a release: plan, build in staging, verify, and let it appear."""

from __future__ import annotations

import os
import shlex
import shutil
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from rocmenv import __version__
from rocmenv.errors import SpaceError, StoreError
from rocmenv.fetch.cache import in_use
from rocmenv.model import manifest
from rocmenv.model.receipt import Pruned, Receipt, Shared
from rocmenv.ops.plan import Wish, target
from rocmenv.ops.rehash import rehash, tidy, tidy_if_stopped
from rocmenv.probe.prefix import find_layout, find_version
from rocmenv.sources.base import Work
from rocmenv.store import registry, transaction, trash
from rocmenv.store.paths import RECEIPT_FOLDER
from rocmenv.store.share import AUTO, OFF, SMALLEST, Tree, share

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.ops.report import Reporter
    from rocmenv.process import Process
    from rocmenv.settings import Settings
    from rocmenv.sources.base import Built, Plan
    from rocmenv.store.paths import Root
    from rocmenv.store.registry import Installed

_JOBS = 8
"""The most packages at once: servers mind more connections, and the decoder is the limit."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to install.

    `jobs` at once; whether downloads stay in the cache; whether a version that is there is
    replaced; how files that other installs have too are shared (a way of `store.share`).
    """

    jobs: int
    keep_downloads: bool = False
    reinstall: bool = False
    share: str = AUTO


def options(settings: Settings, jobs: int | None, *, keep: bool, reinstall: bool) -> Options:
    """The options of a call, completed from the settings and the machine."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return Options(
        jobs=jobs or settings["jobs"] or min(_JOBS, max(2, cores)),
        keep_downloads=keep or bool(settings["keep_downloads"]),
        reinstall=reinstall,
        share=settings["share"],
    )


def install(
    process: Process,
    root: Root,
    plan: Plan,
    downloads: Downloads,
    how: Options,
    report: Reporter,
) -> Installed:
    """Carry out `plan`. After any failure the root is as it was, but for the cache.

    An interrupt keeps verified downloads. Raises what the source raises, `SpaceError`,
    and `StoreError` when the tree is not the release that was asked for.
    """
    version = plan.version
    for stopped in tidy(process, root):
        report.note(f"cleared away what an interrupted change of {stopped} had left")
    for note in plan.notes:
        report.note(note)
    check_space(root, plan)
    with transaction.staging(root, version) as stage:
        if root.receipt(version).is_file() and not how.reinstall:
            return registry.find(root, version)
        transaction.must_be_ours(root.version(version))
        built = _build(root, plan, stage.tree, downloads, how, report)
        report.step(f"checking {version}")
        receipt = _receipt(plan, built, str(stage.tree))
        _warn_of_blanks(root, report)
        files = built.inventory.entries(
            str(stage.tree), skip=(RECEIPT_FOLDER,), jobs=how.jobs, cancel=downloads.cancel
        )
        receipt = replace(receipt, shared=_share(root, stage, files, built, how.share))
        lacking = [manifest.Lacking(e.size, e.owner, e.member) for e in built.pruned]
        stage.commit(receipt, manifest.render(files), manifest.render_lacking(lacking) or None)
        left_out = rehash(process, root)
    trash.empty(root)
    if not how.keep_downloads:
        for path in built.cached:
            downloads.discard(path)
    if left_out:
        report.note(f"no shims for {', '.join(left_out)}: they would hide the system's own")
    return registry.find(root, version)


def check_space(root: Root, plan: Plan) -> None:
    """`SpaceError` when a file system has less room than what the plan puts on it.

    The cache may be on another one than the installs, by a link or a mount.
    """
    wanted: dict[int, list[tuple[str, int, Path]]] = {}
    for what, size, place in (
        ("packages", plan.download, root.cache),
        ("installed files", plan.installed, root.staging),
    ):
        there = place
        while not there.exists():
            there = there.parent
        wanted.setdefault(there.stat().st_dev, []).append((what, size or 0, there))
    for parts in wanted.values():
        needed, place = sum(size for _, size, _ in parts), parts[-1][2]
        free = shutil.disk_usage(place).free
        if needed > free:
            what = " and ".join(what for what, _, _ in parts)
            msg = (
                f"{plan.version} needs {needed / 1e9:.1f} GB ({what}), and the file system of "
                f"{place} has {free / 1e9:.1f} GB free"
            )
            hint = "make room, or name a root elsewhere: `export ROCM_ROOT=DIR`"
            raise SpaceError(msg, hint=hint)


def _build(
    root: Root, plan: Plan, tree: Path, downloads: Downloads, how: Options, report: Reporter
) -> Built:
    report.start(f"installing {plan.version}", plan.download or 0)
    work = Work(
        tree=tree,
        prefix=str(root.version(plan.version)),
        downloads=downloads,
        jobs=how.jobs,
        on_bytes=report.advance,
    )
    needs_none = plan.download == 0  # and then makes none
    try:
        with nullcontext() if needs_none else in_use(root.cache, downloads.cancel):
            return plan.build(work)
    finally:
        report.finish()


def _share(
    root: Root,
    stage: transaction.Stage,
    files: Iterable[manifest.Entry],
    built: Built,
    way: str,
) -> Shared | None:
    """Let the staged tree have files in common with the installs that there are."""
    if way == OFF:
        return built.shared
    installs = [
        item
        for version, item in registry.load(root).installed.items()
        if not item.receipt.is_link and version != stage.version  # which goes
    ]
    carried = built.inventory.carried
    # Who replaces a version may do so because its files are damaged, and those of others that
    # are the same files: then each is read, whatever a manifest says.
    is_known = bool(carried) or not os.path.lexists(root.version(stage.version))
    others = [_known(root, item) if is_known else Tree(item.prefix) for item in installs]
    made = share(Tree(str(stage.tree), _digests(files)), others, way, leave=carried)
    if made is None or built.shared is None:
        return made or built.shared
    return Shared(made.method, made.files + built.shared.files, made.size + built.shared.size)


def _known(root: Root, item: Installed) -> Tree:
    """An install with the digests of its manifest; without them where there is none."""
    path = root.manifest(item.version)
    try:
        digests = manifest.large_files(path.read_bytes(), str(path), SMALLEST)
        since = datetime.fromisoformat(item.receipt.time).timestamp()
    except (OSError, ValueError, StoreError):
        return Tree(item.folder)
    return Tree(item.folder, digests, since)


def _digests(files: Iterable[manifest.Entry]) -> dict[str, str]:
    return {e.path: e.sha256 for e in files if e.sha256 and e.size >= SMALLEST}


def _receipt(plan: Plan, built: Built, tree: str) -> Receipt:
    """The receipt, once the tree has been looked at."""
    tree = os.path.join(tree, built.inner) if built.inner else tree
    found = find_version(tree)
    if found is not None and found.release != plan.version.release:
        msg = f"what {plan.origin} holds says it is {found}, not {plan.version}"
        same = f" --from {shlex.quote(plan.origin)}" if plan.channel == "local" else ""
        hint = f"install it as what it is: `rocmenv install {found}{same}`"
        raise StoreError(msg, hint=hint)
    layout = find_layout(tree)
    if not os.path.isdir(os.path.join(tree, "bin")):
        msg = f"{plan.origin} does not hold a ROCm: there is no `bin` at its top"
        raise StoreError(msg, hint="is it the right file? see `rocmenv install --help`")
    return Receipt(
        version=plan.version,
        layout=layout,
        source=plan.channel,
        origin=plan.origin,
        time=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        made_by=__version__,
        items=built.items,
        size=built.size,
        files=built.files,
        notes=(*plan.notes, *built.notes),
        unrelocated=built.unrelocated,
        host=tuple(plan.host),
        profile=plan.request.profile,
        extra=plan.request.extra,
        suite=plan.request.suite or "",
        targets=plan.request.words,
        pruned=_pruned(built),
        inner=built.inner,
    )


def _pruned(built: Built) -> Pruned | None:
    lacking = built.pruned
    return Pruned(len(lacking), sum(e.size for e in lacking)) if lacking else None


def _warn_of_blanks(root: Root, report: Reporter) -> None:
    if any(char.isspace() for char in str(root.path)):
        report.warn(
            f"the root `{root.path}` has a blank in its path, with which parts of ROCm 6.x itself "
            "are known to fail; a root without one is safer: set ROCM_ROOT"
        )


def already(process: Process, root: Root, wish: Wish) -> Installed | None:
    """The install that a wish would make, when it is there; None also when nobody can tell yet.

    What an interrupted change left undone is finished first: the shims may not fit yet.
    """
    version = target(root, wish)
    if version is None or not root.receipt(version).is_file():
        return None
    tidy_if_stopped(process, root)
    try:
        registry.read_receipt(root, version)
    except StoreError as error:
        hint = error.hint or f"install it again: `rocmenv install --reinstall {version}`"
        raise StoreError(error.message, hint=hint) from error
    return registry.find(root, version)
