"""A small release as RPM packages, built and signed once for all tests of this folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fetch.keys import Keys, key_folder
from tests.fetch.server import Site
from tests.sources.rpm.builders import ROCM, build_rpm, index, serve, sign

PLACE = "/rocm/el8/6.3/main"
KEY = "/rocm/rocm.gpg.key"


@dataclass
class Made:
    """The packages, plain and signed by the key `rocm`, and the keys `rocm` and `other`."""

    plain: Path
    signed: Path
    keys: Keys
    fingerprint: str


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    plain = tmp_path_factory.mktemp("plain")
    payloads = ("zstd", "xz", "gzip")
    for number, package in enumerate(ROCM):
        build_rpm(package, plain, payloads[number % 3])
    signed = tmp_path_factory.mktemp("signed")
    with key_folder() as keys:
        fingerprint = keys.make("rocm", kind="rsa2048")
        keys.make("other")
        for path in plain.glob("*.rpm"):
            shutil.copy(path, signed)
            sign(signed / path.name, keys, "rocm")
        index(plain)
        index(signed)
        yield Made(plain, signed, keys, fingerprint)


class Mirror:
    """A served repository. `publish` says what is signed: the index, or the packages."""

    def __init__(self, site: Site, made: Made, folder: Path) -> None:
        self.site = site
        self.made = made
        self.folder = folder

    @property
    def url(self) -> str:
        """The folder with `repodata`."""
        return f"{self.site.url}{PLACE}"

    @property
    def repomd(self) -> str:
        """The path of the file that is signed."""
        return f"{PLACE}/repodata/repomd.xml"

    def publish(self, *words: str, packages: bool = False, key: str | None = "rocm") -> None:
        """Serve the packages, signed ones where `packages`, and an index that `key` signs.

        `words` go to createrepo_c.
        """
        source = self.made.signed if packages else self.made.plain
        if words:
            shutil.copytree(source, self.folder, dirs_exist_ok=True)
            index(self.folder, *words)
            source = self.folder
        serve(self.site, source, PLACE)
        self.site.files[KEY] = self.made.keys.export("rocm", armour=True)
        if key is not None:
            self.sign(key)

    def sign(self, key: str = "rocm") -> None:
        """Sign the index as it is served now."""
        content = self.site.files[self.repomd]
        self.site.files[f"{self.repomd}.asc"] = self.made.keys.detach(content, key)

    def find(self, part: str) -> str:
        """The path of the one served file with `part` in its name."""
        (path,) = (path for path in self.site.files if part in path.rpartition("/")[2])
        return path


@pytest.fixture
def mirror(site: Site, made: Made, tmp_path: Path) -> Mirror:
    return Mirror(site, made, tmp_path / "repository")
