"""Version files: find, read, write."""

from __future__ import annotations

import errno
import os
import shlex
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rocmenv.errors import PinError, SpaceError, StoreError
from rocmenv.model.selection import LONGEST_PIN, PIN_NAME, parse_pin, pin_comments
from rocmenv.model.version import Spec

if TYPE_CHECKING:
    from collections.abc import Iterator

_TEMPORARY = ".rocmenv"
"""How the names end under which files are written before they take their place."""


def read(path: str) -> Spec | None:
    """The spec in the version file at `path`, None when it has none."""
    return parse_pin(_content(path), path)


def _content(path: str) -> bytes:
    """The bytes of a version file, of one that is too long the first ones."""
    try:
        with open(path, "rb") as file:
            return file.read(LONGEST_PIN + 1)
    except OSError as error:
        msg = f"{path} cannot be read ({error.strerror})"
        raise PinError(msg, hint=f"check its rights: `ls -l {shlex.quote(path)}`") from error


def nearest(folder: str) -> tuple[str, Spec] | None:
    """The version file that counts in `folder`: the nearest one upward that has a word.

    A folder of that name is passed over, and so is a file with nothing but comments.
    """
    folder = folder.rstrip("/")
    while True:
        path = f"{folder}/{PIN_NAME}"
        if os.path.isfile(path):
            spec = read(path)
            if spec is not None:
                return path, spec
        if not folder:
            return None
        folder = folder.rpartition("/")[0]


def write(path: Path, spec: Spec) -> None:
    """Put `spec` into the version file at `path`, keeping its comments if it has some.

    Raises `PinError` when what is there cannot be read: nobody knows what would be lost.
    """
    old = _content(str(path)) if os.path.isfile(path) else b""
    lines = [*pin_comments(old, str(path)), str(spec)]
    replace_file(path, "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))


def replace_file(path: Path, content: bytes) -> None:
    """Give the file at `path` this content in one step.

    Raises `StoreError` when it is a folder or cannot be written, `SpaceError` on a full disk.
    """
    path = Path(os.path.realpath(path))  # a link stays one: people keep such files elsewhere
    if path.is_dir():
        msg = f"{path} is a folder"
        place = shlex.quote(str(path))
        raise StoreError(msg, hint=f"move it away: `mv {place} {place}.old`")
    try:
        _clear_temporaries(path)
        with _temporary(path) as (number, temporary):
            os.fchmod(number, path.stat().st_mode & 0o777 if path.exists() else 0o644)
            with os.fdopen(number, "wb", closefd=False) as file:
                file.write(content)
            os.fsync(number)
            os.replace(temporary, path)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            msg = f"there is no space left for {path}"
            raise SpaceError(msg, hint="make room, then do it again") from error
        msg = f"{path} cannot be written ({error.strerror})"
        raise StoreError(msg, hint="pick a folder that you may write to") from error


@contextmanager
def _temporary(path: Path) -> Iterator[tuple[int, str]]:
    """A new file beside `path`, open and locked; removed at the end where it still is.

    Its name is one that nobody can foresee: in a shared folder a link may wait there. The
    lock, which goes with its holder, tells it from one that a killed process left.
    """
    import fcntl  # noqa: PLC0415 - for writers alone
    import tempfile  # noqa: PLC0415 - as above

    number, name = tempfile.mkstemp(_TEMPORARY, f".{path.name}.", path.parent)
    with suppress(OSError):  # a file system without locks: then nobody clears up either
        fcntl.flock(number, fcntl.LOCK_EX)
    if not os.fstat(number).st_nlink:
        # Another writer took it for left over before it was locked.
        os.close(number)
        with _temporary(path) as again:
            yield again
        return
    try:
        yield number, name
    finally:
        os.close(number)
        with suppress(OSError):
            os.unlink(name)


def _clear_temporaries(path: Path) -> None:
    """Remove the files beside `path` that killed writers of it have left."""
    import fcntl  # noqa: PLC0415 - for writers alone

    names: list[str] = []
    with suppress(OSError):  # a folder that may be written to and not read
        names = os.listdir(path.parent)
    for name in names:
        if not (name.startswith(f".{path.name}.") and name.endswith(_TEMPORARY)):
            continue
        with suppress(OSError):  # somebody's who is at work, or another user's
            number = os.open(path.parent / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                # Shared, as an open for reading allows it everywhere; the writer's is not.
                fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
                os.unlink(path.parent / name)
            finally:
                os.close(number)
