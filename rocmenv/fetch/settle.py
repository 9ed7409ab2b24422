"""What is in a tree while archives are unpacked into it, and how it is brought to rest.

Everything here works on paths below the tree's root, written with `/` and without `.` and
`..` parts; the root itself is the empty path. A *physical* path has no link in it.
"""

from __future__ import annotations

import contextlib
import errno
import filecmp
import os
import posixpath
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from rocmenv.errors import ArchiveError, visible
from rocmenv.fetch.inventory import Inventory, Known, stamp
from rocmenv.fetch.linkless import Copies
from rocmenv.fetch.links import Link, Links

if TYPE_CHECKING:
    from pathlib import Path

# What a file system says that has no symbolic links.
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})


@dataclass(slots=True)
class Placed:
    """A file in the tree; `sha256` is that of its content in hex, once it is written."""

    owner: str
    size: int
    executable: bool
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file or link that the mapping leaves out, and why."""

    owner: str
    member: str
    reason: str


@dataclass(frozen=True, slots=True)
class Settled:
    """A finished tree.

    `files` is their number, `size` the sum of their sizes in bytes. `notes` are sentences
    for people, in a fixed order, with one for each link that is refused. `left_out` lists
    what the mapping leaves out. `paths` are the paths of all files and links, sorted;
    `inventory` says where each came from and what is in it.
    """

    files: int
    size: int
    notes: tuple[str, ...]
    left_out: tuple[LeftOut, ...]
    paths: tuple[str, ...]
    inventory: Inventory


@dataclass(slots=True)
class Settlement:
    """The tables of one tree. The caller holds a lock around every method but `run`."""

    root: Path
    files: dict[str, Placed] = field(default_factory=dict)
    folders: dict[str, float | None] = field(default_factory=dict)
    # By path and owner: links as they came, and files whose place another owner's has.
    offered: dict[tuple[str, str], Link] = field(default_factory=dict)
    spares: dict[tuple[str, str], tuple[Placed, Path]] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _links: Links = field(default_factory=Links)

    @property
    def links(self) -> dict[str, Link]:
        """The links of the tree by where they stand; empty while archives are read."""
        return self._links.table

    # While archives are read.

    def leave_out(self, owner: str, member: str, reason: str) -> None:
        """Record that `member` is not in the tree."""
        self.left_out.append(LeftOut(owner, member, reason))

    def add_folder(self, path: str, owner: str, mtime: float | None = None) -> None:
        """Make the real folder `path` and those above it; the newest `mtime` is kept."""
        missing: list[str] = []
        above = path
        while above and above not in self.folders:
            missing.append(above)
            above = above.rpartition("/")[0]
        for folder in reversed(missing):  # not recursive: a name may have 256 parts
            self._make_folder(folder, owner)
        if path and mtime is not None:
            self.folders[path] = max(mtime, self.folders[path] or 0.0)

    def _make_folder(self, path: str, owner: str) -> None:
        if path in self.files:
            _clash(path, owner, self.files[path].owner, "a folder", "a file")
        with contextlib.suppress(FileExistsError):
            (self.root / path).mkdir()
            (self.root / path).chmod(0o755)  # mkdir's mode is cut by the umask
        if (self.root / path).is_symlink() or not (self.root / path).is_dir():
            message = f"`{self.root / path}` was changed by another program while unpacking"
            raise ArchiveError(message)
        self.folders[path] = None

    def claim(self, path: str, file: Placed) -> Path | None:
        """Where to write the new `file` for `path`; None when another owner has that path."""
        if path in self.folders or not path:
            _clash(path, file.owner, "another member", "a file", "a folder")
        self.add_folder(path.rpartition("/")[0], file.owner)
        self.offered.pop((path, file.owner), None)
        self.spares.pop((path, file.owner), None)
        present = self.files.get(path)
        if present is not None and present.owner != file.owner:
            return None
        if present is not None:  # twice in one archive: the later one counts, as with tar
            (self.root / path).unlink()
        self.files[path] = file
        return self.root / path

    def written(self, path: str, file: Placed, disk: Path) -> None:
        """Record that `file` is on disk; when it is not at its own place, compare later."""
        if self.files.get(path) is not file:
            self.spares[path, file.owner] = (file, disk)

    def add_link(self, path: str, link: Link) -> None:
        """Record a link for `path`."""
        if not path:
            self._refuse(link, "it would take the place of the tree itself")
            return
        self.spares.pop((path, link.owner), None)
        file = self.files.get(path)
        if file is not None and file.owner == link.owner:
            (self.root / path).unlink()
            del self.files[path]
        self.offered[path, link.owner] = link

    def _refuse(self, link: Link, reason: str) -> None:
        self.notes.append(f"{link.owner}: the link `{link.member}` is left out: {reason}")

    def _refuse_outside(self, link: Link) -> None:
        target = visible(link.target, 200)
        self._refuse(link, f"it points at {target}, which is not in the tree")

    # At the end.

    def run(self) -> Settled:
        """Bring the tree to rest; raises `ArchiveError` when archives do not fit together."""
        self._compare_spares()
        self._place_links()
        self._move_under_links()
        for path, link in sorted(self.links.items()):
            self.add_folder(path.rpartition("/")[0], link.owner)
        copies = self._make_links()
        self._note_dangling(copies)
        Copies(self, copies).run()
        self._note_case()
        self._set_times()
        self.left_out.sort(key=lambda left: (left.owner, left.member))
        return Settled(
            files=len(self.files),
            size=sum(file.size for file in self.files.values()),
            notes=tuple(sorted(self.notes)),
            left_out=tuple(self.left_out),
            paths=tuple(sorted([*self.files, *self.links])),
            inventory=self._inventory(),
        )

    def _inventory(self) -> Inventory:
        files = {
            path: Known(file.owner, file.sha256, stamp(os.lstat(self.root / path)))
            for path, file in self.files.items()
        }
        return Inventory(files, {path: link.owner for path, link in self.links.items()})

    def physical(self, path: str) -> str | None:
        """`path` with all its links followed."""
        return self._links.physical(path)

    def exists(self, path: str) -> bool:
        """Whether a file or folder stands at the physical `path`."""
        return not path or path in self.files or path in self.folders

    def _compare_spares(self) -> None:
        for (path, owner), (file, disk) in sorted(self.spares.items(), key=lambda s: s[0]):
            if path in self.folders:
                _clash(path, owner, "another member", "a file", "a folder")
            if path in self.files:
                self._merge(path, self.files[path], disk, file)
            else:  # its first owner has put a link there since
                disk.rename(self.root / path)
                self.files[path] = file
        self.spares.clear()

    def _merge(self, path: str, first: Placed, disk: Path, second: Placed) -> None:
        """Take the second file for `path` away if it says the same as the first."""
        there = self.root / path
        if first.size != second.size or not filecmp.cmp(there, disk, shallow=False):
            _clash(path, first.owner, second.owner, "a file", "a file with other content")
        first.owner = min(first.owner, second.owner)  # not the one that was faster
        if second.executable and not first.executable:
            first.executable = True
            there.chmod(0o755)
        disk.unlink()

    def _place_links(self) -> None:
        """Find out where links stand and what they mean; each path has one meaning."""
        found, refused = self._links.resolve(self.offered.values(), self.folders)
        for link in refused:
            if link.inside is None:
                self._refuse_outside(link)
            else:
                self._refuse(link, "it leads back to itself")
        for home, link in found:
            other = self.links[home]
            if other.inside != link.inside:
                first, second = f"a link to `{link.inside}`", f"a link to `{other.inside}`"
                _clash(home, link.owner, other.owner, first, second)
        for path in sorted(self.links):
            if path in self.files:
                _clash(path, self.links[path].owner, self.files[path].owner, "a link", "a file")

    def _move_under_links(self) -> None:
        """Where a link must stand and a real folder does, move the content to the target."""
        if not any(path in self.folders for path in self.links):
            return
        for path in sorted(self.files):
            folder, _, name = path.rpartition("/")
            home = self._home(folder, name)
            if home != path:
                self._move(path, home)
        for path in sorted(self.folders, reverse=True):
            home = self._really(path)
            if home != path:
                (self.root / path).rmdir()
                mtime = self.folders.pop(path)
                self.add_folder(home, "the packages", mtime)

    def _home(self, folder: str, name: str) -> str:
        parent = self._really(folder)
        return f"{parent}/{name}" if parent else name

    def _really(self, folder: str) -> str:
        real = self.physical(folder)
        if real is None:
            message = f"the folder {visible(folder, 200)} lies deeper than any path by its links"
            raise ArchiveError(message)
        return real

    def _move(self, path: str, home: str) -> None:
        file = self.files.pop(path)
        present = self.files.get(home)
        if present is not None:
            self._merge(home, present, self.root / path, file)
            return
        if home in self.links or home in self.folders:
            other = "a link" if home in self.links else "a folder"
            _clash(home, file.owner, "another package", "a file", other)
        self.add_folder(home.rpartition("/")[0], file.owner)
        (self.root / path).rename(self.root / home)
        self.files[home] = file

    def _make_links(self) -> list[str]:
        """Make the links; returns those that the file system does not take."""
        refused = []
        for path, link in sorted(self.links.items()):
            if not _symlink(self._text(path, link), self.root / path):
                refused.append(path)
        return refused

    def _text(self, path: str, link: Link) -> str:
        """The link's own text where that means the same, else a fresh relative one."""
        folder = path.rpartition("/")[0]
        inside = link.inside or ""
        text = link.target.rstrip("/")
        ups = link.parts.count("..")
        is_plain = ".." not in link.parts[ups:]  # `a/../b` is another thing when `a` is a link
        joined = posixpath.normpath(posixpath.join("/", folder, text))
        if text and not text.startswith("/") and is_plain and joined == f"/{inside}":
            return text
        return posixpath.relpath(f"/{inside}", f"/{folder}")

    def _note_dangling(self, copies: list[str]) -> None:
        for path, link in sorted(self.links.items()):
            target = self.physical(path)
            if target is not None and self.exists(target):
                continue
            if path in copies:
                message = f"the link `{path}` cannot be made here, and its target is missing"
                raise ArchiveError(message, hint="install to a file system that has links")
            self.notes.append(f"{link.owner}: the link `{path}` points at nothing")

    def _note_case(self) -> None:
        seen: dict[str, str] = {}
        for path in sorted([*self.files, *self.links, *self.folders]):
            other = seen.setdefault(path.casefold(), path)
            if other != path:
                self.notes.append(f"`{other}` and `{path}` differ only in case")

    def _set_times(self) -> None:
        for path in sorted(self.folders, reverse=True):
            mtime = self.folders[path]
            if mtime is not None:
                os.utime(self.root / path, (mtime, mtime))


def _symlink(text: str, path: Path) -> bool:
    try:
        os.symlink(text, path)
    except FileExistsError:
        message = f"`{path}` was changed by another program while unpacking"
        raise ArchiveError(message) from None
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return False
    return True


def _clash(path: str, one: str, other: str, first: str, second: str) -> NoReturn:
    """Two members cannot share a path; the order of names does not depend on threads."""
    pairs = sorted([(one, first), (other, second)])
    message = f"`{path}` is {pairs[0][1]} in `{pairs[0][0]}` and {pairs[1][1]} in `{pairs[1][0]}`"
    raise ArchiveError(message)
