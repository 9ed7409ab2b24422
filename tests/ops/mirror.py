"""Two small releases of one series in a signed repository of AMD's shape, for upgrades."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.fetch.keys import Keys, key_folder
from tests.fetch.server import Site
from tests.sources.apt.builders import Deb, build_deb, index_files, release_text, stanza

OLD, NEW = "6.3.0", "6.3.3"
SHARED = b"kernels\n" * 30_000
"""The content of a file that both releases have, large enough to be shared."""


@dataclass
class Mirror:
    """Where the releases are served; `debs` are the packages by release."""

    keys: Keys
    fingerprint: str
    debs: dict[str, list[Path]] = field(default_factory=dict)

    def publish(self, site: Site) -> dict[str, str]:
        """Put all of it on `site`; the variables that let rocmenv take it for AMD's."""
        for version, debs in self.debs.items():
            base = f"/rocm/apt/{'6.3' if version == OLD else version}"
            text = ""
            for path in debs:
                text += stanza(path, f"pool/{path.name}") + "\n"
                site.files[f"{base}/pool/{path.name}"] = path.read_bytes()
            files = index_files(text)
            for suite in ("jammy", "noble"):
                release = release_text(files).replace(b"jammy", suite.encode())
                for name, content in files.items():
                    site.files[f"{base}/dists/{suite}/{name}"] = content
                signed = self.keys.clearsign(release, "rocm")
                site.files[f"{base}/dists/{suite}/InRelease"] = signed
        site.files["/rocm/rocm.gpg.key"] = self.keys.export("rocm", armour=True)
        return {
            "ROCMENV_MIRROR": f"{site.url}/rocm",
            "ROCMENV_FINGERPRINT": self.fingerprint,
        }


def _packages(version: str) -> list[Deb]:
    top = f"opt/rocm-{version}"
    return [
        Deb(
            f"hipcc{version}",
            files={f"{top}/bin/hipcc": b"#!/bin/sh\necho hipcc\n"},
            fields={"Depends": f"rocm-core{version}", "Installed-Size": "9"},
            programs=frozenset({f"{top}/bin/hipcc"}),
        ),
        Deb(
            f"rocm-core{version}",
            files={f"{top}/.info/version": f"{version}-39\n".encode()},
            fields={"Installed-Size": "9"},
        ),
        Deb(
            f"rocblas{version}",
            files={f"{top}/lib/library/kernels.dat": SHARED},
            fields={"Installed-Size": "300"},
        ),
    ]


@contextmanager
def mirrored(folder: Path) -> Iterator[Mirror]:
    """Build the packages of both releases."""
    with key_folder() as keys:
        mirror = Mirror(keys, keys.make("rocm"))
        for version in (OLD, NEW):
            mirror.debs[version] = [build_deb(d, folder, "gzip") for d in _packages(version)]
        yield mirror
