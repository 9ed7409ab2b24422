"""What is in a tree while archives are unpacked into it, and how it is brought to rest.

Everything here works on paths below the tree's root, written with `/` and without `.` and
`..` parts; the root itself is the empty path. A *physical* path has no link in it.
"""

from __future__ import annotations

import contextlib
import filecmp
import os
import posixpath
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from rocmenv.errors import ArchiveError, visible
from rocmenv.fetch.linkless import Copies

if TYPE_CHECKING:
    from pathlib import Path

# As many as Linux follows (path_resolution(7)); more is a circle.
_MOST_LINKS = 40


@dataclass(slots=True)
class Placed:
    """A file in the tree."""

    owner: str
    size: int
    executable: bool


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link to be made; `inside` is the path that it means, None for elsewhere."""

    owner: str
    member: str
    target: str
    inside: str | None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A member that is not in the tree, and why."""

    owner: str
    member: str
    reason: str


@dataclass(frozen=True, slots=True)
class Settled:
    """A finished tree.

    `files` is their number, `size` the sum of their sizes in bytes. `notes` are sentences
    for people, in a fixed order; `left_out` lists every file and link that is not in the
    tree. `paths` are the paths of all files and links, sorted.
    """

    files: int
    size: int
    notes: tuple[str, ...]
    left_out: tuple[LeftOut, ...]
    paths: tuple[str, ...]


@dataclass(slots=True)
class Settlement:
    """The tables of one tree. The caller holds a lock around every method but `run`."""

    root: Path
    files: dict[str, Placed] = field(default_factory=dict)
    folders: dict[str, float | None] = field(default_factory=dict)
    links: dict[str, Link] = field(default_factory=dict)
    spares: list[tuple[str, Placed, Path]] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

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
        for folder in reversed(missing):  # not recursive: a name may have 2000 parts
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
        present = self.files.get(path)
        if present is not None and present.owner != file.owner:
            return None
        link = self.links.get(path)
        if link is not None and link.owner == file.owner:
            del self.links[path]
        if present is not None:  # twice in one archive: the later one counts, as with tar
            (self.root / path).unlink()
        self.files[path] = file
        return self.root / path

    def written(self, path: str, file: Placed, disk: Path) -> None:
        """Record that `file` is on disk; when it is not at its own place, compare later."""
        if self.files.get(path) is not file:
            self.spares.append((path, file, disk))

    def add_link(self, path: str, link: Link) -> None:
        """Record a link for `path`."""
        if link.inside is None:
            self._refuse(
                link, f"it points at {visible(link.target, 200)}, which is not in the tree"
            )
            return
        if not path:
            self._refuse(link, "it would take the place of the tree itself")
            return
        present = self.links.get(path)
        if present is not None and present.owner != link.owner and present.inside != link.inside:
            _clash(path, link.owner, present.owner, f"a link to `{link.inside}`", "another link")
        if present is not None and present.owner <= link.owner and present.inside == link.inside:
            return
        file = self.files.get(path)
        if file is not None and file.owner == link.owner:
            (self.root / path).unlink()
            del self.files[path]
        self.links[path] = link

    def _refuse(self, link: Link, reason: str) -> None:
        self.leave_out(link.owner, link.member, reason)
        self.notes.append(f"{link.owner}: the link `{link.member}` is left out: {reason}")

    # At the end.

    def run(self) -> Settled:
        """Bring the tree to rest; raises `ArchiveError` when archives do not fit together."""
        self._compare_spares()
        self._check_places()
        self._find_homes()
        self._move_under_links()
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
        )

    def physical(self, path: str) -> str | None:
        """`path` with all its links followed, or None when they go round in a circle."""
        done: list[str] = []
        todo = path.split("/")[::-1] if path else []
        followed = 0
        while todo:
            done.append(todo.pop())
            link = self.links.get("/".join(done))
            if link is None:
                continue
            followed += 1
            if followed > _MOST_LINKS or link.inside is None:
                return None
            todo.extend(link.inside.split("/")[::-1] if link.inside else [])
            done.clear()
        return "/".join(done)

    def exists(self, path: str) -> bool:
        """Whether a file or folder stands at the physical `path`."""
        return not path or path in self.files or path in self.folders

    def _compare_spares(self) -> None:
        for path, file, disk in sorted(self.spares, key=lambda s: (s[0], s[1].owner)):
            self._merge(path, self.files[path], disk, file)
        self.spares.clear()

    def _merge(self, path: str, first: Placed, disk: Path, second: Placed) -> None:
        """Take the second file for `path` away if it says the same as the first."""
        there = self.root / path
        if first.size != second.size or not filecmp.cmp(there, disk, shallow=False):
            _clash(path, first.owner, second.owner, "a file", "a file with other content")
        if second.executable and not first.executable:
            first.executable = True
            there.chmod(0o755)
        disk.unlink()

    def _check_places(self) -> None:
        for path, link in sorted(self.links.items()):
            if path in self.files:
                _clash(path, link.owner, self.files[path].owner, "a link", "a file")

    def _find_homes(self) -> None:
        """Key every link by its physical path; links in a circle are left out."""
        for _ in range(_MOST_LINKS):
            self._drop_circles()
            homes: dict[str, Link] = {}
            moved = False
            for path, link in sorted(self.links.items()):
                folder, _, name = path.rpartition("/")
                parent = self.physical(folder) or ""
                home = f"{parent}/{name}" if parent else name
                moved = moved or home != path
                other = homes.setdefault(home, link)
                if other.inside != link.inside:
                    _clash(home, link.owner, other.owner, "a link", "another link")
                if home in self.files:
                    _clash(home, link.owner, self.files[home].owner, "a link", "a file")
            self.links = homes
            if not moved:
                return
        raise ArchiveError("the links of the packages lead through one another without end")

    def _drop_circles(self) -> None:
        circles = [path for path in self.links if self.physical(path) is None]
        for path in sorted(circles):
            link = self.links.pop(path)
            self._refuse(link, "it leads back to itself")

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
            home = self.physical(path) or ""
            if home != path:
                (self.root / path).rmdir()
                mtime = self.folders.pop(path)
                self.add_folder(home, "the packages", mtime)

    def _home(self, folder: str, name: str) -> str:
        parent = self.physical(folder) or ""
        return f"{parent}/{name}" if parent else name

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
            self.add_folder(path.rpartition("/")[0], link.owner)
            if not _symlink(self._text(path, link), self.root / path):
                refused.append(path)
        return refused

    def _text(self, path: str, link: Link) -> str:
        """The link's own text where that means the same, else a fresh relative one."""
        folder = path.rpartition("/")[0]
        inside = link.inside or ""
        text = link.target.rstrip("/")
        parts = text.split("/")
        ups = len(parts) - len([p for p in parts if p != ".."])
        is_plain = ".." not in parts[ups:]  # `a/../b` means another thing when `a` is a link
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
    except OSError:
        return False
    return True


def _clash(path: str, one: str, other: str, first: str, second: str) -> NoReturn:
    """Two members cannot share a path; the order of names does not depend on threads."""
    pairs = sorted([(one, first), (other, second)])
    message = f"`{path}` is {pairs[0][1]} in `{pairs[0][0]}` and {pairs[1][1]} in `{pairs[1][0]}`"
    raise ArchiveError(message)
