"""`install --from` a folder of packages, or one package."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rocmenv.errors import ArchiveError, HostError, ResolveError, UsageError
from rocmenv.fetch.deb import control
from rocmenv.model.version import Version
from rocmenv.sources import loose
from rocmenv.sources.apt.index import Package
from rocmenv.sources.base import Request
from rocmenv.sources.loose_files import release_of
from rocmenv.store import registry
from rocmenv.store.paths import Root
from tests.cli.runner import Result, Runner, run
from tests.fetch.keys import key_folder
from tests.sources.apt.builders import Deb, build_deb
from tests.sources.rpm.builders import ROCM, build_rpm, sign
from tests.sources.test_repair import flip, state
from tests.tools import tool

V63, V10 = Version.parse("6.3.0"), Version.parse("10.0.0")
pytestmark = pytest.mark.usefixtures("bare_machine")


def deb(name: str, xyz: str, depends: str = "", build: int = 39, **files: bytes) -> Deb:
    """A package of AMD's up to 7.2; `__` in a file's name stands for `/`."""
    code = "".join(f"{int(part):02}" for part in xyz.split(".")).lstrip("0")
    placed = {f"opt/rocm-{xyz}/{k.replace('__', '/')}": body for k, body in files.items()}
    return Deb(
        name,
        f"{xyz}.{code}-{build}~22.04",
        fields={"Installed-Size": "9"} | ({"Depends": depends} if depends else {}),
        files=placed,
        programs=frozenset(path for path in placed if "/bin/" in path),
    )


def release(xyz: str, suffix: str) -> list[Deb]:
    hipcc = f"#!/bin/sh\nexport X=/opt/rocm-{xyz}\nprintf '%s' \"$ROCM_PATH\"\n".encode()
    info = {f"opt/rocm-{xyz}/.info/version": f"{xyz}-39\n".encode()}
    core = deb(f"rocm-core{suffix}", xyz)
    core.files |= info
    return [
        core,
        deb(f"hipcc{suffix}", xyz, f"rocm-core{suffix}, libnuma1", bin__hipcc=hipcc),
        deb(f"rocminfo{suffix}", xyz, f"rocm-core{suffix}", bin__rocminfo=b"#!/bin/sh\n"),
        deb(f"rccl{suffix}", xyz, f"rocm-core{suffix}", lib__librccl=b"rccl"),
        deb(f"rocm-hip-runtime-dev{suffix}", xyz, f"hipcc{suffix}"),
    ]


def native(name: str, version: str, depends: str = "", **files: bytes) -> Deb:
    xy = ".".join(version.split(".")[:2])
    placed = {f"opt/rocm/core-{xy}/{k.replace('__', '/')}": body for k, body in files.items()}
    fields = {"Depends": depends} if depends else {}
    programs = frozenset(path for path in placed if "/bin/" in path)
    return Deb(name, version, fields=fields, files=placed, programs=programs)


def core(version: str) -> list[Deb]:
    xy, xyz = ".".join(version.split(".")[:2]), version.split("-", maxsplit=1)[0]
    return [
        native(f"amdrocm-core-sdk{xy}", version, f"amdrocm-base{xy} (= {version})"),
        Deb(
            f"amdrocm-base{xy}",
            version,
            files={
                f"opt/rocm/core-{xy}/.info/version": f"{xyz}\n".encode(),
                f"opt/rocm/core-{xy}/bin/hipcc": f"#!/bin/sh\necho /opt/rocm/core-{xy}\n".encode(),
            },
            programs=frozenset({f"opt/rocm/core-{xy}/bin/hipcc"}),
        ),
        native(f"amdrocm-blas{xy}-gfx1100", version, lib__blas=b"x"),
    ]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders: `mixed` (two releases, twins, others), `named`, `plain`, `core`."""
    tool("dpkg-deb")
    folder = tmp_path_factory.mktemp("debs")
    sets = {
        "named": release("6.3.0", "6.3.0"),
        "plain": release("6.3.0", ""),
        "core": core("10.0.0-15~24.04"),
        "mixed": [
            *release("6.3.0", "6.3.0"),
            *release("6.3.0", ""),
            *release("6.4.1", "6.4.1"),
            *core("10.0.0-15~24.04"),
            *core("10.0.1-3~24.04"),
            deb("rccl6.3.0", "6.3.0", build=40, lib__librccl=b"newer"),
            Deb("libdrm-amdgpu", "2.4", files={"usr/lib/x": b"x"}),
        ],
    }
    for name, debs in sets.items():
        (folder / name).mkdir()
        for one in debs:
            stage = folder / "stage" / name
            shutil.rmtree(stage, ignore_errors=True)
            stage.mkdir(parents=True)
            build_deb(one, stage, "gzip").rename(folder / name / one.filename)
    (folder / "mixed/README.txt").write_text("not a package")
    return folder


