"""One RPM repository: its `repomd.xml`, its `primary` index, its packages' addresses.

What is installed from here is always covered by a signature of a pinned key: by the one on
`repomd.xml`, which has the digest of `primary`, which has those of the packages; or, where
a repository does not sign that file, by the one in each package (`fetch.rpm.Voucher`).
"""

from __future__ import annotations

import hashlib
import io
import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from rocmenv.errors import ArchiveError, RepositoryError, SignatureError, visible
from rocmenv.fetch.connection import shown
from rocmenv.fetch.decode import Stream
from rocmenv.fetch.numbers import whole
from rocmenv.fetch.openpgp import verify
from rocmenv.fetch.pipeline import Job
from rocmenv.fetch.rpm import Voucher
from rocmenv.fetch.transfer import NotThereError
from rocmenv.model.release import Artifact
from rocmenv.sources.base import MirrorFile
from rocmenv.sources.rpm.index import Index, parse_primary
from rocmenv.sources.rpm.xml import read_xml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rocmenv.sources.base import Reader
    from rocmenv.sources.rpm.index import Package

_MOST_REPOMD = 16 << 20
_MOST_INDEX = 256 << 20
_MOST_OPEN = 2 << 30
# Read beyond the announced size, so that a message can name the size there is.
_SURPLUS = 32 << 20
_PIECE = 1 << 20
_LATER = "try again later, or use another mirror with `--mirror URL`"
_STRONG = ("sha256", "sha384", "sha512")


@dataclass(frozen=True, slots=True)
class Repository:
    """Where a repository is, and whose signatures it must have.

    `base_url` is the folder with `repodata` (http, https or file). `keyring` holds OpenPGP
    certificates, armoured or binary; `fingerprints` pins keys of it, None trusts all.
    """

    base_url: str
    architectures: frozenset[str]
    keyring: bytes
    fingerprints: frozenset[str] | None

    def load(self, downloads: Reader) -> LoadedRepository:
        """Read and check `repomd.xml` and `primary`.

        Raises:
            SignatureError: `repomd.xml` is signed, but not by the pinned key.
            RepositoryError: out of step with its index, or of an unknown form.
            NotThereError, TransferError: it cannot be read.
        """
        url = f"{self.folder}repodata/repomd.xml"
        data = downloads.read(url, limit=_MOST_REPOMD)
        is_signed, notes = self._verified(downloads, url, data)
        primary = _parse_repomd(data, shown(url))
        index = Index(self._read_primary(downloads, primary))
        return LoadedRepository(self, index, is_signed, notes)

    @property
    def origin(self) -> str:
        """The address as people may see it."""
        return shown(self.base_url.rstrip("/"))

    @property
    def folder(self) -> str:
        """The base address, ending in `/`."""
        return self.base_url.rstrip("/") + "/"

    def _verified(self, downloads: Reader, url: str, data: bytes) -> tuple[bool, tuple[str, ...]]:
        try:
            signature = downloads.read(f"{url}.asc", limit=_MOST_REPOMD)
        except NotThereError:
            return False, ("the index is not signed: each package's own signature is checked",)
        # From here on a signature that is not good is never passed over.
        try:
            return True, verify(data, signature, self.keyring, self.fingerprints).notes
        except SignatureError as error:
            raise SignatureError(f"{error.message} (`{shown(url)}`)", hint=error.hint) from error

    def _read_primary(self, downloads: Reader, primary: _Primary) -> list[Package]:
        url = self.folder + quote(primary.href, safe="/~")
        where = shown(url)
        try:
            data = downloads.read(url, limit=primary.packed.size_or(_MOST_INDEX) + _SURPLUS)
        except NotThereError as error:
            msg = f"`{self.origin}` announces `{primary.href}`, and lacks it: {error.message}"
            raise RepositoryError(msg, hint=error.hint or _LATER) from error
        primary.packed.check(len(data), hashlib.new(primary.packed.kind, data).hexdigest(), where)
        digest = hashlib.new((primary.open or primary.packed).kind)
        size = 0
        most = min(primary.open.size_or(_MOST_OPEN) if primary.open else _MOST_OPEN, _MOST_OPEN)

        def pieces() -> Iterator[bytes]:
            nonlocal size
            stream = Stream(io.BytesIO(data), posixpath.basename(primary.href))
            while piece := bytes(stream.read_some(_PIECE)):
                size += len(piece)
                digest.update(piece)
                if size > most:
                    msg = f"`{where}` unpacks to more than the {most} bytes announced"
                    raise RepositoryError(msg, hint=_LATER)
                yield piece

        try:
            packages = parse_primary(pieces(), where, self.architectures)
        except ArchiveError as error:
            msg = f"`{where}` cannot be unpacked: {error.message}"
            raise RepositoryError(msg, hint=_LATER) from error
        if primary.open is not None:
            primary.open.check(size, digest.hexdigest(), f"{where}, unpacked")
        return packages


