"""The repositories that other tests install from are what they claim to be."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.real import amdrepo, debian
from tests.real.world import SAMPLES, served

if TYPE_CHECKING:
    from tests.real.amdrepo import BuiltRepository

pytestmark = pytest.mark.real

RELEASED = {"bookworm": "5.2.3", "trixie": "5.7.1"}
"""Suites whose content no longer moves; the others may be unfit for a while."""

Paragraph = dict[str, str]


@pytest.fixture(scope="module", params=sorted(debian.SUITES))
def built(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> BuiltRepository:
    out = tmp_path_factory.mktemp("served")
    try:
        return amdrepo.build(request.param, out, cache=amdrepo.default_cache())
    except debian.SuiteUnavailable as error:
        if request.param in RELEASED:
            pytest.fail(f"{request.param}: {error}")
        pytest.skip(f"{request.param}: {error}")


@pytest.fixture(scope="module")
def bookworm(tmp_path_factory: pytest.TempPathFactory) -> BuiltRepository:
    out = tmp_path_factory.mktemp("served")
    return amdrepo.build("bookworm", out, cache=amdrepo.default_cache())


def dists(built: BuiltRepository) -> Path:
    return built.root / built.base_url_path / "dists" / built.suite_codename


def index(built: BuiltRepository) -> list[Paragraph]:
    text = (dists(built) / "main" / "binary-amd64" / "Packages").read_text()
    paragraphs = [dict(re.findall(r"(?m)^([\w-]+): (.*)$", part)) for part in text.split("\n\n")]
    assert all(paragraphs)
    return paragraphs


def deb(built: BuiltRepository, name: str) -> Path:
    found = [p["Filename"] for p in index(built) if p["Package"] == name]
    return built.root / built.base_url_path / found[0]


def members(path: Path) -> list[str]:
    """Paths in a package's payload, links with their target."""
    command = ["dpkg-deb", "-c", str(path)]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line.split(maxsplit=5)[5] for line in listed.splitlines()]


def test_the_version_is_the_runtimes(built: BuiltRepository) -> None:
    assert built.version == RELEASED.get(built.suite, built.version)
    version = [p["Version"] for p in index(built) if p["Package"] == f"rocm-core{built.version}"]
    major, minor, patch = (int(part) for part in built.version.split("."))
    ubuntu = amdrepo.UBUNTU[built.suite_codename]
    assert version == [f"{built.version}.{major}{minor:02}{patch:02}-98~{ubuntu}"]
    assert any(
        re.search(rf"/opt/rocm-{built.version}/lib/libamdhip64\.so\.{major}\.{minor}\.\d+$", name)
        for name in members(deb(built, f"hip-runtime-amd{built.version}"))
    )


def test_a_release_with_patch_zero_has_a_folder_of_two_numbers() -> None:
    assert amdrepo.release("6.4.0").directory == "6.4"
    assert amdrepo.release("6.4.10").directory == "6.4.10"


def test_a_release_has_the_codename_that_amd_gave_it() -> None:
    assert amdrepo.release("5.2.3").codename == "focal"
    assert amdrepo.release("5.3.0").codename == "jammy"


def test_gpgv_accepts_the_signatures(built: BuiltRepository, tmp_path: Path) -> None:
    keyring = tmp_path / "keyring.gpg"
    subprocess.run(["gpg", "--dearmor", "-o", keyring, built.key_file], check=True)
    folder = dists(built)
    for files in ([folder / "InRelease"], [folder / "Release.gpg", folder / "Release"]):
        command = ["gpgv", "--status-fd", "1", "--keyring", str(keyring), *map(str, files)]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        assert f"VALIDSIG {built.fingerprint} " in told


def test_release_names_the_indexes_with_size_and_digest(built: BuiltRepository) -> None:
    text = (dists(built) / "Release").read_text()
    listed = re.findall(r"(?m)^ (\w{64}) +(\d+) (\S+)$", text)
    assert [name.rpartition("/")[2] for _, _, name in listed] == [
        "Packages",
        "Packages.gz",
        "Packages.xz",
    ]
    for sha256, size, name in listed:
        octets = (dists(built) / name).read_bytes()
        assert (hashlib.sha256(octets).hexdigest(), len(octets)) == (sha256, int(size))


def test_the_packed_indexes_hold_the_same_text(built: BuiltRepository) -> None:
    folder = dists(built) / "main" / "binary-amd64"
    text = (folder / "Packages").read_bytes()
    assert gzip.decompress((folder / "Packages.gz").read_bytes()) == text
    assert lzma.decompress((folder / "Packages.xz").read_bytes()) == text


