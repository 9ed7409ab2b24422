"""AMD's packages from 7.9 on: names, places and what becomes of `/opt/rocm/core-X.Y`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rocmenv.errors import ResolveError
from rocmenv.model.version import Version
from rocmenv.sources import catalog_file, native
from rocmenv.sources.apt.index import Index
from rocmenv.sources.base import Request
from rocmenv.store import registry
from rocmenv.store.paths import Root
from tests.cli.runner import Result, Runner
from tests.fetch.keys import Keys, key_folder
from tests.fetch.server import Site, serving
from tests.sources.apt.builders import Deb, build_deb, index_files, release_text, stanza
from tests.tools import tool

CORE = "opt/rocm/core-10.0"
VERSION = "10.0.0-15~24.04"
FAMILIES = {"gfx110X-all": ("gfx1100", "gfx1101"), "gfx94X-dcgpu": ("gfx942",)}


def deb(name: str, depends: str = "", version: str = VERSION, **files: bytes) -> Deb:
    fields = {"Depends": depends} if depends else {}
    placed = {f"{CORE}/{path.replace('__', '/')}": body for path, body in files.items()}
    programs = frozenset(path for path in placed if "/bin/" in path)
    return Deb(name, version, fields=fields, files=placed, programs=programs)


PACKAGES = (
    deb(
        "amdrocm-core-sdk10.0-gfx1100",
        "amdrocm-core-dev10.0 (= 10.0.0-15~24.04), amdrocm-blas10.0-gfx1100",
    ),
    deb("amdrocm-core-sdk10.0", "amdrocm-core-dev10.0, amdrocm-blas10.0-gfx1100"),
    deb(
        "amdrocm-core-dev10.0",
        "amdrocm-base10.0, libc6 (>= 2.28)",
        bin__hipcc=b"#!/bin/sh\necho /opt/rocm/core-10.0\n",
        lib__cmake__hip__x=b"set(P /opt/rocm/core-10.0)\n",
    ),
    Deb("amdrocm-base10.0", VERSION, files={f"{CORE}/.info/version": b"10.0.0\n"}),
    deb("amdrocm-blas10.0-gfx1100", "amdrocm-base10.0", lib__librocblas__so=b"blas"),
    deb("amdrocm-core-dev10.0", "amdrocm-base10.0, libc6 (>= 99)", "10.0.1-3~24.04"),
    deb("amdrocm10.0-gfx1100", "amdrocm-base10.0", bin__rocminfo=b"#!/bin/sh\n"),
)
OF_GFX942 = (
    deb(
        "amdrocm-core-sdk10.0-gfx942",
        "amdrocm-core-dev10.0 (= 10.0.0-15~24.04), amdrocm-blas10.0-gfx942",
    ),
    replace(
        deb(
            "amdrocm-blas10.0-gfx942",
            "amdrocm-base10.0",
            lib__librocblas__so=b"blas",
            lib__gfx942__where=b"#!/bin/sh\necho /opt/rocm/core-10.0\n",
        ),
        # Where the others have a folder: what is in it moves below the link.
        links={f"{CORE}/lib/cmake": "config"},
    ),
)


class Mirror:
    """A served place for `ubuntu2404`, signed by a key of its own."""

    def __init__(self, site: Site, keys: Keys, fingerprint: str, debs: list[Path]) -> None:
        self.site = site
        self.keys = keys
        self.fingerprint = fingerprint
        text = ""
        for number, path in enumerate(debs):
            place = f"pool/{number}/{path.name}"
            text += stanza(path, place) + "\n"
            site.files[f"{self.base}/{place}"] = path.read_bytes()
        files = index_files(text)
        for name, content in files.items():
            site.files[f"{self.base}/dists/stable/{name}"] = content
        release = release_text(files).replace(b"jammy", b"stable")
        site.files[f"{self.base}/dists/stable/InRelease"] = keys.clearsign(release, "rocm")
        site.files["/rocm/gpg/packages.gpg"] = keys.export("rocm")

    base = "/rocm/core/packages/ubuntu2404"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    tool("dpkg-deb")
    folder = tmp_path_factory.mktemp("native")
    debs = []
    for number, package in enumerate(PACKAGES):
        (folder / str(number)).mkdir()
        debs.append(build_deb(package, folder / str(number), "xz"))
    return debs


@pytest.fixture
def mirror(built: list[Path]) -> Iterator[Mirror]:
    with key_folder() as keys, serving(Site()) as site:
        yield Mirror(site, keys, keys.make("rocm"), built)


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return Root(tmp_path / "root")


@pytest.fixture
def rocmenv(capfd: pytest.CaptureFixture[str], root: Root, tmp_path: Path) -> Runner:
    return Runner(capfd, root, tmp_path)


@pytest.fixture
def install(
    capfd: pytest.CaptureFixture[str],
    root: Root,
    tmp_path: Path,
    mirror: Mirror,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Result]:
    """`rocmenv install --channel native` on a machine with glibc 2.40."""
    (tmp_path / "status").write_text(
        "Package: libc6\nStatus: install ok installed\nVersion: 2.40-1\nArchitecture: amd64\n"
    )
    monkeypatch.setattr(native, "STATUS", str(tmp_path / "status"))
    monkeypatch.setattr(native, "glibc", lambda: (2, 40))
    monkeypatch.setattr(native, "system_profile", lambda: "ubuntu2404")
    monkeypatch.setattr(native, "debian_architecture", lambda: "amd64")
    runner = Runner(capfd, root, tmp_path)

    def call(*words: str, **environ: str) -> Result:
        given = {"ROCMENV_THEROCK_MIRROR": f"{mirror.site.url}/rocm"}
        key = ("--fingerprint", mirror.fingerprint)
        return runner("install", "--channel", "native", *key, *words, **{**given, **environ})

    return call


def test_the_sdk_of_one_release(install: Callable[..., Result], root: Root) -> None:
    install("10.0.0", "--profile", "sdk").fine()
    item = registry.find(root, Version.parse("10.0.0"))
    prefix = Path(item.prefix)
    assert item.receipt.source == "native"
    assert {i.name for i in item.receipt.items} == {
        "amdrocm-core-sdk10.0",
        "amdrocm-core-dev10.0",
        "amdrocm-base10.0",
        "amdrocm-blas10.0-gfx1100",
    }
    assert (prefix / "bin/hipcc").read_text() == f"#!/bin/sh\necho {prefix}\n"
    assert (prefix / ".info/version").read_text() == "10.0.0\n"
    assert not (prefix / "opt").exists()


def test_a_gpu_that_is_added_brings_its_packages_alone(
    install: Callable[..., Result],
    root: Root,
    mirror: Mirror,
    built: list[Path],
    rocmenv: Runner,
    tmp_path: Path,
) -> None:
    more = [build_deb(package, tmp_path / "more", "gzip") for package in OF_GFX942]
    Mirror(mirror.site, mirror.keys, mirror.fingerprint, [*built, *more])
    install("10.0.0", "--profile", "sdk", "--gpu", "gfx1100", "-q").fine()
    rocmenv("config", "set", "therock.fingerprint", mirror.fingerprint).fine()
    mirror.site.seen.clear()
    server = {"ROCMENV_THEROCK_MIRROR": f"{mirror.site.url}/rocm"}
    rocmenv("add-target", "-q", "gfx942", "--to", "10.0.0", **server).fine()
    asked = {Path(r.path).name.partition("10.0")[0] for r in mirror.site.seen if ".deb" in r.path}
    assert asked == {"amdrocm-core-sdk", "amdrocm-blas"}
    assert len([r for r in mirror.site.seen if ".deb" in r.path]) == 2
    item = registry.find(root, Version.parse("10.0.0"))
    assert (Path(item.prefix) / "lib/gfx942/where").read_text().endswith(f"echo {item.prefix}\n")
    names = {part.name for part in item.receipt.items}
    assert {"amdrocm-blas10.0-gfx1100", "amdrocm-blas10.0-gfx942"} < names
    rocmenv("verify", "--deep", "10.0.0").fine()
    added = root.manifest(item.version).read_text()
    install("10.0.0", "--profile", "sdk", "--gpu", "gfx1100,gfx942", "--reinstall", "-q").fine()
    assert root.manifest(item.version).read_text() == added
    assert registry.find(root, item.version).receipt.notes == item.receipt.notes


def test_another_release_of_the_series_is_not_mixed_in(
    install: Callable[..., Result], root: Root
) -> None:
    """10.0.0 and 10.0.1 are packages of the same names."""
    install("10.0.0").fine()
    versions = {i.version for i in registry.find(root, Version.parse("10.0.0")).receipt.items}
    assert versions == {VERSION}
    assert "libc6 (>= 99)" in install("-q", "10.0.1").refused()


def test_the_runtime_of_one_gpu_only(built: list[Path]) -> None:
    index = Index("".join(stanza(path, path.name) + "\n" for path in built))
    request = Request(profile="runtime", targets=("gfx1100",), families=FAMILIES)
    roots = native.roots(index, Version.parse("10.0.0"), request)
    assert roots == [f"amdrocm10.0-gfx1100 (= {VERSION})"]


def test_parts_without_code_for_a_gpu_are_taken_as_they_are(built: list[Path]) -> None:
    index = Index("".join(stanza(path, path.name) + "\n" for path in built))
    request = Request(profile="libraries", targets=("gfx1100",), families=FAMILIES)
    names = [root.split()[0] for root in native.roots(index, Version.parse("10.0.0"), request)]
    assert names == ["amdrocm-core-dev10.0", "amdrocm-base10.0", "amdrocm-blas10.0-gfx1100"]
    with pytest.raises(ResolveError, match="10.0.0 is not built for gfx90a"):
        native.roots(index, Version.parse("10.0.0"), replace(request, targets=("gfx90a",)))


def test_without_a_gpu_the_packages_of_one_are_taken(built: list[Path]) -> None:
    index = Index("".join(stanza(path, path.name) + "\n" for path in built))
    request = Request(profile="libraries", bare=True, families=FAMILIES)
    names = [root.split()[0] for root in native.roots(index, Version.parse("10.0.0"), request)]
    assert names == ["amdrocm-core-dev10.0", "amdrocm-base10.0", "amdrocm-blas10.0-gfx1100"]


def test_an_own_key_is_pinned(install: Callable[..., Result]) -> None:
    assert "not the key expected" in install("-q", "10.0.0", "--fingerprint", "AB" * 20).refused()


def test_a_line_that_is_not_signed(install: Callable[..., Result]) -> None:
    result = install("-q", "10.1.0a20260901")
    assert "does not sign" in result.refused()
    assert "--channel tarball" in result.hint


def test_a_system_without_packages(install: Callable[..., Result]) -> None:
    result = install("-q", "10.0.0", "--suite", "sles15")
    assert "has no packages of 10.0.0 for `sles15`" in result.refused()


@pytest.mark.parametrize(
    ("own", "host", "names"),
    [
        ("ubuntu2404", (2, 39), ["ubuntu2404", "debian12", "ubuntu2204"]),
        ("debian12", (2, 36), ["debian12", "ubuntu2204"]),
        ("linuxmint22", (2, 39), ["ubuntu2404", "debian12", "ubuntu2204"]),
        ("ubuntu2604", (2, 36), ["debian12", "ubuntu2204"]),
        (None, (2, 35), ["ubuntu2204"]),
    ],
)
def test_the_packages_fit_the_hosts_libc(
    own: str | None, host: tuple[int, ...], names: list[str]
) -> None:
    assert native.profiles(catalog_file.load(), own, host) == names


@pytest.mark.parametrize(
    ("target", "version", "names"),
    [
        ("gfx1100", "10.0.0", ["gfx1100", "gfx110x"]),
        ("gfx1100", "7.12.0", ["gfx110x", "gfx1100"]),
        ("gfx942", "7.13.0", ["gfx94x", "gfx942"]),
        ("gfx1151", "10.0.0", ["gfx1151"]),
    ],
)
def test_how_packages_name_a_target(target: str, version: str, names: list[str]) -> None:
    request = Request(families=FAMILIES)
    assert native.suffixes(target, Version.parse(version), request) == names
