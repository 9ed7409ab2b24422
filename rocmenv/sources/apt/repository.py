"""One Debian-style repository: its signed Release file, its index, its packages' addresses."""

from __future__ import annotations

import contextlib
import hashlib
import io
import posixpath
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING
from urllib.parse import quote

from rocmenv.errors import ArchiveError, RepositoryError, SignatureError, visible
from rocmenv.fetch.connection import shown
from rocmenv.fetch.decode import Stream
from rocmenv.fetch.openpgp import Verified, verify
from rocmenv.fetch.pipeline import Job
from rocmenv.fetch.transfer import NotThereError
from rocmenv.model.release import Artifact
from rocmenv.sources.apt.index import Index
from rocmenv.sources.apt.release import ReleaseFile, parse_release
from rocmenv.sources.base import MirrorFile

if TYPE_CHECKING:
    from collections.abc import Callable

    from rocmenv.sources.apt.index import Package
    from rocmenv.sources.base import Reader

# The forms of an index; the smallest first.
_ENDINGS = (".xz", ".zst", ".gz", "")
_MOST_RELEASE = 16 << 20
_MOST_INDEX = 512 << 20
# Read beyond the announced size, so that a message can name the size there is.
_SURPLUS = 32 << 20
_CLOCKS_DIFFER = timedelta(days=1)
_LATER = "try again later, or use another mirror with `--mirror URL`"


@dataclass(frozen=True, slots=True)
class Repository:
    """Where a repository is and whose signature it must have.

    `base_url` is http, https or file. A `suite` that ends in `/` is a flat repository
    (`./`) and has no `components`. `keyring` holds OpenPGP certificates, armoured or
    binary; `fingerprints` pins keys of it, None trusts all of them.
    """

    base_url: str
    suite: str
    components: tuple[str, ...]
    architecture: str
    keyring: bytes
    fingerprints: frozenset[str] | None

    def load(self, downloads: Reader, *, now: datetime | None = None) -> LoadedRepository:
        """Read, verify and check the Release file and the indexes.

        Raises:
            SignatureError: not signed, or not by the pinned key.
            RepositoryError: expired, out of step with its index, or of an unknown form.
            NotThereError, TransferError: it cannot be read.
        """
        verified = self._verified(downloads)
        release = self.parsed(verified, now or datetime.now(timezone.utc))
        texts = [self._index(downloads, release, path) for path in self.index_paths()]
        notes = (*verified.notes, *self._notes(release))
        return LoadedRepository(self, Index(*texts), notes)

    def parsed(self, verified: Verified, now: datetime) -> ReleaseFile:
        """What a verified Release file says; raises `RepositoryError` when it is out of date."""
        release = parse_release(verified.data.decode("utf-8", "replace"))
        self._check_dates(release, now)
        return release

    @property
    def origin(self) -> str:
        """Address and suite as people may see them."""
        return f"{shown(self.base_url.rstrip('/'))} {self.suite}"

    @property
    def folder(self) -> str:
        """The URL of the folder with the Release file, ending in `/`."""
        base = self.base_url.rstrip("/") + "/"
        if self.suite.endswith("/"):
            inner = self.suite.strip("/").removeprefix("./").removeprefix(".")
            return f"{base}{quote(inner, safe='/~')}/" if inner else base
        return f"{base}dists/{quote(self.suite, safe='/~')}/"

    def index_paths(self) -> list[str]:
        """The indexes as the Release file lists them, without the endings of their forms."""
        if self.suite.endswith("/"):
            return ["Packages"]
        return [f"{part}/binary-{self.architecture}/Packages" for part in self.components]

    def _verified(self, downloads: Reader) -> Verified:
        url = f"{self.folder}InRelease"
        signature = None
        try:
            data = downloads.read(url, limit=_MOST_RELEASE)
        except NotThereError:
            # The older form, in two files; never a way round a bad signature.
            url = f"{self.folder}Release"
            data = downloads.read(url, limit=_MOST_RELEASE)
            signature = self._signature(downloads, url)
        return self.verified(url, data, signature)

    def verified(self, url: str, data: bytes, signature: bytes | None) -> Verified:
        """The content of `data` from `url`, if the signature is right, else `SignatureError`."""
        try:
            return verify(data, signature, self.keyring, self.fingerprints)
        except SignatureError as error:
            raise SignatureError(f"{error.message} (`{shown(url)}`)", hint=error.hint) from error

    def _signature(self, downloads: Reader, url: str) -> bytes:
        try:
            return downloads.read(f"{url}.gpg", limit=_MOST_RELEASE)
        except NotThereError as error:
            message = f"the repository `{shown(self.base_url)}` is not signed"
            hint = "use a signed mirror: rocmenv installs nothing from unsigned repositories"
            raise SignatureError(message, hint=hint) from error

    def _check_dates(self, release: ReleaseFile, now: datetime) -> None:
        where = f"`{self.suite}` of `{shown(self.base_url)}`"
        until = release.valid_until
        if until is not None and until < now:
            message = f"the index of {where} expired on {until:%Y-%m-%d}"
            hint = "the mirror is not kept up to date, or this computer's clock is wrong"
            raise RepositoryError(message, hint=hint)
        if release.date is not None and release.date > now + _CLOCKS_DIFFER:
            message = f"the index of {where} is from the future: {release.date:%Y-%m-%d}"
            raise RepositoryError(message, hint="check this computer's clock with `date`")

    def _notes(self, release: ReleaseFile) -> tuple[str, ...]:
        names = {release.suite, release.codename} - {""}
        if self.suite.endswith("/") or not names or self.suite.partition("/")[0] in names:
            return ()
        has = ", ".join(f"`{name}`" for name in sorted(names))
        return (f"the repository calls its suite {has}, not `{self.suite}`",)

    def _index(self, downloads: Reader, release: ReleaseFile, path: str) -> bytes:
        absent = NotThereError(path)
        # Some mirrors announce an index in more forms than they keep.
        for name in self.forms(release, path):
            try:
                data = self.read_listed(downloads, release, name)
            except NotThereError as error:
                absent = error
            else:
                return unpacked(data, self.folder + quote(name, safe="/~"))
        raise self.lacking(path, absent)

    def forms(self, release: ReleaseFile, path: str) -> list[str]:
        """The forms of an index that the Release file lists, the smallest first."""
        listed = [path + ending for ending in _ENDINGS if path + ending in release.files]
        if not listed:
            has = ", ".join(release.architectures) or "none"
            message = f"`{shown(self.folder)}` lists no `{path}` (its architectures: {has})"
            raise RepositoryError(message, hint="check the release and its suite")
        return listed

    def lacking(self, path: str, absent: NotThereError) -> RepositoryError:
        """The error for an index that is there in none of its forms."""
        message = f"`{shown(self.folder)}` announces `{path}`, and lacks it: {absent.message}"
        return RepositoryError(message, hint=absent.hint or _LATER)

    def read_listed(self, downloads: Reader, release: ReleaseFile, name: str) -> bytes:
        """A file that the Release file lists, as the server sent it, with its digest checked."""
        size, digest = release.files[name]
        url = self.folder + quote(name, safe="/~")
        limit = size + _SURPLUS
        data = None
        if release.acquire_by_hash:
            hashed = by_hash(name, digest)
            with contextlib.suppress(NotThereError):  # the plain name is checked just as well
                data = downloads.read(self.folder + quote(hashed, safe="/~"), limit=limit)
        if data is None:
            data = downloads.read(url, limit=limit)
        if len(data) != size:
            message = (
                f"`{shown(url)}` is out of step with its Release file: it has {len(data)} bytes, "
                f"and {size} are announced"
            )
            raise RepositoryError(message, hint=_LATER)
        if hashlib.sha256(data).hexdigest() != digest:
            message = (
                f"`{shown(url)}` is out of step with its Release file: it has the announced "
                f"{size} bytes, but another SHA-256"
            )
            raise RepositoryError(message, hint=_LATER)
        return data


