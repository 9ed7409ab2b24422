"""AMD's packages from 7.9 on: names, places and what becomes of `/opt/rocm/core-X.Y`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
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
    deb("amdrocm-base10.0", "", "10.0.1-3~24.04"),
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
        self.debs: list[Path] = []
        site.files["/rocm/gpg/packages.gpg"] = keys.export("rocm")
        self.publish(debs)

    def publish(self, debs: list[Path]) -> None:
        """Serve these packages besides those that are there."""
        self.debs += debs
        text = ""
        for number, path in enumerate(self.debs):
            place = f"pool/{number}/{path.name}"
            text += stanza(path, place) + "\n"
            self.site.files[f"{self.base}/{place}"] = path.read_bytes()
        files = index_files(text)
        for name, content in files.items():
            self.site.files[f"{self.base}/dists/stable/{name}"] = content
        release = release_text(files).replace(b"jammy", b"stable")
        signed = self.keys.clearsign(release, "rocm")
        self.site.files[f"{self.base}/dists/stable/InRelease"] = signed

    base = "/rocm/core/packages/ubuntu2404"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    tool("dpkg-deb")
    return built_in(tmp_path_factory.mktemp("native"), PACKAGES)


def built_in(folder: Path, packages: Sequence[Deb]) -> list[Path]:
    """The packages, each in a folder of its own: two may have one name."""
    debs = []
    for number, package in enumerate(packages):
        (folder / str(number)).mkdir(parents=True)
        debs.append(build_deb(package, folder / str(number), "xz"))
    return debs


@pytest.fixture
def mirror(built: list[Path]) -> Iterator[Mirror]:
    with key_folder() as keys, serving(Site()) as site:
        yield Mirror(site, keys, keys.make("rocm"), built)


def of_first(built: list[Path]) -> Index:
    """The packages of 10.0.0."""
    index = Index("".join(stanza(path, path.name) + "\n" for path in built))
    return native.index_of(index, Version.parse("10.0.0"))


@pytest.fixture
def ubuntu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with glibc 2.40 and nothing else."""
    (tmp_path / "status").write_text(
        "Package: libc6\nStatus: install ok installed\nVersion: 2.40-1\nArchitecture: amd64\n"
    )
    monkeypatch.setattr(native, "STATUS", str(tmp_path / "status"))
    monkeypatch.setattr(native, "glibc", lambda: (2, 40))
    monkeypatch.setattr(native, "system_profile", lambda: "ubuntu2404")
    monkeypatch.setattr(native, "debian_architecture", lambda: "amd64")


@pytest.fixture
def install(rocmenv: Runner, mirror: Mirror, ubuntu: None) -> Callable[..., Result]:
    """`rocmenv install --channel native` on that machine."""

    def call(*words: str, **environ: str) -> Result:
        given = {"ROCMENV_THEROCK_MIRROR": f"{mirror.site.url}/rocm"}
        key = ("--fingerprint", mirror.fingerprint)
        return rocmenv("install", "--channel", "native", *key, *words, **{**given, **environ})

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
    result = install("-q", "10.0.1")
    assert "libc6 (>= 99)" in result.refused()
    assert "`--suite ubuntu2204`" in result.hint


def test_no_part_is_of_another_release(
    install: Callable[..., Result], root: Root, mirror: Mirror, tmp_path: Path
) -> None:
    """The packages need each other by name alone, and newer ones have the same names."""
    files = {"lib__librocblas__so": b"newer"}
    newer = [
        deb("amdrocm-blas10.0-gfx1100", "", "10.0.1-3~24.04", **files),
        deb("amdrocm-base10.0", "", "10.0.0~pre2-9", **files),
        deb("amdrocm-base10.0", "", "10.0.10-1", **files),
        Deb("amdrocm-base10.1", "10.1.0-1", fields={"Provides": "amdrocm-base10.0"}),
    ]
    mirror.publish(built_in(tmp_path / "newer", newer))
    install("10.0.0", "--profile", "sdk").fine()
    items = registry.find(root, Version.parse("10.0.0")).receipt.items
    assert {item.version for item in items} == {VERSION}
    assert len(items) == 4


