"""Builders: packages made by dpkg-deb, and a signed repository of them."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import os
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

PREFIX = "opt/rocm-6.3.0"
DATE = "Wed, 01 Jan 2025 00:00:00 UTC"


@dataclass
class Deb:
    """A package to build.

    `files` maps a path below `/` to its content, `links` to a link's text; `programs` are
    those of `files` that are executable.
    """

    name: str
    version: str = "6.3.0.60300-39~22.04"
    fields: dict[str, str] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    programs: frozenset[str] = frozenset()
    architecture: str = "amd64"

    @property
    def filename(self) -> str:
        version = self.version.partition(":")[2] or self.version
        return f"{self.name}_{version}_{self.architecture}.deb"


def build_deb(deb: Deb, folder: Path, compression: str = "xz") -> Path:
    """Build `deb` into `folder`; returns the file."""
    stage = folder / f"stage-{deb.name}-{compression}"
    control = {
        "Package": deb.name,
        "Version": deb.version,
        "Architecture": deb.architecture,
        "Maintainer": "Test <test@example.invalid>",
        **deb.fields,
        "Description": "made for a test",
    }
    (stage / "DEBIAN").mkdir(parents=True)
    text = "".join(f"{name}: {value}\n" for name, value in control.items())
    (stage / "DEBIAN" / "control").write_text(text)
    for name, content in deb.files.items():
        path = stage / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o755 if name in deb.programs else 0o644)
    for name, target in deb.links.items():
        path = stage / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
    out = folder / deb.filename
    subprocess.run(
        ["dpkg-deb", "--root-owner-group", f"-Z{compression}", "-z1", "-b", stage, out],
        check=True,
        capture_output=True,
    )
    return out


def stanza(path: Path, place: str) -> str:
    """The index entry of the package file `path`, which the repository has at `place`."""
    control = subprocess.run(
        ["dpkg-deb", "-f", path], check=True, capture_output=True, text=True
    ).stdout
    data = path.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    return f"{control}Filename: {place}\nSize: {len(data)}\nSHA256: {digest}\n"


def release_text(files: dict[str, bytes], more: str = "", date: str = DATE) -> bytes:
    """A Release file with the SHA-256 of `files`."""
    lines = [
        f" {hashlib.sha256(data).hexdigest()} {len(data)} {name}"
        for name, data in sorted(files.items())
    ]
    head = (
        "Origin: repo.example.invalid\nSuite: jammy\nCodename: jammy\n"
        f"Date: {date}\nArchitectures: amd64\nComponents: main\n{more}"
    )
    return f"{head}SHA256:\n{os.linesep.join(lines)}\n".encode()


def index_files(text: str, place: str = "main/binary-amd64/Packages") -> dict[str, bytes]:
    """The index `text` in the forms that repositories have."""
    data = text.encode()
    return {
        place: data,
        f"{place}.gz": gzip.compress(data, mtime=0),
        f"{place}.xz": lzma.compress(data),
    }


ROCM = (
    Deb(
        "rocm-hip-sdk6.3.0",
        fields={"Depends": "hipcc6.3.0 (= 1.1.1.60300-39~22.04), rocm-core6.3.0, libc6 (>= 2.17)"},
    ),
    Deb(
        "hipcc6.3.0",
        "1.1.1.60300-39~22.04",
        fields={"Depends": "rocm-core6.3.0, rocm-llvm6.3.0, perl | perl-base"},
        files={f"{PREFIX}/bin/hipcc": b"#!/bin/sh\necho hipcc\n"},
        programs=frozenset({f"{PREFIX}/bin/hipcc"}),
    ),
    Deb(
        "rocm-core6.3.0",
        fields={"Installed-Size": "12"},
        files={
            f"{PREFIX}/.info/version": b"6.3.0-39\n",
            "usr/share/doc/rocm-core/copyright": b"MIT\n",
        },
    ),
    Deb(
        "rocm-llvm6.3.0",
        "18.0.0.60300-39~22.04",
        files={f"{PREFIX}/lib/llvm/bin/clang": b"clang\n" * 1000},
        links={f"{PREFIX}/llvm": "lib/llvm", f"{PREFIX}/bin/amdclang": f"/{PREFIX}/llvm/bin/clang"},
        programs=frozenset({f"{PREFIX}/lib/llvm/bin/clang"}),
    ),
)
"""A small release in AMD's shape."""
