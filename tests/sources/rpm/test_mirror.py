"""Static mirrors of AMD's RPM repositories, the older and the newer ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rocmenv.model.version import Version
from rocmenv.sources import rpm_release
from rocmenv.store import registry
from tests.cli.runner import Result, Runner
from tests.mirrors.ways import address_of, contents, copier, each_way, installs
from tests.sources.rpm import test_channel
from tests.sources.rpm.builders import serve
from tests.sources.rpm.conftest import Mirror
from tests.sources.rpm.test_channel import HIP, _machine  # noqa: F401 - a fixture

# Fixtures of theirs. Imported, each parameter of that name would seem to hide one.
therock = test_channel.therock

EL = 'ID="almalinux"\nVERSION_ID="9.5"\nID_LIKE="rhel centos fedora"\n'
OLDER, NEWER = "el8/6.3/main", "core/packages/rhel9/x86_64"


@pytest.fixture(autouse=True)
def _el9(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rpm_release, "os_release", lambda: EL)
    monkeypatch.setattr(rpm_release, "glibc", lambda: (2, 34))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "my mirror"


@pytest.fixture
def copied(rocmenv: Runner, mirror: Mirror, folder: Path) -> Callable[..., Result]:
    """`rocmenv mirror`, from the server into the folder."""
    key = ("--fingerprint", mirror.made.fingerprint, "--mirror", f"{mirror.site.url}/rocm")
    return copier(rocmenv, folder, *key)


@pytest.fixture
def newer(mirror: Mirror, therock: Path) -> Mirror:
    """The server, with the repository of 10.0 for Enterprise Linux 9 and its own key."""
    serve(mirror.site, therock, f"/rocm/{NEWER}")
    repomd = f"/rocm/{NEWER}/repodata/repomd.xml"
    mirror.site.files["/rocm/gpg/packages.gpg"] = mirror.made.keys.export("rocm")
    signature = mirror.made.keys.detach(mirror.site.files[repomd], "rocm")
    mirror.site.files[f"{repomd}.asc"] = signature
    return mirror


def rpms(folder: Path) -> list[str]:
    """The packages of a mirror by name."""
    return sorted({path.name.rsplit("-", 2)[0] for path in folder.rglob("*.rpm")})


def older(names: list[str]) -> list[str]:
    return sorted(f"{name}6.3.0" for name in names)


@pytest.mark.parametrize("packages", [False, True])
def test_a_mirror_has_the_files_of_the_server(
    copied: Callable[..., Result], mirror: Mirror, folder: Path, *, packages: bool
) -> None:
    """Where the index is signed, and where each package is."""
    mirror.publish(packages=packages, key=None if packages else "rocm")
    copied("6.3.0").fine()
    found = contents(folder)
    served = {path.removeprefix("/rocm/"): body for path, body in mirror.site.files.items()}
    assert {path: served[path] for path in found} == found
    assert found.keys() >= {f"{OLDER}/repodata/repomd.xml", "rocm.gpg.key"}
    assert (f"{OLDER}/repodata/repomd.xml.asc" in found) is not packages
    assert rpms(folder) == older(HIP)


@pytest.mark.parametrize(
    ("words", "more"),
    [
        (("--profile", "sdk"), ["rocblas", "rocm-hip-sdk"]),
        (("--with", "rccl"), ["rccl"]),
        (("--with", "needs-new"), ["needs-new"]),  # needs a newer libc than any machine has
    ],
)
def test_a_profile_and_further_packages(
    copied: Callable[..., Result],
    mirror: Mirror,
    folder: Path,
    words: tuple[str, ...],
    more: list[str],
) -> None:
    mirror.publish()
    copied("6.3.0", "--suite", "el8", *words).fine()
    assert rpms(folder) == older([*HIP, *more])


def test_the_whole_repository_and_all_folders(
    copied: Callable[..., Result], mirror: Mirror, folder: Path
) -> None:
    mirror.publish()
    copied("6.3.0", "--whole", "--all-suites").fine()
    served = {path.rpartition("/")[2] for path in mirror.site.files if path.endswith(".rpm")}
    assert {path.name for path in folder.rglob("*.rpm")} == served
    message = copied("6.3.0", "--suite", "el9", "-q").refused()
    assert "no RPM repository of release 6.3.0 was found" in message


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ((), "base blas-gfx1100 blas-gfx942 core-sdk llvm sdk-gfx1100 sdk-gfx942"),
        (("--gpu", "gfx942"), "base blas-gfx942 llvm sdk-gfx942"),
    ],
)
def test_the_newer_packages_of_the_gpus(
    copied: Callable[..., Result],
    newer: Mirror,
    folder: Path,
    words: tuple[str, ...],
    names: str,
) -> None:
    copied("10.0.0", "--channel", "rpm", "--profile", "sdk", *words).fine()
    found = [n.replace("10.0", "").removeprefix("amdrocm-") for n in rpms(folder)]
    assert sorted(n.replace("core-sdk-", "sdk-") for n in found) == names.split()
    served = {path.removeprefix("/rocm/"): body for path, body in newer.site.files.items()}
    found_files = contents(folder)
    assert {path: served[path] for path in found_files} == found_files
    assert {p.parent for p in folder.rglob("*.rpm")} == {folder / NEWER}


def test_all_gpus_means_each_of_them_too(
    copied: Callable[..., Result], newer: Mirror, folder: Path
) -> None:
    words = ("10.0.0", "--channel", "rpm", "--profile", "hip", "--with", "amdrocm-blas")
    refused = copied(*words, "--gpu", "gfx90a", "-q").refused()
    assert "has no packages for `gfx90a`" in refused
    message = copied(*words, "-q").refused()
    assert "amdrocm-blas" in message
    copied(*words[:-2], "--profile", "sdk", "--all-gpus").fine()
    assert {"amdrocm-core-sdk10.0", "amdrocm-core-sdk10.0-gfx942"} <= set(rpms(folder))
    assert newer.site.seen


@each_way
@pytest.mark.parametrize(
    ("words", "base"),
    [
        (("6.3.0",), OLDER),
        (("6.3.0", "--suite", "el8", "--with", "rccl"), OLDER),
        (("10.0.0", "--channel", "rpm", "--profile", "sdk"), NEWER),
        (("10.0.0", "--channel", "rpm", "--profile", "sdk", "--gpu", "gfx1100"), NEWER),
    ],
)
def test_another_rocmenv_installs_from_it(
    copied: Callable[..., Result],
    newer: Mirror,
    folder: Path,
    rocmenv: Runner,
    words: tuple[str, ...],
    base: str,
    way: str,
) -> None:
    if base == OLDER:
        newer.publish()
    told = copied(*words).fine()
    newer.site.files.clear()
    newer.site.seen.clear()
    with address_of(folder, way) as url:
        (call,) = installs(told, url)
        rocmenv(*call).fine()
        item = registry.find(rocmenv.root, Version.parse(words[0]))
        assert (item.receipt.source, item.receipt.origin) == ("rpm", f"{url}/{base}")
    assert newer.site.seen == []


def test_the_variable_follows_the_release(
    copied: Callable[..., Result], newer: Mirror, folder: Path, rocmenv: Runner
) -> None:
    copied("10.0.0", "--channel", "rpm", "--profile", "sdk").fine()
    lines = json.loads((folder / ".rocmenv-lines.json").read_text())
    assert lines[f"{NEWER}/repodata/repomd.xml"] == "stable"
    words = ("install", "10.0.0", "--channel", "rpm", "--profile", "sdk")
    key = ("--fingerprint", newer.made.fingerprint)
    nowhere = (folder.parent / "nowhere").as_uri()
    environ = {"ROCMENV_THEROCK_MIRROR": folder.as_uri(), "ROCMENV_MIRROR": nowhere}
    rocmenv(*words, *key, **environ).fine()


@each_way
def test_what_it_lacks_is_told_before_a_download(
    copied: Callable[..., Result], mirror: Mirror, folder: Path, rocmenv: Runner, way: str
) -> None:
    mirror.publish()
    copied("6.3.0").fine()
    with address_of(folder, way) as url:
        key = ("--fingerprint", mirror.made.fingerprint, "--mirror", url, "-q")
        result = rocmenv("install", "6.3.0", "--profile", "sdk", *key)
        assert result.refused().endswith("though the signed index lists it")
        assert not list(rocmenv.root.cache.rglob("*.part"))
        assert not rocmenv.root.version(Version.parse("6.3.0")).exists()


def test_a_stop_is_continued_and_damage_repaired(
    copied: Callable[..., Result], mirror: Mirror, folder: Path
) -> None:
    mirror.publish()
    large = mirror.find("rocm-llvm6.3.0")
    size = len(mirror.site.files[large])
    mirror.site.always[large] = ("cut", size // 2)
    assert "ended after" in copied("6.3.0", "-q", ROCMENV_RETRIES="0").refused()
    assert not list(folder.rglob("repomd.xml"))  # nothing announces what is not there
    del mirror.site.always[large]
    copied("6.3.0").fine()
    assert f"bytes={size // 2}-" in {r.headers.get("Range") for r in mirror.site.seen}
    right = contents(folder)
    path = next(folder.rglob("rocm-llvm*.rpm"))
    assert path.stat().st_size == size
    path.write_bytes(bytes(size))
    (folder / OLDER / "repodata/repomd.xml.asc").unlink()
    assert json.loads(copied("6.3.0", "--json").fine())["fetched"] == 2
    assert contents(folder) == right


@pytest.mark.parametrize("file", ["repomd.xml", "rpm"])
def test_a_mirror_that_was_changed_is_refused(
    copied: Callable[..., Result], mirror: Mirror, folder: Path, rocmenv: Runner, file: str
) -> None:
    mirror.publish()
    copied("6.3.0").fine()
    path = next(folder.rglob("hipcc*.rpm")) if file == "rpm" else next(folder.rglob(file))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    words = ("--mirror", folder.as_uri(), "--fingerprint", mirror.made.fingerprint)
    rocmenv("install", "6.3.0", "-q", *words).refused()
