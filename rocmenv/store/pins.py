"""Version files: find, read, write."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from rocmenv.errors import PinError, StoreError
from rocmenv.model.selection import LONGEST_PIN, PIN_NAME, parse_pin
from rocmenv.model.version import Spec


def read(path: str) -> Spec | None:
    """The spec in the version file at `path`, None when it has none."""
    try:
        with open(path, "rb") as file:
            content = file.read(LONGEST_PIN + 1)
    except OSError as error:
        msg = f"{path} cannot be read ({error.strerror})"
        raise PinError(msg, hint=f"check its rights: `ls -l {path}`") from error
    return parse_pin(content, path)


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
    """Put `spec` into the version file at `path`, keeping its comments if it has some."""
    try:
        old = path.read_text(encoding="utf-8-sig") if path.is_file() else ""
    except (OSError, UnicodeDecodeError):
        old = ""
    comments = [line for line in old.splitlines() if line.lstrip().startswith("#")]
    text = "".join(f"{line}\n" for line in [*comments, str(spec)])
    replace_text(path, text)


def replace_text(path: Path, text: str) -> None:
    """Give the file at `path` this text in one step; `StoreError` when it cannot be written."""
    import tempfile  # noqa: PLC0415 - for writers alone

    path = Path(os.path.realpath(path))  # a link stays one: people keep such files elsewhere
    temporary = None
    try:
        # A name that nobody can foresee, made anew: in a shared folder a link may wait there.
        number, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(number, "w", encoding="utf-8", newline="\n") as file:
            os.fchmod(number, path.stat().st_mode & 0o777 if path.exists() else 0o644)
            file.write(text)
            file.flush()
            os.fsync(number)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)
        msg = f"{path} cannot be written ({error.strerror})"
        raise StoreError(msg, hint="pick a folder that you may write to") from error