def items(root: Root, version: str) -> list[str]:
    receipt = registry.find(root, Version.parse(version)).receipt
    return sorted(f"{item.name} {item.version}" for item in receipt.items)


def test_a_folder_is_taken_whole(install: Callable[..., Result], root: Root, made: Path) -> None:
    result = install("--from", "named")
    assert result.fine() == ""
    assert result.err.splitlines()[0] == "rocmenv: it is 6.3.0, says the packages of named"
    prefix = root.versions / "6.3.0"
    assert (prefix / "lib/librccl").read_bytes() == b"rccl"
    receipt = registry.find(root, V63).receipt
    assert len(receipt.items) == 5
    for item in receipt.items:
        data = Path(item.url).read_bytes()
        assert (item.size, item.sha256) == (len(data), hashlib.sha256(data).hexdigest())
        assert Path(item.url).parent == made / "named"
    assert (receipt.source, receipt.origin) == ("local", str(made / "named"))
    assert loose.UNSIGNED in receipt.notes
    assert receipt.host == ("libnuma1",)
    assert run(root, "+6.3", "exec", "hipcc").fine() == str(prefix)
    assert not root.cache.exists()


def test_of_a_mixed_folder_only_the_release_and_no_twins(
    install: Callable[..., Result], root: Root, made: Path
) -> None:
    result = install("-q", "--from", "mixed")
    words = f"the packages in `{made}/mixed` are of 6.3.0, 6.4.1, 10.0.0, 10.0.1"
    assert result.refused(2) == words
    assert result.hint == f"ask for one of them: `rocmenv install 10.0.1 --from {made}/mixed`"
    install("-q", "6.3.0", "--from", "mixed").fine()
    names = ["hipcc", "rccl", "rocm-core", "rocm-hip-runtime-dev", "rocminfo"]
    builds = {"rccl": 40}
    assert items(root, "6.3.0") == [
        f"{name}6.3.0 6.3.0.60300-{builds.get(name, 39)}~22.04" for name in names
    ]
    assert (root.versions / "6.3.0/lib/librccl").read_bytes() == b"newer"
    notes = registry.find(root, V63).receipt.notes
    assert f"5 of 23 packages in {made / 'mixed'} are taken" in notes
    install("-q", "10.0.0", "--from", "mixed").fine()
    assert {line.split()[1] for line in items(root, "10.0.0")} == {"10.0.0-15~24.04"}
    hipcc = root.versions / "10.0.0/bin/hipcc"
    assert hipcc.read_text() == f"#!/bin/sh\necho {root.versions}/10.0.0\n"
    result = install("-q", "7.0.0", "--from", "mixed")
    assert result.refused(2) == f"7.0.0 was asked for, but {words}"


def test_packages_without_the_release_in_their_names(
    install: Callable[..., Result], root: Root
) -> None:
    install("-q", "--from", "plain").fine()
    assert items(root, "6.3.0")[0] == "hipcc 6.3.0.60300-39~22.04"


