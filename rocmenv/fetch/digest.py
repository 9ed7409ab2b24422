"""The SHA-256 of a file, by which the cache and receipts name content."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Protocol

from rocmenv.fetch.stop import check

if TYPE_CHECKING:
    import os
    import threading

_CHUNK = 1 << 20


class Digest(Protocol):
    """What hashlib's objects have."""

    def update(self, data: bytes, /) -> None:
        """Take `data` in."""

    def hexdigest(self) -> str:
        """The digest so far, lower-case hex."""


def sha256_of(path: str | os.PathLike[str], cancel: threading.Event | None = None) -> Digest:
    """The SHA-256 of the content of `path`, to be read off or continued.

    Raises:
        OSError: as reading does.
        Interrupted: `cancel` was set.
    """
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:
        while piece := file.read(_CHUNK):
            check(cancel)
            digest.update(piece)
    return digest