@dataclass(frozen=True, slots=True)
class _Sum:
    """A digest as announced, and a size where one is."""

    kind: str
    digest: str
    size: int | None

    def size_or(self, most: int) -> int:
        return most if self.size is None else self.size

    def check(self, size: int, digest: str, where: str) -> None:
        if self.size is not None and size != self.size:
            message = (
                f"`{where}` is out of step with its repomd.xml: it has {size} bytes, and "
                f"{self.size} are announced"
            )
            raise RepositoryError(message, hint=_LATER)
        if digest != self.digest:
            message = (
                f"`{where}` is out of step with its repomd.xml: it has {size} bytes, as "
                f"announced, but another {self.kind.upper()}"
            )
            raise RepositoryError(message, hint=_LATER)


@dataclass(frozen=True, slots=True)
class _Primary:
    """What `repomd.xml` says of `primary`: its place, and its digests packed and open."""

    href: str
    packed: _Sum
    open: _Sum | None


class _Repomd:
    """The elements of `repomd.xml`."""

    texts = frozenset({"checksum", "open-checksum", "size", "open-size"})

    def __init__(self) -> None:
        self.is_repomd = False
        self.data: dict[str, dict[str, str]] = {}
        self._current: dict[str, str] = {}

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "repomd":
            self.is_repomd = True
        elif name == "data":
            self._current = self.data.setdefault(attributes.get("type", ""), {})
        elif name == "location":
            self._current["href"] = attributes.get("href", "")
        elif name in ("checksum", "open-checksum"):
            self._current[f"{name} type"] = attributes.get("type", "").lower()

    def end(self, name: str, text: str) -> None:
        if name in self.texts:
            self._current[name] = text.lower()


def _parse_repomd(data: bytes, where: str) -> _Primary:
    reading = _Repomd()
    read_xml([data], reading, where)
    if not reading.is_repomd:
        raise RepositoryError(f"`{where}` is XML, but not the index of an RPM repository")
    found = reading.data.get("primary")
    if found is None:
        has = ", ".join(sorted(reading.data)) or "nothing"
        raise RepositoryError(f"`{where}` names no index `primary` (it has: {has})")
    href = found.get("href", "")
    _refuse_outside(href, f"`{where}` has {{}} as place of its index")
    packed = _sum(found, "", where)
    if packed is None:
        raise RepositoryError(f"`{where}` has no digest of its index", hint=_LATER)
    return _Primary(href, packed, _sum(found, "open-", where))


def _sum(found: dict[str, str], prefix: str, where: str) -> _Sum | None:
    digest, told = found.get(f"{prefix}checksum"), found.get(f"{prefix}size")
    if not digest:
        return None
    kind = found.get(f"{prefix}checksum type", "")
    if kind not in _STRONG:
        msg = f"`{where}` has only {visible(kind)} as digest of its index, which can be forged"
        raise RepositoryError(msg, hint="use a mirror with an index made by a newer createrepo_c")
    size = None if told is None else whole(told)
    if told is not None and size is None:
        raise RepositoryError(f"`{where}` has {visible(told)} as size of its index")
    return _Sum(kind, digest, size)


def _refuse_outside(href: str, message: str) -> None:
    parts = href.split("/")
    if not href or href.startswith("/") or ".." in parts or "\0" in href or "://" in href:
        raise RepositoryError(message.format(visible(href, 120)), hint=_LATER)


@dataclass(frozen=True, slots=True)
class LoadedRepository:
    """A checked repository: `index` has its packages, `notes` are remarks for people.

    `is_signed` says whether the signature on the index covers the packages; where it does
    not, each package has to prove itself.
    """

    repository: Repository
    index: Index
    is_signed: bool
    notes: tuple[str, ...]

    @property
    def origin(self) -> str:
        """The address as people may see it."""
        return self.repository.origin

    def job(self, package: Package, mapping: Callable[[str], str | None]) -> Job:
        """How to fetch, check and unpack `package`.

        Raises:
            RepositoryError: the index gives no SHA-256, no size, or an unsafe file name.
        """
        artifact = self.artifact(package)
        if self.is_signed:
            return Job(artifact, package.name, mapping, "rpm")
        home = self.repository
        voucher = Voucher(home.keyring, home.fingerprints, package.identity)
        return Job(artifact, package.name, mapping, "rpm", voucher)

    def mirrored(self, package: Package, below: str) -> MirrorFile:
        """`package` in a mirror that has the repository in the folder `below`."""
        return MirrorFile(f"{below}/{package.href}", self.artifact(package))

    def artifact(self, package: Package) -> Artifact:
        """What to download for `package`; raises as `job`."""
        name = package.href
        _refuse_outside(name, f"the index has {{}} as file of `{package.name}`")
        if package.sha256 is None:
            kind = visible(package.digest_kind)
            message = f"the index has a digest of the kind {kind} for `{package.name}`, no SHA-256"
            hint = "use a mirror with an index made by a newer createrepo_c"
            raise RepositoryError(message, hint=hint)
        if package.size is None:
            raise RepositoryError(f"the index has no size for `{package.name}`", hint=_LATER)
        # `+` is quoted because object storage takes it for a blank.
        url = self.repository.folder + quote(name, safe="/~")
        return Artifact(url, posixpath.basename(name), package.size, package.sha256)
