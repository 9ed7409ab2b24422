"""The files of an RPM repository as the server sent them, for a copy that stays signed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from rocmenv.sources.base import MirrorFile

if TYPE_CHECKING:
    from rocmenv.sources.base import Reader
    from rocmenv.sources.rpm.repository import LoadedRepository, Repository


@dataclass(frozen=True, slots=True)
class Copied:
    """A checked repository and its own files, by their paths below its base.

    Of what `repomd.xml` names there is what rocmenv reads: `primary`. It comes first, and
    `repomd.xml` last.
    """

    loaded: LoadedRepository
    files: dict[str, bytes]

    def mirrored(self, below: str) -> list[MirrorFile]:
        """These files in a mirror that has the repository in the folder `below`."""
        return [MirrorFile(f"{below}/{name}", content=data) for name, data in self.files.items()]


class _Recording:
    """A reader that keeps what it read, by address."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.seen: dict[str, bytes] = {}

    def read(self, url: str, *, limit: int) -> bytes:
        """The bytes at `url`."""
        self.seen[url] = content = self.reader.read(url, limit=limit)
        return content


def copy(repository: Repository, downloads: Reader) -> Copied:
    """Read and check the repository; raises as `Repository.load`."""
    recording = _Recording(downloads)
    loaded = repository.load(recording)
    files = {
        unquote(url.removeprefix(repository.folder)): content
        for url, content in reversed(recording.seen.items())
    }
    return Copied(loaded, files)