def test_the_index_names_the_files_with_size_and_digest(built: BuiltRepository) -> None:
    base = built.root / built.base_url_path
    names = {str(path.relative_to(base)) for path in base.rglob("*.deb")}
    assert names == {paragraph["Filename"] for paragraph in index(built)}
    for paragraph in index(built):
        octets = (base / paragraph["Filename"]).read_bytes()
        assert len(octets) == int(paragraph["Size"])
        assert hashlib.sha256(octets).hexdigest() == paragraph["SHA256"]


def test_versioned_packages_need_versioned_packages_that_exist(built: BuiltRepository) -> None:
    versions = {p["Package"]: p["Version"] for p in index(built)}
    assert sorted(versions) == list(built.packages)
    for paragraph in index(built):
        if not paragraph["Package"].endswith(built.version):
            continue
        for relation in paragraph.get("Depends", "").split(", "):
            name, _, bound = relation.partition(" ")
            if name.endswith(built.version):
                assert bound == f"(= {versions[name]})"
            else:
                assert not amdrepo.amd_name(name)


def test_only_small_packages_have_an_unversioned_twin(built: BuiltRepository) -> None:
    names = set(built.packages)
    assert {"rocm-core", "hipcc", "rocm-hip-sdk"} <= names
    assert not {"rocm-llvm", "comgr"} & names
    assert {f"rocm-llvm{built.version}", f"comgr{built.version}"} <= names


def test_all_forms_of_compression_occur(built: BuiltRepository) -> None:
    base = built.root / built.base_url_path
    forms = set()
    for path in base.rglob("*.deb"):
        with path.open("rb") as file:
            forms |= set(re.findall(rb"data\.tar\.(\w+)", file.read(4096)))
    assert forms == {b"gz", b"xz", b"zst"}


def test_maintainer_scripts_make_what_the_payload_lacks(
    built: BuiltRepository, tmp_path: Path
) -> None:
    path = deb(built, f"rocm-llvm{built.version}")
    root = f"/opt/rocm-{built.version}"
    assert not [name for name in members(path) if name.startswith(f".{root}/bin/")]
    subprocess.run(["dpkg-deb", "-e", path, tmp_path], check=True)
    llvm = amdrepo.release(built.version).llvm
    tool = tmp_path / llvm / "bin" / "amdclang++"
    tool.parent.mkdir(parents=True)
    tool.touch()
    script = (tmp_path / "postinst").read_text().replace(root, str(tmp_path))
    subprocess.run(["sh", "-c", script, "postinst", "configure"], check=True)
    made = {path.name: os.readlink(path) for path in (tmp_path / "bin").iterdir()}
    assert made == {"amdclang++": f"../{llvm}/bin/amdclang++"}


def test_some_files_name_the_prefix(built: BuiltRepository, tmp_path: Path) -> None:
    root = f"/opt/rocm-{built.version}"
    link = f"include/rocm_version.h -> {root}/include/rocm-core/rocm_version.h"
    assert any(name.endswith(link) for name in members(deb(built, f"rocm-core{built.version}")))
    for name in ("hip-dev", "rocm-clang-ocl"):
        subprocess.run(["dpkg-deb", "-x", deb(built, name), tmp_path], check=True)
    command = ["grep", "-rl", root, str(tmp_path)]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert {"clang-ocl", "hip-config.cmake"} <= {Path(line).name for line in found.splitlines()}


def test_apt_accepts_the_repository(built: BuiltRepository, tmp_path: Path) -> None:
    package = f"rocm-hip-sdk{built.version}"
    with served(built.root) as url:
        environ = private_apt(tmp_path, f"{url}/{built.base_url_path}", built)
        update = ["apt-get", "-q", "-o", "APT::Update::Error-Mode=any", "update"]
        subprocess.run(update, check=True, capture_output=True, env=environ)
        command = ["apt-cache", "policy", package]
        told = subprocess.run(command, check=True, capture_output=True, text=True, env=environ)
    version = next(p["Version"] for p in index(built) if p["Package"] == package)
    assert f"Candidate: {version}" in told.stdout
    assert f"{built.suite_codename}/main amd64 Packages" in told.stdout


def private_apt(root: Path, url: str, built: BuiltRepository) -> dict[str, str]:
    for folder in ("lists/partial", "archives/partial", "none"):
        (root / folder).mkdir(parents=True)
    (root / "status").touch()
    key = root / "key.asc"  # apt tells armour by the suffix
    key.write_bytes(built.key_file.read_bytes())
    (root / "sources.list").write_text(
        f"deb [arch=amd64 signed-by={key}] {url} {built.suite_codename} main\n"
    )
    (root / "apt.conf").write_text(
        f'Dir::Etc::main "/dev/null"; Dir::Etc::parts "{root}/none";\n'
        f'Dir::Etc::sourcelist "{root}/sources.list"; Dir::Etc::sourceparts "{root}/none";\n'
        f'Dir::Etc::preferencesparts "{root}/none"; Dir::State "{root}";\n'
        f'Dir::State::status "{root}/status"; Dir::Cache "{root}";\n'
        'APT::Architecture "amd64"; APT::Sandbox::User ""; Debug::NoLocking "1";\n'
    )
    direct = dict.fromkeys(("http_proxy", "HTTP_PROXY", "all_proxy"), "")
    return {**os.environ, **direct, "APT_CONFIG": str(root / "apt.conf")}


