"""Whether an install is still as it was made: the disk against the manifest."""

from __future__ import annotations

import os
import shlex
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmenv.errors import StoreError, visible
from rocmenv.fetch.digest import sha256_of
from rocmenv.fetch.inventory import permissions, walk
from rocmenv.model.manifest import FILE, FOLDER, LINK, Entry, parse
from rocmenv.ops.again import again
from rocmenv.store.paths import RECEIPT_FOLDER
from rocmenv.store.share import WRITABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rocmenv.ops.report import Reporter
    from rocmenv.store.paths import Root
    from rocmenv.store.registry import Installed

MISSING, CHANGED = "missing", "changed"
_CACHES = "__pycache__"
"""Folders that Python makes beside the modules that it loads."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A path that is not as it was installed: `missing` or `changed`, and how.

    `needs_content` is whether a file's bytes are gone or others.
    """

    entry: Entry
    kind: str
    words: str = ""
    needs_content: bool = False


@dataclass(frozen=True, slots=True)
class Checked:
    """What a look at a version has found.

    `paths` counts those that the manifest has. `extra` are paths that it has not, of a
    folder only the folder itself (with a `/` behind). `hidden` counts those that nobody saw,
    as a folder above them cannot be read.
    """

    item: Installed
    paths: int
    faults: tuple[Fault, ...]
    extra: tuple[str, ...]
    hidden: int = 0


def read_manifest(root: Root, item: Installed) -> list[Entry]:
    """The manifest of an install; `StoreError` where there is none, or none that can be read."""
    version = item.version
    if item.receipt.is_link:
        msg = f"version {version} is linked to {item.prefix}: rocmenv did not make its files"
        raise StoreError(msg, hint=f"see whether it works: `rocmenv verify --compile {version}`")
    path = root.manifest(version)
    hint = f"install it again: `{again(item)}`"
    try:
        # A line ends with a line feed and nothing else: names may have all other characters.
        with path.open(encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            return list(parse(file, str(path)))
    except FileNotFoundError:
        msg = f"version {version} has no list of its files: it was installed by an older rocmenv"
        raise StoreError(msg, hint=hint) from None
    except OSError as error:
        msg = f"{path} cannot be read ({error.strerror})"
        raise StoreError(msg, hint=hint) from error
    except StoreError as error:
        raise StoreError(error.message, hint=error.hint or hint) from error


def check(root: Root, item: Installed, *, deep: bool, jobs: int, report: Reporter) -> Checked:
    """Compare a version with its manifest: paths, kinds, sizes, modes and links.

    `deep` reads all files, too, `jobs` at once. Raises as `read_manifest`.
    """
    entries = read_manifest(root, item)
    return compare(item, entries, deep=deep, jobs=jobs, report=report)


def compare(
    item: Installed, entries: Iterable[Entry], *, deep: bool, jobs: int, report: Reporter
) -> Checked:
    """As `check`, with the entries at hand."""
    unread: dict[str, OSError] = {}
    found = dict(walk(item.folder, (RECEIPT_FOLDER,), unread.__setitem__))
    if "" in unread:
        msg = f"{item.folder} cannot be read ({unread[''].strerror})"
        raise StoreError(msg, hint=f"see whose it is: `ls -ld {shlex.quote(item.folder)}`")
    known = {entry.path: entry for entry in entries}
    faults: dict[str, Fault] = {}
    hidden = [path for path in known if _is_below(path, unread)]
    for path, entry in known.items():
        fault = _fault(item.folder, entry, found.get(path))
        if fault is None and path in unread:
            fault = _unreadable(entry, unread[path])
        if fault is not None:
            faults[path] = fault
    for path in hidden:  # what is in a folder that cannot be read may well be there
        del faults[path]
    if deep:
        files = [e for e in known.values() if e.kind == FILE and e.path not in hidden]
        whole = [e for e in files if e.path not in faults or not faults[e.path].needs_content]
        for fault in _other_content(item, whole, jobs, report):
            faults[fault.entry.path] = fault
    listed = tuple(faults[path] for path in sorted(faults))
    return Checked(item, len(known), listed, _extra(found, known), len(hidden))


def _fault(prefix: str, entry: Entry, status: os.stat_result | None) -> Fault | None:
    is_file = entry.kind == FILE
    if status is None:
        return Fault(entry, MISSING, needs_content=is_file)
    kind, mode = _kind(status.st_mode), permissions(status)
    words = ""
    if kind != entry.kind:
        words = f"a {kind}, not a {entry.kind}"
    elif kind == LINK:
        target = os.readlink(os.path.join(prefix, entry.path))
        if target != entry.target:
            words = f"a link to {visible(target, 200)}, not to {visible(entry.target, 200)}"
    elif is_file and status.st_size != entry.size:
        words = f"{status.st_size} bytes, not {entry.size}"
    elif mode != entry.mode and not (is_file and mode == entry.mode & ~WRITABLE):
        # Read-only is no fault: what several installs have in common is (`store.share`).
        return Fault(entry, CHANGED, f"mode {mode:o}, not {entry.mode:o}")
    return Fault(entry, CHANGED, words, needs_content=is_file) if words else None


def _kind(mode: int) -> str:
    if stat.S_ISREG(mode):
        return FILE
    if stat.S_ISDIR(mode):
        return FOLDER
    return LINK if stat.S_ISLNK(mode) else "special file"


def _unreadable(entry: Entry, error: OSError) -> Fault:
    words = f"it cannot be read ({error.strerror})"
    return Fault(entry, CHANGED, words, needs_content=entry.kind == FILE)


def _is_below(path: str, folders: Mapping[str, object]) -> bool:
    """Whether a path lies in one of `folders`, of which there are none on a sound disk."""
    return any(path.startswith(f"{folder}/") for folder in folders)


def _other_content(
    item: Installed, entries: list[Entry], jobs: int, report: Reporter
) -> list[Fault]:
    stop = threading.Event()

    def look(entry: Entry) -> Fault | None:
        try:
            digest = sha256_of(os.path.join(item.folder, entry.path), stop).hexdigest()
        except OSError as error:
            return _unreadable(entry, error)
        report.advance(entry.size)
        if digest == entry.sha256:
            return None
        return Fault(entry, CHANGED, "other content of the same size", needs_content=True)

    report.start(f"reading {item.version}", sum(e.size for e in entries), "to read")
    try:
        with ThreadPoolExecutor(jobs) as pool:
            try:
                return [fault for fault in pool.map(look, entries) if fault is not None]
            except BaseException:  # an interrupt must not wait for the files that are left
                stop.set()
                raise
    finally:
        report.finish()


def _extra(found: Mapping[str, os.stat_result], known: Mapping[str, Entry]) -> tuple[str, ...]:
    extra = []
    for path in sorted(found):
        folder, _, name = path.rpartition("/")
        is_below = folder not in known and folder in found
        if path in known or name == _CACHES or is_below:
            continue
        extra.append(f"{path}/" if stat.S_ISDIR(found[path].st_mode) else path)
    return tuple(extra)
