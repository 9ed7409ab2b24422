"""Putting an install right: only the packages of damaged files are fetched again."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rocmenv.errors import RocmenvError, StoreError
from rocmenv.fetch.cache import in_use
from rocmenv.fetch.digest import sha256_of
from rocmenv.fetch.trouble import NotThereError
from rocmenv.ops import verify
from rocmenv.ops.again import again
from rocmenv.ops.rehash import rehash, tidy
from rocmenv.sources.base import Lost, Request, Work
from rocmenv.store import registry, transaction
from rocmenv.store.mend import mend

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.model.manifest import Entry
    from rocmenv.model.receipt import Receipt
    from rocmenv.model.version import Version
    from rocmenv.ops.install import Options
    from rocmenv.ops.report import Reporter
    from rocmenv.ops.verify import Checked
    from rocmenv.process import Process
    from rocmenv.store.paths import Root
    from rocmenv.store.registry import Installed
    from rocmenv.store.transaction import Stage


@dataclass(frozen=True, slots=True)
class Repaired:
    """A version before and after its repair; `problem` says what could not be made again."""

    before: Checked
    after: Checked
    problem: StoreError | None = None


def repair(
    process: Process,
    root: Root,
    version: Version,
    downloads: Downloads,
    how: Options,
    report: Reporter,
    *,
    deep: bool,
) -> Repaired:
    """Look at a version and mend what is wrong; what was found, and what is left of it.

    Each file is mended in one step, and only by content that has the hash of its first
    install. What is not in the manifest stays. Raises as `verify.check`, what fetching and
    unpacking raise, and `LockedError` while the version is being installed or removed.
    """
    tidy(process, root)
    with transaction.staging(root, version) as stage:
        item = registry.find(root, version)
        entries = verify.read_manifest(root, item)
        before = verify.compare(item, entries, deep=deep, jobs=how.jobs, report=report)
        if not before.faults:
            return Repaired(before, before)
        transaction.must_be_ours(root.version(version), "repaired")
        left = _mend(stage, item, entries, before, downloads, how, report)
        # What was mended has the right content; what was hidden till now may have any.
        is_new = deep and before.hidden > 0
        after = verify.compare(item, entries, deep=is_new, jobs=how.jobs, report=report)
        rehash(process, root)
    return Repaired(before, _with(after, before, left), _problem(item, left))


def _with(after: Checked, before: Checked, left: Collection[str]) -> Checked:
    """`after` with the faults that are `left` of `before`, which only a deep look may see."""
    faults = {f.entry.path: f for f in before.faults if f.entry.path in left}
    faults.update((f.entry.path, f) for f in after.faults)
    return replace(after, faults=tuple(faults[path] for path in sorted(faults)))


def _problem(item: Installed, left: Sequence[str]) -> StoreError | None:
    if not left:
        return None
    shown = ", ".join(left[:3]) + (" ..." if left[3:] else "")
    msg = f"{len(left)} files of {item.version} cannot be made as they were: {shown}"
    return StoreError(msg, hint=f"install it again: `{again(item)}`")


def _mend(
    stage: Stage,
    item: Installed,
    entries: Sequence[Entry],
    checked: Checked,
    downloads: Downloads,
    how: Options,
    report: Reporter,
) -> list[str]:
    """Mend what can be mended; the paths of what cannot."""
    wanted = {f.entry.path: f.entry for f in checked.faults if f.needs_content}
    cached: tuple[Path, ...] = ()
    made: dict[str, Path] = {}
    if wanted:
        lost = Lost(
            stage.root.version(stage.version),
            entries,
            frozenset(wanted),
            item.receipt.items,
            item.receipt.origin,
        )
        with _explained(item), in_use(downloads.cache, downloads.cancel):
            cached = _rebuild(stage, item, lost, downloads, how, report)
        made = {path: stage.tree / path for path in wanted if _is_right(stage, wanted[path])}
    easy = [(f.entry, None) for f in checked.faults if not f.needs_content]
    mend(stage, item.folder, [*easy, *((wanted[path], made[path]) for path in made)])
    if not how.keep_downloads:
        for path in cached:
            downloads.discard(path)
    return sorted(wanted.keys() - made.keys())


def _rebuild(
    stage: Stage,
    item: Installed,
    lost: Lost,
    downloads: Downloads,
    how: Options,
    report: Reporter,
) -> tuple[Path, ...]:
    """Make the wanted files again in the tree of `stage`; what of the cache it took."""
    channel = item.receipt.source
    report.start(f"repairing {item.version}", _to_download(channel, lost))
    work = Work(
        tree=stage.tree,
        prefix=item.folder,
        downloads=downloads,
        jobs=how.jobs,
        on_bytes=report.advance,
    )
    release = item.version.without_local
    try:
        if channel == "local":
            from rocmenv.sources import local  # noqa: PLC0415 - one source a call

            return local.rebuild(work, lost, release, _request(item.receipt))
        if channel == "tarball":
            from rocmenv.sources import archive_again  # noqa: PLC0415 - as above

            return archive_again.unpack(work, lost)[0]
        if channel == "wheels":
            from rocmenv.sources import wheel_fill  # noqa: PLC0415 - as above

            return wheel_fill.fill(wheel_fill.fetch(lost.items, work), work).cached
        return _packages_again(stage.root, channel, release, work, lost)
    finally:
        report.finish()


def _to_download(channel: str, lost: Lost) -> int:
    """Bytes; of wheels all are needed, and a file at hand is not downloaded."""
    if channel == "local" and "://" not in lost.origin:
        return 0
    owners = {e.owner for e in lost.entries if e.path in lost.wanted}
    return sum(i.size for i in lost.items if i.name in owners or channel == "wheels")


def _packages_again(
    root: Root, channel: str, release: Version, work: Work, lost: Lost
) -> tuple[Path, ...]:
    from rocmenv.sources.catalog_file import load  # noqa: PLC0415 - one source a call
    from rocmenv.sources.packages import rebuild  # noqa: PLC0415 - as above
    from rocmenv.sources.recipes import recipe_of  # noqa: PLC0415 - as above

    recipe = recipe_of(channel, load(root.catalog), release)
    if recipe is None:
        msg = f"this rocmenv cannot repair what the channel `{channel}` installed"
        raise StoreError(msg)
    return rebuild(recipe, work, lost)


def _request(receipt: Receipt) -> Request:
    """What was asked for when it was installed."""
    return Request(profile=receipt.profile, extra=receipt.extra).of_words(receipt.targets)


def _is_right(stage: Stage, entry: Entry) -> bool:
    path = stage.tree / entry.path
    if path.is_symlink() or not path.is_file() or path.stat().st_size != entry.size:
        return False
    return sha256_of(path).hexdigest() == entry.sha256


@contextmanager
def _explained(item: Installed) -> Iterator[None]:
    """With the other way to a whole version, for a package that is no longer to be had."""
    try:
        yield
    except RocmenvError as error:
        # What a disk, a proxy or `--offline` is the cause of has its own cure.
        if not error.hint or "--mirror" in error.hint or isinstance(error, NotThereError):
            error.hint = f"install it again: `{again(item)}`"
        raise
