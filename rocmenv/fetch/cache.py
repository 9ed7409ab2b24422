"""What is in the download cache, and how it is cleared while others may use it.

Whoever downloads and unpacks holds a lock on the cache's folder together with others like
it (`in_use`); whoever clears it must be alone (`alone`). The kernel drops a killed holder's.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rocmenv.errors import LockedError, RootError
from rocmenv.fetch.digest import sha256_of
from rocmenv.fetch.stop import Interrupted

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable, Iterator

PACKAGE, INDEX, PARTIAL, NOTE = "package", "index", "partial", "note"
"""A verified download; a kept index or key; a part of a download; what an address had."""
_POLL = 0.1
_DIGEST = re.compile(r"[0-9a-f]{64}")
_INDEX_NOTE = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Entry:
    """One file: its path, kind, size in bytes, and time of change in seconds since 1970.

    `digest` is the SHA-256 that names a verified file, empty for others.
    """

    path: str
    kind: str
    size: int
    time: float
    digest: str = ""


def entries(cache: Path) -> list[Entry]:
    """Every file of the cache but for locks, by path; empty where there is no cache."""
    indexes = _index_digests(cache)
    out: list[Entry] = []
    for folder, kind in (("sha256", ""), ("partial", PARTIAL), ("url", NOTE), ("index", INDEX)):
        for name, found in _files(cache / folder):
            path = str(cache / folder / name)
            digest = name if not kind and _DIGEST.fullmatch(name) else ""
            if kind == PARTIAL and name.endswith(".lock"):
                continue
            here = kind
            if not kind:
                here = INDEX if digest in indexes else PACKAGE if digest else PARTIAL
            if name.startswith(".unfinished-"):
                here = PARTIAL
            out.append(Entry(path, here, found.st_size, found.st_mtime, digest))
    return sorted(out, key=lambda entry: entry.path)


def _index_digests(cache: Path) -> set[str]:
    """The digests of kept indexes: each has a note with a short name (sources.remembered)."""
    out = set()
    for name, _ in _files(cache / "index"):
        if _INDEX_NOTE.fullmatch(name):
            with contextlib.suppress(OSError):
                out.add((cache / "index" / name).read_text("ascii", "replace"))
    return out


def _files(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise _unusable(str(folder), error) from error
    for name in names:
        with contextlib.suppress(OSError):  # gone meanwhile
            found = os.lstat(folder / name)
            if not stat.S_ISDIR(found.st_mode):
                yield name, found


@contextlib.contextmanager
def in_use(cache: Path, cancel: threading.Event) -> Iterator[None]:
    """Keep what is in the cache from being cleared; waits for one who clears it just now.

    Where the cache cannot be written or has no locks, nothing keeps it.
    """
    number = -1
    with contextlib.suppress(OSError):
        cache.mkdir(parents=True, exist_ok=True)
        number = os.open(cache, os.O_RDONLY | os.O_DIRECTORY)
    try:
        while number >= 0 and not _try(number, fcntl.LOCK_SH):
            if cancel.wait(_POLL):
                raise Interrupted
        yield
    finally:
        if number >= 0:
            os.close(number)


@contextlib.contextmanager
def alone(cache: Path) -> Iterator[None]:
    """Be the only one to use the cache.

    Raises `LockedError` when another process downloads into it or unpacks from it, and
    `RootError` when it cannot be written.
    """
    try:
        number = os.open(cache, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        yield
        return
    except OSError as error:
        raise _unusable(str(cache), error) from error
    try:
        if not _try(number, fcntl.LOCK_EX):
            msg = f"another rocmenv uses the cache {cache}"
            raise LockedError(msg, hint="try again when it is done")
        yield
    finally:
        os.close(number)


def _try(number: int, how: int) -> bool:
    try:
        fcntl.flock(number, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # no locks to be had here
    return True


def remove(chosen: Iterable[Entry]) -> tuple[list[Entry], list[tuple[Entry, str]]]:
    """Delete files of the cache: those that are gone now, and the others with the reason.

    The caller is `alone`.
    """
    gone: list[Entry] = []
    kept: list[tuple[Entry, str]] = []
    for entry in chosen:
        try:
            os.unlink(entry.path)
        except FileNotFoundError:
            continue
        except OSError as error:
            kept.append((entry, error.strerror or str(error)))
            continue
        gone.append(entry)
    return gone, kept


def is_right(entry: Entry, cancel: threading.Event) -> bool:
    """Whether a verified file still has the content that its name says."""
    try:
        return sha256_of(Path(entry.path), cancel).hexdigest() == entry.digest
    except FileNotFoundError:
        return True  # gone meanwhile: nothing is wrong
    except OSError:
        return False


def _unusable(path: str, error: OSError) -> RootError:
    msg = f"{path} cannot be used ({error.strerror})"
    return RootError(msg, hint="name a root of your own: `export ROCM_ROOT=DIR`")