def by_hash(name: str, digest: str) -> str:
    """The other place of a listed file, which tells its content (`Acquire-By-Hash`)."""
    return posixpath.join(posixpath.dirname(name), "by-hash", "SHA256", digest)


def unpacked(data: bytes, url: str) -> bytes:
    """The plain form of an index from `url`, which may be packed; else `RepositoryError`."""
    try:
        plain = Stream(io.BytesIO(data), posixpath.basename(url)).read(_MOST_INDEX + 1)
    except ArchiveError as error:
        raise RepositoryError(f"`{shown(url)}` cannot be unpacked: {error.message}") from error
    if len(plain) > _MOST_INDEX:
        raise RepositoryError(f"`{shown(url)}` unpacks to more than {_MOST_INDEX} bytes")
    return plain


@dataclass(frozen=True, slots=True)
class LoadedRepository:
    """A verified repository: `index` has its packages, `notes` are remarks for people."""

    repository: Repository
    index: Index
    notes: tuple[str, ...]

    @property
    def origin(self) -> str:
        """Address and suite as people may see them."""
        return self.repository.origin

    def job(self, package: Package, mapping: Callable[[str], str | None]) -> Job:
        """How to fetch and unpack `package`; raises `RepositoryError` as `artifact`."""
        return Job(self.artifact(package), package.name, mapping)

    def mirrored(self, package: Package, below: str) -> MirrorFile:
        """`package` in a mirror that has the repository in the folder `below`."""
        return MirrorFile(f"{below}/{package.filename}", self.artifact(package))

    def artifact(self, package: Package) -> Artifact:
        """What to download for `package`.

        Raises:
            RepositoryError: the index gives no SHA-256, no size, or an unsafe file name.
        """
        name = package.filename
        if not name or name.startswith("/") or ".." in name.split("/") or "\0" in name:
            raise RepositoryError(f"the index has {visible(name, 120)} as file of `{package.name}`")
        if package.sha256 is None or package.size is None:
            message = f"the index has no size or no SHA-256 for `{package.name}`"
            raise RepositoryError(message, hint=_LATER)
        base = self.repository.base_url.rstrip("/")
        # `+` is quoted because object storage takes it for a blank; `~` because nothing
        # needs it quoted, is not; an epoch's `:` and a literal `%3a` both must be.
        url = f"{base}/{quote(name, safe='/~')}"
        return Artifact(url, posixpath.basename(name), package.size, package.sha256)
