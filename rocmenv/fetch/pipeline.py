"""Many packages at once: downloads and unpacking overlap, and end together."""

from __future__ import annotations

import queue
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from rocmenv.fetch.stop import Interrupted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rocmenv.fetch.archive import Tree
    from rocmenv.fetch.rpm import Voucher
    from rocmenv.model.release import Artifact

_POLL = 0.05
# A thread ends at the next piece it reads or writes, unless it sits in a name look-up.
_GRACE = 1.0
_MOST_WORKERS = 8


class Fetcher(Protocol):
    """What brings the files: `Downloads` is one."""

    @property
    def cancel(self) -> threading.Event:
        """Stops it when it is set."""

    @property
    def connections(self) -> int:
        """How many files it may be asked for at once."""

    def with_cancel(self, cancel: threading.Event) -> Fetcher:
        """The same, stopped by another event."""

    def fetch(self, artifact: Artifact, on_bytes: Callable[[int], None] | None = None) -> Path:
        """The file of `artifact`, as `Downloads.fetch`."""


@dataclass(frozen=True, slots=True)
class Job:
    """One package to fetch and unpack.

    `owner` names the package in messages; `mapping` is `Tree.add_deb`'s. `form` is `deb` or
    `rpm`. `voucher` is what the package has to prove before it is unpacked, None where
    `artifact` has its digest from a signed index.
    """

    artifact: Artifact
    owner: str
    mapping: Callable[[str], str | None]
    form: str = "deb"
    voucher: Voucher | None = None


def download_and_unpack(
    jobs: Sequence[Job],
    downloads: Fetcher,
    tree: Tree,
    *,
    workers: int,
    keep: Callable[[str], bool] | None = None,
    on_bytes: Callable[[int], None] | None = None,
) -> tuple[Path, ...]:
    """Fetch every job's artifact and unpack it into `tree`, the largest first.

    Each file is complete and verified before its content is looked at. `workers` threads
    unpack, eight at most. `keep` is `Tree.add_deb`'s. `on_bytes` gets `Downloads.fetch`'s
    numbers, one call at a time, from other threads.

    The first failure stops the rest and is raised; the same holds for an interrupt and for
    `downloads.cancel`. Returns the cached files in the order of `jobs`; the caller discards
    them. `tree` is not settled, and is of no use after a failure.
    """
    run = _Run(downloads, tree, keep, on_bytes)
    return run.run(jobs, max(1, min(workers, len(jobs), _MOST_WORKERS)))


def download(
    artifacts: Sequence[Artifact],
    downloads: Fetcher,
    on_bytes: Callable[[int], None] | None = None,
) -> tuple[Path, ...]:
    """Fetch all artifacts, several at once; the cached files in their order.

    It ends as `download_and_unpack` does.
    """
    jobs = [Job(artifact, artifact.name, _nowhere) for artifact in artifacts]
    return _Run(downloads, None, None, on_bytes).run(jobs, 0)


def _nowhere(_path: str) -> None:
    return None


@dataclass(slots=True)
class _Run:
    downloads: Fetcher
    tree: Tree | None
    keep: Callable[[str], bool] | None
    on_bytes: Callable[[int], None] | None
    workers: int = 1
    total: int = 0
    stop: threading.Event = field(default_factory=threading.Event)
    error: BaseException | None = None
    guard: threading.Lock = field(default_factory=threading.Lock)
    waiting: queue.SimpleQueue[tuple[int, Job]] = field(default_factory=queue.SimpleQueue)
    fetched: queue.SimpleQueue[tuple[int, Job, Path] | None] = field(
        default_factory=queue.SimpleQueue
    )
    paths: dict[int, Path] = field(default_factory=dict)

    def run(self, jobs: Sequence[Job], workers: int) -> tuple[Path, ...]:
        self.workers = workers
        self.total = sum(job.artifact.size or 0 for job in jobs)
        order = sorted(enumerate(jobs), key=lambda pair: -(pair[1].artifact.size or 0))
        for pair in order:
            self.waiting.put(pair)
        fetchers: list[threading.Thread] = []
        unpackers: list[threading.Thread] = []
        try:
            fetchers += self._start(self._fetch, min(self.downloads.connections, len(jobs)))
            unpackers += self._start(self._unpack, workers if jobs else 0)
            self._wait_for(fetchers)
            for _ in unpackers:
                self.fetched.put(None)
            self._wait_for(unpackers)
        except BaseException:
            self._end(fetchers + unpackers)
            raise
        return tuple(self.paths[number] for number in range(len(jobs)))

    def _start(self, work: Callable[[], None], count: int) -> list[threading.Thread]:
        # Daemons: a thread that waits for a name server must not keep the program alive.
        threads = [
            threading.Thread(target=self._guarded, args=(work,), daemon=True) for _ in range(count)
        ]
        for thread in threads:
            thread.start()
        return threads

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  (raised again in the main thread)
            with self.guard:
                if self.error is None or isinstance(self.error, Interrupted):
                    self.error = error
            self.stop.set()

    def _wait_for(self, threads: list[threading.Thread]) -> None:
        for thread in threads:
            while thread.is_alive():
                thread.join(_POLL)
                if self.downloads.cancel.is_set():
                    raise Interrupted
                if self.error is not None:
                    raise self.error
        if self.error is not None:
            raise self.error

    def _end(self, threads: list[threading.Thread]) -> None:
        self.stop.set()
        until = time.monotonic() + _GRACE
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _fetch(self) -> None:
        downloads = self.downloads.with_cancel(self.stop)
        while not self.stop.is_set():
            try:
                number, job = self.waiting.get_nowait()
            except queue.Empty:
                return
            path = downloads.fetch(job.artifact, self._tell)
            self.paths[number] = path
            self.fetched.put((number, job, path))

    def _unpack(self) -> None:
        if self.tree is None:
            raise AssertionError
        while not self.stop.is_set():
            try:
                found = self.fetched.get(timeout=_POLL)
            except queue.Empty:
                continue
            if found is None:
                return
            _, job, path = found
            if job.voucher is not None:
                job.voucher.check(path, self.stop)
            add = self.tree.add_rpm if job.form == "rpm" else self.tree.add_deb
            add(
                path,
                owner=job.owner,
                mapping=job.mapping,
                keep=self.keep,
                threads=self._threads(job),
                cancel=self.stop,
            )

    def _threads(self, job: Job) -> int:
        """More than one for a package that alone outlasts all others: the compiler often does."""
        return self.workers if (job.artifact.size or 0) * self.workers > self.total else 1

    def _tell(self, count: int) -> None:
        if self.on_bytes is not None:
            with self.guard:
                self.on_bytes(count)
