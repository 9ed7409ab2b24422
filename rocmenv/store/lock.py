"""One writer at a time. The kernel drops a killed holder's lock: none is ever stale."""

from __future__ import annotations

import errno
import os
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from rocmenv.errors import LockedError, RocmenvError, RootError, SpaceError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rocmenv.store.paths import Root

WRITERS = "writers"
"""The lock for every change of what is visible; held for moments."""
_GLANCES, _BLINK = 10, 0.02
PATIENCE = 60.0
"""Seconds to wait for it: longer than a rename and a rehash can take."""


@contextmanager
def locked(root: Root, name: str, purpose: str, wait: float = PATIENCE) -> Iterator[None]:
    """Hold the lock `name` of the root, waiting `wait` seconds at most.

    Raises `LockedError` naming the holder's process, what it does, and the lock's file;
    `RootError` when the root cannot be written.
    """
    path = root.locks / f"{name}.lock"
    holder = root.locks / f"{name}.holder"
    ready_to_write(root)
    lock = FileLock(str(path), timeout=wait)
    try:
        lock.acquire()
    except Timeout:
        who = _holder(holder)
        msg = f"another rocmenv is at work{who}; it holds {path}"
        raise LockedError(msg, hint="try again when it is done") from None
    except OSError as error:
        raise not_writable(root, str(path), error) from error
    try:
        with suppress(OSError):  # on a full disk an uninstall must still go
            holder.write_text(f"{os.getpid()} {purpose}\n", encoding="utf-8")
        yield
    finally:
        try:
            with suppress(OSError):  # only words are lost
                holder.unlink()
        finally:
            lock.release()


def seems_held(root: Root, name: str) -> bool:
    """Whether a process that is alive says that it holds a lock; for lists, not for decisions.

    Asking for the lock itself would be in the way of who takes it at that moment.
    """
    try:
        text = (root.locks / f"{name}.holder").read_text(encoding="utf-8")
        os.kill(int(text.partition(" ")[0]), 0)
    except PermissionError:
        return True  # another user's process
    except (OSError, ValueError, OverflowError):
        return False
    return True


def ready_to_write(root: Root) -> None:
    """Make the root's folders; `RootError` when it cannot be written to."""
    for folder in (
        root.versions,
        root.shims,
        root.activations,
        root.staging,
        root.trash,
        root.journal,
        root.locks,
    ):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise not_writable(root, str(folder), error) from error
    must_be_writable(root)


def must_be_writable(root: Root) -> None:
    """`RootError` when the root, or the folder that it would be made in, cannot be written to.

    Makes nothing.
    """
    place = root.path
    while not os.path.lexists(place):
        place = place.parent
    if not os.access(place, os.W_OK | os.X_OK):
        is_read_only = os.statvfs(place).f_flag & os.ST_RDONLY
        code = errno.EROFS if is_read_only else errno.EACCES
        raise not_writable(root, str(place), OSError(code, os.strerror(code)))


def not_writable(root: Root, path: str, error: OSError) -> RocmenvError:
    """The refusal for a root that other people look after, or that is full or read-only."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        msg = f"there is no space left for {path}"
        return SpaceError(msg, hint="make room, or name a root elsewhere: `export ROCM_ROOT=DIR`")
    msg = f"{path} cannot be written ({error.strerror}); the root is {root.path} ({root.origin})"
    return RootError(
        msg, hint="name a root of your own: `export ROCM_ROOT=$HOME/rocm` above `rocmenv init`"
    )


def _holder(path: Path) -> str:
    """Who holds a lock, in words; nothing when that cannot be told."""
    for _ in range(_GLANCES):
        with suppress(OSError):
            pid, _, purpose = path.read_text(encoding="utf-8").strip().partition(" ")
            if pid:
                return f" (process {pid}: {purpose})"
        time.sleep(_BLINK)  # it has the lock, and writes this next
    return ""
