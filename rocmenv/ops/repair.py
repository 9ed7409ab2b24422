"""Putting an install right: only the packages of damaged files are fetched again."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rocmenv.errors import RocmenvError, SpaceError, StoreError
from rocmenv.fetch.cache import in_use
from rocmenv.fetch.digest import sha256_of
from rocmenv.ops import verify
from rocmenv.ops.rehash import rehash, tidy
from rocmenv.sources.base import Lost, Request, Work
from rocmenv.store import registry, transaction
from rocmenv.store.mend import mend

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
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


def repair(
    process: Process,
    root: Root,
    version: Version,
    downloads: Downloads,
    how: Options,
    report: Reporter,
    *,
    deep: bool,
) -> tuple[Checked, Checked]:
    """Look at a version and mend what is wrong; what was found, and what is left of it.

    Each file is mended in one step, and only by content that has the hash of its first
    install. What is not in the manifest stays. Raises as `verify.check`, what fetching and
    unpacking raise, `LockedError` while the version is being installed or removed, and
    `StoreError` for files that cannot be made again, once the others are mended.
    """
    tidy(process, root)
    with transaction.staging(root, version) as stage:
        item = registry.find(root, version)
        entries = verify.read_manifest(root, item)
        before = verify.compare(item, entries, deep=deep, jobs=how.jobs, report=report)
        if not before.faults:
            return before, before
        transaction.must_be_ours(root.version(version))
        _mend(stage, item, entries, before, downloads, how, report)
        after = verify.compare(item, entries, deep=False, jobs=how.jobs, report=report)
        rehash(process, root)
    return before, after


def _mend(
    stage: Stage,
    item: Installed,
    entries: Sequence[Entry],
    checked: Checked,
    downloads: Downloads,
    how: Options,
    report: Reporter,
) -> None:
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
    if left := sorted(wanted.keys() - made.keys()):
        shown = ", ".join(left[:3]) + (" ..." if left[3:] else "")
        msg = f"{len(left)} files of {item.version} cannot be made as they were: {shown}"
        raise StoreError(msg, hint=f"install it again: `{verify.again(item)}`")


def _rebuild(
    stage: Stage,
    item: Installed,
    lost: Lost,
    downloads: Downloads,
    how: Options,
    report: Reporter,
) -> tuple[Path, ...]:
    """Make the wanted files again in the tree of `stage`; what of the cache it took."""
    owners = {e.owner for e in lost.entries if e.path in lost.wanted}
    size = sum(i.size for i in lost.items if i.name in owners)
    report.start(f"repairing {item.version}", size)
    work = Work(
        tree=stage.tree,
        prefix=item.folder,
        downloads=downloads,
        jobs=how.jobs,
        on_bytes=report.advance,
    )
    release = item.version.without_local
    try:
        if item.receipt.source == "local":
            from rocmenv.sources import local  # noqa: PLC0415 - one source a call

            return local.rebuild(work, lost, release, _request(item.receipt))
        from rocmenv.sources.catalog_file import load  # noqa: PLC0415 - as above
        from rocmenv.sources.packages import rebuild  # noqa: PLC0415 - as above
        from rocmenv.sources.recipes import recipe_of  # noqa: PLC0415 - as above

        recipe = recipe_of(item.receipt.source, load(stage.root.catalog), release)
        if recipe is not None:
            return rebuild(recipe, work, lost)
    finally:
        report.finish()
    msg = f"this rocmenv cannot repair what the channel `{item.receipt.source}` installed"
    raise StoreError(msg)


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
    except SpaceError:
        raise
    except RocmenvError as error:
        error.hint = f"install it again: `{verify.again(item)}`"
        raise
