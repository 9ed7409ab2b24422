"""The files of a signed repository as the server sent them, for a copy that stays signed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from rocmenv.errors import RepositoryError, SignatureError
from rocmenv.fetch.transfer import NotThereError
from rocmenv.sources.apt.index import Index
from rocmenv.sources.apt.repository import LoadedRepository, by_hash, unpacked
from rocmenv.sources.base import MirrorFile

if TYPE_CHECKING:
    from rocmenv.sources.apt.release import ReleaseFile
    from rocmenv.sources.apt.repository import Repository
    from rocmenv.sources.base import Reader

_LARGEST = 16 << 20


@dataclass(frozen=True, slots=True)
class Copied:
    """A verified repository and its own files, by their paths below the suite's folder.

    The indexes come first and the signed files last, so that a copy that is made in this
    order never announces what it has not got.
    """

    loaded: LoadedRepository
    files: dict[str, bytes]

    def mirrored(self, below: str) -> list[MirrorFile]:
        """These files in a mirror that has the repository in the folder `below`."""
        suite = f"{below}/dists/{self.loaded.repository.suite}"
        return [MirrorFile(f"{suite}/{name}", content=data) for name, data in self.files.items()]


def copy(repository: Repository, downloads: Reader, *, now: datetime | None = None) -> Copied:
    """Read and verify every form of the signed files and indexes that the server has.

    Raises:
        SignatureError, RepositoryError, TransferError: as `Repository.load`.
        NotThereError: the server has no such suite.
    """
    now = now or datetime.now(timezone.utc)
    signed, release, notes = _signed(repository, downloads, now)
    files: dict[str, bytes] = {}
    texts = []
    for path in repository.index_paths():
        forms, absent = _forms(repository, downloads, release, path)
        if not forms:
            raise repository.lacking(path, absent)
        name, data = next(iter(forms.items()))
        texts.append(unpacked(data, repository.folder + name))
        if release.acquire_by_hash:
            files |= {by_hash(name, release.files[name][1]): data for name, data in forms.items()}
        files |= forms
    loaded = LoadedRepository(repository, Index(*texts), notes)
    return Copied(loaded, files | signed)


def _signed(
    repository: Repository, downloads: Reader, now: datetime
) -> tuple[dict[str, bytes], ReleaseFile, tuple[str, ...]]:
    """The signed files, what they say, and notes. Those of one suite must say the same."""
    folder = repository.folder
    notes: list[str] = []
    release = None
    files: dict[str, bytes] = {}
    inline, absent = _read(downloads, f"{folder}InRelease")
    if inline is not None:
        verified = repository.verified(f"{folder}InRelease", inline, None)
        release = repository.parsed(verified, now)
        notes += verified.notes
        files["InRelease"] = inline
    plain, gone = _read(downloads, f"{folder}Release")
    signature, _ = _read(downloads, f"{folder}Release.gpg")
    if plain is not None and signature is not None:
        try:
            verified = repository.verified(f"{folder}Release", plain, signature)
            other = repository.parsed(verified, now)
        except (SignatureError, RepositoryError) as error:
            if release is None:
                raise
            notes.append(f"left out the older form of the signed index: {error.message}")
        else:
            if release is not None and other.files != release.files:
                notes.append("left out `Release`: it is of another day than `InRelease`")
            else:
                files = {"Release.gpg": signature, "Release": plain, **files}
                release = release or other
                notes += verified.notes
    if release is None:
        if plain is None:
            raise gone or absent or NotThereError(folder)
        message = f"the repository `{repository.origin}` is not signed"
        raise SignatureError(message, hint="rocmenv takes nothing from unsigned repositories")
    return files, release, tuple(dict.fromkeys(notes))


def _forms(
    repository: Repository, downloads: Reader, release: ReleaseFile, path: str
) -> tuple[dict[str, bytes], NotThereError]:
    found: dict[str, bytes] = {}
    absent = NotThereError(path)
    for name in repository.forms(release, path):
        try:
            found[name] = repository.read_listed(downloads, release, name)
        except NotThereError as error:
            absent = error
    return found, absent


def _read(downloads: Reader, url: str) -> tuple[bytes | None, NotThereError | None]:
    try:
        return downloads.read(url, limit=_LARGEST), None
    except NotThereError as error:
        return None, error
