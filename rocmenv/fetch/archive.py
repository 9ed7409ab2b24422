"""Unpacking archives into one staging tree, with the same result on every Python.

Regular files are written at once, with `O_EXCL | O_NOFOLLOW` into real folders that this
module made; symbolic links are only collected. So nothing is ever written through a link,
whatever the order of members and archives. `Tree.settle` then makes the links.
"""

from __future__ import annotations

import os
import secrets
import shutil
import threading
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from rocmenv.errors import ArchiveError, SpaceError
from rocmenv.fetch.absorb import absorb
from rocmenv.fetch.ahead import Ahead
from rocmenv.fetch.ar import data_member
from rocmenv.fetch.decode import Stream
from rocmenv.fetch.disk import NO_ROOM, hard_link, write
from rocmenv.fetch.links import Link, meant
from rocmenv.fetch.members import Entry, entries
from rocmenv.fetch.reading import Archive
from rocmenv.fetch.rpm import opened
from rocmenv.fetch.settle import LeftOut, Placed, Settled, Settlement
from rocmenv.fetch.stop import check
from rocmenv.fetch.wrapping import Misjudged, Wrapping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import BinaryIO

    from rocmenv.fetch.decode import Source

__all__ = ["LeftOut", "Settled", "Tree", "Unpacked"]


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A tar archive in a folder apart: `accept` it into the tree, or `drop` it."""

    accept: Callable[[], None]
    drop: Callable[[], None]


class Tree:
    """The tree below `root`, which is made if missing and must be empty otherwise.

    `own_prefix` lists absolute folders whose absolute links mean this tree
    (`/opt/rocm-6.3.0`). `add_deb`, `add_rpm` and `add_tar` may run in several threads;
    `settle` comes once, after them. `cancel` stops each of them, where they are given no
    other event.
    """

    def __init__(
        self,
        root: Path,
        *,
        own_prefix: Sequence[str] = (),
        cancel: threading.Event | None = None,
    ) -> None:
        self._spare = root / f".unpacking-{secrets.token_hex(8)}"
        with _told(f"the folder `{root}`"):
            root.mkdir(parents=True, exist_ok=True)
            is_free = not root.is_symlink() and not any(root.iterdir())
            if not is_free:
                raise ArchiveError(f"the folder `{root}` to unpack into is not an empty folder")
            is_folding = _ignores_case(self._spare)
        self.root = root
        self._cancel = cancel
        self.own_prefix = tuple(p.strip("/") for p in own_prefix)
        self._guard = threading.Lock()
        self._spares = 0
        self._state = Settlement(root, folded={} if is_folding else None)

    def add_deb(
        self,
        path: Path,
        *,
        owner: str,
        mapping: Callable[[str], str | None],
        keep: Callable[[str], bool] | None = None,
        threads: int = 1,
        cancel: threading.Event | None = None,
    ) -> None:
        """Unpack the content of the Debian package `path`, decoding in `threads`.

        `mapping` turns a member's path (`opt/rocm-6.3.0/bin/hipcc`) into the path below
        the root, or None to leave it out; it is also asked for link targets. `keep` is asked
        for the paths below the root of all but folders, and leaves out what it denies. `owner`
        names the package in messages; each archive needs one of its own.

        Raises:
            ArchiveError: a damaged package, an unsafe member, or a file that another
                package has with other content. The tree is then of no use.
            SpaceError: the file system is full.
        """
        archive = Archive(owner, mapping, cancel or self._cancel, rooted=True, keep=keep)
        self._add(archive, path, partial(_deb, owner=owner, threads=threads))

    def add_rpm(
        self,
        path: Path,
        *,
        owner: str,
        mapping: Callable[[str], str | None],
        keep: Callable[[str], bool] | None = None,
        threads: int = 1,
        cancel: threading.Event | None = None,
    ) -> None:
        """Unpack the content of the RPM package `path`; all else is as for `add_deb`."""
        archive = Archive(owner, mapping, cancel or self._cancel, rooted=True, keep=keep)
        self._add(archive, path, partial(opened, name=owner, threads=threads))

    def add_members(
        self,
        path: Path,
        opened: Callable[[BinaryIO], tuple[Stream, Iterator[Entry]]],
        *,
        owner: str,
        mapping: Callable[[str], str | None],
        cancel: threading.Event | None = None,
    ) -> None:
        """Unpack members of the file `path`, which may be named otherwise in there.

        `opened` gives their stream, and them by their names from `/`, out of the open file;
        it is asked again where a hard link needs an earlier member. All else is as for
        `add_deb`, but of two members for one path the later one counts.
        """
        self._add(Archive(owner, mapping, cancel or self._cancel, rooted=True), path, opened)

    def _add(
        self,
        archive: Archive,
        path: Path,
        opened: Callable[[BinaryIO], tuple[Stream, Iterator[Entry]]],
    ) -> None:
        with path.open("rb") as file, _told(f"the archive `{archive.owner}`"):
            stream, members = opened(file)
            for entry in members:
                self._take(archive, entry, partial(write, stream, entry, archive.cancel))
            if archive.waiting:
                file.seek(0)
                self._repeat(archive, *opened(file))

    def add_tar(self, path: Path, *, owner: str, keep: Callable[[str], bool] | None = None) -> None:
        """Unpack the tar archive `path`, plain or compressed with gzip, xz, zstd or bzip2.

        One folder that wraps a whole ROCm (`rocm-6.3.0/bin/…`) is taken off first; a flat
        archive (`bin/…`, `./bin/…`) stays as it is. `owner` and `keep` are as for `add_deb`.

        Raises:
            ArchiveError, SpaceError: as `add_deb`.
        """
        self.read_tar(lambda: path.open("rb"), owner=owner, keep=keep).accept()

    def read_tar(
        self,
        opened: Callable[[], AbstractContextManager[Source]],
        *,
        owner: str,
        keep: Callable[[str], bool] | None = None,
        cancel: threading.Event | None = None,
    ) -> Unpacked:
        """As `add_tar`, into a folder apart, which becomes part of the tree when accepted.

        `opened` gives the archive from its start, and is called again where a second look is
        needed. Members are written as they come, under their own names: what wraps the whole
        is known at the end, and then a few folders change their places.

        What `opened` and its result raise goes through; then nothing is left of the folder.
        """
        wrapping = Wrapping()
        while True:
            with self._guard:
                folder = self._aside_unlocked()
            apart = Tree(folder, cancel=cancel or self._cancel)
            apart.own_prefix = self.own_prefix
            archive = Archive(
                owner, str, cancel or self._cancel, rooted=False, keep=keep, wrapping=wrapping
            )
            drop = partial(shutil.rmtree, folder, ignore_errors=True)
            try:
                with _told(f"the archive `{owner}`"):
                    apart._read(archive, wrapping, opened)
            except Misjudged:
                drop()
                wrapping = Wrapping(known=wrapping.top)
                continue
            except BaseException:
                drop()
                raise
            return Unpacked(partial(self._accept, apart, wrapping.top, owner), drop)

    def _read(
        self,
        archive: Archive,
        wrapping: Wrapping,
        opened: Callable[[], AbstractContextManager[Source]],
    ) -> None:
        with opened() as source, closing(Ahead(source, archive.owner)) as stream:
            for entry in entries(stream):
                wrapping.see(entry)
                self._take(archive, entry, partial(write, stream, entry, archive.cancel))
        wrapping.check()
        if archive.waiting:
            with opened() as source, closing(Ahead(source, archive.owner)) as stream:
                self._repeat(archive, stream, entries(stream))

    def _accept(self, apart: Tree, top: str, owner: str) -> None:
        with self._guard, _told(f"the archive `{owner}`"):
            absorb(self._state, apart._state, top, owner)

    def add_link(self, path: str, target: str, *, owner: str) -> None:
        """A link of another archive, which is not unpacked here, at `path` in the tree.

        So that what lies behind it gets its right place.
        """
        from_top, parts = meant(target, ()) or (True, ("..",))
        link = Link(owner, path, target, parts, from_top, str)
        with self._guard:
            self._state.add_link(path, link)

    def add_folder(self, path: str) -> None:
        """The folder `path` of the tree, and those above it."""
        with self._guard, _told(f"the folder `{path}`"):
            self._state.add_folder(path, "")

    def add_file(self, path: str, source: Path, file: Placed) -> None:
        """A file of another archive, which is not unpacked here, at `path` in the tree.

        `source` is its content, with the digest that `file` says; it becomes a second name of
        it, or a copy where that cannot be. It must be the only one at its place.
        """
        with self._guard, _told(f"the file `{path}`"):
            disk = self._state.claim(path, file)
            if disk is None:
                raise ArchiveError(f"`{path}` is there twice")
            hard_link(source, file.sha256, disk)

    def settle(self) -> Settled:
        """Make the links, merge what lies under them, and say what was left out.

        Raises:
            ArchiveError: archives that do not fit together.
        """
        check(self._cancel)
        with _told("all packages together"):
            settled = self._state.run()
            shutil.rmtree(self._spare, ignore_errors=True)
        return settled

    def _take(self, archive: Archive, entry: Entry, put: Callable[[Path], str]) -> None:
        """Give `entry` its place; `put` brings a file's content there, and hashes it."""
        check(archive.cancel)
        archive.taken += 1
        placed = archive.place(entry.name)
        is_wanted = placed is None or entry.kind == "folder" or archive.wants(placed)
        if placed is None or not is_wanted:
            self._leave_out(archive, entry, is_pruned=not is_wanted)
            return
        if entry.kind == "folder":
            with self._guard:
                self._state.add_folder(placed, archive.owner, entry.mtime)
        elif entry.kind == "link":
            self._take_link(archive, entry, placed)
        elif entry.kind == "hard":
            self._take_hard(archive, entry, placed)
        else:
            archive.seen[entry.name] = self._put(archive, entry, placed, put)

    def _leave_out(self, archive: Archive, entry: Entry, *, is_pruned: bool) -> None:
        if entry.kind == "folder":
            return
        with self._guard:
            self._state.leave_out(archive.owner, entry.name, entry.size, is_pruned=is_pruned)
        if entry.kind == "hard":
            if entry.target in archive.seen:
                archive.seen[entry.name] = archive.seen[entry.target]
        else:
            archive.seen[entry.name] = entry.target if entry.kind == "link" else archive.taken

    def _put(
        self, archive: Archive, entry: Entry, placed: str, put: Callable[[Path], str]
    ) -> tuple[Path, Placed]:
        file = Placed(archive.owner, entry.size, entry.executable)
        archive.waiting.pop(placed, None)
        with self._guard:
            disk = self._state.claim(placed, file) or self._aside_unlocked()
        file.sha256 = put(disk)
        with self._guard:
            self._state.written(placed, file, disk)
        return disk, file

    def _take_link(self, archive: Archive, entry: Entry, placed: str) -> None:
        link = archive.link(entry, self.own_prefix)
        archive.seen[entry.name] = entry.target
        archive.waiting.pop(placed, None)
        with self._guard:
            self._state.add_link(placed, link)

    def _take_hard(self, archive: Archive, entry: Entry, placed: str) -> None:
        seen = archive.seen.get(entry.target)
        if seen is None:
            message = (
                f"the archive `{archive.owner}` is refused: its member `{entry.name}` is a hard "
                f"link to `{entry.target}`, but no file of that name comes before it"
            )
            raise ArchiveError(message)
        if entry.target == entry.name:
            return
        if isinstance(seen, str):
            self._take_link(archive, Entry(entry.name, "link", seen), placed)
        elif isinstance(seen, int):
            archive.seen[entry.name] = seen
            archive.waiting[placed] = (entry, seen)
        else:
            source, file = seen
            same = Entry(entry.name, "file", "", file.executable, 0.0, file.size)
            again = partial(hard_link, source, file.sha256)
            archive.seen[entry.name] = self._put(archive, same, placed, again)

    def _repeat(self, archive: Archive, stream: Stream, members: Iterator[Entry]) -> None:
        """Read the archive again for files that were left out and have hard links in the tree."""
        wanted: dict[int, dict[str, Entry]] = {}
        for placed, (entry, number) in archive.waiting.items():
            wanted.setdefault(number, {})[placed] = entry
        for number, left in enumerate(members, start=1):
            if number not in wanted:
                continue
            aside = self._aside()
            again = partial(hard_link, aside, write(stream, left, archive.cancel, aside))
            for placed, entry in wanted[number].items():
                self._put(archive, replace(left, name=entry.name), placed, again)

    def _aside(self) -> Path:
        with self._guard:
            return self._aside_unlocked()

    def _aside_unlocked(self) -> Path:
        self._spare.mkdir(exist_ok=True)
        self._spares += 1
        return self._spare / str(self._spares)


def _deb(file: BinaryIO, *, owner: str, threads: int) -> tuple[Stream, Iterator[Entry]]:
    stream = Stream(data_member(file, owner), owner, threads=threads)
    return stream, entries(stream)


def _ignores_case(folder: Path) -> bool:
    """Whether the file system finds `folder`, which is to be new, by another spelling."""
    folder.mkdir()
    try:
        return os.path.lexists(folder.with_name(folder.name.upper()))
    finally:
        folder.rmdir()


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Say what was being unpacked when the system refuses something."""
    try:
        yield
    except OSError as error:
        words = (error.strerror or str(error)).lower()
        if error.errno in NO_ROOM:
            message = f"no space is left while unpacking {what}"
            raise SpaceError(message, hint="free space on the file system of the root") from error
        raise ArchiveError(f"{what} cannot be unpacked: {words}") from error
