"""An RPM package: its headers, its content, and who vouches for both.

A package is a lead of 96 bytes, a header with signatures, the header, and a compressed cpio
archive. A signature is on the header; the header has the digest of the archive as it is
packed. So a good signature and that digest cover every file. Source: "RPM v4 Package
format" of rpm.org's documentation, and rpm's `rpmtag.h` for the numbers.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmenv.errors import ArchiveError, SignatureError, visible
from rocmenv.fetch.ar import damaged
from rocmenv.fetch.cpio import Member, entries
from rocmenv.fetch.decode import Stream
from rocmenv.fetch.openpgp import verify
from rocmenv.fetch.rpmheader import read_header
from rocmenv.fetch.stop import check

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

    from rocmenv.fetch.members import Entry
    from rocmenv.fetch.rpmheader import Header

_LEAD = 96
_LEAD_MAGIC = b"\xed\xab\xee\xdb"
_LEAD_TYPE = slice(6, 8)
_PIECE = 1 << 20

_NAME, _VERSION, _RELEASE, _EPOCH, _ARCHITECTURE = 1000, 1001, 1002, 1003, 1022
_SIZES, _MODES, _TIMES, _TARGETS, _DEVICES, _INODES = 1028, 1030, 1034, 1036, 1095, 1096
_FOLDER_NUMBERS, _BASE_NAMES, _FOLDERS, _LONG_SIZES = 1116, 1117, 1118, 5008
_SIZE, _LONG_SIZE = 1009, 5009
_FORMAT, _COMPRESSOR = 1124, 1125
_DIGEST, _DIGEST_KIND = 5092, 5093
# Of the signature header: on the header alone, in OpenPGP packets; RSA, other kinds, and
# since RPM 6 any number of them as base64.
_ON_HEADER = (268, 267)
_ON_HEADER_BASE64 = 278
# On header and archive together, the form of RPM 3.
_ON_BOTH = (1002, 1005)
# Nobody has vouched for them when they are read.
_MOST_SIGNATURES = 64
_MOST_SIGNED = 1 << 20
# RFC 9580 section 9.5; what is weaker does not count.
_STRONG = {8: "sha256", 9: "sha384", 10: "sha512"}
_COMPRESSORS = ("", "none", "gzip", "bzip2", "xz", "zstd", "lzma")
_UNSIGNED_HINT = (
    "use a mirror whose index or packages are signed: rocmenv installs nothing unsigned"
)


@dataclass(frozen=True, slots=True)
class Rpm:
    """An opened package: its two headers, and where its archive starts in the file."""

    name: str
    signatures: Header
    header: Header
    start: int

    @property
    def identity(self) -> tuple[str, str, str]:
        """Name, version (`1:6.3.0-39.el9`) and architecture, as the header has them."""
        header = self.header
        epoch = next(iter(header.numbers(_EPOCH)), 0)
        version = f"{header.text(_VERSION)}-{header.text(_RELEASE)}"
        whole = f"{epoch}:{version}" if epoch else version
        return header.text(_NAME), whole, header.text(_ARCHITECTURE)

    @property
    def installed_size(self) -> int | None:
        """The bytes that it takes on disk, as the header has it; None where it does not."""
        header = self.header
        sizes = header.numbers(_LONG_SIZE) or header.numbers(_SIZE)
        return next(iter(sizes), None)

    def content(self, file: BinaryIO, threads: int = 1) -> Stream:
        """The unpacked archive; raises `ArchiveError` for a form that is not known."""
        form = self.header.text(_FORMAT) or "cpio"
        compressor = self.header.text(_COMPRESSOR)
        if form != "cpio" or compressor not in _COMPRESSORS:
            words = f"{visible(form)} in {visible(compressor)}"
            raise ArchiveError(f"the content of the package `{self.name}` is {words}")
        file.seek(self.start)
        return Stream(file, self.name, threads=threads)

    def members(self) -> list[Member]:
        """The files that the header lists, by number; raises `ArchiveError`."""
        header = self.header
        folders, names = header.texts(_FOLDERS), header.texts(_BASE_NAMES)
        columns = [header.numbers(t) for t in (_FOLDER_NUMBERS, _MODES, _TIMES, _DEVICES, _INODES)]
        sizes = header.numbers(_LONG_SIZES) or header.numbers(_SIZES)
        try:
            rows = list(zip(names, sizes, *columns, strict=True))
            paths = [f".{folders[row[2]]}{row[0]}" for row in rows]
        except (ValueError, IndexError) as error:
            raise damaged(self.name, "its list of files is not one") from error
        groups = [(device, inode) for *_, device, inode in rows]
        count: dict[tuple[int, int], int] = {}
        last: dict[tuple[int, int], int] = {}
        for number, (group, row) in enumerate(zip(groups, rows, strict=True)):
            if stat.S_ISREG(row[3]):
                count[group] = count.get(group, 0) + 1
                last[group] = number
        found: list[Member] = []
        for number, (path, group, row) in enumerate(zip(paths, groups, rows, strict=True)):
            _, size, _, mode, mtime, *_ = row
            is_content = not stat.S_ISREG(mode) or last[group] == number
            has = size if is_content and not stat.S_ISDIR(mode) else 0
            found.append(Member(path, mode, mtime, has, count.get(group, 1), group))
        return found


def read_rpm(file: BinaryIO, name: str) -> Rpm:
    """The package open as `file`, at its start; `name` is its name for messages.

    Raises:
        ArchiveError: it is no binary RPM package, or a damaged one.
    """
    lead = file.read(_LEAD)
    if not lead.startswith(_LEAD_MAGIC) or len(lead) < _LEAD:
        raise damaged(name, "it is not an RPM package")
    if lead[_LEAD_TYPE] != b"\0\0":
        raise damaged(name, "it is a package of sources")
    signatures = read_header(file, name)
    file.read(-len(signatures.raw) % 8)
    header = read_header(file, name)
    return Rpm(name, signatures, header, file.tell())


def opened(file: BinaryIO, name: str, threads: int) -> tuple[Stream, Iterator[Entry]]:
    """The unpacked archive of the package open as `file`, and its members.

    Raises:
        ArchiveError: as `read_rpm` and `cpio.entries`.
    """
    rpm = read_rpm(file, name)
    stream = rpm.content(file, threads)
    return stream, entries(stream, rpm.members())


@dataclass(frozen=True, slots=True)
class Voucher:
    """What a package must prove by itself, where no signed index names its digest.

    `keyring` and `fingerprints` are as for `openpgp.verify`; `identity` is what the index
    promised: name, version, architecture.
    """

    keyring: bytes
    fingerprints: frozenset[str] | None
    identity: tuple[str, str, str]

    def check(self, path: Path, cancel: threading.Event | None = None) -> None:
        """Check the signature, the identity and the archive's digest of the package `path`.

        Raises:
            SignatureError: not signed by a pinned key, signed as another package, or
                another archive than the signed one.
            ArchiveError: no RPM package, or a damaged one.
        """
        name = self.identity[0]
        with path.open("rb") as file:
            rpm = read_rpm(file, name)
            self._check_header(rpm)
            self._check_archive(rpm, file, cancel)

    def _check_header(self, rpm: Rpm) -> None:
        packets = _signatures(rpm)
        if not rpm.header.is_immutable:
            msg = f"the header of the package `{rpm.name}` has parts that nobody can have signed"
            raise SignatureError(msg, hint="download it again, or use another mirror")
        try:
            verify(rpm.header.raw, packets, self.keyring, self.fingerprints)
        except SignatureError as error:
            msg = f"{error.message} (the package `{rpm.name}`)"
            raise SignatureError(msg, hint=error.hint) from error
        if rpm.identity != self.identity:
            there, wanted = " ".join(rpm.identity), " ".join(self.identity)
            msg = f"the server sent {visible(there, 200)} as the package {visible(wanted, 200)}"
            raise SignatureError(msg, hint="its index is wrong: use another mirror")

    @staticmethod
    def _check_archive(rpm: Rpm, file: BinaryIO, cancel: threading.Event | None) -> None:
        kind = next(iter(rpm.header.numbers(_DIGEST_KIND)), 0)
        wanted = rpm.header.text(_DIGEST).lower()
        if not wanted or kind not in _STRONG:
            msg = (
                f"the package `{rpm.name}` is signed, but its header has no SHA-256 of its "
                "content, so the signature does not cover the files"
            )
            raise SignatureError(msg, hint=_UNSIGNED_HINT)
        digest = hashlib.new(_STRONG[kind])
        while piece := file.read(_PIECE):
            check(cancel)
            digest.update(piece)
        if digest.hexdigest() != wanted:
            msg = f"the content of the package `{rpm.name}` is not the one that was signed"
            raise SignatureError(msg, hint="download it again, or use another mirror")


def _signatures(rpm: Rpm) -> bytes:
    """The OpenPGP packets on the header."""
    found = [rpm.signatures.blob(tag) for tag in _ON_HEADER]
    texts = rpm.signatures.entries.get(_ON_HEADER_BASE64)
    if sum(map(len, found)) > _MOST_SIGNED or (texts and texts.length > _MOST_SIGNATURES):
        raise damaged(rpm.name, "it has more signatures than any package")
    try:
        encoded = rpm.signatures.texts(_ON_HEADER_BASE64)
        found += [base64.b64decode(text, validate=True) for text in encoded]
    except (binascii.Error, ValueError) as error:
        raise damaged(rpm.name, "its signature is not base64") from error
    packets = b"".join(found)
    if packets:
        return packets
    if any(tag in rpm.signatures.entries for tag in _ON_BOTH):
        msg = f"the package `{rpm.name}` has only a signature of RPM 3's form, which is not read"
    else:
        msg = f"neither the package `{rpm.name}` nor the index of its repository is signed"
    raise SignatureError(msg, hint=_UNSIGNED_HINT)
