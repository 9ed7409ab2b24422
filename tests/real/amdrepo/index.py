"""The index of the packages, and the `Release` file that vouches for it."""

from __future__ import annotations

import gzip
import hashlib
import lzma
from collections.abc import Mapping, Sequence
from email.utils import formatdate
from pathlib import Path

from tests.real import debian
from tests.real.amdrepo.files import files_below, write_file

_DIGESTS = {"MD5sum": "md5", "SHA1": "sha1", "SHA256": "sha256"}


def paragraph_text(fields: Mapping[str, str]) -> str:
    """Fields as a control file and an index have them, one on each line."""
    return "".join(f"{name}: {value}\n" for name, value in fields.items())


def file_fields(path: Path, base: Path) -> dict[str, str]:
    """What an index says of a file: its place below `base`, its size and its digests."""
    digests = {name: hashlib.new(kind) for name, kind in _DIGESTS.items()}
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            for state in digests.values():
                state.update(block)
    fields = {"Filename": str(path.relative_to(base)), "Size": str(path.stat().st_size)}
    return fields | {name: state.hexdigest() for name, state in digests.items()}


def write_index(dists: Path, paragraphs: Sequence[Mapping[str, str]]) -> None:
    """Write `Packages` below `dists`, plain and in both packed forms."""
    text = "\n".join(paragraph_text(paragraph) for paragraph in paragraphs).encode()
    folder = dists / "main" / f"binary-{debian.ARCHITECTURE}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Packages").write_bytes(text)
    (folder / "Packages.gz").write_bytes(gzip.compress(text, mtime=0))
    (folder / "Packages.xz").write_bytes(lzma.compress(text))


def write_release(dists: Path, codename: str) -> None:
    """Write `Release`, which names every index below `dists` with its digests."""
    fields = {
        "Origin": "repo.radeon.com",
        "Label": "repo.radeon.com",
        "Suite": codename,
        "Codename": codename,
        "Date": formatdate(usegmt=True).replace("GMT", "UTC"),
        "Architectures": debian.ARCHITECTURE,
        "Components": "main",
        "Description": "ROCm made for tests, in the layout of repo.radeon.com",
    }
    text = paragraph_text(fields)
    files = [(path, file_fields(path, dists)) for path in files_below(dists)]
    for name in _DIGESTS:
        text += f"{'MD5Sum' if name == 'MD5sum' else name}:\n"
        for _, about in files:
            text += f" {about[name]} {about['Size']:>16} {about['Filename']}\n"
    write_file(dists / "Release", text)
