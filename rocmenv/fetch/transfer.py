"""Downloads: into a content cache, resumed, retried, and verified before anyone sees them.

The cache has three folders: `sha256/HEX` (verified files), `partial/KEY.{part,json,lock}`
(unfinished ones) and `url/KEY` (which content a URL without a published digest had).
"""

from __future__ import annotations

import contextlib
import errno
import threading
from typing import TYPE_CHECKING

from rocmenv.errors import SpaceError, TransferError, visible
from rocmenv.fetch.address import is_local, shown
from rocmenv.fetch.connection import Connections, encoded, length
from rocmenv.fetch.digest import sha256_of
from rocmenv.fetch.network import Network
from rocmenv.fetch.partial import Fetch, Partial
from rocmenv.fetch.rate import Limit
from rocmenv.fetch.stop import Interrupted, check
from rocmenv.fetch.trouble import NotThereError, RetryableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import BufferedReader
    from pathlib import Path

    from rocmenv.model.release import Artifact

_ZLIB = ("gzip", "x-gzip", "deflate")

__all__ = ["Downloads", "NotThereError"]


class Downloads:
    """Fetches artifacts into the folder `cache`, which is made on first use.

    `network` says how; see there. When `cancel` is set, every thread that is fetching
    raises `Interrupted` at once and the partial files stay for the next run. When
    `offline` is set, no connection is opened at all. Threads and processes may share a
    cache; `limit` is the rate's account, shared by all that are made by `with_cancel`.
    """

    def __init__(
        self,
        cache: Path,
        *,
        offline: bool = False,
        cancel: threading.Event | None = None,
        network: Network | None = None,
        limit: Limit | None = None,
    ) -> None:
        self.cache = cache
        self.offline = offline
        self.cancel = cancel or threading.Event()
        self.network = network or Network()
        self._limit = limit or Limit(self.network.rate)
        self._connections = Connections(
            self.network, cancel=self.cancel, limit=self._limit, offline=offline
        )

    @property
    def connections(self) -> int:
        """How many files are downloaded at once."""
        return self.network.connections

    def with_cancel(self, cancel: threading.Event) -> Downloads:
        """The same downloads, stopped by `cancel` instead of by this object's event."""
        return Downloads(
            self.cache,
            offline=self.offline,
            cancel=cancel,
            network=self.network,
            limit=self._limit,
        )

    def into(self, cache: Path) -> Downloads:
        """The same downloads into another cache."""
        return Downloads(
            cache,
            offline=self.offline,
            cancel=self.cancel,
            network=self.network,
            limit=self._limit,
        )

    def fetch(self, artifact: Artifact, on_bytes: Callable[[int], None] | None = None) -> Path:
        """The path of `artifact`'s verified content in the cache.

        `on_bytes` gets the change of the number of bytes at hand: the size of a cached or
        partial file at first, then each piece, and a negative number when a file has to
        be started again. Without a published digest the content is filed under the digest
        computed, and its name's ending decides what it must be (`.tar.gz`: gzip).

        Raises:
            NotThereError: the server has no such file.
            TransferError: any other failure; nothing wrong is left in the cache.
            SpaceError: the cache's file system is full; the partial file is removed.
        """
        check(self.cancel)
        tell = on_bytes or _tell_nobody
        # Without a digest, a look before the lock would only read the file once more.
        is_sure = artifact.sha256 is not None or self.offline
        found = self.cached(artifact) if is_sure else None
        if found is not None:
            tell(found.stat().st_size)
            return found
        if self.offline and not is_local(artifact.url):
            message = f"`{artifact.name}` is not in the cache, and this run is offline"
            raise TransferError(message, hint="run the command once without `--offline`")
        partial = Partial(self.cache, artifact)
        with _room(self.cache), partial.locked(self.cancel):
            found = self.cached(artifact)
            if found is not None and artifact.sha256:
                tell(found.stat().st_size)
                return found
            return Fetch(self._connections, artifact, partial, tell, self.cancel).run(found)

    def follow(self, artifact: Artifact) -> Path:
        """Where the bytes of `artifact` arrive while `fetch` is at work on it.

        As many of them are there as `on_bytes` has been told; after a negative number it is
        another file, under the same name. At the end it is gone: it has become the cached one.
        """
        return Partial(self.cache, artifact).data

    def cached(self, artifact: Artifact) -> Path | None:
        """The cached content of `artifact`, checked again, or None.

        A cached file whose size or digest is wrong is removed.
        """
        partial = Partial(self.cache, artifact)
        digest = artifact.sha256 or partial.noted().get("sha256")
        if not digest:
            return None
        path = self.cache / "sha256" / digest
        if _is_right(path, digest, artifact.size, self.cancel):
            return path
        with contextlib.suppress(OSError):
            path.unlink()
        return None

    def kept(self, sha256: str) -> Path | None:
        """Where the cache has the content of this digest, not checked; None where it has not."""
        path = self.cache / "sha256" / sha256
        return path if sha256 and path.is_file() else None

    def forget(self, artifact: Artifact) -> None:
        """Remove what has arrived of `artifact`, unless somebody is fetching it now."""
        partial = Partial(self.cache, artifact)
        busy = threading.Event()
        busy.set()  # so that a lock which another holds is not waited for
        with contextlib.suppress(OSError, Interrupted), partial.locked(busy):
            partial.drop()

    def discard(self, path: Path) -> None:
        """Remove one cached file (`fetch`'s result); nothing happens when it is gone."""
        if path.parent == self.cache / "sha256":
            path.unlink(missing_ok=True)

    def read(self, url: str, *, limit: int = 64 << 20) -> bytes:
        """The bytes of a small file at `url` (http, https or file), not cached.

        Raises:
            NotThereError, TransferError: as `fetch`; also for more than `limit` bytes.
        """
        return self._connections.retried(lambda: self._read(url, limit))

    def size(self, url: str) -> int | None:
        """The size of the file at `url` in bytes, None when the server does not tell it.

        Raises `NotThereError` and `TransferError`; None also when this run is offline.
        """
        if self.offline and not is_local(url):
            return None

        def ask() -> int | None:
            with contextlib.closing(self._connections.open(url, {})) as reply:
                return length(reply)

        return self._connections.retried(ask)

    def parts(self, url: str) -> BufferedReader:
        """The file at `url` open for reading here and there, unverified and not cached.

        Opening and reading raise as `parts.Parts`, for a local file `NotThereError`.
        """
        from rocmenv.fetch.parts import opened  # noqa: PLC0415 - for locks of wheels alone

        return opened(url, self._connections)

    def _read(self, url: str, limit: int) -> bytes:
        pieces: list[bytes] = []
        total = 0
        with contextlib.closing(self._connections.open(url, {})) as reply:
            announced = length(reply)
            encoding = encoded(reply)
            for piece in self._connections.pieces(url, reply):
                total += len(piece)
                if total > limit:
                    raise TransferError(f"`{shown(url)}` is larger than {limit} bytes")
                pieces.append(piece)
        if announced is not None and total < announced:
            raise RetryableError(f"`{shown(url)}` ended after {total} of {announced} bytes")
        content = b"".join(pieces)
        # Some servers say of a file that is packed by itself that they have packed it.
        if encoding and not url.partition("?")[0].endswith(".gz"):
            content = _plain(url, content, encoding, limit)
        return content