def test_the_listing_names_the_release(built: BuiltRepository) -> None:
    text = (built.root / "rocm" / "apt" / "index.html").read_text()
    assert "Index of /rocm/apt" in text
    directory = built.base_url_path.rpartition("/")[2]
    assert f'<a href="{directory}/">{directory}/</a>' in text


def test_a_moved_tree_compiles_and_runs(built: BuiltRepository, tmp_path: Path) -> None:
    base = built.root / built.base_url_path
    debs = base.rglob(f"*{built.version}_*.deb")
    debian.unpack_each((path, tmp_path) for path in debs)
    prefix = (tmp_path / "opt" / f"rocm-{built.version}").rename(tmp_path / "moved")
    environ = {
        "PATH": f"{prefix}/bin:/usr/bin:/bin",
        "ROCM_PATH": str(prefix),
        "HIP_PATH": str(prefix),
        "HIP_PLATFORM": "amd",
        "LD_LIBRARY_PATH": f"{prefix}/lib",
    }
    program = tmp_path / "vector_add"
    source = SAMPLES / "vector_add.hip"
    command = [f"{prefix}/bin/hipcc", "--offload-arch=gfx90a", str(source), "-o", str(program)]
    subprocess.run(command, check=True, env=environ, cwd=tmp_path)
    ran = subprocess.run([program], check=False, capture_output=True, text=True, env=environ)
    major, minor, _ = built.version.split(".")
    assert re.search(rf"(?m)^compiled {major}\.{minor}\.\d+$", ran.stdout)
    assert re.search(rf"(?m)^runtime {major}0?{minor}\d+ hipSuccess$", ran.stdout)
    without_gpu = "hipErrorNoDevice 100" in ran.stdout
    assert ran.returncode == (2 if without_gpu else 0)


def test_a_second_build_is_taken_from_the_cache(bookworm: BuiltRepository, tmp_path: Path) -> None:
    lines: list[str] = []
    again = amdrepo.build("bookworm", tmp_path, cache=amdrepo.default_cache(), report=lines.append)
    assert lines == []
    for name in ("rocm-llvm5.2.3", "rocm-core"):
        assert deb(again, name).samefile(deb(bookworm, name))
    release_file = dists(again) / "Release"
    assert release_file.read_bytes() == (dists(bookworm) / "Release").read_bytes()


def test_an_earlier_build_serves_when_no_mirror_answers(
    bookworm: BuiltRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debian, "mirrors", lambda: [f"file:{tmp_path}/nothing"])
    again = amdrepo.build("bookworm", tmp_path, cache=amdrepo.default_cache())
    assert again.packages == bookworm.packages
    assert [note for note in again.notes if "earlier run" in note]


def test_twins_and_a_flat_archive_are_made_on_request(tmp_path: Path) -> None:
    options = amdrepo.Options(twins=True, tarball=True)
    built = amdrepo.build("bookworm", tmp_path, cache=amdrepo.default_cache(), options=options)
    twins = {name for name in built.packages if not name.endswith("5.2.3")}
    assert {f"{name}5.2.3" for name in twins} == set(built.packages) - twins
    assert built.tarball is not None
    command = ["tar", "-tzf", str(built.tarball)]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert {name.split("/")[0] for name in names} == {"."}
    assert {"./bin/hipcc", "./bin/amdclang++", "./.info/version"} <= set(names)


def test_a_suite_without_a_wanted_package_says_so(tmp_path: Path) -> None:
    options = amdrepo.Options(extra=("no-such-package",))
    with pytest.raises(debian.SuiteUnavailable, match="has no no-such-package"):
        amdrepo.build("bookworm", tmp_path, cache=amdrepo.default_cache(), options=options)


def test_mirrors_are_read_from_both_forms_of_sources() -> None:
    one_line = (
        "# deb http://a/debian x main\ndeb [arch=amd64 signed-by=/k] http://b/debian sid main\n"
    )
    assert list(debian.one_line_entries(one_line)) == [(["http://b/debian"], ["sid"], ["main"])]
    deb822 = "Types: deb deb-src\n# note\nURIs: http://c/debian\n http://d/debian\nSuites: sid\n"
    deb822 += "Components: main\n\nTypes: deb\nEnabled: no\nURIs: http://e/\nSuites: sid\n"
    found = list(debian.deb822_entries(deb822))
    assert found == [(["http://c/debian", "http://d/debian"], ["sid"], ["main"])]
