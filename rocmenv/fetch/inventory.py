"""What is known of the files of a tree, and the manifest that comes of it.

Content is hashed while it is written. What a recipe has changed afterwards shows in the
file's status (inode, size, times), so that only that is read again; no recipe has to say
what it touches.
"""

from __future__ import annotations

import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from rocmenv.fetch.digest import sha256_of
from rocmenv.fetch.stop import check
from rocmenv.model.manifest import FILE, FOLDER, LINK, Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

PERMISSIONS = 0o7777
_SHARED = 0o777  # a folder may inherit the set-group bit from the one above it
Stamp = tuple[int, int, int, int]


class Known(NamedTuple):
    """A file as it was written: where from, its SHA-256 in hex, and its status then."""

    owner: str
    sha256: str
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class Inventory:
    """The files of a tree by path, and the owners of its links by path.

    A path that is in neither is taken for one that was made by rocmenv itself. `carried` are
    entries of an older manifest, which hold for files that are as they were put there, and
    for what is not there. `foreign` are paths that belong to somebody else.
    """

    files: Mapping[str, Known] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    carried: Mapping[str, Entry] = field(default_factory=dict)
    foreign: Collection[str] = ()

    def entries(
        self,
        tree: str,
        *,
        skip: Collection[str] = (),
        jobs: int = 2,
        cancel: threading.Event | None = None,
    ) -> list[Entry]:
        """The manifest of the folder `tree` as it is now, in the order of the paths.

        `skip` are names at its top to leave out. Files that are not as they were written
        are read, `jobs` at once.

        Raises:
            OSError: as reading does.
            Interrupted: `cancel` was set.
        """
        found = {path: s for path, s in walk(tree, skip) if path not in self.foreign}
        unsure = [p for p, s in found.items() if stat.S_ISREG(s.st_mode) and not self._sure(p, s)]
        with ThreadPoolExecutor(jobs) as pool:
            made = pool.map(lambda path: sha256_hex(os.path.join(tree, path), cancel), unsure)
            digests = dict(zip(unsure, made, strict=True))
        made_here = [p for p, s in found.items() if p not in self.carried or not self._sure(p, s)]
        entries = {path: self._entry(tree, path, found[path], digests) for path in made_here}
        return [entry for _, entry in sorted({**self.carried, **entries}.items())]

    def _sure(self, path: str, status: os.stat_result) -> bool:
        known = self.files.get(path)
        return known is not None and known.stamp == stamp(status)

    def _entry(
        self, tree: str, path: str, status: os.stat_result, digests: Mapping[str, str]
    ) -> Entry:
        if stat.S_ISLNK(status.st_mode):
            target = os.readlink(os.path.join(tree, path))
            return Entry(path, LINK, target=target, owner=self.links.get(path, ""))
        mode = permissions(status)
        if stat.S_ISDIR(status.st_mode):
            return Entry(path, FOLDER, mode)
        known = self.files.get(path)
        digest = digests.get(path) or (known.sha256 if known else "")
        owner = known.owner if known else ""
        return Entry(path, FILE, mode, status.st_size, digest, owner=owner)


def stamp(status: os.stat_result) -> Stamp:
    """What changes with a file's content: a new file has another inode, a change other times."""
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def permissions(status: os.stat_result) -> int:
    """The permission bits that a manifest has of a file or folder."""
    return status.st_mode & (_SHARED if stat.S_ISDIR(status.st_mode) else PERMISSIONS)


def sha256_hex(path: str, cancel: threading.Event | None = None) -> str:
    """The SHA-256 of the file at `path` in hex; raises as `sha256_of`."""
    check(cancel)
    return sha256_of(path, cancel).hexdigest()


def walk(
    tree: str,
    skip: Collection[str] = (),
    on_error: Callable[[str, OSError], None] | None = None,
) -> Iterator[tuple[str, os.stat_result]]:
    """Every path below the folder `tree`, relative to it, with its status; no link is followed.

    `skip` are names at its top to leave out. A folder that cannot be read goes to
    `on_error`, with its path; without that the `OSError` is raised.
    """
    left = [""]
    while left:
        folder = left.pop()
        try:
            with os.scandir(os.path.join(tree, folder)) as found:
                items = list(found)
        except OSError as error:
            if on_error is None:
                raise
            on_error(folder, error)
            continue
        for item in items:
            if not folder and item.name in skip:
                continue
            path = f"{folder}/{item.name}" if folder else item.name
            status = item.stat(follow_symlinks=False)
            yield path, status
            if stat.S_ISDIR(status.st_mode):
                left.append(path)
