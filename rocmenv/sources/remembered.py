"""Indexes and keys that an install has read, kept in the cache for runs that are offline.

What is kept is what the server sent, signature included, and is verified again whenever it
is read: the cache is trusted no more than a mirror.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import time
from typing import TYPE_CHECKING

from rocmenv.errors import TransferError
from rocmenv.fetch.connection import shown
from rocmenv.fetch.transfer import Downloads, NotThereError

if TYPE_CHECKING:
    from pathlib import Path

_UNFINISHED = ".unfinished-"
# Seconds after which nobody is still writing a small file.
_ABANDONED = 3600


class Remembered(Downloads):
    """Downloads that remember the small files they read; `keep` puts these into the cache."""

    def __init__(self, downloads: Downloads) -> None:
        super().__init__(downloads.cache, offline=downloads.offline, cancel=downloads.cancel)
        self.online = downloads
        self._seen: dict[str, bytes] = {}

    def read(self, url: str, *, limit: int = 64 << 20) -> bytes:
        """As `Downloads.read`; offline what the last run kept, `NotThereError` for nothing."""
        if not self.offline or url.startswith("file:"):
            self._seen[url] = self.online.read(url, limit=limit)
            return self._seen[url]
        try:
            return self._path(url).read_bytes()
        except OSError as error:
            msg = f"`{shown(url)}` is not in the cache, and this run is offline"
            raise NotThereError(msg, hint="run the command once without `--offline`") from error

    def keep(self) -> None:
        """Write what was read, for a later run that is offline."""
        with contextlib.suppress(OSError):  # an unwritable cache is no reason to stop
            for url, content in self._seen.items():
                replace_file(self._path(url), content)

    def refuse_if_offline(self, error: NotThereError) -> None:
        """Raise what `error` means offline: nothing is known of the server."""
        if self.offline:
            raise TransferError(error.message, hint=error.hint) from error

    def _path(self, url: str) -> Path:
        name = hashlib.sha256(url.encode("utf-8", "surrogateescape")).hexdigest()
        return self.cache / "index" / name


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
