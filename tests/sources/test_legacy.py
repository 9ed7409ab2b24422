"""Installs from small signed repositories in the shape of AMD's."""

from __future__ import annotations

import json
import os
import platform
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from rocmenv.errors import HostError
from rocmenv.model.version import Version
from rocmenv.probe import host
from rocmenv.sources import catalog_file, legacy
from rocmenv.store import registry
from rocmenv.store.paths import Root
from tests.builders import clean_environ, root_with
from tests.cli.runner import COMMAND, Result, Runner, run_and_stop, run_command
from tests.fetch.keys import Keys, key_folder
from tests.fetch.server import Site, serving
from tests.sources.apt.builders import PREFIX, Deb, build_deb, index_files, release_text, stanza
from tests.tools import tool

DEB = "6.3.0.60300-39~22.04"
HIPCC = b"#!/bin/sh\nexport X=/opt/rocm-6.3.0/bin\nprintf '%s' \"$ROCM_PATH\"\n"


def deb(name: str, depends: str = "", **files: bytes | str) -> Deb:
    """A package of 6.3.0; texts in `files` are links, `__` in a name stands for `/`."""
    paths = {f"{PREFIX}/{key.replace('__', '/')}": value for key, value in files.items()}
    return Deb(
        f"{name}6.3.0",
        DEB,
        fields={"Depends": depends, "Installed-Size": "9"} if depends else {"Installed-Size": "9"},
        files={k: v for k, v in paths.items() if isinstance(v, bytes)},
        links={k: v for k, v in paths.items() if isinstance(v, str)},
        programs=frozenset(k for k in paths if "/bin/" in k),
    )


PACKAGES = (
    deb("rocm-hip-runtime-dev", "hipcc6.3.0, rocm-llvm6.3.0, libc6 (>= 2.17), libnuma1"),
    deb("hipcc", "rocm-core6.3.0", bin__hipcc=HIPCC),
    deb(
        "rocm-llvm", lib__llvm__bin__clang=b"clang", lib__llvm__bin__amdclang=b"x", llvm="lib/llvm"
    ),
    Deb(
        "rocm-core6.3.0",
        DEB,
        fields={"Installed-Size": "9"},
        files={
            f"{PREFIX}/.info/version": b"6.3.0-39\n",
            f"{PREFIX}/lib/pkgconfig/hip.pc": b"prefix=/opt/rocm-6.3.0\n",
            "usr/share/doc/rocm-core6.3.0/copyright": b"MIT\n",
            "etc/ld.so.conf.d/10-rocm.conf": b"/opt/rocm-6.3.0/lib\n",
        },
    ),
    deb("rocm-hip-sdk", "rocm-hip-runtime-dev6.3.0, rocblas6.3.0"),
    deb("rocblas", "rocm-core6.3.0", lib__librocblas__so=b"blas"),
    deb("rccl", "rocm-core6.3.0", lib__librccl__so=b"rccl"),
    deb("rocminfo", "rocm-core6.3.0", bin__rocminfo=b"#!/bin/sh\n"),
    Deb("plain-tool", DEB, files={f"{PREFIX}/bin/plain": b"#!/bin/sh\n"}),
    deb("needs-new", "rocm-core6.3.0, libc6 (>= 99)"),
    Deb("rocm-hip-runtime-dev", DEB, fields={"Depends": "rocm-hip-runtime-dev6.3.0"}),
)
STATUS = """Package: libc6
Status: install ok installed
Version: 2.36-9
Architecture: amd64
"""