def _plain(url: str, content: bytes, encoding: str, limit: int) -> bytes:
    """What a proxy has packed on the way, unpacked; it was asked not to do so."""
    import zlib  # noqa: PLC0415 - for such proxies alone

    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        plain = unpacker.decompress(content, limit + 1) if encoding in _ZLIB else b""
    except zlib.error:
        plain = b""
    if not unpacker.eof:
        why = f"is larger than {limit} bytes" if len(plain) > limit else "cannot be read"
        message = f"`{shown(url)}` {why}: it came with the content encoding {visible(encoding)}"
        raise TransferError(message, hint="a proxy may do this: set `network.proxy` to `none`")
    return plain


def _tell_nobody(_count: int) -> None:
    pass


def _is_right(path: Path, digest: str, size: int | None, cancel: threading.Event) -> bool:
    try:
        present = path.lstat()
        if path.is_symlink() or size not in (None, present.st_size):
            return False
        return sha256_of(path, cancel).hexdigest() == digest
    except OSError:
        return False


@contextlib.contextmanager
def _room(cache: Path) -> Iterator[None]:
    """Turn a full or unwritable file system into an error of ours."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            message = f"no space is left for downloads in `{cache}`"
            raise SpaceError(message, hint="free space there, or set another cache") from error
        words = (error.strerror or str(error)).lower()
        message = f"the download cache `{cache}` cannot be used: {words}"
        raise TransferError(message) from error
