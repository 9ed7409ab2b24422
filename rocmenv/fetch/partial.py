"""One artifact on its way into the cache: the partial file, resuming, the final check."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import threading
from typing import TYPE_CHECKING

from rocmenv.errors import TransferError
from rocmenv.fetch.address import shown
from rocmenv.fetch.connection import Connections, Reply, length
from rocmenv.fetch.digest import Digest, sha256_of
from rocmenv.fetch.kind import HEAD, kind
from rocmenv.fetch.stop import Interrupted
from rocmenv.fetch.trouble import RetryableError
from rocmenv.fetch.unfit import Came, changing, ended, of_other_size, unfit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rocmenv.model.release import Artifact

_LOCK_POLL = 0.1
# A file that changes more often than this while it is fetched will not stand still.
_MOST_CHANGES = 1
# Beyond what is announced, when the wrong amount is: enough to see what it is.
_LOOK = 64 * 1024


class Partial:
    """The files that belong to one unfinished artifact."""

    def __init__(self, cache: Path, artifact: Artifact) -> None:
        # Never the address itself, which may hold a password or a token.
        self.of_url = hashlib.sha256(artifact.url.encode("utf-8", "surrogateescape")).hexdigest()
        self.cache = cache
        key = artifact.sha256 or self.of_url
        folder = cache / "partial"
        self.data = folder / f"{key}.part"
        self._facts = folder / f"{key}.json"
        self._lock = folder / f"{key}.lock"
        self._note = cache / "url" / self.of_url

    @contextlib.contextmanager
    def locked(self, cancel: threading.Event) -> Iterator[None]:
        """Keep every other thread and process away from this artifact."""
        self._lock.parent.mkdir(parents=True, exist_ok=True)
        while True:
            lock = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                _lock(lock, cancel)
                if not _is_same(lock, self._lock):
                    continue  # the former owner removed the file that we waited for
                try:
                    yield
                finally:
                    with contextlib.suppress(OSError):
                        self._lock.unlink()
                return
            finally:
                os.close(lock)

    def facts(self) -> dict[str, str]:
        """What is known of the server's copy: `url` (its SHA-256), `etag`, `modified`."""
        return _read_json(self._facts)

    def note_facts(self, facts: dict[str, str]) -> None:
        """Keep `facts` beside the partial file."""
        self._facts.write_text(json.dumps(facts), encoding="utf-8")

    def drop(self) -> None:
        """Forget the partial file."""
        self.data.unlink(missing_ok=True)
        self._facts.unlink(missing_ok=True)

    def noted(self) -> dict[str, str]:
        """What this URL had last time: `sha256`, `etag`, `modified`."""
        return _read_json(self._note)

    def keep(self, digest: str) -> Path:
        """Move the complete file to its place in the cache; returns that place."""
        facts = self.facts()
        path = self.cache / "sha256" / digest
        path.parent.mkdir(exist_ok=True)
        os.replace(self.data, path)
        self._note.parent.mkdir(exist_ok=True)
        note = self._note.with_name(f"{self._note.name}.{os.getpid()}.{threading.get_ident()}")
        note.write_text(json.dumps({**facts, "sha256": digest}), encoding="utf-8")
        os.replace(note, self._note)
        self._facts.unlink(missing_ok=True)
        return path


def _lock(lock: int, cancel: threading.Event) -> None:
    while not _try_lock(lock):
        if cancel.wait(_LOCK_POLL):
            raise Interrupted


