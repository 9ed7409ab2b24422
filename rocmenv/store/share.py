"""Files that a new install has in common with installed ones take their place once.

A copy by reflink (FICLONE) has blocks in common until somebody writes into one of the two;
the file system keeps them apart then. A hard link is the same file: what is written into
one version is written into all. So hard links are made read-only, and only of files large
enough that nobody edits them by hand. rocmenv itself never writes into a file of an
install; it puts a new one in its place.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rocmenv.model.receipt import Shared

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

AUTO, REFLINK, HARDLINK, OFF = "auto", "reflink", "hardlink", "off"
SMALLEST = 64 << 10
"""Bytes from which a file is looked at: what is smaller is many files and little space."""
_FICLONE = 0x40049409
"""linux/fs.h: make a file's blocks those of another one."""
# What says that there are no reflinks here, whatever the file.
_NO_REFLINKS = frozenset(
    {errno.EOPNOTSUPP, errno.ENOTTY, errno.ENOSYS, errno.EXDEV, errno.EINVAL, errno.EPERM}
)
WRITABLE = 0o222
"""The rights that a file loses when it becomes one of several installs."""
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree whose files are known: the folder, and the SHA-256 of files by their paths.

    `since` is the time, in seconds since 1970, from which a change of a file is none that
    the digests know of. Without digests, files are compared byte by byte.
    """

    folder: str
    digests: Mapping[str, str] = field(default_factory=dict)
    since: float = 0.0


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A file of an installed version; `path` is relative to the folder of its tree."""

    tree: Tree
    path: str

    @property
    def place(self) -> str:
        return f"{self.tree.folder}/{self.path}"


def share(
    new: Tree,
    others: Sequence[Tree],
    way: str,
    smallest: int = SMALLEST,
    *,
    leave: Container[str] = (),
) -> Shared | None:
    """Let files of the staged tree `new` be those of installed ones that are the same.

    The paths `leave` stay as they are. What cannot be shared stays the copy that it is: on
    another file system, with another mode (hard links), another user's, or after too many
    links. None when nothing is shared.
    """
    if way == OFF or not others:
        return None
    wanted = [one for one in _files(new.folder, smallest) if one[0] not in leave]
    sizes = {found.st_size for _, found in wanted}
    device = os.stat(new.folder).st_dev
    known: dict[int, list[_Candidate]] = {}
    for tree in others:
        for path, found in _files(tree.folder, smallest):
            if found.st_size in sizes and found.st_dev == device:
                known.setdefault(found.st_size, []).append(_Candidate(tree, path))
    made = _Sharing(new, (REFLINK, HARDLINK) if way == AUTO else (way,))
    for path, found in wanted:
        for candidate in _best_first(path, known.get(found.st_size, [])):
            if made.take(path, found, candidate):
                break
    return made.result()


def _files(folder: str, smallest: int) -> Iterator[tuple[str, os.stat_result]]:
    """The files below a folder that have at least `smallest` bytes, by their relative paths."""
    left = [""]
    while left:
        above = left.pop()
        with suppress(OSError), os.scandir(f"{folder}/{above}") as entries:
            for entry in entries:
                path = f"{above}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    left.append(f"{path}/")
                elif entry.is_file(follow_symlinks=False):
                    with suppress(OSError):  # gone meanwhile
                        found = entry.stat(follow_symlinks=False)
                        if found.st_size >= smallest:
                            yield path, found


def _best_first(path: str, candidates: list[_Candidate]) -> list[_Candidate]:
    """Those of the same path, then those of the same name, then others whose digest is known."""
    name = path.rpartition("/")[2]

    def rank(candidate: _Candidate) -> int:
        if candidate.path == path:
            return 0
        return 1 if candidate.path.rpartition("/")[2] == name else 2

    ranked = sorted(candidates, key=rank)
    return [c for c in ranked if rank(c) < 2 or c.path in c.tree.digests]  # noqa: PLR2004 - see rank


@dataclass(slots=True)
class _Sharing:
    """What was shared so far, and the ways that are left to do it, the best first."""

    new: Tree
    ways: tuple[str, ...]
    files: int = 0
    size: int = 0

    def result(self) -> Shared | None:
        return Shared(self.ways[0], self.files, self.size) if self.files else None

    def take(self, path: str, found: os.stat_result, candidate: _Candidate) -> bool:
        """Whether the staged file at `path` is now the candidate's."""
        place = f"{self.new.folder}/{path}"
        try:
            if not self.ways or not self._is_same(path, candidate):
                return False
            done = self._put(place, found, candidate.place)
        except OSError:
            return False  # it has gone, or may not be read: the copy stays
        if done:
            self.files += 1
            self.size += found.st_size
        return done

    def _is_same(self, path: str, candidate: _Candidate) -> bool:
        mine, theirs = self.new.digests.get(path), candidate.tree.digests.get(candidate.path)
        if mine and theirs:
            if mine != theirs:
                return False
            if os.lstat(candidate.place).st_mtime <= candidate.tree.since:
                return True
        # Written to since it was installed, or nobody knows its digest.
        return same_content(f"{self.new.folder}/{path}", candidate.place)

    def _put(self, place: str, found: os.stat_result, source: str) -> bool:
        temporary = f"{os.path.dirname(place)}/.rocmenv-{os.urandom(8).hex()}"
        try:
            if self.ways[0] == REFLINK:
                try:
                    _clone(source, temporary, found)
                except OSError as error:
                    # One that fails after others is about that file.
                    if error.errno not in _NO_REFLINKS or self.files:
                        raise
                    self.ways = self.ways[1:]
                    return bool(self.ways) and self._put(place, found, source)
            elif not _link(source, temporary, found):
                return False
            os.rename(temporary, place)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
        return True


def _clone(source: str, target: str, like: os.stat_result) -> None:
    """Make the new file `target` of the blocks of `source`, with mode and times of `like`."""
    here = os.open(source, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        there = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.ioctl(there, _FICLONE, here)
            os.fchmod(there, stat.S_IMODE(like.st_mode))
            os.utime(there, ns=(like.st_atime_ns, like.st_mtime_ns))
        finally:
            os.close(there)
    finally:
        os.close(here)


def _link(source: str, target: str, like: os.stat_result) -> bool:
    """Make `target` a read-only hard link of `source`, if that has the mode and owner of `like`."""
    found = os.lstat(source)
    mode = stat.S_IMODE(found.st_mode) & ~WRITABLE
    if mode != stat.S_IMODE(like.st_mode) & ~WRITABLE or found.st_uid != like.st_uid:
        return False
    os.link(source, target, follow_symlinks=False)
    if found.st_mode & WRITABLE:
        os.chmod(target, mode)
    return True


def same_content(one: str, other: str) -> bool:
    """Whether two files have the same bytes."""
    with open(one, "rb", buffering=0) as first, open(other, "rb", buffering=0) as second:
        while True:
            # Pieces of one length, unless a file is changed meanwhile: then they differ.
            piece = first.read(_PIECE)
            if piece != second.read(_PIECE):
                return False
            if not piece:
                return True
