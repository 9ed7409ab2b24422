"""What is at hand, or a tarball at an address: `install --from`."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from rocmenv.errors import ArchiveError, InvalidVersionError, UsageError
from rocmenv.fetch.archive import Tree
from rocmenv.fetch.connection import shown, without_account
from rocmenv.fetch.copy import copy_file, copy_tree, tree_size
from rocmenv.fetch.digest import sha256_of
from rocmenv.fetch.streaming import download_and_unpack_tar
from rocmenv.model.receipt import Item
from rocmenv.model.release import Artifact
from rocmenv.model.version import Version
from rocmenv.probe.prefix import find_version
from rocmenv.sources import archive_again, installer, loose
from rocmenv.sources.at_hand import Told, must_agree, same_file
from rocmenv.sources.base import Built, Lost, Part, Plan, Request, Work
from rocmenv.sources.local_form import absolute, form_of, must_be_tar
from rocmenv.sources.relocate import relocate

if TYPE_CHECKING:
    from collections.abc import Sequence

# `{name}-{version}.tar.gz` of TheRock's archives, and what people call their own.
_NAMED = re.compile(
    r"(?:therock-dist-(?:linux|windows)-[\w-]+?|rocm)[-_]"
    r"(\d+\.\d+\.\d+(?:(?:a|b|rc|\.dev)\d+)?(?:\+[0-9A-Za-z.]+?)?)"
    r"\.(?:tar(?:\.\w+)?|tgz|txz|tbz2?|tzst)",
    re.ASCII,
)
NO_CHOICE = "`--profile` and `--with` have no effect: it is taken whole"
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
            try:
                path, digest = download_and_unpack_tar(
                    artifact, work.downloads, tree, owner=self.name, on_bytes=work.on_bytes
                )
            except ArchiveError:
                whole = work.downloads.cached(artifact)
                if whole is not None:  # it may be something that is known by another name
                    must_be_tar(whole, self.name)
                raise
            return path, digest, (path,)
        path = Path(self.source)
        must_be_tar(path, self.name)
        stop = threading.Event()
        with ThreadPoolExecutor(1) as pool:  # its digest is taken while it is unpacked
            made = pool.submit(sha256_of, path, stop)
            try:
                tree.add_tar(path, owner=self.name)
                return path, made.result().hexdigest(), ()
            except BaseException:  # which must not wait for the digest
                stop.set()
                raise


def plan(
    version: Version, source: str, cwd: str, request: Request | None = None, *, whole: bool = True
) -> Plan:
    """The plan for a path (relative ones count from `cwd`) or address.

    `request` chooses among packages; a folder of them is taken `whole` or by its profile.

    Raises:
        ArchiveError, HostError: it cannot be read, is of no kind that is known, or this
            machine cannot run it.
        UsageError: it says that it is another release than `version`.
        ResolveError: a package, or code for a GPU, is not in it.
    """
    request = request or Request()
    if request.keyring or request.fingerprint:
        _must_be_signed(source, cwd)
    notes = () if whole else (NO_CHOICE,)
    if "://" in source:
        must_agree(version, _by_name(source), source)
        return LocalPlan(version, source, notes=notes)
    path = absolute(source, cwd)
    form = form_of(path)
    if form == "packages":
        return loose.plan(version, path, request, whole=whole)
    if form == "installer":
        return installer.plan(version, path, request, notes)
    must_agree(version, _tree_told(path, form), path)
    return LocalPlan(version, path, notes=notes)


def _must_be_signed(source: str, cwd: str) -> None:
    """`UsageError` where there is no signature that a key could be asked for."""
    path = absolute(source, cwd)
    if "://" not in source and form_of(path) == "packages" and loose.are_signed(path):
        return
    msg = f"`{shown(source)}` has no signature that `--keyring` and `--fingerprint` could check"
    raise UsageError(msg, hint="only RPM packages have one; leave both out for other files")


def told(source: str, cwd: str) -> Told:
    """The release that a path or address says it is, without a connection.

    Raises:
        UsageError: it does not say so.
        ArchiveError, HostError: as for `plan`.
    """
    found: Told | None
    if "://" in source:
        found = _by_name(source)
    else:
        path = absolute(source, cwd)
        form = form_of(path)
        if form == "packages":
            found = loose.told(path)
        elif form == "installer":
            found = installer.told(path)
        else:
            found = _tree_told(path, form)
    if found is None:
        msg = f"`{shown(source)}` does not say which release it is"
        raise UsageError(msg, hint="name it in front: `rocmenv install 6.3.0 --from FILE`")
    return found


def origin_of(source: str, cwd: str) -> str:
    """What the receipt of an install from this path or address names as its origin."""
    path = source if "://" in source else absolute(source, cwd)
    return LocalPlan(Version((0, 0, 0, 0)), path).origin


def _tree_told(path: str, form: str) -> Told | None:
    if form == "folder":
        version = find_version(path)
        return Told(version, "the text `.info/version`") if version else None
    return _by_name(path)


def _by_name(source: str) -> Told | None:
    """By the name of a tarball, as `therock-dist-linux-gfx110X-all-10.0.0.tar.gz`."""
    name = LocalPlan(Version((0, 0, 0, 0)), source).name
    with contextlib.suppress(InvalidVersionError):
        if match := _NAMED.fullmatch(name):
            return Told(Version.parse(match[1]), "the name")
    return None


def _relocated(work: Work, names: set[str], paths: Sequence[str]) -> tuple[str, ...]:
    """Let texts name the new place, not one of `names`; the files that still name an old one."""
    return relocate(work.tree, names, work.prefix, paths, work.jobs).left


def rebuild(work: Work, lost: Lost, version: Version, request: Request) -> tuple[Path, ...]:
    """Make files of an install again in `work.tree`; the files of the cache that it took.

    An installer is unpacked whole by the `request` of its install; of packages those that are
    needed are, and of an archive or folder only what is wanted.
    `StoreError` when they are not what they were.
    """
    built_for = f"/opt/rocm-{version.xyz}"
    if any(item.version for item in lost.items):
        return loose.rebuild(work, lost, version)
    if lost.items:
        return _unpacked_again(work, lost, version, request)
    for path in lost.wanted:
        source = os.path.join(lost.origin, path)
        if os.path.isfile(source) and not os.path.islink(source):
            target = work.tree / path
            target.parent.mkdir(parents=True, exist_ok=True)
            copy_file(source, str(target), work.downloads.cancel)
    names = {lost.origin, os.path.realpath(lost.origin), built_for}
    _relocated(work, names, sorted(lost.wanted))
    return ()


def _unpacked_again(work: Work, lost: Lost, version: Version, request: Request) -> tuple[Path, ...]:
    built_for = f"/opt/rocm-{version.xyz}"
    (item,) = lost.items
    path = None if "://" in lost.origin else same_file(item, work.downloads.cancel)
    if path is not None and form_of(str(path)) == "installer":
        installer.plan(version, str(path), request).fill(work)
        return ()
    cached, paths = archive_again.unpack(work, lost, path=path, own_prefix=(built_for,))
    _relocated(work, {built_for}, paths)
    return cached