def test_a_profile_takes_what_it_needs(install: Callable[..., Result], root: Root) -> None:
    install("-q", "--from", "named", "--profile", "hip").fine()
    assert [line.split()[0] for line in items(root, "6.3.0")] == [
        "hipcc6.3.0",
        "rocm-core6.3.0",
        "rocm-hip-runtime-dev6.3.0",
        "rocminfo6.3.0",
    ]
    install("-q", "--from", "named", "--with", "rccl", "--as", "6.3.0+rccl").fine()
    assert (root.versions / "6.3.0+rccl/lib/librccl").exists()
    install("-q", "10.0.0", "--from", "mixed", "--profile", "sdk").fine()
    assert [line.split()[0] for line in items(root, "10.0.0")] == [
        "amdrocm-base10.0",
        "amdrocm-core-sdk10.0",
    ]


def test_what_is_missing_is_said(made: Path, tmp_path: Path) -> None:
    for path in (made / "named").iterdir():
        if not path.name.startswith("rocm-core"):
            shutil.copy(path, tmp_path)
    plan = loose.plan(V63, str(tmp_path), Request(), whole=True)
    assert "needed, and not there: rocm-core6.3.0" in plan.notes
    with pytest.raises(ResolveError, match="which the folder does not have") as caught:
        loose.plan(V63, str(tmp_path), Request(), whole=False)
    assert caught.value.hint == "put the missing package into the folder"


def test_one_package(install: Callable[..., Result], root: Root, made: Path) -> None:
    name = "hipcc6.3.0_6.3.0.60300-39~22.04_amd64.deb"
    copy = shutil.copy(made / "named" / name, root.path.parent / "renamed")
    install("-q", "--from", str(copy)).fine()
    assert items(root, "6.3.0") == ["hipcc6.3.0 6.3.0.60300-39~22.04"]
    notes = registry.find(root, V63).receipt.notes
    assert "needed, and not there: rocm-core6.3.0" in notes


def test_a_dry_run_shows_the_packages(install: Callable[..., Result], root: Root) -> None:
    lines = install("6.3.0", "--from", "named", "--dry-run").fine().splitlines()
    assert len(lines) == 6
    assert any(line.endswith("B  hipcc6.3.0 6.3.0.60300-39~22.04") for line in lines)
    assert "0 B to download" in lines[-1]
    assert not root.path.exists()


