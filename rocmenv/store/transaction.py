"""Changes to the root that happen whole or not at all.

An install is made in `staging/`, on the file system of `versions/`, and appears there by
one rename; an uninstall is one rename into `trash/`. Each notes in `journal/` what it is
about; whoever writes next clears away what a killed process left and makes the shims fit
again. A note is left over when the lock of its version is free: locks die with their
holder, so no clock and no process number has to be trusted.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
import uuid
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmenv.errors import LockedError, StoreError
from rocmenv.model.receipt import FOLDER, NAME
from rocmenv.store.lock import WRITERS, locked, not_writable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rocmenv.model.receipt import Receipt
    from rocmenv.model.version import Version
    from rocmenv.store.paths import Root


@dataclass(slots=True)
class Stage:
    """An install that is being made: fill `tree`, then `commit`."""

    root: Root
    version: Version
    folder: Path
    committed: bool = False

    @property
    def tree(self) -> Path:
        """The folder that becomes `versions/VERSION`."""
        return self.folder / "tree"

    def commit(self, receipt: Receipt) -> None:
        """Write the receipt and let the version appear, in place of one that is there.

        The files reach the disk first: after a power cut the receipt must not stand for
        files that are not there.
        """
        (self.tree / FOLDER).mkdir(exist_ok=True)
        with open(self.tree / NAME, "w", encoding="utf-8") as file:
            file.write(receipt.render())
        _sync(self.tree)
        target = self.root.version(self.version)
        with locked(self.root, WRITERS, f"install {self.version}"):
            old = self.root.trash / f"{self.version}.{uuid.uuid4().hex[:12]}"
            if os.path.lexists(target):
                os.rename(target, old)
            try:
                os.rename(self.tree, target)
            except OSError as error:
                if os.path.lexists(old):
                    os.rename(old, target)
                msg = f"{target} cannot be put in place ({error.strerror})"
                raise StoreError(msg) from error
            _sync_folder(self.root.versions)
        self.committed = True


@contextmanager
def staging(root: Root, version: Version) -> Iterator[Stage]:
    """A stage for `version`, which no other process installs meanwhile.

    Without a commit, also on an interrupt, everything staged is removed. Raises
    `LockedError` at once when another process is installing the version.
    """
    with locked(root, _name(version), f"install {version}", wait=0):
        tag = uuid.uuid4().hex[:12]
        stage = Stage(root, version, root.staging / f"{version}.{tag}")
        note = root.journal / f"{tag}.json"
        try:
            stage.tree.mkdir(parents=True)
            note.write_text(
                json.dumps(
                    {"what": "install", "version": str(version), "staging": stage.folder.name}
                ),
                encoding="utf-8",
            )
            yield stage
        except OSError as error:
            if error.filename is None or not str(error.filename).startswith(str(root.path)):
                raise
            raise not_writable(root, str(error.filename), error) from error
        finally:
            shutil.rmtree(stage.folder, ignore_errors=True)
            note.unlink(missing_ok=True)


def remove(root: Root, version: Version) -> None:
    """Take a version out of `versions/` by one rename; its files go in the background."""
    with (
        locked(root, _name(version), f"uninstall {version}", wait=0),
        locked(root, WRITERS, f"uninstall {version}"),
    ):
        target = root.trash / f"{version}.{uuid.uuid4().hex[:12]}"
        try:
            os.rename(root.version(version), target)
        except OSError as error:
            raise not_writable(root, str(root.version(version)), error) from error


def recover(root: Root) -> list[str]:
    """Clear away what interrupted processes left; the versions whose install had stopped.

    Called by writers with no lock held.
    """
    stopped = []
    for note in sorted(root.journal.glob("*.json")):
        version, staged = _noted(note)
        try:
            with locked(root, version, "clearing up", wait=0):
                if staged:
                    shutil.rmtree(root.staging / staged, ignore_errors=True)
                note.unlink(missing_ok=True)
                stopped.append(version)
        except LockedError:
            continue
    noted = {_noted(note)[1] for note in root.journal.glob("*.json")}
    for folder in root.staging.iterdir():
        if folder.name not in noted:
            shutil.rmtree(folder, ignore_errors=True)
    return stopped


def empty_trash(root: Root) -> None:
    """Delete what is in the trash, by a process of its own that nobody waits for."""
    if not any(root.trash.iterdir()):
        return
    code = (
        "import shutil,sys,os\nfor n in os.listdir(sys.argv[1]): "
        "shutil.rmtree(os.path.join(sys.argv[1], n), ignore_errors=True)"
    )
    with suppress(OSError):
        subprocess.Popen(  # the child outlives us on purpose
            [sys.executable, "-I", "-S", "-c", code, str(root.trash)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


def _name(version: Version) -> str:
    return str(version)


def _noted(note: Path) -> tuple[str, str]:
    try:
        value = json.loads(note.read_text(encoding="utf-8"))
        name = str(value["staging"])
        return str(value["version"]), "" if "/" in name or name.startswith(".") else name
    except (OSError, ValueError, KeyError, TypeError):
        return "unreadable", ""


def _sync(tree: Path) -> None:
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
