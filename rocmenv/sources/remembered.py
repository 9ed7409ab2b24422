"""Indexes and keys that were read, kept in the cache for runs that are offline.

What is kept is what the server sent, signature included, and is verified again whenever it
is read: the cache is trusted no more than a mirror.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import time
from typing import TYPE_CHECKING

from rocmenv.errors import TransferError
from rocmenv.fetch.connection import shown
from rocmenv.fetch.transfer import NotThereError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rocmenv.fetch.transfer import Downloads

# Of a Debian-style repository, and of an RPM repository as createrepo_c names its files.
_BY_HASH = re.compile(
    r"(.+)/(?:by-hash/SHA256/|repodata/(?=[0-9a-f]{64}-primary\.xml))([0-9a-f]{64})(?:-[a-z.0-9]+)?\Z"
)
_DIGEST = re.compile(r"[0-9a-f]{64}")
_NOTE = 32
"""The length of the names of notes; kept files have longer ones."""
# Seconds to wait for another process that keeps what it read; then nothing is kept.
_PATIENCE = 10
_UNFINISHED = ".unfinished-"
# Seconds after which nobody is still writing a small file.
_ABANDONED = 3600


class Remembered:
    """Reads with `downloads` and remembers what it read; `keep` puts that into the cache.

    An index whose address names its SHA-256 is read from the cache when it is there.
    """

    def __init__(self, downloads: Downloads) -> None:
        self.downloads = downloads
        self._seen: dict[str, bytes | None] = {}

    def read(self, url: str, *, limit: int = 64 << 20) -> bytes:
        """As `Downloads.read`; offline what the last run kept, `NotThereError` for nothing."""
        if url.lower().startswith("file:"):
            return self.downloads.read(url, limit=limit)
        known = self._content(url)
        if known is not None:
            self._seen.setdefault(url, None)  # it is there, and has one more user
            return known
        return self.once(url, lambda: self.downloads.read(url, limit=limit))

    def once(self, url: str, read: Callable[[], bytes]) -> bytes:
        """What `read` returns of `url`; offline what the last run kept of that, as for `read`."""
        if url.lower().startswith("file:"):
            return read()
        if not self.downloads.offline:
            self._seen[url] = content = read()
            return content
        try:
            return self._path(url).read_bytes()
        except OSError as error:
            msg = f"`{shown(url)}` is not in the cache, and this run is offline"
            raise NotThereError(msg, hint="run the command once without `--offline`") from error

    def include(self, other: Remembered) -> None:
        """Remember what `other` has read, too."""
        self._seen.update(other._seen)

    def keep(self) -> None:
        """Write what was read, for later runs; a cache that cannot be written stays as it is.

        A newer index takes the place of the older one. It is there before the signed file
        that names it, and the older one goes last: an end in between leaves two that fit.
        One process at a time, so that what two have read is not mixed.
        """
        from filelock import FileLock, Timeout  # noqa: PLC0415 - for those who plan alone

        seen, self._seen = self._seen, {}
        hashed = {m[1]: (m[2], seen.pop(url)) for url in list(seen) if (m := _BY_HASH.match(url))}
        if not (seen or hashed):
            return
        with contextlib.ExitStack() as held, contextlib.suppress(OSError):
            self.downloads.cache.mkdir(parents=True, exist_ok=True)
            try:
                lock = FileLock(self.downloads.cache / "index.lock", timeout=_PATIENCE)
                held.enter_context(lock)
            except Timeout:
                return
            except (OSError, NotImplementedError):
                pass  # another user's, or none to be had here: without one, as before
            self._write(seen, hashed)

    def _write(
        self, plain: dict[str, bytes | None], hashed: dict[str, tuple[str, bytes | None]]
    ) -> None:
        for digest, content in hashed.values():
            if content is not None:
                replace_file(self._file(digest), content)
        for url, content in plain.items():
            if content is not None:
                replace_file(self._path(url), content)
        for folder, (digest, _) in hashed.items():
            self._drop_older(folder, digest)

    def refuse_if_offline(self, error: NotThereError) -> None:
        """Raise what `error` means offline: nothing is known of the server."""
        if self.downloads.offline:
            raise TransferError(error.message, hint=error.hint) from error

    def _content(self, url: str) -> bytes | None:
        """What the cache has of an index whose address names its digest, if that is right."""
        match = _BY_HASH.match(url)
        if match is None:
            return None
        with contextlib.suppress(OSError):
            content = self._file(match[2]).read_bytes()
            if hashlib.sha256(content).hexdigest() == match[2]:
                return content
        return None

    def _drop_older(self, folder: str, digest: str) -> None:
        """Remove the index that `folder` had before the one with this `digest`."""
        note = self.downloads.cache / "index" / _name(folder)[:_NOTE]
        before = note.read_text(encoding="ascii", errors="replace") if note.exists() else ""
        replace_file(note, digest.encode())
        if _DIGEST.fullmatch(before) and before != digest and not self._is_noted(before):
            self._file(before).unlink(missing_ok=True)

    def _is_noted(self, digest: str) -> bool:
        """Whether some folder has the index with this digest: two may have the same one."""
        folder = self.downloads.cache / "index"
        notes = (path for path in folder.iterdir() if len(path.name) == _NOTE)
        return any(path.read_text("ascii", "replace") == digest for path in notes)

    def _file(self, digest: str) -> Path:
        return self.downloads.cache / "sha256" / digest

    def _path(self, url: str) -> Path:
        return self.downloads.cache / "index" / _name(url)


def _name(url: str) -> str:
    return hashlib.sha256(url.encode("utf-8", "surrogateescape")).hexdigest()


def replace_file(path: Path, data: bytes) -> None:
    """Make `data` the content of `path`; its folder is made, too.

    Whoever reads meanwhile sees the old file or the new one, and several may write. What a
    writer that was killed has left in the folder is removed by the next one, an hour later.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.glob(f"{_UNFINISHED}*"):
        with contextlib.suppress(OSError):  # it is gone by now, or not ours
            if left.stat().st_mtime < time.time() - _ABANDONED:
                left.unlink()
    temporary = path.with_name(f"{_UNFINISHED}{secrets.token_hex(8)}")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
