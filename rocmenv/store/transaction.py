"""Changes to the root that happen whole or not at all.

An install is made in `staging/`, on the file system of `versions/`, and appears there by
one rename; an uninstall is one rename into `trash/`. Each leaves a note in `journal/` until
the shims fit again; whoever writes next clears away what a killed process left. A note is
left over when the lock of its version is free: locks die with their holder, so no clock and
no process number has to be trusted. A note is an empty file whose name says it all
(`VERSION.TAG`, also the name of the folder in `staging/` or `trash/`), so that it is there
in one step.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shlex
import uuid
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmenv.errors import LockedError, RootError, StoreError
from rocmenv.store import registry, trash
from rocmenv.store.lock import WRITERS, locked, not_writable, seems_held
from rocmenv.store.paths import LEFT_OUT, MANIFEST, RECEIPT, RECEIPT_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from rocmenv.errors import RocmenvError
    from rocmenv.model.receipt import Receipt
    from rocmenv.model.version import Version
    from rocmenv.store.paths import Root


@dataclass(slots=True)
class Stage:
    """An install that is being made: fill `tree`, then `commit`.

    `committed` is set when the tree may have been put in place, if nobody knows better.
    """

    root: Root
    version: Version
    folder: Path
    committed: bool = False

    @property
    def tree(self) -> Path:
        """The folder that becomes `versions/VERSION`."""
        return self.folder / "tree"

    def commit(
        self,
        receipt: Receipt,
        manifest: Iterable[str] | None = None,
        left_out: Iterable[str] | None = None,
    ) -> None:
        """Write the receipt and let the version appear, in place of one that is there.

        `manifest` are the lines of the list of its files, for one that has files, and
        `left_out` those of the list of what it lacks on purpose.

        The files reach the disk first: after a power cut the receipt must not stand for
        files that are not there. Raises `StoreError` when it cannot be put there.
        """
        target = self.root.version(self.version)
        must_be_ours(target)
        # What a source has brought under this name goes: it may be a link to anywhere.
        trash.delete(self.tree / RECEIPT_FOLDER)
        (self.tree / RECEIPT_FOLDER).mkdir()
        self._write(RECEIPT, (receipt.render(),))
        if manifest is not None:
            self._write(MANIFEST, manifest)
        if left_out is not None:
            self._write(LEFT_OUT, left_out)
        sync(self.tree)
        with locked(self.root, WRITERS, f"install {self.version}"):
            try:
                self._put_in_place(target)
            except OSError as error:
                self.committed = False
                msg = f"{target} cannot be put in place ({error.strerror})"
                raise StoreError(msg) from error
            _sync_folder(self.root.versions)

    def _write(self, name: str, texts: Iterable[str]) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with os.fdopen(os.open(self.tree / name, flags, 0o644), "wb") as file:
            file.writelines(text.encode("utf-8", "surrogateescape") for text in texts)

    def _put_in_place(self, target: Path) -> None:
        old = self.root.trash / self.folder.name
        _let_move(target)
        # Before the renames: an interrupt may come right after one, and the note must stay then.
        self.committed = True
        if not os.path.lexists(target):
            os.rename(self.tree, target)
        elif _exchange(self.tree, target):
            with suppress(OSError):  # the new one is in place; `staging` deletes the old one
                os.rename(self.tree, old)
        else:
            os.rename(target, old)
            try:
                os.rename(self.tree, target)
            except OSError:
                os.rename(old, target)
                raise


@contextmanager
def staging(root: Root, version: Version) -> Iterator[Stage]:
    """A stage for `version`, which no other process installs meanwhile.

    Without a commit, also on an interrupt, everything staged is removed. After one, the
    note goes when the block ends well: what follows a commit there is done again by the
    next writer otherwise, also when an interrupt came in the middle of the commit. Raises
    `LockedError` at once when another process is installing the version.
    """
    with locked(root, str(version), f"install {version}", wait=0):
        name = f"{version}.{uuid.uuid4().hex[:12]}"
        stage = Stage(root, version, root.staging / name)
        note = root.journal / name
        ended = False
        try:
            # The note first: a folder in `staging/` without one is nobody's.
            note.touch()
            stage.tree.mkdir(parents=True)
            yield stage
            ended = True
        except OSError as error:
            refusal = _refusal(root, error)
            if refusal is None:
                raise
            raise refusal from error
        finally:
            # Where putting back fails, note and folder stay, and the next writer does it. What
            # cannot be deleted needs no note: the next writer tries all that has none.
            returned = _put_back(root, str(version), name)
            trash.delete(stage.folder)
            if (ended or not stage.committed) and not returned:
                note.unlink(missing_ok=True)


@contextmanager
def removal(root: Root, version: Version) -> Iterator[None]:
    """Take a version out of `versions/` by one rename; the block makes the shims fit.

    The files are in the trash afterwards (`trash.empty`). A block that ends early leaves
    its note, and the next writer does it again. Raises `NotInstalledError` when another
    process was faster, and `StoreError` when a part is somebody else's to remove.
    """
    with locked(root, str(version), f"uninstall {version}", wait=0):
        name = f"{version}.{uuid.uuid4().hex[:12]}"
        note = root.journal / name
        target = root.version(version)
        must_be_ours(target)  # looks at every folder, for which other writers must not wait
        with locked(root, WRITERS, f"uninstall {version}"):
            if not os.path.lexists(target):
                raise registry.gone(version)
            try:
                note.touch()
                _let_move(target)
                os.rename(target, root.trash / name)
            except OSError as error:
                note.unlink(missing_ok=True)
                raise not_writable(root, str(target), error) from error
        yield
        note.unlink(missing_ok=True)


def must_be_ours(target: Path, what: str = "removed") -> None:
    """`StoreError` when the folder `target`, if it is there, has parts that we cannot delete.

    A `commit` in its place asks too; this is for who fills a stage for hours before. `what`
    is to be done with it.
    """
    if target.is_symlink() or not target.is_dir():
        return
    foreign = trash.first_foreign(str(target))
    if foreign is not None:
        msg = f"{target} cannot be {what}: what is in {foreign} is another user's"
        raise StoreError(msg, hint=f"see whose it is: `ls -ld {shlex.quote(foreign)}`")


def recover(root: Root) -> list[str]:
    """Clear away what interrupted processes left; the versions whose change had stopped.

    Called by writers with no lock held. When something had stopped, the shims may not fit.
    """
    stopped = []
    for note in sorted(root.journal.iterdir()):
        version = note.name.rpartition(".")[0] or "unnamed"
        try:
            with locked(root, version, "clearing up", wait=0):
                if note.exists():
                    _put_back(root, version, note.name)
                    trash.delete(root.staging / note.name)
                    note.unlink(missing_ok=True)
                    stopped.append(version)
        except (LockedError, RootError, OSError):
            # Somebody is at work on it, or it cannot be undone yet: its note stays, and the
            # others must not wait for it.
            continue
    # In this order: whoever stages a folder has noted it before.
    present = [folder.name for folder in root.staging.iterdir()]
    noted = {note.name for note in root.journal.iterdir()}
    for name in present:
        if name not in noted:
            trash.delete(root.staging / name)
    return stopped


def leftovers(root: Root) -> list[str]:
    """The folders of changes that have ended, or have stopped: in `staging/` and `trash/`.

    Only looks. What stays of a change that is under way is not among them.
    """
    noted = set(_names(root.journal))
    return [
        str(folder / name)
        for folder in (root.staging, root.trash)
        for name in sorted(_names(folder))
        if name not in noted or not seems_held(root, name.rpartition(".")[0])
    ]


def _names(folder: Path) -> list[str]:
    with suppress(OSError):
        return os.listdir(folder)
    return []


def _put_back(root: Root, version: str, name: str) -> bool:
    """Undo a replacement that stopped between its two renames; whether the old one returned.

    Until then its note keeps it from being deleted (`trash.empty_now`).
    """
    if not os.path.lexists(root.versions / version) and (root.staging / name).is_dir():
        with suppress(FileNotFoundError):
            os.rename(root.trash / name, root.versions / version)
            return True
    return False


def _let_move(folder: Path) -> None:
    """A folder that changes its place is written to, so one that is read-only would stay."""
    if folder.is_dir() and not folder.is_symlink() and not os.access(folder, os.W_OK):
        with suppress(OSError):
            folder.chmod(folder.stat().st_mode & 0o777 | 0o700)


def _refusal(root: Root, error: OSError) -> RocmenvError | None:
    """An error of the file system in words, where it is about the root."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return not_writable(root, str(root.path), error)
    if str(error.filename).startswith(f"{root.path}/"):
        return not_writable(root, str(error.filename), error)
    return None


def _exchange(one: Path, other: Path) -> bool:
    """Let two paths change places in one step; False where the system has no such step."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "renameat2"):
        return False
    here, both = -100, 2  # AT_FDCWD, RENAME_EXCHANGE (linux/fs.h)
    return bool(libc.renameat2(here, os.fsencode(one), here, os.fsencode(other), both) == 0)


def sync(tree: Path) -> None:
    """Let what was written to the file system of the folder `tree` reach the disk."""
    # One call for the whole file system costs about what the data need to reach the disk;
    # a call a file costs a disk turn each.
    descriptor = os.open(tree, os.O_RDONLY)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if not hasattr(libc, "syncfs") or libc.syncfs(descriptor) != 0:
            os.sync()
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
