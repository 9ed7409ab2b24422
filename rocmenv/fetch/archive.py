"""Unpacking archives into one staging tree, with the same result on every Python.

Regular files are written at once, with `O_EXCL | O_NOFOLLOW` into real folders that this
module made; symbolic links are only collected. So nothing is ever written through a link,
whatever the order of members and archives. `Tree.settle` then makes the links.
"""

from __future__ import annotations

import secrets
import shutil
import threading
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from rocmenv.errors import ArchiveError, SpaceError
from rocmenv.fetch.ar import data_member
from rocmenv.fetch.decode import Stream
from rocmenv.fetch.disk import NO_ROOM, hard_link, moved, write
from rocmenv.fetch.links import Link, meant
from rocmenv.fetch.members import Entry, clean, entries
from rocmenv.fetch.rpm import opened
from rocmenv.fetch.settle import LeftOut, Placed, Settled, Settlement
from rocmenv.fetch.stop import check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from typing import BinaryIO

__all__ = ["LeftOut", "Settled", "Tree"]

# A folder that lies at the top of a ROCm tree is never a wrapping folder, even when alone.
_TOP_NAMES = frozenset(
    {".info", ".kpack", "amdgcn", "bin", "include", "lib", "lib64", "libexec", "llvm", "share"}
)


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
        with _told(f"the folder `{root}`"):
            root.mkdir(parents=True, exist_ok=True)
            is_free = not root.is_symlink() and not any(root.iterdir())
        if not is_free:
            raise ArchiveError(f"the folder `{root}` to unpack into is not an empty folder")
        self.root = root
        self._cancel = cancel
        self.own_prefix = tuple(p.strip("/") for p in own_prefix)
        self._guard = threading.Lock()
        self._spare = root / f".unpacking-{secrets.token_hex(8)}"
        self._spares = 0
        self._state = Settlement(root)

    def add_deb(
        self,
        path: Path,
        *,
        owner: str,
        mapping: Callable[[str], str | None],
        threads: int = 1,
        cancel: threading.Event | None = None,
    ) -> None:
        """Unpack the content of the Debian package `path`, decoding in `threads`.

        `mapping` turns a member's path (`opt/rocm-6.3.0/bin/hipcc`) into the path below
        the root, or None to leave it out; it is also asked for link targets. `owner` names
        the package in messages; each archive needs one of its own.

        Raises:
            ArchiveError: a damaged package, an unsafe member, or a file that another
                package has with other content. The tree is then of no use.
            SpaceError: the file system is full.
        """
        archive = _Archive(owner, mapping, cancel or self._cancel, rooted=True)
        self._add(archive, path, partial(_deb, owner=owner, threads=threads))

    def add_rpm(
        self,
        path: Path,
        *,
        owner: str,
        mapping: Callable[[str], str | None],
        threads: int = 1,
        cancel: threading.Event | None = None,
    ) -> None:
        """Unpack the content of the RPM package `path`; all else is as for `add_deb`."""
        archive = _Archive(owner, mapping, cancel or self._cancel, rooted=True)
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
        self._add(_Archive(owner, mapping, cancel or self._cancel, rooted=True), path, opened)

    def _add(
        self,
        archive: _Archive,
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

    def add_tar(self, path: Path, *, owner: str) -> None:
        """Unpack the tar archive `path`, plain or compressed with gzip, xz, zstd or bzip2.

        One folder that wraps a whole ROCm (`rocm-6.3.0/bin/…`) is taken off first; a flat
        archive (`bin/…`, `./bin/…`) stays as it is. `owner` is as for `add_deb`.

        Raises:
            ArchiveError, SpaceError: as `add_deb`.
        """
        archive = _Archive(owner, str, self._cancel, rooted=False)
        with path.open("rb") as file, _told(f"the archive `{owner}`"):
            stream = Stream(file, owner)
            waiting: list[tuple[Entry, Path, str]] = []
            for entry in entries(stream):  # their places are known only at the archive's end
                aside, digest = self.root, ""
                if entry.kind == "file":
                    aside = self._aside()
                    digest = write(stream, entry, archive.cancel, aside)
                waiting.append((entry, aside, digest))
            top = _wrapping([entry for entry, _, _ in waiting])
            for whole, aside, digest in waiting:
                inner = _without(whole, top)
                if inner is not None:
                    self._take(archive, inner, partial(moved, aside, digest))

    def add_link(self, path: str, target: str, *, owner: str) -> None:
        """A link of another archive, which is not unpacked here, at `path` in the tree.

        So that what lies behind it gets its right place.
        """
        from_top, parts = meant(target, ()) or (True, ("..",))
        link = Link(owner, path, target, parts, from_top, str)
        with self._guard:
            self._state.add_link(path, link)

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

    def _take(self, archive: _Archive, entry: Entry, put: Callable[[Path], str]) -> None:
        """Give `entry` its place; `put` brings a file's content there, and hashes it."""
        check(archive.cancel)
        archive.taken += 1
        placed = archive.place(entry.name)
        if placed is None:
            self._leave_out(archive, entry)
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

    def _leave_out(self, archive: _Archive, entry: Entry) -> None:
        if entry.kind == "folder":
            return
        with self._guard:
            self._state.leave_out(archive.owner, entry.name, "not part of the tree")
        if entry.kind == "hard":
            if entry.target in archive.seen:
                archive.seen[entry.name] = archive.seen[entry.target]
        else:
            archive.seen[entry.name] = entry.target if entry.kind == "link" else archive.taken

    def _put(
        self, archive: _Archive, entry: Entry, placed: str, put: Callable[[Path], str]
    ) -> tuple[Path, Placed]:
        file = Placed(archive.owner, entry.size, entry.executable)
        archive.waiting.pop(placed, None)
        with self._guard:
            disk = self._state.claim(placed, file) or self._aside_unlocked()
        file.sha256 = put(disk)
        with self._guard:
            self._state.written(placed, file, disk)
        return disk, file

    def _take_link(self, archive: _Archive, entry: Entry, placed: str) -> None:
        link = archive.link(entry, self.own_prefix)
        archive.seen[entry.name] = entry.target
        archive.waiting.pop(placed, None)
        with self._guard:
            self._state.add_link(placed, link)

    def _take_hard(self, archive: _Archive, entry: Entry, placed: str) -> None:
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

    def _repeat(self, archive: _Archive, stream: Stream, members: Iterator[Entry]) -> None:
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


class _Archive:
    """What is known of one archive while its members are read."""

    def __init__(
        self,
        owner: str,
        mapping: Callable[[str], str | None],
        cancel: threading.Event | None,
        *,
        rooted: bool,
    ) -> None:
        self.owner = owner
        self.cancel = cancel
        self.rooted = rooted
        self.taken = 0
        # What a hard link to a member repeats: a link's text, a file on disk, or, of a file
        # that was left out, its number in the archive.
        self.seen: dict[str, str | int | tuple[Path, Placed]] = {}
        # Hard links to files that were left out, by their place in the tree.
        self.waiting: dict[str, tuple[Entry, int]] = {}
        self._mapping = mapping

    def place(self, member: str) -> str | None:
        """Where `member` belongs below the root, or None."""
        placed = self._mapping(member)
        return None if placed is None else clean(placed, self.owner)

    def link(self, entry: Entry, own_prefix: tuple[str, ...]) -> Link:
        """The link `entry`; a package's members are named from `/`, and so are its targets."""
        found = meant(entry.target, None if self.rooted else own_prefix)
        from_top, parts = found or (True, ("..",))
        return Link(self.owner, entry.name, entry.target, parts, from_top, self._inside)

    def _inside(self, member: str) -> str | None:
        try:
            return self.place(member)
        except ArchiveError:
            return None


def _wrapping(members: list[Entry]) -> str:
    """The name of the folder that holds everything, or nothing."""
    tops = {entry.name.partition("/")[0] for entry in members if entry.name}
    if len(tops) != 1:
        return ""
    top = tops.pop()
    inside = {entry.name.split("/")[1] for entry in members if "/" in entry.name}
    alone = any(entry.name == top and entry.kind != "folder" for entry in members)
    is_wrapping = top not in _TOP_NAMES and not alone and bool(inside & _TOP_NAMES)
    return top if is_wrapping else ""


def _without(entry: Entry, top: str) -> Entry | None:
    """`entry` as if it were not in the folder `top`; None for that folder itself."""
    if not top:
        return entry
    if entry.name in ("", top):
        return None
    target = entry.target
    if entry.kind == "hard":
        target = target.removeprefix(f"{top}/")
    return replace(entry, name=entry.name.removeprefix(f"{top}/"), target=target)


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
