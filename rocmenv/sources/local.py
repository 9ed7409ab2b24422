"""A tarball or folder that is at hand, or a tarball at an address: `install --from`."""

from __future__ import annotations

import os
import re
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from rocmenv.errors import ArchiveError, HostError, StoreError, visible
from rocmenv.fetch.archive import Tree
from rocmenv.fetch.connection import without_account
from rocmenv.fetch.copy import copy_file, copy_tree, tree_size
from rocmenv.fetch.digest import sha256_of
from rocmenv.fetch.streaming import download_and_unpack_tar
from rocmenv.model.receipt import Item
from rocmenv.model.release import Artifact
from rocmenv.probe.prefix import is_shared
from rocmenv.sources.base import Built, Lost, Part, Request, Work
from rocmenv.sources.relocate import relocate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocmenv.model.version import Version

_UNPACKED = 4
"""Times its packed size that a ROCm tarball takes on disk (3.5 to 5 in AMD's own)."""


@dataclass(frozen=True, slots=True)
class LocalPlan:
    """One tarball or folder. `source` is an absolute path or an address."""

    version: Version
    source: str
    channel: str = "local"
    notes: tuple[str, ...] = ()
    host: tuple[str, ...] = field(default=())
    request: Request = field(default=Request(profile=""))
    items: tuple[Item, ...] = ()

    @property
    def origin(self) -> str:
        """Where it is; of an address without name, password and what follows a `?`."""
        if not self.is_remote:
            return self.source
        return re.split(r"[?#]", without_account(self.source))[0]

    @property
    def is_remote(self) -> bool:
        """Whether it has to be downloaded first."""
        return "://" in self.source

    @property
    def name(self) -> str:
        """The file's name; of an address without what follows a `?`, which may be secret."""
        if not self.is_remote:
            return os.path.basename(self.source)
        path = re.split(r"[?#]", self.source.partition("://")[2])[0].partition("/")[2]
        return os.path.basename(unquote(path)) or "archive"

    @property
    def parts(self) -> tuple[Part, ...]:
        """The one file."""
        size = None
        if not self.is_remote and os.path.isfile(self.source):
            size = os.path.getsize(self.source)
        return (Part(self.name, "", size),)

    @property
    def download(self) -> int | None:
        """Nothing for what is at hand; unknown before the first answer otherwise."""
        return None if self.is_remote else 0

    @property
    def installed(self) -> int | None:
        """A guess for a tarball, the size of a folder."""
        if self.is_remote:
            return None
        if os.path.isdir(self.source):
            return tree_size(self.source)
        return os.path.getsize(self.source) * _UNPACKED

    def build(self, work: Work) -> Built:
        """Unpack or copy it into the tree."""
        built_for = f"/opt/rocm-{self.version.xyz}"
        if not self.is_remote and os.path.isdir(self.source):
            copied = copy_tree(self.source, work.tree, work.downloads.cancel)
            # A folder that was unpacked elsewhere by hand still has the names of the build.
            names = {self.source, os.path.realpath(self.source), built_for}
            left = _relocated(work, names, copied.files)
            return Built((), len(copied.files), copied.size, copied.inventory, unrelocated=left)
        tree = Tree(work.tree, own_prefix=(built_for,), cancel=work.downloads.cancel)
        path, digest, cached = self._unpack(work, tree)
        settled = tree.settle()
        item = Item(self.name, self.origin, path.stat().st_size, digest)
        return Built(
            (item,),
            settled.files,
            settled.size,
            settled.inventory,
            settled.notes,
            _relocated(work, {built_for}, settled.paths),
            cached,
        )

    def _unpack(self, work: Work, tree: Tree) -> tuple[Path, str, tuple[Path, ...]]:
        """Unpack the tarball; where it is, its SHA-256, and what the cache has of it."""
        if self.is_remote:
            artifact = Artifact(self.source, self.name)
            path, digest = download_and_unpack_tar(
                artifact, work.downloads, tree, owner=self.name, on_bytes=work.on_bytes
            )
            return path, digest, (path,)
        path = Path(self.source)
        stop = threading.Event()
        with ThreadPoolExecutor(1) as pool:  # its digest is taken while it is unpacked
            made = pool.submit(sha256_of, path, stop)
            try:
                tree.add_tar(path, owner=self.name)
                return path, made.result().hexdigest(), ()
            except BaseException:  # which must not wait for the digest
                stop.set()
                raise


def plan(version: Version, source: str, cwd: str) -> LocalPlan:
    """The plan for a path (relative ones count from `cwd`) or address."""
    if "://" in source:
        return LocalPlan(version, source)
    path = os.path.normpath(os.path.join(cwd, os.path.expanduser(source)))
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        msg = f"{visible(source, 200)} cannot be read ({error.strerror})"
        raise ArchiveError(msg, hint="name a tarball or a folder: `--from FILE`") from error
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        msg = f"{visible(source, 200)} is neither a file nor a folder"
        raise HostError(msg)
    if is_shared(path):
        # A copy would be all of the host, and its texts name `/usr` for good reason.
        msg = f"{path} cannot be copied: more than a ROCm lies in it"
        raise HostError(msg, hint="its ROCm is what `rocmenv use system` gives")
    if stat.S_ISDIR(mode) and not os.path.isdir(os.path.join(path, "bin")):
        msg = f"{path} does not hold a ROCm: there is no `bin` at its top"
        raise HostError(msg, hint="name the folder that holds `bin` and `lib`")
    return LocalPlan(version, path)


def _relocated(work: Work, names: set[str], paths: Sequence[str]) -> tuple[str, ...]:
    """Let texts name the new place, not one of `names`; the files that still name an old one."""
    return relocate(work.tree, names, work.prefix, paths, work.jobs).left


def rebuild(work: Work, lost: Lost, version: Version) -> tuple[Path, ...]:
    """Make files of an install again in `work.tree`; the files of the cache that it took.

    A tarball is unpacked whole; of a folder only what is wanted is copied. `StoreError` when
    neither is what it was.
    """
    built_for = f"/opt/rocm-{version.xyz}"
    if lost.items:
        return _unpacked_again(work, lost, built_for)
    for path in lost.wanted:
        source = os.path.join(lost.origin, path)
        if os.path.isfile(source) and not os.path.islink(source):
            target = work.tree / path
            target.parent.mkdir(parents=True, exist_ok=True)
            copy_file(source, str(target), work.downloads.cancel)
    names = {lost.origin, os.path.realpath(lost.origin), built_for}
    _relocated(work, names, sorted(lost.wanted))
    return ()


def _unpacked_again(work: Work, lost: Lost, built_for: str) -> tuple[Path, ...]:
    (item,) = lost.items
    tree = Tree(work.tree, own_prefix=(built_for,), cancel=work.downloads.cancel)
    cached: tuple[Path, ...] = ()
    if "://" in lost.origin:
        artifact = Artifact(item.url, item.name, item.size, item.sha256)
        path, _ = download_and_unpack_tar(
            artifact, work.downloads, tree, owner=item.name, on_bytes=work.on_bytes
        )
        cached = (path,)
    else:
        path = Path(lost.origin)
        if not path.is_file() or sha256_of(path).hexdigest() != item.sha256:
            msg = f"{lost.origin} is not the archive any more that the version was installed from"
            raise StoreError(msg)
        tree.add_tar(path, owner=item.name)
    _relocated(work, {built_for}, tree.settle().paths)
    return cached
