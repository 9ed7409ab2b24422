"""Static mirrors of AMD's newer Debian packages."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rocmenv.errors import RepositoryError
from rocmenv.fetch.transfer import Downloads
from rocmenv.model.version import Version
from rocmenv.ops import mirror as ops
from rocmenv.ops.report import Silent
from rocmenv.sources import native
from rocmenv.sources.base import MirrorFile, MirrorPlan
from rocmenv.store import registry
from tests.cli.runner import Result, Runner
from tests.mirrors.ways import address_of, contents, copier, each_way, installs
from tests.sources.test_native import Mirror

BASE = "core/packages/ubuntu2404"
SDK = ["amdrocm-base10.0", "amdrocm-blas10.0-gfx1100", "amdrocm-core-dev10.0"]


pytestmark = pytest.mark.usefixtures("ubuntu")


@pytest.fixture
def copied(
    rocmenv: Runner,
    server: Mirror,
    folder: Path,
) -> Callable[..., Result]:
    """`rocmenv mirror --channel native`, from the server into the folder."""
    words = ("--channel", "native", "--fingerprint", server.fingerprint)
    return copier(rocmenv, folder, *words, ROCMENV_THEROCK_MIRROR=f"{server.site.url}/rocm")


def debs(folder: Path) -> list[str]:
    return sorted({path.name.partition("_")[0] for path in folder.rglob("*.deb")})


def test_a_mirror_has_the_files_of_the_server(
    copied: Callable[..., Result],
    server: Mirror,
    folder: Path,
) -> None:
    copied("10.0.0", "--profile", "sdk").fine()
    found = contents(folder)
    served = {path.removeprefix("/rocm/"): body for path, body in server.site.files.items()}
    assert {path: served[path] for path in found} == found
    assert found.keys() >= {f"{BASE}/dists/stable/InRelease", "gpg/packages.gpg"}
    assert debs(folder) == sorted(["amdrocm-core-sdk10.0", *SDK])


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("--gpu", "gfx1100"), ["amdrocm-core-sdk10.0-gfx1100", *SDK]),
        (("--all-gpus",), ["amdrocm-core-sdk10.0", "amdrocm-core-sdk10.0-gfx1100", *SDK]),
        (("--whole",), None),
        (("--with", "amdrocm10.0-gfx1100"), ["amdrocm-core-sdk10.0", "amdrocm10.0-gfx1100", *SDK]),
    ],
)
def test_the_packages_of_the_gpus(
    copied: Callable[..., Result],
    server: Mirror,
    folder: Path,
    words: tuple[str, ...],
    names: list[str] | None,
) -> None:
    copied("10.0.0", "--profile", "sdk", *words).fine()
    every = {p.rpartition("/")[2].partition("_")[0] for p in server.site.files if ".deb" in p}
    assert debs(folder) == sorted(names or every)


@each_way
@pytest.mark.parametrize("words", [(), ("--gpu", "gfx1100"), ("--suite", "ubuntu2404")])
def test_another_rocmenv_installs_from_it(
    copied: Callable[..., Result],
    server: Mirror,
    folder: Path,
    rocmenv: Runner,
    words: tuple[str, ...],
    way: str,
) -> None:
    told = copied("10.0.0", "--profile", "sdk", *words).fine()
    server.site.files.clear()
    server.site.seen.clear()
    with address_of(folder, way) as url:
        (call,) = installs(told, url)
        rocmenv(*call).fine()
        item = registry.find(rocmenv.root, Version.parse("10.0.0"))
        assert item.receipt.source == "native"
        assert item.receipt.origin == f"{url}/{BASE} stable"
        assert (Path(item.prefix) / "bin/hipcc").is_file()
    assert server.site.seen == []


@each_way
def test_what_it_lacks_is_told_before_a_download(
    copied: Callable[..., Result],
    server: Mirror,
    folder: Path,
    rocmenv: Runner,
    way: str,
) -> None:
    copied("10.0.0", "--profile", "hip").fine()
    with address_of(folder, way) as url:
        key = ("--fingerprint", server.fingerprint, "--mirror", url, "-q")
        result = rocmenv("install", "10.0.0", "--channel", "native", "--profile", "sdk", *key)
        assert result.refused().endswith("though the signed index lists it")
        assert not (rocmenv.root.cache / "sha256").exists()


@pytest.mark.parametrize("damage", [b"", None])
def test_a_second_run_replaces_what_is_wrong_and_nothing_else(
    copied: Callable[..., Result], folder: Path, damage: bytes | None
) -> None:
    copied("10.0.0").fine()
    assert json.loads(copied("10.0.0", "--json").fine())["fetched"] == 0
    right = contents(folder)
    path = next(folder.rglob("amdrocm-base*.deb"))
    path.write_bytes(bytes(path.stat().st_size) if damage is None else damage)
    assert json.loads(copied("10.0.0", "--json").fine())["fetched"] == 1
    assert contents(folder) == right


def test_a_changed_mirror_is_refused(
    copied: Callable[..., Result],
    server: Mirror,
    folder: Path,
    rocmenv: Runner,
) -> None:
    copied("10.0.0").fine()
    path = folder / BASE / "dists/stable/InRelease"
    path.write_bytes(path.read_bytes().replace(b"Suite", b"suite"))
    words = ("--mirror", folder.as_uri(), "--fingerprint", server.fingerprint, "-q")
    rocmenv("install", "10.0.0", "--channel", "native", *words).refused()


def test_the_index_of_another_line_stays(
    copied: Callable[..., Result], folder: Path, tmp_path: Path
) -> None:
    """A candidate is on another server, at the same paths."""
    copied("10.0.0").fine()
    before = contents(folder)
    path = f"{BASE}/dists/stable/InRelease"

    def brought(line: str, content: bytes) -> None:
        files = (MirrorFile(path, content=content),)
        plan = MirrorPlan(Version.parse("10.1.0rc1"), "native", "origin", files, line=line)
        ops.mirror([plan], folder, Downloads(tmp_path / "cache"), Silent())

    with pytest.raises(RepositoryError, match=r"is that of the line `stable`, and 10\.1\.0rc1 is"):
        brought("rc", b"of a candidate")
    assert contents(folder) == before
    brought("stable", b"a newer one")
    assert (folder / path).read_bytes() == b"a newer one"
    for damaged in ("{", "[]", '{"x": 1}'):  # nothing is known then
        (folder / ".rocmenv-lines.json").write_text(damaged)
        brought("rc", b"of a candidate")
    with pytest.raises(RepositoryError):
        brought("stable", b"a newer one")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("10.1.0a20260901",), "does not sign"),
        (("6.3.0",), "begins with 7.9.0"),
        (("10.0.0", "--suite", "sles15"), "has no packages of 10.0.0 for `sles15`"),
        (("10.0.0", "--profile", "sdk", "--gpu", "gfx90a"), "is not built for gfx90a"),
        (("10.0.0", "--profile", "hpi"), "is not a profile"),
    ],
)
def test_what_cannot_be_mirrored_is_explained(
    copied: Callable[..., Result], folder: Path, words: tuple[str, ...], message: str
) -> None:
    assert message in copied(*words, "-q").refused()
    assert not folder.exists()


def test_a_machine_without_glibc_mirrors_for_others(
    copied: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setattr(native, "glibc", lambda: None)
    result = copied("10.0.0", "-q")
    assert "glibc" in result.refused()
    assert "--all-suites" in result.hint
    copied("10.0.0", "--all-suites").fine()
    assert (folder / BASE / "dists/stable/InRelease").is_file()
