"""`rocmenv install` from RPM repositories: which folder a machine gets, and the whole way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rocmenv.errors import HostError, RepositoryError
from rocmenv.model.version import Version
from rocmenv.ops.plan import channel_of
from rocmenv.sources import catalog_file, rpm_channel, rpm_release
from rocmenv.sources.base import Request
from rocmenv.sources.rpm.host import Host
from rocmenv.store import registry
from rocmenv.store.paths import Root
from tests.cli.runner import Result, Runner
from tests.sources.rpm.conftest import Mirror
from tests.tools import tool

EL8 = 'ID="almalinux"\nVERSION_ID="8.10"\nID_LIKE="rhel centos fedora"\n'
DEBIAN = "ID=debian\nVERSION_ID=12\n"


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, tuple[int, ...] | None], None]:
    def become(os_release: str, glibc: tuple[int, ...] | None) -> None:
        monkeypatch.setattr(rpm_release, "os_release", lambda: os_release)
        monkeypatch.setattr(rpm_release, "glibc", lambda: glibc)

    become(EL8, (2, 28))
    return become


@pytest.fixture
def install(
    capfd: pytest.CaptureFixture[str], root: Root, tmp_path: Path, mirror: Mirror
) -> Callable[..., Result]:
    mirror.publish()
    runner = Runner(capfd, root, tmp_path)

    def call(*words: str) -> Result:
        given = {
            "ROCMENV_MIRROR": f"{mirror.site.url}/rocm",
            "ROCMENV_FINGERPRINT": mirror.made.fingerprint,
        }
        return runner("install", *words, **given)

    return call


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("command", ["dnf", "zypper", ""])
def test_what_the_machine_lacks_is_asked_of_its_own_tool(
    install: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    programs = {"gpgv": tool("gpgv"), command: tool("true")}
    (tmp_path / "bin").mkdir()
    for name in filter(None, programs):
        (tmp_path / "bin" / name).symlink_to(programs[name])
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    libc = "/lib/x86_64-linux-gnu/libc.so.6"
    known = Host(provided={}, libraries={"libc.so.6": (libc,)})
    monkeypatch.setattr(rpm_channel, "read_host", lambda: known)
    result = install("6.3.0")
    assert result.fine() == ""
    need = "'(numactl-libs or libnuma.so.1()(64bit))'"
    by_hand = "these are RPM's names: install what has them with this system's own tool"
    assert f"hint: {f'sudo {command} install {need}' if command else by_hand}\n" in result.err
    assert "apt-get" not in result.err


@pytest.mark.usefixtures("machine")
def test_newer_releases_have_servers_of_their_own(
    capfd: pytest.CaptureFixture[str], root: Root, tmp_path: Path, mirror: Mirror
) -> None:
    words = ("install", "10.0.0", "--channel", "rpm", "-q")
    newer = f"{mirror.site.url}/newer"
    servers = {"ROCMENV_MIRROR": "http://127.0.0.1:9/old", "ROCMENV_THEROCK_MIRROR": newer}
    result = Runner(capfd, root, tmp_path)(*words, **servers)
    assert f"{newer}/gpg/packages.gpg" in result.refused()


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("words", [(), ("--channel", "rpm"), ("--suite", "el8")])
def test_an_el8_machine_gets_el8_builds(
    install: Callable[..., Result], root: Root, words: tuple[str, ...]
) -> None:
    install("6.3.0", *words).fine()
    item = registry.find(root, Version.parse("6.3.0"))
    assert item.receipt.source == "rpm"
    assert "/rocm/el8/6.3/main" in item.receipt.origin
    assert (Path(item.prefix) / "bin/hipcc").exists()


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("packages", [True, False])
def test_a_lock_has_no_digest_that_nobody_signed(
    capfd: pytest.CaptureFixture[str],
    root: Root,
    tmp_path: Path,
    mirror: Mirror,
    *,
    packages: bool,
) -> None:
    """Neither the index nor the packages are signed, or the packages alone."""
    mirror.publish(packages=packages, key=None)
    runner = Runner(capfd, root, tmp_path)
    given = {
        "ROCMENV_MIRROR": f"{mirror.site.url}/rocm",
        "ROCMENV_FINGERPRINT": mirror.made.fingerprint,
    }
    result = runner("lock", "-q", "6.3.0", **given)
    if packages:
        result.fine()
        runner("install", "--locked", **given).fine()
    else:
        assert "nor the index of its repository is signed" in result.refused()
        assert not (tmp_path / "rocm.lock").exists()


def bases(version: str, suite: str | None = None) -> list[str]:
    place = rpm_release.place(
        catalog_file.load(), Version.parse(version), Request(mirror="http://m/rocm", suite=suite)
    )
    return [base.removeprefix("http://m/rocm/") for base in place.bases]


@pytest.mark.parametrize(
    ("os_release", "glibc", "version", "found"),
    [
        (EL8, (2, 28), "6.3.0", ["el8/6.3/main"]),
        (EL8, (2, 28), "6.1.2", ["rhel8/6.1.2/main", "yum/6.1.2/main"]),
        ("ID=rhel\n", (2, 34), "7.2.0", ["el9/7.2/main", "el8/7.2/main", "zyp/7.2/main"]),
        ("ID=sles\n", (2, 31), "5.7.0", ["zyp/5.7/main", "rhel8/5.7/main", "yum/5.7/main"]),
        ("ID=rhel\n", (2, 34), "10.0.0", ["rhel9", "rhel8", "sles15"]),
    ],
)
def test_only_what_the_release_has_and_the_machine_runs(
    machine: Callable[[str, tuple[int, ...]], None],
    os_release: str,
    glibc: tuple[int, ...],
    version: str,
    found: list[str],
) -> None:
    machine(os_release, glibc)
    if version == "10.0.0":
        found = [f"core/packages/{name}/x86_64" for name in found]
    assert bases(version) == found


def test_one_folder_may_be_named(machine: Callable[[str, tuple[int, ...]], None]) -> None:
    machine(DEBIAN, (2, 36))
    assert bases("6.3.0", "el9") == ["el9/6.3/main"]


@pytest.mark.usefixtures("machine")
def test_a_folder_that_is_not_there_has_a_hint_with_those_that_may_be(
    install: Callable[..., Result], mirror: Mirror
) -> None:
    mirror.site.files["/rocm/gpg/packages.gpg"] = mirror.made.keys.export("rocm")
    server = ("--mirror", f"{mirror.site.url}/rocm", "--channel", "rpm", "-q")
    assert "`rhel8`" in install("10.0.0", *server, "--suite", "el8").hint
    assert "`el9`" in install("6.3.1", *server, "--suite", "rhel7").hint


def test_nothing_fits(machine: Callable[[str, tuple[int, ...] | None], None]) -> None:
    machine(EL8, (2, 12))
    with pytest.raises(HostError, match="no RPM build of release 7\\.2\\.0 runs here") as caught:
        bases("7.2.0")
    assert "than 2.12" in caught.value.message
    assert "--suite" not in str(caught.value.hint), "no other one fits either"
    machine(EL8, None)
    with pytest.raises(HostError, match="need glibc, and this host has none"):
        bases("10.0.0")


@pytest.mark.parametrize(
    ("version", "oldest"),
    [("10.0.0", "rhel8"), ("7.2.0", "el8"), ("6.3.0", "el8"), ("6.1.2", "yum"), ("6.3.9", "el8")],
)
def test_the_build_for_the_oldest_systems_is_one_that_the_release_has(
    machine: Callable[[str, tuple[int, ...]], None], version: str, oldest: str
) -> None:
    machine(EL8, (2, 28))
    place = rpm_release.place(catalog_file.load(), Version.parse(version), Request())
    assert place.oldest[:1] == (oldest,)


def test_a_nightly_is_not_signed(machine: Callable[[str, tuple[int, ...]], None]) -> None:
    machine(EL8, (2, 28))
    with pytest.raises(RepositoryError, match="does not sign"):
        bases("10.2.0a20261001")


@pytest.mark.parametrize(
    ("os_release", "version", "channel"),
    [
        (EL8, "6.3.0", "rpm"),
        (DEBIAN, "6.3.0", "legacy"),
        (EL8, "10.0.0", "tarball"),
        (DEBIAN, "10.0.0", "tarball"),
    ],
)
def test_the_channel_follows_the_machine(
    machine: Callable[[str, tuple[int, ...]], None], os_release: str, version: str, channel: str
) -> None:
    machine(os_release, (2, 36))
    assert channel_of(catalog_file.load(), Version.parse(version), "auto") == channel
    assert channel_of(catalog_file.load(), Version.parse(version), "native") == "native"
