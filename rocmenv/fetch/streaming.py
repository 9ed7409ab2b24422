"""One large tar archive: unpacked while it is being downloaded.

The download writes its partial file as always, so that it can be resumed; the archive is
read from there as far as it has come, decoded in a second thread, and written in a third.
What is unpacked before the download has been verified lies apart, and becomes part of the
tree only afterwards.
"""

from __future__ import annotations

import threading
import time
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from rocmenv.errors import ArchiveError, SpaceError
from rocmenv.fetch.stop import Interrupted, check

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import BinaryIO

    from rocmenv.fetch.archive import Tree, Unpacked
    from rocmenv.fetch.transfer import Downloads
    from rocmenv.model.release import Artifact

_POLL = 0.05
_GRACE = 1.0


def download_and_unpack_tar(
    artifact: Artifact,
    downloads: Downloads,
    tree: Tree,
    *,
    owner: str,
    keep: Callable[[str], bool] | None = None,
    on_bytes: Callable[[int], None] | None = None,
) -> tuple[Path, str]:
    """Fetch a tar archive and unpack it into `tree` as `Tree.add_tar` does, both at once.

    A download that has to start again from nothing is unpacked anew; one that is resumed is
    read from what is on the disk already. `on_bytes` gets `Downloads.fetch`'s numbers, from
    another thread. The tree is unchanged, and of use, after a failure.

    Returns the cached file, which the caller discards, and its SHA-256: the one that
    `artifact` names, where it names one. What is wrong with the download is told before
    what is wrong with the archive.

    Raises:
        what `Downloads.fetch` and `Tree.add_tar` raise.
    """
    run = _Run(artifact, downloads, tree, owner, keep, on_bytes)
    path = run.run()
    return path, path.name  # which is what the cache calls it


class _Restarted(BaseException):
    """The download has started again from nothing: not for anyone who handles errors."""


class _Growing:
    """The file that a download writes: how much of it is there, and whether it is another."""

    def __init__(self, path: Path, cancel: threading.Event) -> None:
        self._path = path
        self._cancel = cancel
        self._news = threading.Condition()
        self._at_hand = 0
        self._final: Path | None = None
        self.generation = 0

    def tell(self, count: int) -> None:
        """Take a number of `Downloads.fetch`'s `on_bytes`."""
        with self._news:
            self._at_hand += count
            self.generation += count < 0
            self._news.notify_all()

    def finish(self, path: Path) -> None:
        """The download is complete and right, and lies at `path` now."""
        with self._news:
            self._final = path
            self._news.notify_all()

    def wait_for_end(self, generation: int) -> bool:
        """Whether the download has ended well with the file of this generation, once it has."""
        with self._news:
            while self._final is None and self.generation == generation:
                self._wait()
            return self.generation == generation

    def wait_for_bytes(self, position: int, generation: int) -> int:
        """How many bytes there are behind `position`; 0 at the end.

        Raises `_Restarted` when the file is not that of `generation` any more.
        """
        with self._news:
            while True:
                check(self._cancel)
                if self.generation != generation:
                    raise _Restarted
                if self._at_hand > position or self._final is not None:
                    return self._at_hand - position
                self._wait()

    def open(self) -> BinaryIO | None:
        """The file as it is now, None while there is none."""
        with self._news:
            for path in (self._path, self._final):
                try:
                    if path is not None:
                        return path.open("rb", buffering=0)
                except FileNotFoundError:
                    continue
            self._wait()
        return None

    def _wait(self) -> None:
        check(self._cancel)
        self._news.wait(_POLL)


class _Follower:
    """The growing file as a source; it has come to its end when the download has."""

    def __init__(self, growing: _Growing, generation: int) -> None:
        self._growing = growing
        self._generation = generation
        self._file: BinaryIO | None = None
        self._position = 0

    def read(self, n: int = -1, /) -> bytes:
        """Up to `n` bytes, at least one before the end."""
        there = self._growing.wait_for_bytes(self._position, self._generation)
        while there and self._file is None:
            self._file = self._growing.open()
            there = self._growing.wait_for_bytes(self._position, self._generation)
        piece = self._file.read(min(n, there)) if self._file and there else b""
        # What was opened may be another file by now, which only the download can tell.
        self._growing.wait_for_bytes(0, self._generation)
        self._position += len(piece)
        return piece

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def _followed(growing: _Growing, generation: int) -> AbstractContextManager[_Follower]:
    return closing(_Follower(growing, generation))


class _Run:
    def __init__(
        self,
        artifact: Artifact,
        downloads: Downloads,
        tree: Tree,
        owner: str,
        keep: Callable[[str], bool] | None,
        on_bytes: Callable[[int], None] | None,
    ) -> None:
        self._artifact = artifact
        self._tree = tree
        self._owner = owner
        self._keep = keep
        self._on_bytes = on_bytes
        self._cancel = downloads.cancel
        self._stop = threading.Event()
        self._downloads = downloads.with_cancel(self._stop)
        self._growing = _Growing(self._downloads.follow(artifact), self._stop)
        self._error: BaseException | None = None
        self._unpacked: Unpacked | None = None
        self._path: Path | None = None

    def run(self) -> Path:
        threads = [self._start(self._fetch), self._start(self._unpack)]
        try:
            for thread in threads:
                while thread.is_alive():
                    thread.join(_POLL)
                    if self._cancel.is_set():
                        raise Interrupted
                    if self._error is not None:
                        raise self._error
            if self._error is not None:
                raise self._error
        except SpaceError:
            # What has come would fill the very disk that has to be made free.
            self._end(threads)
            self._downloads.forget(self._artifact)
            raise
        except BaseException:
            self._end(threads)
            raise
        if self._unpacked is None or self._path is None:  # both threads have ended well
            raise AssertionError
        self._unpacked.accept()
        return self._path

    def _start(self, work: Callable[[], None]) -> threading.Thread:
        def guarded() -> None:
            try:
                work()
            except BaseException as error:  # noqa: BLE001 - raised again in the main thread
                if self._error is None or isinstance(self._error, Interrupted):
                    self._error = error
                self._stop.set()

        # A daemon: a thread that waits for a name server must not keep the program alive.
        thread = threading.Thread(target=guarded, daemon=True)
        thread.start()
        return thread

    def _end(self, threads: list[threading.Thread]) -> None:
        self._stop.set()
        until = time.monotonic() + _GRACE
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
        if self._unpacked is not None:
            self._unpacked.drop()

    def _fetch(self) -> None:
        self._path = self._downloads.fetch(self._artifact, self._tell)
        self._growing.finish(self._path)

    def _tell(self, count: int) -> None:
        self._growing.tell(count)
        if self._on_bytes is not None:
            self._on_bytes(count)

    def _unpack(self) -> None:
        while True:
            generation = self._growing.generation
            try:
                unpacked = self._tree.read_tar(
                    partial(_followed, self._growing, generation),
                    owner=self._owner,
                    keep=self._keep,
                    cancel=self._stop,
                )
            except _Restarted:
                continue
            except ArchiveError:
                # What has come so far may be the rest of another file: the download knows.
                if self._growing.wait_for_end(generation):
                    raise
                continue
            if self._growing.wait_for_end(generation):
                self._unpacked = unpacked
                return
            unpacked.drop()
