"""Members of archives as files on the disk."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from typing import TYPE_CHECKING

from rocmenv.fetch.digest import sha256_of
from rocmenv.fetch.members import content
from rocmenv.fetch.stop import check

if TYPE_CHECKING:
    import threading
    from pathlib import Path

    from rocmenv.fetch.decode import Stream
    from rocmenv.fetch.members import Entry

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Errors of a full file system."""


def moved(aside: Path, digest: str, disk: Path) -> str:
    """Put the written file `aside`, whose SHA-256 is `digest`, at `disk`; the digest."""
    aside.rename(disk)
    return digest


def write(stream: Stream, entry: Entry, cancel: threading.Event | None, disk: Path) -> str:
    """Write the content of `entry`; its SHA-256 in hex.

    The new file is ours alone, never one that exists.
    """
    digest = hashlib.sha256()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    is_sparse = len(entry.spans) != 1 or entry.spans[0] != (0, entry.size)
    file = os.open(disk, flags, 0o600)
    try:
        for offset, piece in content(stream, entry):
            check(cancel)
            if is_sparse:
                os.lseek(file, offset, os.SEEK_SET)
            else:
                digest.update(piece)
            rest = piece
            while rest:
                rest = rest[os.write(file, rest) :]
        if is_sparse:
            os.ftruncate(file, entry.size)
        os.fchmod(file, 0o755 if entry.executable else 0o644)
        os.utime(file, (entry.mtime, entry.mtime))
    finally:
        os.close(file)
    return sha256_of(disk, cancel).hexdigest() if is_sparse else digest.hexdigest()


def hard_link(source: Path, digest: str, disk: Path) -> str:
    """Give the file `source`, whose SHA-256 is `digest`, the name `disk`, too; the digest."""
    try:
        os.link(source, disk, follow_symlinks=False)
    except OSError as error:
        if error.errno in NO_ROOM:
            raise
        shutil.copy2(source, disk, follow_symlinks=False)
    return digest
