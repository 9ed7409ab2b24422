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
from rocmenv.fetch.connection import (
    Connections,
    Reply,
    RetryableError,
    length,
    shown,
)
from rocmenv.fetch.digest import Digest, sha256_of
from rocmenv.fetch.kind import HEAD, expected, kind
from rocmenv.fetch.stop import Interrupted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rocmenv.model.release import Artifact

_LOCK_POLL = 0.1
_WRONG_HINT = (
    "open the URL in a browser (a network's login page?), or use another mirror with `--mirror URL`"
)


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
        self._came = ""  # how the reply described itself, for the message
        self._resumed = False

    def run(self, cached: Path | None) -> Path:
        """The path in the cache; `cached` is what this URL had before, to ask if it changed."""
        try:
            if self._tried(cached) and cached is not None:
                self._count(cached.stat().st_size)
                return cached
            wrong = self._what_is_wrong()
            if wrong and self._resumed:
                # A stale partial file, or a server that mixed two versions: once, from zero.
                self._restart()
                self._tried(None)
                wrong = self._what_is_wrong()
        except OSError:
            self._partial.drop()  # a full disk gets its space back
            raise
        if wrong:
            self._partial.drop()
            raise TransferError(wrong, hint=_WRONG_HINT)
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
            if reply.status == 416:  # noqa: PLR2004 - HTTP: range not satisfiable
                self._restart()
                message = f"`{shown(self._artifact.url)}` does not continue a partial download"
                raise RetryableError(message)
            if offset and not _continues(reply, offset):
                self._restart()
                offset = 0
            self._resumed = self._resumed or offset > 0
            self._receive(reply, offset)
        return False

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
            validator = _validator(self._partial.facts())
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
        url = self._artifact.url
        announced = length(reply)
        content_type = reply.headers.get("Content-Type") or "no content type"
        self._came = f"HTTP {reply.status}, {content_type}"
        self._note_facts(reply)
        total = offset
        with self._partial.data.open("ab", buffering=0) as file:
            for piece in self._connections.pieces(url, reply):
                total += len(piece)
                if self._artifact.size is not None and total > self._artifact.size:
                    raise self._too_long(piece, announced)
                rest = memoryview(piece)
                while rest:
                    rest = rest[file.write(rest) :]
                self._digest.update(piece)
                self._count(total)
        if announced is not None and total < offset + announced:
            whole = offset + announced
            raise RetryableError(f"`{shown(url)}` ended after {total} of {whole} bytes")

    def _note_facts(self, reply: Reply) -> None:
        facts = {
            "url": self._partial.of_url,
            "etag": reply.headers.get("ETag"),
            "modified": reply.headers.get("Last-Modified"),
        }
        self._partial.note_facts({k: v for k, v in facts.items() if v})

    def _restart(self) -> None:
        self._partial.drop()
        self._digest = hashlib.sha256()
        self._resumed = False
        self._count(0)

    def _count(self, at_hand: int) -> None:
        if at_hand != self._at_hand:
            self._tell(at_hand - self._at_hand)
            self._at_hand = at_hand

    def _what_is_wrong(self) -> str | None:
        """A sentence on the complete file, or None when it is what was asked for."""
        artifact = self._artifact
        data = self._partial.data
        size = data.stat().st_size
        with data.open("rb") as file:
            is_kind = kind(file.read(HEAD))
        wants = expected(artifact.name)
        start = f"`{shown(artifact.url)}` is not `{artifact.name}`"
        came = f"{size} bytes came ({self._came or 'resumed'}), {is_kind}"
        if (size == 0 and artifact.size != 0) or (wants and is_kind != wants):
            return f"{start}: {came} instead of {wants or 'content'}"
        if artifact.size is not None and size != artifact.size:
            return f"{start}: {came}; {artifact.size} bytes were announced"
        if artifact.sha256 is not None and self._digest.hexdigest() != artifact.sha256:
            has = self._digest.hexdigest()
            return f"{start}: {came}, with sha256 {has} instead of {artifact.sha256}"
        return None

    def _too_long(self, piece: bytes, announced: int | None) -> TransferError:
        with self._partial.data.open("rb") as file:
            is_kind = kind((file.read(HEAD) or piece)[:HEAD])
        self._partial.drop()
        size = f"{announced} bytes came" if announced is not None else "more bytes came"
        message = (
            f"`{shown(self._artifact.url)}` is not `{self._artifact.name}`: {size} "
            f"({self._came}), {is_kind}; {self._artifact.size} bytes were announced"
        )
        return TransferError(message, hint=_WRONG_HINT)


def _validator(facts: dict[str, str]) -> str | None:
    etag = facts.get("etag")
    if etag and not etag.startswith("W/"):  # RFC 9110 13.1.5: If-Range takes strong tags only
        return etag
    return facts.get("modified")


def _continues(reply: Reply, offset: int) -> bool:
    span = reply.headers.get("Content-Range") or ""
    return reply.status == 206 and span.startswith(f"bytes {offset}-")  # noqa: PLR2004 - HTTP: partial content