def test_a_further_package_is_of_the_release_and_the_gpu(
    install: Callable[..., Result], root: Root, mirror: Mirror, tmp_path: Path
) -> None:
    """AMD has `amdrocm-blas` too, which needs the newest `amdrocm-blasX.Y` for all GPUs."""
    others = [
        Deb("amdrocm-blas", "10.0.0-15", fields={"Depends": "amdrocm-blas10.0"}),
        Deb("amdrocm-blas", "10.1.0-1", fields={"Depends": "amdrocm-blas10.1 (= 10.1.0-1)"}),
        Deb("amdrocm-blas10.0", VERSION, fields={"Depends": "amdrocm-blas10.0-gfx942"}),
        deb("amdrocm-blas10.0-gfx942"),
    ]
    mirror.publish(built_in(tmp_path / "others", others))
    for part in ("amdrocm-blas", "amdrocm-blas10.0-gfx1100"):
        install("10.0.0", "--gpu", "gfx1100", "--with", part, "--reinstall").fine()
        items = registry.find(root, Version.parse("10.0.0")).receipt.items
        assert [i.name for i in items if "blas" in i.name] == ["amdrocm-blas10.0-gfx1100"]
    near = install("-q", "10.0.0", "--gpu", "all", "--with", "amdrocm-bals", "--reinstall")
    assert "did you mean `amdrocm-blas10.0`?" in near.hint
    assert "is wanted" in install("-q", "10.0.0", "--with", "{0}", "--reinstall").err


@pytest.mark.parametrize(
    ("release", "versions", "taken"),
    [
        ("10.1.0rc1", ("10.1.0~rc2-1", "10.1.0~rc1-3", "10.1.0-7"), "10.1.0~rc1-3"),
        ("10.1.0rc1", ("10.1.0~pre2-1", "10.1.0~pre1-3", "10.1.0-7"), "10.1.0~pre1-3"),
        ("10.1.0", ("10.1.0~pre2-1", "10.1.0~rc1-3", "10.1.0-7"), "10.1.0-7"),
        ("10.1.0rc1", ("10.1.0-7",), "10.1.0-7"),
        ("10.1.0rc1", ("10.1.0~pre2-1",), ""),
        ("10.1.0", ("10.1.0~pre2-1",), ""),
        ("10.1.1", ("10.1.0-7", "10.1.10-1"), ""),
    ],
)
def test_a_candidate_is_not_taken_for_another(
    release: str, versions: tuple[str, ...], taken: str
) -> None:
    text = "".join(f"Package: amdrocm-llvm10.1\nVersion: {v}\n\n" for v in versions)
    index = native.index_of(Index(text), Version.parse(release))
    assert " ".join(p.version for p in index) == taken


def test_the_runtime_of_one_gpu_only(built: list[Path]) -> None:
    index = of_first(built)
    request = Request(profile="runtime", targets=("gfx1100",), families=FAMILIES)
    roots = native.roots(index, Version.parse("10.0.0"), request)
    assert roots == [f"amdrocm10.0-gfx1100 (= {VERSION})"]


def test_parts_without_code_for_a_gpu_are_taken_as_they_are(built: list[Path]) -> None:
    index = of_first(built)
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
    assert "`ubuntu2404`" in result.hint
    assert "`ubuntu2204`" not in install("-q", "10.0.0", "--suite", "ubuntu2204").hint


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


# The list.


@pytest.fixture
def listed(install: Callable[..., Result]) -> Callable[..., Result]:
    def call(*words: str, **environ: str) -> Result:
        return install("--list", "--online", *words, **environ)

    return call


def versions(result: Result) -> list[str]:
    return [row["version"] for row in json.loads(result.fine())["releases"]]


