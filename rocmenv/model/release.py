"""What a source offers: the files that make up one release."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Artifact:
    """One file to download.

    `url` is absolute; `name` is what people call the file (its last path part or the
    package's file name); `size` is in bytes and `sha256` is lower-case hex, each None
    where the source publishes none.
    """

    url: str
    name: str
    size: int | None = None
    sha256: str | None = None
