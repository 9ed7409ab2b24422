"""What a Debian package says of itself: its `control` file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmenv.fetch.ar import damaged, member
from rocmenv.fetch.decode import Stream
from rocmenv.fetch.members import content, entries

if TYPE_CHECKING:
    from pathlib import Path

# Those of AMD's largest packages have a few kB.
_LONGEST = 1 << 20


def control(path: Path) -> str:
    """The text of the `control` file in the Debian package `path`.

    Raises:
        ArchiveError: it is no Debian package, or a damaged one.
    """
    with path.open("rb") as file:
        stream = Stream(member(file, path.name, "control.tar"), path.name)
        for entry in entries(stream):
            if entry.name != "control" or entry.kind != "file":
                continue
            if entry.size > _LONGEST:
                break
            pieces = [bytes(piece) for _, piece in content(stream, entry)]
            return b"".join(pieces).decode("utf-8", "replace")
    raise damaged(path.name, "it does not say what package it is")