def _try_lock(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_same(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _read_json(path: Path) -> dict[str, str]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {k: v for k, v in found.items() if isinstance(k, str) and isinstance(v, str)}


class Fetch:
    """One download of `artifact`; the caller holds the lock of `partial`."""

    def __init__(
        self,
        connections: Connections,
        artifact: Artifact,
        partial: Partial,
        tell: Callable[[int], None],
        cancel: threading.Event,
    ) -> None:
        self._connections = connections
        self._artifact = artifact
        self._partial = partial
        self._tell = tell
        self._cancel = cancel
        self._at_hand = 0  # what `tell` has been told, in bytes
        self._digest: Digest = hashlib.sha256()
        self._came: Came | None = None  # how the last reply described itself
        self._resumed = False
        self._changes = 0

    def run(self, cached: Path | None) -> Path:
        """The path in the cache; `cached` is what this URL had before, to ask if it changed."""
        try:
            if self._tried(cached) and cached is not None:
                self._count(cached.stat().st_size)
                return cached
            wrong = self._wrong()
            if wrong and self._resumed:
                # A stale partial file, or a server that mixed two versions: once, from zero.
                self._restart()
                self._tried(None)
                wrong = self._wrong()
        except OSError:
            self._partial.drop()  # a full disk gets its space back
            raise
        if wrong:
            self._partial.drop()
            raise wrong
        return self._partial.keep(self._digest.hexdigest())

    def _tried(self, cached: Path | None) -> bool:
        return self._connections.retried(
            lambda: self._attempt(cached), progress=lambda: self._at_hand
        )

    def _attempt(self, cached: Path | None) -> bool:
        """One request; True when the server says that `cached` is still right."""
        offset = self._take_partial()
        if offset and offset == self._artifact.size:
            return False
        headers = self._conditions(offset, cached)
        with contextlib.closing(self._connections.open(self._artifact.url, headers)) as reply:
            if reply.status == 304:  # noqa: PLR2004 - HTTP: not modified
                return True
            is_part = reply.status == 206  # noqa: PLR2004 - HTTP: partial content
            is_beyond = reply.status == 416  # noqa: PLR2004 - HTTP: range not satisfiable
            is_changed = offset > 0 and self._note_change(reply)
            fits = not is_beyond and not (is_part and (is_changed or not _continues(reply, offset)))
            if fits:
                if offset and not is_part:
                    self._restart()
                    offset = 0
                self._resumed = self._resumed or offset > 0
                self._receive(reply, offset)
                return False
        if not offset:
            message = f"`{shown(self._artifact.url)}` sends a part that nobody asked for"
            raise TransferError(message, hint="use another mirror with `--mirror URL`")
        # Nothing can be made of what came: from the start, once more.
        self._restart()
        return self._attempt(cached)

    def _take_partial(self) -> int:
        """The number of bytes that can be continued; their digest is taken."""
        data = self._partial.data
        facts = self._partial.facts()
        known = self._artifact.sha256 is not None
        try:
            size = data.stat().st_size
        except OSError:
            size = 0
        here = facts.get("url") == self._partial.of_url
        same = known or (here and _validator(facts) is not None)
        too_long = self._artifact.size is not None and size > self._artifact.size
        if not size or not same or too_long:
            self._restart()
            return 0
        self._digest = sha256_of(data, self._cancel)
        self._count(size)
        self._resumed = True
        return size

    def _conditions(self, offset: int, cached: Path | None) -> dict[str, str]:
        if offset:
            facts = self._partial.facts()
            # Another server's tag says nothing here; the digest will tell.
            is_same = facts.get("url", self._partial.of_url) == self._partial.of_url
            validator = _validator(facts) if is_same else None
            headers = {"Range": f"bytes={offset}-"}
            return {**headers, "If-Range": validator} if validator else headers
        noted = self._partial.noted() if cached is not None else {}
        headers = {}
        if noted.get("etag"):
            headers["If-None-Match"] = noted["etag"]
        if noted.get("modified"):
            headers["If-Modified-Since"] = noted["modified"]
        return headers

    def _receive(self, reply: Reply, offset: int) -> None:
        url, size = self._artifact.url, self._artifact.size
        announced = length(reply)
        whole = None if announced is None else offset + announced
        self._came = came = Came.of(url, reply, whole)
        self._note_facts(reply)
        total = offset
        with self._partial.data.open("ab", buffering=0) as file:
            for piece in self._connections.pieces(url, reply):
                total += len(piece)
                if size is not None and total > size:
                    raise self._given_up(piece)
                rest = memoryview(piece)
                while rest:
                    rest = rest[file.write(rest) :]
                self._digest.update(piece)
                self._count(total)
                if size is not None and came.is_other_than(size) and total - offset >= _LOOK:
                    raise self._given_up(piece)  # what else comes is of no use
        if whole is not None and total < whole:
            message, hint = ended(url, total, whole)
            raise RetryableError(message, hint=hint)

    def _note_facts(self, reply: Reply) -> None:
        self._partial.note_facts({"url": self._partial.of_url, **_facts(reply)})

    def _restart(self) -> None:
        self._partial.drop()
        self._digest = hashlib.sha256()
        self._resumed = False
        self._count(0)

    def _count(self, at_hand: int) -> None:
        if at_hand != self._at_hand:
            self._tell(at_hand - self._at_hand)
            self._at_hand = at_hand

    def _note_change(self, reply: Reply) -> bool:
        """Whether the server has another file now than the one that was begun.

        Where a digest is known, that decides: the servers of one address may have tags of
        their own for the same content.
        """
        before = self._partial.facts()
        if self._artifact.sha256 is not None or before.get("url") != self._partial.of_url:
            return False
        now = _facts(reply)
        key = "etag" if "etag" in before and "etag" in now else "modified"
        if before.get(key) == now.get(key):
            return False
        self._changes += 1
        if self._changes > _MOST_CHANGES:
            self._partial.drop()
            raise changing(self._artifact)
        return True

    def _wrong(self) -> TransferError | None:
        """What is wrong with the complete file, or None when it is what was asked for."""
        data = self._partial.data
        with data.open("rb") as file:
            head = file.read(HEAD)
        size = data.stat().st_size
        return unfit(self._artifact, self._came, size, kind(head), self._digest.hexdigest())

    def _given_up(self, piece: bytes) -> TransferError:
        """The error for a reply of the wrong size, which was not read to its end."""
        with self._partial.data.open("rb") as file:
            head = (file.read(HEAD) or piece)[:HEAD]
        self._partial.drop()
        size = self._came.size if self._came else None
        return of_other_size(self._artifact, self._came, size, kind(head))


def _facts(reply: Reply) -> dict[str, str]:
    """What tells this version of the file from another one: `etag`, `modified`."""
    marks = {"etag": reply.headers.get("ETag"), "modified": reply.headers.get("Last-Modified")}
    return {key: mark for key, mark in marks.items() if mark}


def _validator(facts: dict[str, str]) -> str | None:
    etag = facts.get("etag")
    if etag and not etag.startswith("W/"):  # RFC 9110 13.1.5: If-Range takes strong tags only
        return etag
    return facts.get("modified")


def _continues(reply: Reply, offset: int) -> bool:
    span = reply.headers.get("Content-Range") or ""
    return span.startswith(f"bytes {offset}-")