def test_the_list_is_that_of_the_signed_index(
    listed: Callable[..., Result], mirror: Mirror, tmp_path: Path
) -> None:
    newer = [
        deb("amdrocm-core-sdk10.3-gfx1100", "", "10.3.0-1"),
        deb("amdrocm-blas10.0", "", "10.0.7-1"),
        deb("amdrocm-core10.0", "", "10.0.0~pre2-1"),
    ]
    mirror.publish(built_in(tmp_path / "newer", newer))
    found = listed("--json")
    assert versions(found) == ["10.0.0", "10.0.1", "10.3.0"], "one newer part is no release"
    rows = {row["version"]: row for row in json.loads(found.out)["releases"]}
    assert (rows["10.3.0"]["status"], rows["10.3.0"]["channels"]) == ("new", ["native"])
    assert (rows["10.0.0"]["status"], rows["10.0.0"]["date"]) == ("released", "2026-08-26")
    asked = {request.path for request in mirror.site.seen}
    assert not [path for path in asked if "tarball" in path or "/apt/" in path]
    assert "10.0.0rc2" in versions(listed("--json", "--pre"))
    assert listed("latest").fine().split()[0] == "10.3.0"


def test_two_places_at_one_address_are_one(listed: Callable[..., Result], mirror: Mirror) -> None:
    """Candidates have a key at another address; a mirror of all lines has one of the two."""
    old = "/rocm/packages-multi-arch"
    mirror.site.files[f"{old}/gpg/rocm.gpg"] = mirror.keys.export("rocm")
    for path in [p for p in mirror.site.files if p.startswith(mirror.base)]:
        other = path.replace("/rocm/core/packages", old)
        mirror.site.files[other] = mirror.site.files.pop(path)
    assert versions(listed("--json", "--pre")) == ["10.0.0", "10.0.1"]
    assert mirror.site.count(f"{old}/ubuntu2404/dists/stable/InRelease") == 1


def test_places_without_an_index_are_told(listed: Callable[..., Result], mirror: Mirror) -> None:
    """R14: 403 is absent, or not allowed."""
    old = "/rocm/packages/ubuntu2404/dists/stable/"
    mirror.site.files["/rocm/packages/gpg/rocm.gpg"] = mirror.keys.export("rocm")
    mirror.site.always |= {f"{old}InRelease": 403, f"{old}Release": 403}
    found = listed("--json")
    assert versions(found) == ["10.0.0", "10.0.1"]
    assert f"{old}Release` is not there or not allowed (HTTP 403)" in found.err
    assert "packages-multi-arch/gpg/rocm.gpg is not there" in found.err
    assert "HTTP 404" in listed("--suite", "debian13").refused()


def test_an_index_in_another_form_or_of_another_key_is_told(
    listed: Callable[..., Result], mirror: Mirror
) -> None:
    path = f"{mirror.base}/dists/stable/InRelease"
    assert "is not the key expected" in listed("--fingerprint", "AB" * 20).refused()
    mirror.site.files[path] = b"<html>Moved, for good</html>"
    assert f"{path}" in listed().refused()
    mirror.debs = []
    mirror.publish([])
    assert "ubuntu2404 stable has no releases" in listed().refused()


def test_a_machine_that_none_fits_lists_all_the_same(
    listed: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "glibc", lambda: None)
    assert versions(listed("--json")) == ["10.0.0", "10.0.1"]


def test_the_list_of_a_server_that_has_not_all_is_told(
    listed: Callable[..., Result], root: Root, mirror: Mirror
) -> None:
    place = {"name": "stable-10.1", "mirror": f"{mirror.site.url}/rocm"}
    root.path.mkdir(parents=True)
    gone = [{"name": f"stable-{n}", "mirror": "file:///none"} for n in ("7.9", "7.14", "10")]
    root.catalog.write_text(json.dumps({"places": [place, *gone]}))
    found = listed("--json", ROCMENV_THEROCK_MIRROR="")
    assert versions(found) == ["10.0.0", "10.0.1"]
    assert "is 10.0.1, and 10.1.0 came out on 2026-10-05: the place is stale" in found.err


def test_keys_and_suites_count_for_the_servers_list_alone(install: Callable[..., Result]) -> None:
    message = install("--list", "--suite", "debian12").refused(2)
    assert message == (
        "`--suite` and `--fingerprint`: with `--online` only, as the list of known releases "
        "needs no server"
    )
