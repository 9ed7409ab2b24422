"""Files and folders, as the steps of a build walk, write and copy them."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path


def files_below(folder: Path) -> Iterator[Path]:
    """Files and links below a folder, in a stable order; links are not followed."""
    for parent, folders, names in os.walk(folder):
        folders.sort()
        links = [name for name in folders if os.path.islink(f"{parent}/{name}")]
        for name in sorted(names + links):
            yield Path(parent, name)


def write_file(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a text file, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


def temporary_folder(folder: Path) -> Path:
    """A new empty folder below `folder`, for its owner alone."""
    folder.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(dir=folder))


def link_or_copy(source: Path, target: Path) -> None:
    """Make `target` the same file as `source`, or else one like it; what was there goes."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


def copy_file(source: Path, target: Path) -> None:
    """Copy a file with its time and mode, and make the folders above it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)