@dataclass
class Mirror:
    """A served repository; `debs` are the built packages by name."""

    site: Site
    keys: Keys
    fingerprint: str
    debs: dict[str, Path] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"{self.site.url}/rocm"

    def publish(self, folder: str = "6.3", suite: str = "jammy", more: Sequence[Path] = ()) -> None:
        """Put the packages and a signed index under `apt/FOLDER/dists/SUITE`."""
        base = f"/rocm/apt/{folder}"
        text = ""
        for path in [*self.debs.values(), *more]:
            place = f"pool/{path.name}"
            text += stanza(path, place) + "\n"
            self.site.files[f"{base}/{place}"] = path.read_bytes()
        files = index_files(text)
        release = release_text(files).replace(b"jammy", suite.encode())
        for name, content in files.items():
            self.site.files[f"{base}/dists/{suite}/{name}"] = content
        self.site.files[f"{base}/dists/{suite}/InRelease"] = self.keys.clearsign(release, "rocm")
        self.site.files["/rocm/rocm.gpg.key"] = self.keys.export("rocm", armour=True)

    def asked(self, end: str) -> list[str]:
        return [request.path for request in self.site.seen if request.path.endswith(end)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirror]:
    """Keys and packages, made once."""
    tool("dpkg-deb")
    folder = tmp_path_factory.mktemp("debs")
    with key_folder() as keys:
        fingerprint = keys.make("rocm")
        keys.make("other")
        debs = {d.name: build_deb(d, folder, "gzip") for d in PACKAGES}
        yield Mirror(Site(), keys, fingerprint, debs)


@pytest.fixture
def mirror(made: Mirror) -> Iterator[Mirror]:
    with serving(Site()) as site:
        mirror = replace(made, site=site, debs=dict(made.debs))
        mirror.publish()
        yield mirror


