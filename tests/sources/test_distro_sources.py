"""The machine's own sources read together: with a network, without one, with odd files beside."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rocmenv.errors import TransferError
from rocmenv.fetch.network import Network
from rocmenv.fetch.transfer import Downloads
from rocmenv.sources import remembered as module
from rocmenv.sources.distro_sources import Read, read
from rocmenv.sources.remembered import Remembered
from tests.fetch.keys import Keys, key_folder
from tests.fetch.server import Site, serving
from tests.sources.apt.builders import release_text

if TYPE_CHECKING:
    from collections.abc import Iterator

BASE = "/dists/jammy"


@dataclass
class Machine:
    """A mirror with one package in one suite, and a machine that has it in its sources."""

    root: Path
    keys: Keys
    site: Site = field(default_factory=Site)

    @property
    def cache(self) -> Path:
        return self.root / "cache"

    def publish(self, version: str) -> str:
        """Let the mirror have this version alone, by digest; the path of the index."""
        index = f"Package: hipcc\nVersion: {version}\nArchitecture: amd64\n".encode()
        release = release_text({"main/binary-amd64/Packages": index}, "Acquire-By-Hash: yes\n")
        path = f"{BASE}/main/binary-amd64/by-hash/SHA256/{hashlib.sha256(index).hexdigest()}"
        signed = self.keys.clearsign(release, "archive")
        self.site.files = {f"{BASE}/InRelease": signed, path: index}
        return path

    def read(self, *, offline: bool = False) -> tuple[Remembered, Read]:
        remembered = Remembered(Downloads(self.cache, offline=offline, network=Network(retries=0)))
        return remembered, read(self.root / "apt", "amd64", None, remembered)

    def versions(self, *, offline: bool = False) -> list[str]:
        found = self.read(offline=offline)[1]
        if found.failures:
            raise found.failures[0]
        return [p.version for one in found.repositories for p in one.index.named("hipcc")]

    def kept(self) -> int:
        return sum(len(os.listdir(self.cache / name)) for name in ("index", "sha256"))


@pytest.fixture(scope="module")
def keys() -> Iterator[Keys]:
    with key_folder() as made:
        made.make("archive")
        yield made


@pytest.fixture
def machine(keys: Keys, tmp_path: Path) -> Iterator[Machine]:
    (tmp_path / "archive.gpg").write_bytes(keys.export("archive"))
    (tmp_path / "apt").mkdir()
    made = Machine(tmp_path, keys)
    with serving(made.site) as site:
        source = f"deb [signed-by={tmp_path}/archive.gpg] {site.url} jammy main\n"
        (tmp_path / "apt/sources.list").write_text(source)
        yield made


def test_planning_makes_no_cache_and_an_install_keeps_what_it_read(machine: Machine) -> None:
    machine.publish("1")
    remembered, _ = machine.read()
    assert not machine.cache.exists()
    with pytest.raises(TransferError, match="not in the cache"):
        machine.versions(offline=True)
    remembered.keep()
    machine.site.files = {}
    assert machine.versions(offline=True) == ["1"]


def test_what_a_plan_read_into_a_cache_is_there_offline(machine: Machine) -> None:
    machine.cache.mkdir()
    for version in "12":
        machine.publish(version)
        assert machine.versions() == [version]
        machine.site.files = {}
        assert machine.versions(offline=True) == [version]


def test_an_index_is_read_once_and_a_newer_one_takes_its_place(machine: Machine) -> None:
    machine.cache.mkdir()
    kept = []
    for version in "123":
        path = machine.publish(version)
        assert [machine.versions() for _ in "12"] == [[version], [version]]
        assert machine.site.count(path) == 1
        kept.append(machine.kept())
    assert kept == [kept[0]] * 3


def test_a_damaged_index_in_the_cache_is_read_anew(machine: Machine) -> None:
    machine.cache.mkdir()
    machine.publish("1")
    machine.read()
    (path,) = (machine.cache / "sha256").iterdir()
    path.write_bytes(b"damaged")
    assert machine.versions() == ["1"]
    assert machine.versions(offline=True) == ["1"]


def test_what_cannot_be_verified_does_not_take_the_place_of_what_was(machine: Machine) -> None:
    machine.cache.mkdir()
    machine.publish("1")
    machine.read()
    machine.site.files[f"{BASE}/InRelease"] = b"<html>log in first</html>"
    remembered, found = machine.read()
    assert len(found.failures) == 1
    remembered.keep()
    assert machine.versions(offline=True) == ["1"]


@pytest.mark.parametrize("after", range(4))
def test_a_full_disk_at_any_write_leaves_what_fits(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    machine.cache.mkdir()
    machine.publish("1")
    machine.read()
    machine.publish("2")
    writes = iter(range(9))
    replace = module.replace_file

    def full(path: Path, data: bytes) -> None:
        if next(writes) >= after:
            raise OSError(28, "No space left on device")
        replace(path, data)

    monkeypatch.setattr(module, "replace_file", full)
    assert machine.versions() == ["2"]
    assert machine.versions(offline=True) == (["2"] if after > 1 else ["1"])


def test_an_odd_key_file_of_the_host_turns_no_source_off(machine: Machine) -> None:
    machine.publish("1")
    folder = machine.root / "apt/trusted.gpg.d"
    folder.mkdir()
    (folder / "a.gpg").write_bytes((machine.root / "archive.gpg").read_bytes())
    (folder / "b.asc").write_bytes(b"garbage")
    assert machine.read()[1].notes == ()
    (machine.root / "apt/sources.list").write_text(f"deb {machine.site.url} jammy main\n")
    assert machine.versions() == ["1"]
    note = f"the key file `{folder / 'b.asc'}` is left out: it is no OpenPGP key but text"
    assert machine.read()[1].notes == (note,)


def test_a_local_mirror_is_read_where_it_is(machine: Machine) -> None:
    machine.cache.mkdir()
    machine.publish("1")
    for path, content in machine.site.files.items():
        place = machine.root / f"mirror{path}"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    source = f"deb [signed-by={machine.root}/archive.gpg] {(machine.root / 'mirror').as_uri()}"
    (machine.root / "apt/sources.list").write_text(f"{source} jammy main\n")
    assert machine.versions() == machine.versions(offline=True) == ["1"]
    assert os.listdir(machine.cache) == []