def test_no_connection_is_opened(
    install: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    install("-q", "--from", "core").fine()


# What is refused.


def test_damaged_packages(made: Path, tmp_path: Path) -> None:
    source = next((made / "named").glob("hipcc*"))
    data = source.read_bytes()
    (tmp_path / "a.deb").write_bytes(data[:100])
    with pytest.raises(ArchiveError, match=r"`a\.deb` is damaged"):
        loose.plan(V63, str(tmp_path), Request(), whole=True)
    (tmp_path / "a.deb").write_text("<html>")
    with pytest.raises(ArchiveError, match=r"`a\.deb` is damaged: it is not a package"):
        loose.plan(V63, str(tmp_path), Request(), whole=True)


def test_damage_in_the_content_leaves_nothing(
    install: Callable[..., Result], root: Root, made: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(made / "named", tmp_path / "x")
    path = next(folder.glob("hipcc*"))
    path.write_bytes(path.read_bytes()[:-30])
    assert "`hipcc6.3.0` is damaged" in install("-q", "6.3.0", "--from", str(folder)).refused()
    assert os.listdir(root.versions) == []


def test_packages_of_others(made: Path, tmp_path: Path) -> None:
    shutil.copy(next((made / "mixed").glob("libdrm*")), tmp_path)
    with pytest.raises(UsageError, match="is one of AMD's releases") as caught:
        loose.plan(V63, str(tmp_path), Request(), whole=True)
    assert "--channel distro" in str(caught.value.hint)


def test_a_newer_c_library_is_told(tmp_path: Path) -> None:
    tool("dpkg-deb")
    (tmp_path / "x").mkdir()
    build_deb(deb("hipcc6.3.0", "6.3.0", "libc6 (>= 99)"), tmp_path / "x")
    for stage in (tmp_path / "x").glob("stage*"):
        shutil.rmtree(stage)
    with pytest.raises(HostError, match="`hipcc6.3.0` needs libc6"):
        loose.plan(V63, str(tmp_path / "x"), Request(), whole=True)


def test_other_architectures_are_passed_over(tmp_path: Path) -> None:
    tool("dpkg-deb")
    other = deb("hipcc6.3.0", "6.3.0", bin__hipcc=b"arm")
    other.architecture = "arm64"
    build_deb(other, tmp_path)
    with pytest.raises(UsageError, match=r"are of 6\.3\.0"):
        loose.plan(V63, str(tmp_path), Request(), whole=True)


def test_the_control_file_is_dpkgs(made: Path) -> None:
    for path in (made / "mixed").glob("*.deb"):
        done = subprocess.run(["dpkg-deb", "-f", path], capture_output=True, text=True, check=True)
        assert control(path).strip() == done.stdout.strip()


@pytest.mark.parametrize(
    ("name", "version", "release"),
    [
        ("hipcc6.3.0", "1.1.1.60300-39~22.04", "6.3.0"),
        ("hipcc", "1.1.1.70204-43~24.04", "7.2.4"),
        ("rocm-core", "6.4.1.60401-83.el9", "6.4.1"),
        ("rocm-core-asan6.3.0", "6.3.0.60300-39~22.04", "6.3.0"),
        ("amdrocm-base10.0", "10.0.0-15~24.04", "10.0.0"),
        ("amdrocm-base7.13", "7.13.0~rc2-3", "7.13.0rc2"),
        ("amdrocm-base10.1", "10.1.0~20260901-1", "10.1.0a20260901"),
        ("amdrocm", "1:10.0.1", "10.0.1"),
        ("amdrocm-base", "x", None),
        ("libc6", "2.36-9", None),
        ("libamdhip64-5", "5.7.1-1", None),
    ],
)
def test_the_release_of_a_package(name: str, version: str, release: str | None) -> None:
    found = release_of(Package(name, version, "amd64"))
    assert (found and str(found)) == release


# Repair.


@pytest.mark.parametrize(
    ("words", "lost"),
    [
        (("named",), ("bin/hipcc", "lib/librccl", ".info/version")),
        (("named", "--profile", "hip"), ("bin/hipcc", "bin/rocminfo")),
        (("core",), ("bin/hipcc", "lib/blas")),
    ],
)
def test_only_the_packages_of_what_is_damaged_are_read_again(
    capfd: pytest.CaptureFixture[str],
    root: Root,
    made: Path,
    tmp_path: Path,
    words: tuple[str, ...],
    lost: tuple[str, ...],
) -> None:
    folder = shutil.copytree(made / words[0], tmp_path / "packages")
    rocmenv = Runner(capfd, root, tmp_path)
    rocmenv("install", "-q", "--from", "packages", *words[1:]).fine()
    (version,) = registry.versions(root)
    prefix = root.version(version)
    before = state(prefix)
    for name in lost:
        (prefix / name).unlink()
    rocmenv("verify", "--repair", str(version)).fine()
    assert state(prefix) == before
    hipcc = next(folder.glob("hipcc*" if words[0] == "named" else "amdrocm-base*"))
    for path in set(folder.iterdir()) - {hipcc}:
        path.unlink()
    flip(prefix / "bin/hipcc")
    rocmenv("verify", "--deep", "--repair", str(version)).fine()
    assert state(prefix) == before
    flip(prefix / "bin/hipcc")
    flip(hipcc)
    result = rocmenv("verify", "-q", "--deep", "--repair", str(version))
    assert result.refused() == (
        f"`{hipcc}` is not the file any more that the version was installed from"
    )
    chosen = f" {shlex.join(words[1:])} --gpu all" if words[1:] else ""
    assert result.hint == (
        f"install it again: `rocmenv install --reinstall {version} --from {folder}{chosen}`"
    )


def test_one_package_with_another_name_is_read_again(
    capfd: pytest.CaptureFixture[str], root: Root, rpms: Path, tmp_path: Path
) -> None:
    """The form of a package is its content's, not its name's."""
    shutil.copy(next(rpms.glob("hipcc*")), tmp_path / "renamed %41.deb")
    rocmenv = Runner(capfd, root, tmp_path)
    rocmenv("install", "-q", "--from", "renamed %41.deb").fine()
    prefix = root.version(V63)
    before = state(prefix)
    (prefix / "bin/hipcc").unlink()
    rocmenv("verify", "--repair", "6.3.0").fine()
    assert state(prefix) == before


def test_gpus_choose_among_packages(install: Callable[..., Result], root: Root, made: Path) -> None:
    install("-q", "10.0.0", "--from", "mixed", "--profile", "libraries", "--gpu", "gfx1100").fine()
    assert "amdrocm-blas10.0-gfx1100" in [x.split()[0] for x in items(root, "10.0.0")]
    receipt = registry.find(root, V10).receipt
    assert (receipt.profile, receipt.targets) == ("libraries", ("gfx1100",))
    words = ("-q", "10.0.0", "--from", "mixed", "--profile", "libraries", "--reinstall")
    assert "is not built for gfx90a" in install(*words, "--gpu", "gfx90a").refused()
    assert made.exists()


# RPM packages.


@pytest.fixture(scope="module")
def rpms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rpms")
    for one in ROCM:
        build_rpm(one, folder)
    for stage in folder.glob("work-*"):
        shutil.rmtree(stage)
    return folder


def test_a_folder_of_rpms(install: Callable[..., Result], root: Root, rpms: Path) -> None:
    result = install("--from", str(rpms))
    assert result.fine() == ""
    prefix = root.versions / "6.3.0"
    assert (prefix / "lib/librocblas/so").read_bytes() == b"blas"
    assert (prefix / "lib/pkgconfig/hip.pc").read_text() == "prefix=${pcfiledir}/../..\n"
    names = [line.split()[0] for line in items(root, "6.3.0")]
    assert "hip-runtime-amd6.3.0" in names
    assert "hip-runtime-amd" not in names
    receipt = registry.find(root, V63).receipt
    assert all(len(item.sha256) == 64 for item in receipt.items)
    plan = loose.plan(V63, str(rpms), Request(), whole=True)
    assert plan.installed >= 300_000
    assert run(root, "+6.3", "exec", "hipcc").fine() == str(prefix)


def test_nothing_is_chosen_among_rpms(rpms: Path) -> None:
    with pytest.raises(UsageError, match="cannot choose among RPM packages"):
        loose.plan(V63, str(rpms), Request(), whole=False)


def test_one_rpm(install: Callable[..., Result], root: Root, rpms: Path) -> None:
    install("-q", "--from", str(next(rpms.glob("hipcc*")))).fine()
    assert [line.split()[0] for line in items(root, "6.3.0")] == ["hipcc6.3.0"]


def test_signatures_of_rpms_are_checked_when_keys_are_named(
    install: Callable[..., Result], root: Root, rpms: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(rpms, tmp_path / "signed")
    with key_folder() as keys:
        fingerprint, other = keys.make("rocm"), keys.make("other")
        ring = tmp_path / "ring.gpg"
        ring.write_bytes(keys.export("rocm") + keys.export("other"))
        words = ("-q", "--from", str(folder), "--keyring", str(ring))
        assert "signed" in install(*words).refused(), "not signed at all yet"
        for path in folder.iterdir():
            sign(path, keys, "rocm")
        message = install(*words, "--fingerprint", other).refused()
        assert fingerprint in message or "key" in message
        assert os.listdir(root.versions) == []
        install(*words, "--fingerprint", fingerprint).fine()
    notes = registry.find(root, V63).receipt.notes
    assert loose.SIGNED.format(keyring=ring) in notes
    assert loose.UNSIGNED not in notes
    result = install("-q", "--from", str(folder), "--fingerprint", "AB", "--reinstall")
    assert result.refused(2) == "`--fingerprint` needs the key itself"
    result = install("-q", "--from", str(folder), "--keyring", "none", "--reinstall")
    assert "the keyring `none` cannot be read" in result.refused()


def test_keys_are_refused_where_nothing_is_signed(
    install: Callable[..., Result], made: Path
) -> None:
    result = install("-q", "--from", "named", "--keyring", "x")
    assert "has no signature that `--keyring`" in result.refused(2)
