"""Copying a folder as it is: links stay links, and mean in the copy what they mean now."""

from __future__ import annotations

import os
import shutil
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmenv.errors import ArchiveError
from rocmenv.fetch.inventory import Inventory, Known, sha256_hex, stamp

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator
    from pathlib import Path

_PERMISSIONS = 0o777
_SPECIAL = stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX


@dataclass(frozen=True, slots=True)
class Copied:
    """What was copied: the paths of all files below the folder, and their size in bytes."""

    files: tuple[str, ...]
    size: int
    inventory: Inventory


def copy_tree(source: str, target: Path, cancel: threading.Event | None = None) -> Copied:
    """Copy what is in the folder `source` into the empty folder `target`.

    Files and folders keep permissions and times, but for set-user, set-group and sticky
    bits; only the owner can always write into a folder. `cancel` stops it (`Interrupted`).
    Links that lead into `source`, by whatever name, are relative in the copy, those that
    lead out of it by `..` are absolute, and all others are kept as they are. Sockets, pipes
    and devices are an `ArchiveError`, and so is a `source` that holds `target`. Raises
    `OSError` for what cannot be read: a copy is whole or not at all.
    """
    files: dict[str, Known] = {}
    size = 0
    whole = (os.path.realpath(source), os.path.normpath(source))
    if os.path.realpath(target).startswith(f"{whole[0].rstrip('/')}/"):
        msg = f"{source} cannot be copied into itself ({target})"
        raise ArchiveError(msg, hint="name a root elsewhere: `export ROCM_ROOT=DIR`")
    walked: list[tuple[str, str]] = []
    for folder, folders, names in _walked(source, _give_up):
        below = os.path.relpath(folder, source)
        here = os.path.normpath(os.path.join(target, below))
        os.makedirs(here, exist_ok=True)
        walked.append((folder, here))
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        for name in (*names, *links):
            path = os.path.join(folder, name)
            if os.path.islink(path):
                os.symlink(_text(os.readlink(path), whole, below), os.path.join(here, name))
            elif os.path.isfile(path):
                known = copy_file(path, os.path.join(here, name), cancel)
                files[os.path.normpath(os.path.join(below, name))] = known
                size += os.path.getsize(path)
            else:
                msg = f"{path} is neither a file, a folder nor a link"
                raise ArchiveError(msg)
    for folder, here in reversed(walked):  # last, as filling a folder changes its time
        _keep_status(folder, here)
    return Copied(tuple(sorted(files)), size, Inventory(files))


def copy_file(source: str, target: str, cancel: threading.Event | None = None) -> Known:
    """Copy one file as `copy_tree` does; what is known of the copy."""
    shutil.copy2(source, target)
    mode = os.lstat(target).st_mode
    if mode & _SPECIAL:
        os.chmod(target, mode & _PERMISSIONS)
    # What has just been written is read from memory, so this costs the digest alone.
    digest = sha256_hex(target, cancel)
    return Known("", digest, stamp(os.lstat(target)))


def tree_size(source: str) -> int:
    """The bytes of all files below a folder; links count nothing."""
    return sum(
        os.lstat(os.path.join(folder, name)).st_size
        for folder, _, names in _walked(source, None)
        for name in names
        if not os.path.islink(os.path.join(folder, name))
    )


def _walked(
    source: str, on_error: Callable[[OSError], None] | None
) -> Iterator[tuple[str, list[str], list[str]]]:
    try:
        yield from os.walk(source, onerror=on_error)
    except RecursionError:  # up to Python 3.11
        msg = f"the folders of {source} lie in one another too deep"
        raise ArchiveError(msg, hint="is it the prefix of a ROCm?") from None


def _give_up(error: OSError) -> None:
    raise error


def _keep_status(folder: str, here: str) -> None:
    status = os.stat(folder)
    os.chmod(here, status.st_mode & _PERMISSIONS | stat.S_IRWXU)
    os.utime(here, ns=(status.st_atime_ns, status.st_mtime_ns))


def _text(link: str, whole: tuple[str, str], below: str) -> str:
    """The text of a link in the folder `below` of the copy; `whole` are the source's names."""
    parts = [part for part in link.split("/") if part not in ("", ".")]
    if link.startswith("/") and ".." not in parts:
        plain = "/" + "/".join(parts)
        for start in whole:
            if plain == start or plain.startswith(f"{start}/"):
                return os.path.relpath(plain[len(start) + 1 :] or ".", below)
    ups = parts.count("..")
    depth = 0 if below == "." else below.count("/") + 1
    is_plain = ".." not in parts[ups:]  # `a/../b` goes up from where the link `a` leads
    if not link.startswith("/") and is_plain and ups <= depth:
        return link
    # An absolute text may reach the source by a link that is elsewhere.
    real = os.path.realpath(os.path.join(whole[0], below, link))
    if real == whole[0] or real.startswith(f"{whole[0]}/"):
        return os.path.relpath(real[len(whole[0]) + 1 :] or ".", os.path.normpath(below))
    return link if link.startswith("/") else real