@pytest.fixture(autouse=True)
def _machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with glibc 2.36 and nothing else of what is asked for."""
    status = tmp_path / "status"
    status.write_text(STATUS)
    monkeypatch.setattr(legacy, "STATUS", str(status))
    monkeypatch.setattr(legacy, "glibc", lambda: (2, 36))
    monkeypatch.setattr(legacy, "debian_architecture", lambda: "amd64")


@pytest.fixture
def install(
    capfd: pytest.CaptureFixture[str], root: Root, tmp_path: Path, mirror: Mirror
) -> Callable[..., Result]:
    """`rocmenv install` from the mirror, inside this process."""
    runner = Runner(capfd, root, tmp_path)

    def call(*words: str, **environ: str) -> Result:
        given = {"ROCMENV_MIRROR": mirror.url, "ROCMENV_FINGERPRINT": mirror.fingerprint}
        return runner("install", *words, **{**given, **environ})

    return call


def names(root: Root, version: str = "6.3.0") -> list[str]:
    """The packages that an installed version came from, without the suffix."""
    receipt = registry.find(root, Version.parse(version)).receipt
    return sorted(item.name.removesuffix("6.3.0") for item in receipt.items)


def untouched(root: Root) -> bool:
    """Whether nothing is installed and no package is in the cache."""
    folders = (root.versions, root.staging, root.journal)
    cached = list((root.cache / "sha256").glob("*")) if root.cache.exists() else []
    parts = list((root.cache / "partial").glob("*.part")) if root.cache.exists() else []
    return not any(os.listdir(f) for f in folders if f.exists()) and not cached and not parts


# What is installed.


def test_the_default_profile(install: Callable[..., Result], root: Root) -> None:
    result = install("6.3.0")
    assert result.fine() == ""
    assert names(root) == ["hipcc", "rocm-core", "rocm-hip-runtime-dev", "rocm-llvm", "rocminfo"]
    prefix = root.versions / "6.3.0"
    assert (prefix / "bin/hipcc").read_bytes() == HIPCC.replace(
        b"/opt/rocm-6.3.0", os.fsencode(prefix)
    )
    assert (prefix / "lib/pkgconfig/hip.pc").read_text() == "prefix=${pcfiledir}/../..\n"
    assert os.readlink(prefix / "bin/amdclang") == "../lib/llvm/bin/amdclang"
    assert not (prefix / "usr").exists()
    assert not (prefix / "etc").exists()
    receipt = registry.find(root, Version.parse("6.3.0")).receipt
    assert receipt.source == "legacy"
    assert receipt.origin.endswith("/rocm/apt/6.3 jammy")
    assert "made bin/amdclang, as AMD's maintainer scripts do" in receipt.notes
    assert receipt.host == ("libnuma1",)
    assert "warning: the machine lacks packages that this release needs: libnuma1" in result.err
    assert "hint: sudo apt-get install libnuma1" in result.err


@pytest.mark.parametrize(
    ("words", "more"),
    [
        (("--profile", "runtime"), None),
        (("--profile", "sdk"), ["rocblas", "rocm-hip-sdk"]),
        (("--profile", "libraries"), ["rccl", "rocblas"]),
        (("--profile", "ml"), ["rocblas", "rocm-hip-sdk"]),
        (("--profile", "profilers"), []),
        (("--profile", "full"), ["rocblas", "rocm-hip-sdk"]),
        (("--with", "rccl"), ["rccl"]),
        (("--with", "rccl6.3.0", "--with", "rocblas"), ["rccl", "rocblas"]),
        (("--with", "plain-tool"), ["plain-tool"]),
    ],
)
def test_profiles_and_further_packages(
    install: Callable[..., Result], root: Root, words: tuple[str, ...], more: list[str] | None
) -> None:
    install("6.3.0", *words).fine()
    base = ["hipcc", "rocm-core", "rocm-hip-runtime-dev", "rocm-llvm", "rocminfo"]
    small = ["rocm-core", "rocminfo"]
    assert names(root) == (small if more is None else sorted([*base, *more]))


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (
            ("--profile", "hpi"),
            "`hpi` is not a profile",
            "`runtime`, `hip`, `libraries`, `sdk`, `ml`, `profilers`, `full`",
        ),
        (("--with", "rocblass"), "rocblass", "did you mean `rocblas6.3.0`?"),
        (("--with", "needs-new"), "libc6 (>= 99)", "an older release may fit"),
        (("--suite", "focal"), "has no suite `focal` for release 6.3.0", "`--suite` picks one"),
    ],
)
def test_what_cannot_be_resolved_is_explained(
    install: Callable[..., Result],
    root: Root,
    words: tuple[str, ...],
    message: str,
    hint: str,
) -> None:
    result = install("-q", "6.3.0", *words)
    assert message in result.refused()
    assert hint in result.hint
    assert untouched(root)


def test_a_newer_libc_is_refused_with_the_chain(install: Callable[..., Result]) -> None:
    message = install("-q", "6.3.0", "--with", "needs-new").refused()
    assert message.endswith("this machine's is older (needs-new6.3.0)")


def test_a_repository_of_another_release_is_named(
    install: Callable[..., Result], mirror: Mirror
) -> None:
    mirror.publish("6.3.1")
    message = install("-q", "6.3.1").refused()
    assert message == "the repository has none of the packages of release 6.3.1"


# Where it is looked for.


@pytest.mark.parametrize(
    ("typed", "folder"), [("6.3.0", "6.3"), ("rocm-6.3.0", "6.3"), ("6.3.1", "6.3.1")]
)
def test_the_folder_of_a_release(
    install: Callable[..., Result], mirror: Mirror, typed: str, folder: str
) -> None:
    """R02."""
    mirror.site.files.clear()
    mirror.site.files["/rocm/rocm.gpg.key"] = mirror.keys.export("rocm")
    install("-q", typed).refused()
    folders = {r.path.split("/")[3] for r in mirror.site.seen if r.path.startswith("/rocm/apt/")}
    assert folders == {folder}


def test_a_short_version_is_the_newest_known_one(
    install: Callable[..., Result], mirror: Mirror
) -> None:
    """R02: printed in full."""
    result = install("6.3", "--dry-run")
    newest = max(r.version for r in catalog_file.load().legacy() if r.version.xy == "6.3")
    assert f"rocmenv: reading the index of {newest}\n" in result.err
    assert mirror.asked(f"/apt/{legacy.folder(newest)}/dists/jammy/InRelease")


@pytest.mark.parametrize(
    ("version", "host", "suites"),
    [
        ("6.3.0", (2, 36), ["jammy"]),
        ("6.3.0", (2, 39), ["noble", "jammy"]),
        ("6.3.0", (2, 41), ["noble", "jammy"]),
        ("6.3.0", (2, 31), None),
        ("5.7.1", (2, 36), ["jammy", "focal", "ubuntu"]),
        ("5.7.1", (2, 31), ["focal", "ubuntu"]),
        ("5.7.1", (2, 17), ["ubuntu"]),
        ("5.2.0", (2, 27), ["bionic", "ubuntu"]),
        ("6.9.9", (2, 39), ["noble", "jammy"]),
        ("6.1.9", (2, 39), ["jammy", "focal"]),
        ("6.9.9", (2, 34), None),
        ("6.3.0", None, None),
    ],
)
def test_the_suite_fits_the_hosts_libc(
    version: str, host: tuple[int, ...] | None, suites: list[str] | None
) -> None:
    def found() -> list[str]:
        return legacy.suites(catalog_file.load(), Version.parse(version), host)

    if suites is not None:
        assert found() == suites
        return
    with pytest.raises(HostError) as caught:
        found()
    words = "this host has none" if host is None else f"this machine has {host[0]}.{host[1]}"
    assert words in str(caught.value)


def test_a_suite_that_is_not_there_falls_to_the_next(
    install: Callable[..., Result],
    root: Root,
    mirror: Mirror,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(legacy, "glibc", lambda: (2, 40))
    install("-q", "6.3.0").fine()
    assert mirror.asked("dists/noble/InRelease")
    assert registry.find(root, Version.parse("6.3.0")).receipt.origin.endswith(" jammy")


def test_all_suites_too_new_are_refused_without_a_question(
    install: Callable[..., Result], mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(legacy, "glibc", lambda: (2, 28))
    result = install("-q", "6.3.0")
    assert "needs glibc 2.35 or newer, and this machine has 2.28" in result.refused()
    assert mirror.asked("InRelease") == []


def test_the_named_suite_is_taken_as_it_is(
    install: Callable[..., Result], root: Root, mirror: Mirror
) -> None:
    mirror.publish(suite="noble")
    install("-q", "6.3.0", "--suite", "noble").fine()
    assert registry.find(root, Version.parse("6.3.0")).receipt.origin.endswith(" noble")


def test_other_architectures_are_refused(
    install: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(legacy, "debian_architecture", host.debian_architecture)
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    result = install("-q", "6.3.0")
    assert "this machine is aarch64" in result.refused()


@pytest.mark.parametrize("version", ["7.9.0", "10.0.0"])
def test_releases_of_other_channels_are_told_apart(
    install: Callable[..., Result], mirror: Mirror, version: str
) -> None:
    result = install(version, "--channel", "legacy")
    assert "not in AMD's legacy repositories" in result.refused()
    assert "--channel auto" in result.hint
    assert mirror.site.seen == []


# Whom to trust.


def test_the_key_may_come_from_a_file(
    install: Callable[..., Result], mirror: Mirror, tmp_path: Path
) -> None:
    (tmp_path / "k").write_bytes(mirror.keys.export("rocm"))
    del mirror.site.files["/rocm/rocm.gpg.key"]
    spaced = " ".join(mirror.fingerprint.lower()[i : i + 4] for i in range(0, 40, 4))
    words = ("--keyring", str(tmp_path / "k"), "--fingerprint", spaced)
    install("-q", "6.3.0", *words, ROCMENV_FINGERPRINT="").fine()


def _no_key(mirror: Mirror) -> None:
    del mirror.site.files["/rocm/rocm.gpg.key"]


def _another_signer(mirror: Mirror) -> None:
    place = "/rocm/apt/6.3/dists/jammy/InRelease"
    text = release_text(index_files("Package: x\n"))
    mirror.site.files[place] = mirror.keys.clearsign(text, "other")
    mirror.site.files["/rocm/rocm.gpg.key"] = mirror.keys.export("rocm", "other")


def _tampered(mirror: Mirror) -> None:
    place = "/rocm/apt/6.3/dists/jammy/InRelease"
    mirror.site.files[place] = mirror.site.files[place].replace(
        b"Components: main", b"Components: evil"
    )


def _out_of_step(mirror: Mirror) -> None:
    for ending in (".xz", ".gz", ""):
        mirror.site.files[f"/rocm/apt/6.3/dists/jammy/main/binary-amd64/Packages{ending}"] += (
            b"more"
        )


def _replaced(mirror: Mirror) -> None:
    place = f"/rocm/apt/6.3/pool/{mirror.debs['hipcc6.3.0'].name}"
    mirror.site.files[place] = mirror.site.files[place][:-1] + b"\x01"


def _login_page(mirror: Mirror) -> None:
    place = f"/rocm/apt/6.3/pool/{mirror.debs['hipcc6.3.0'].name}"
    mirror.site.always[place] = ("say", b"<html>Sign in</html>", "text/html")


def _gone(mirror: Mirror) -> None:
    del mirror.site.files[f"/rocm/apt/6.3/pool/{mirror.debs['hipcc6.3.0'].name}"]


@pytest.mark.parametrize(
    ("break_it", "words"),
    [
        (_no_key, ["rocm.gpg.key is not there, so nothing can be verified"]),
        (_another_signer, ["not the key expected"]),
        (_tampered, ["InRelease"]),
        (_out_of_step, ["out of step", "are announced"]),
        (_replaced, ["hipcc6.3.0", "sha256"]),
        (_login_page, ["hipcc6.3.0", "a web page", "text/html"]),
        (_gone, ["hipcc6.3.0", "is not there or not allowed (HTTP 404)"]),
    ],
)
def test_what_is_not_as_signed_is_refused(
    install: Callable[..., Result],
    root: Root,
    mirror: Mirror,
    break_it: Callable[[Mirror], None],
    words: list[str],
) -> None:
    break_it(mirror)
    message = install("-q", "6.3.0").refused()
    for word in words:
        assert word in message
    assert not os.path.exists(root.versions) or os.listdir(root.versions) == []
    mirror.site.always.clear()
    mirror.publish()
    install("-q", "6.3.0").fine()


def test_an_index_out_of_step_names_both_sizes(
    install: Callable[..., Result], mirror: Mirror
) -> None:
    """R17."""
    size = len(mirror.site.files["/rocm/apt/6.3/dists/jammy/main/binary-amd64/Packages.xz"])
    _out_of_step(mirror)
    result = install("-q", "6.3.0")
    assert f"it has {size + 4} bytes, and {size} are announced" in result.refused()
    assert result.hint == "try again later, or use another mirror with `--mirror URL`"


def test_the_wrong_fingerprint_is_refused(install: Callable[..., Result], root: Root) -> None:
    install("-q", "6.3.0", "--fingerprint", "0" * 40).refused()
    assert untouched(root)


def test_a_keyring_that_is_not_there_is_named(install: Callable[..., Result]) -> None:
    message = install("-q", "6.3.0", "--keyring", "/no/key").refused()
    assert message == "the keyring /no/key cannot be read (No such file or directory)"


# How it is told, and the cache.


def test_a_dry_run_changes_nothing(install: Callable[..., Result], root: Root) -> None:
    result = install("6.3.0", "--dry-run")
    lines = result.fine().splitlines()
    assert [line.split()[2] for line in lines[:-1]].count("hipcc6.3.0") == 1
    assert lines[-1].startswith("6.3.0 from legacy (http://127.0.0.1")
    assert "warning: the machine lacks: libnuma1" in result.err
    assert not root.path.exists()


def test_a_plan_as_json(install: Callable[..., Result], root: Root, mirror: Mirror) -> None:
    result = install("6.3.0", "--dry-run", "--json")
    value = json.loads(result.fine())
    assert result.err == ""
    assert {part["name"].removesuffix("6.3.0") for part in value["parts"]} == {
        "hipcc",
        "rocm-core",
        "rocm-hip-runtime-dev",
        "rocm-llvm",
        "rocminfo",
    }
    assert value["download"] == sum(part["size"] for part in value["parts"])
    assert value["installed"] == 5 * 9 * 1024
    assert value["host"] == ["libnuma1"]
    sizes = [part["size"] for part in value["parts"]]
    assert sizes == sorted(sizes, reverse=True)


def test_quiet_says_nothing_but_warnings(install: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "status").write_text(f"{STATUS}\n{STATUS.replace('libc6', 'libnuma1')}")
    result = install("6.3.0", "--quiet")
    assert (result.fine(), result.err) == ("", "")


def test_offline_uses_what_an_earlier_run_kept(
    install: Callable[..., Result], root: Root, mirror: Mirror
) -> None:
    message = install("-q", "6.3.0", "--offline").refused()
    assert "is not in the cache, and this run is offline" in message
    install("-q", "6.3.0", "--keep-downloads").fine()
    seen = len(mirror.site.seen)
    install("-q", "6.3.0", "--reinstall", "--offline", "--keep-downloads").fine()
    install("-q", "6.3.0", "--reinstall", ROCMENV_OFFLINE="1").fine()
    assert len(mirror.site.seen) == seen
    message = install("-q", "6.3.0", "--reinstall", "--offline").refused()
    assert "is not in the cache, and this run is offline" in message
    assert registry.versions(root) == [Version.parse("6.3.0")]


def test_an_index_from_the_cache_is_verified_again(
    install: Callable[..., Result], root: Root
) -> None:
    install("-q", "6.3.0", "--keep-downloads").fine()
    for path in (root.cache / "index").iterdir():
        if b"BEGIN PGP SIGNED" in path.read_bytes():
            path.write_bytes(path.read_bytes().replace(b"Components: main", b"Components: evil"))
    install("-q", "6.3.0", "--reinstall", "--offline").refused()


def test_verified_packages_of_a_failed_install_are_used_again(
    install: Callable[..., Result], mirror: Mirror
) -> None:
    """R15."""
    hipcc = f"/rocm/apt/6.3/pool/{mirror.debs['hipcc6.3.0'].name}"
    _replaced(mirror)
    mirror.site.always[hipcc] = ("wait", 1)
    install("-q", "6.3.0").refused()
    assert len(mirror.asked(".deb")) == 5
    mirror.publish()
    install("-q", "6.3.0").fine()
    assert mirror.asked(".deb")[5:] == [hipcc]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="a real process asks the real machine")
def test_verified_packages_of_an_interrupted_install_are_used_again(
    root: Root, mirror: Mirror
) -> None:
    """R15."""
    environ = {"ROCMENV_MIRROR": mirror.url, "ROCMENV_FINGERPRINT": mirror.fingerprint}
    words = ("install", "6.3.0", "--suite", "jammy")
    place = "rocmenv.fetch.archive:Tree.settle"
    stopped = run_and_stop(root, place, signal.SIGINT, *words, **environ)
    assert (stopped.status, "Traceback" in stopped.err) == (130, False)
    assert len(mirror.asked(".deb")) == 5
    again = run_command([*COMMAND, *words], clean_environ(root, **environ), "/")
    assert again.fine() == ""
    assert len(mirror.asked(".deb")) == 5, "none is asked for twice"
    assert names(root) == ["hipcc", "rocm-core", "rocm-hip-runtime-dev", "rocm-llvm", "rocminfo"]


def test_an_unknown_channels_name_is_refused(install: Callable[..., Result]) -> None:
    install("6.3.0", "--channel", "nightly").refused(2)


def test_it_is_found_as_installed_the_next_time(
    install: Callable[..., Result], mirror: Mirror
) -> None:
    install("-q", "6.3.0").fine()
    seen = len(mirror.site.seen)
    assert "is installed already" in install("6.3.0").err
    assert len(mirror.site.seen) == seen


def test_a_suite_that_lacks_its_index_is_no_reason_to_take_an_older_one(
    install: Callable[..., Result], mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(legacy, "glibc", lambda: (2, 40))
    mirror.publish(suite="noble")
    for path in list(mirror.site.files):
        if "dists/noble" in path and "Packages" in path:
            del mirror.site.files[path]
    assert (
        "announces `main/binary-amd64/Packages`, and lacks it" in install("-q", "6.3.0").refused()
    )


def test_a_suite_for_a_newer_system_names_one_for_an_older(
    install: Callable[..., Result], mirror: Mirror
) -> None:
    mirror.publish(suite="noble")
    result = install("-q", "6.3.0", "--suite", "noble", "--with", "needs-new")
    assert "the build of release 6.3.0 for `noble` needs libc6 (>= 99)" in result.message
    assert result.hint.endswith("`--suite jammy`")


def test_only_what_goes_without_saying_is_left_out_in_silence(
    install: Callable[..., Result], root: Root, mirror: Mirror, tmp_path: Path
) -> None:
    files = {
        "usr/share/doc/x/copyright": b"c",
        "etc/ld.so.conf.d/10-rocm.conf": b"/opt/rocm-6.3.0/lib",
        "etc/udev/rules.d/70-amdgpu.rules": b"r",
        "opt/rocm-6.2.0/lib/libx.so": b"l",
        "opt/amdgpu/lib/libdrm.so": b"d",
    }
    odd = build_deb(Deb("odd6.3.0", DEB, files=files), tmp_path, "gzip")
    mirror.debs["odd"] = odd
    mirror.publish()
    install("-q", "6.3.0", "--with", "odd").fine()
    receipt = registry.find(root, Version.parse("6.3.0")).receipt
    told = [note for note in receipt.notes if note.startswith("left out")]
    assert [note.split()[2].strip(":") for note in told] == [
        "etc/udev/rules.d/70-amdgpu.rules",
        "opt/amdgpu/lib/libdrm.so",
        "opt/rocm-6.2.0/lib/libx.so",
    ]


# The server's own list.


@pytest.mark.parametrize("page", ["apt-autoindex.html", "apt-table.html"])
def test_the_servers_list(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, cases: Path, mirror: Mirror, page: str
) -> None:
    """R02."""
    mirror.site.files["/rocm/apt/"] = (cases / "listings" / page).read_bytes()
    runner = Runner(capfd, root_with(tmp_path / "x"), tmp_path)
    online = ("--online", "--channel", "legacy")
    words = (*online, "--all", "--json", "--mirror", f"{mirror.url}/")
    rows: list[dict[str, object]] = []
    for command in (("install", "--list"), ("list-remote",)):
        rows = json.loads(runner(*command, *words).fine())["releases"]
        versions = [row["version"] for row in rows]
        assert len(versions) == 17
        assert versions[:3] == ["3.10.0", "4.5.0", "4.5.2"]
        assert versions[-2:] == ["7.2.0", "7.2.4"]
    assert rows[0]["status"] == "new"
    assert (
        runner("list-remote", *online, "latest", ROCMENV_MIRROR=mirror.url).fine().split()[0]
        == "7.2.4"
    )


def test_a_page_that_is_no_list_is_said(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, mirror: Mirror
) -> None:
    mirror.site.files["/rocm/apt/"] = b"<html>Moved</html>"
    runner = Runner(capfd, root_with(tmp_path / "x"), tmp_path)
    words = ("list-remote", "--online", "--channel", "legacy")
    message = runner(*words, "--mirror", mirror.url).refused()
    assert "is not a listing in any known form; it begins `<html>Moved</html>`" in message
    assert "is offline" in runner(*words, ROCMENV_OFFLINE="1").refused()


# Names and passwords in addresses.


def test_no_account_is_kept_or_shown(
    capfd: pytest.CaptureFixture[str], root: Root, tmp_path: Path, mirror: Mirror
) -> None:
    """Whatever is typed with an account, in whatever way it fails or succeeds."""
    runner = Runner(capfd, root, tmp_path)
    host = mirror.site.url.removeprefix("http://")
    good = f"http://joe:secret@{host}/rocm"
    bad = f"http://joe:secret@{host}/nothing"
    fingerprint = ("--fingerprint", mirror.fingerprint)
    calls = [
        ("install", "6.3.0", "--mirror", bad, *fingerprint),
        ("install", "6.3.0", "--mirror", bad, *fingerprint, "--offline"),
        ("install", "6.3.0", "--mirror", good, "--keyring", f"{bad}/key", *fingerprint),
        ("install", "6.3.0", "--mirror", good, "--fingerprint", "0" * 40),
        ("install", "6.3.0", "--mirror", good, *fingerprint, "--suite", "focal"),
        ("install", "6.3.0", "--mirror", good, *fingerprint, "--with", "nosuch"),
        ("install", "6.3.0", "--mirror", good, *fingerprint, "--dry-run"),
        ("install", "6.3.0", "--mirror", good, *fingerprint, "--dry-run", "--json"),
        ("install", "7.0.0", "--from", f"{bad}/x.tar.gz"),
        ("install", "7.0.0", "--from", f"{good}/rocm.tar.gz?a=secret"),
        ("install", "7.0.0", "--from", f"{good}/rocm.gpg.key"),
        ("list-remote", "--online", "--mirror", good),
        ("install", "6.3.0", "--mirror", good, *fingerprint),
    ]
    told = [runner(*words) for words in calls]
    assert told[-1].status == 0
    assert [call for call, result in zip(calls, told, strict=True) if "secret" in str(result)] == []
    kept = [path for path in root.path.rglob("*") if path.is_file()]
    assert root.receipt(Version.parse("6.3.0")) in kept
    assert [path for path in kept if b"secret" in path.read_bytes()] == []
