"""Static mirrors: made from one server, used from another one or from the folder itself."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from rocmenv.errors import RepositoryError
from rocmenv.fetch.openpgp import verify
from rocmenv.fetch.transfer import Downloads
from rocmenv.model.version import Version
from rocmenv.ops import mirror as ops
from rocmenv.ops import mirror_folder
from rocmenv.ops.report import Silent
from rocmenv.sources import legacy_mirror
from rocmenv.sources.base import MirrorFile, MirrorPlan
from tests.cli.runner import Result, Runner
from tests.mirrors.ways import (
    address_of,
    contents,
    copier,
    each_way,
    installs,
    plain_server,
)
from tests.sources.test_legacy import Mirror, _machine, names  # noqa: F401 - a fixture
from tests.tools import tool

BASE = "apt/6.3"
PACKED = "main/binary-amd64/Packages"
HIP = ["hipcc", "rocm-core", "rocm-hip-runtime-dev", "rocm-llvm", "rocminfo"]


@pytest.fixture(autouse=True)
def _glibc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(legacy_mirror, "glibc", lambda: (2, 36))


@pytest.fixture
def copied(rocmenv: Runner, origin: Mirror, folder: Path) -> Callable[..., Result]:
    """`rocmenv mirror`, from the origin into the folder."""
    server = {"ROCMENV_MIRROR": origin.url, "ROCMENV_FINGERPRINT": origin.fingerprint}
    return copier(rocmenv, folder, **server)


def debs(folder: Path) -> list[str]:
    return sorted(path.name.partition("6.3.0_")[0] for path in folder.rglob("*.deb"))


# What a mirror has.


def test_a_mirror_has_the_files_of_the_server(
    copied: Callable[..., Result], origin: Mirror, folder: Path
) -> None:
    copied("6.3.0").fine()
    found = contents(folder)
    served = {path.removeprefix("/rocm/"): body for path, body in origin.site.files.items()}
    assert {path: served[path] for path in found} == found
    assert debs(folder) == HIP
    wanted = {f"{BASE}/dists/jammy/{PACKED}{end}" for end in ("", ".gz", ".xz")}
    assert found.keys() >= {*wanted, f"{BASE}/dists/jammy/InRelease", "rocm.gpg.key"}
    inline = found[f"{BASE}/dists/jammy/InRelease"]
    key = found["rocm.gpg.key"]
    assert verify(inline, None, key, frozenset({origin.fingerprint})).data


@pytest.mark.parametrize(
    ("words", "more"),
    [
        (("--profile", "sdk"), ["rocblas", "rocm-hip-sdk"]),
        (("--with", "rccl"), ["rccl"]),
        (("--with", "needs-new"), ["needs-new"]),  # needs a newer libc than this machine has
    ],
)
def test_a_profile_and_further_packages(
    copied: Callable[..., Result], folder: Path, words: tuple[str, ...], more: list[str]
) -> None:
    copied("6.3.0", *words).fine()
    assert debs(folder) == sorted([*HIP, *more])


def test_the_whole_repository(copied: Callable[..., Result], origin: Mirror, folder: Path) -> None:
    copied("6.3.0", "--whole").fine()
    assert len(debs(folder)) == len(origin.debs)


def test_several_releases_and_suites(
    copied: Callable[..., Result], origin: Mirror, folder: Path
) -> None:
    origin.publish(suite="noble")
    origin.publish(suite="focal")
    copied("6.3.0", "--suite", "noble", "--suite", "focal").fine()
    suites = folder / BASE / "dists"
    assert sorted(os.listdir(suites)) == ["focal", "index.html", "noble"]
    copied("6.3.0", "--all-suites").fine()
    assert sorted(os.listdir(suites)) == ["focal", "index.html", "jammy", "noble"]
    message = copied("6.3.0", "--suite", "bionic", "-q").refused()
    assert "has no suite `bionic` for release 6.3.0" in message


def test_every_form_of_signature_is_copied(
    copied: Callable[..., Result], origin: Mirror, folder: Path
) -> None:
    place = "/rocm/apt/6.3/dists/jammy"
    release = verify(
        origin.site.files[f"{place}/InRelease"],
        None,
        origin.keys.export("rocm"),
        frozenset({origin.fingerprint}),
    ).data
    origin.site.files[f"{place}/Release"] = release
    origin.site.files[f"{place}/Release.gpg"] = origin.keys.detach(release, "rocm")
    copied("6.3.0").fine()
    suite = folder / BASE / "dists/jammy"
    assert {"InRelease", "Release", "Release.gpg"} <= set(os.listdir(suite))
    del origin.site.files[f"{place}/InRelease"]
    shutil.rmtree(folder)
    copied("6.3.0").fine()
    assert {"Release", "Release.gpg"} <= set(os.listdir(suite))
    assert "InRelease" not in os.listdir(suite)


def test_a_form_of_another_day_is_left_out(
    copied: Callable[..., Result], origin: Mirror, folder: Path
) -> None:
    place = "/rocm/apt/6.3/dists/jammy"
    stale = b"Suite: jammy\nSHA256:\n " + b"0" * 64 + b" 1 main/binary-amd64/Packages\n"
    origin.site.files[f"{place}/Release"] = stale
    origin.site.files[f"{place}/Release.gpg"] = origin.keys.detach(stale, "rocm")
    result = copied("6.3.0")
    assert "left out `Release`: it is of another day" in result.err
    assert "Release" not in os.listdir(folder / BASE / "dists/jammy")


def test_indexes_by_their_digest(
    copied: Callable[..., Result], origin: Mirror, folder: Path
) -> None:
    place = "/rocm/apt/6.3/dists/jammy"
    keys = (origin.keys.export("rocm"), frozenset({origin.fingerprint}))
    release = verify(origin.site.files[f"{place}/InRelease"], None, *keys).data
    text = b"Acquire-By-Hash: yes\n" + release
    origin.site.files[f"{place}/InRelease"] = origin.keys.clearsign(text, "rocm")
    copied("6.3.0").fine()
    hashed = folder / BASE / "dists/jammy/main/binary-amd64/by-hash/SHA256"
    assert len([name for name in os.listdir(hashed) if name != "index.html"]) == 3


# Installing from it.


@each_way
def test_another_rocmenv_installs_from_it(
    copied: Callable[..., Result], origin: Mirror, folder: Path, rocmenv: Runner, way: str
) -> None:
    """The first server is gone by then, and the second is a plain one."""
    told = copied("6.3.0", "--with", "rccl").fine()
    asked = len(origin.site.seen)
    with address_of(folder, way) as url:
        (words,) = installs(told, url)
        rocmenv(*words).fine()
        assert names(rocmenv.root) == sorted([*HIP, "rccl"])
        listed = rocmenv("list-remote", "--online", "--mirror", url).fine()
        assert listed.split()[:2] == ["*", "6.3.0"]
    assert len(origin.site.seen) == asked
    assert url in (rocmenv.root.versions / "6.3.0/.rocmenv/receipt.json").read_text()


@pytest.mark.parametrize("name", ["it's 100% né + 文", "not UTF-8 \udcff"])
def test_a_folder_of_any_name_is_a_mirror(
    rocmenv: Runner, origin: Mirror, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / name
    server = {"ROCMENV_MIRROR": origin.url, "ROCMENV_FINGERPRINT": origin.fingerprint}
    told = copier(rocmenv, folder, **server)("6.3.0").fine()
    origin.site.files.clear()
    (words,) = installs(told, folder.as_uri())
    rocmenv(*words).fine()
    (rocmenv.root.versions / "6.3.0/bin/hipcc").unlink()
    rocmenv("verify", "--repair", "6.3.0").fine()


def test_a_file_mirror_serves_a_run_that_is_offline(
    copied: Callable[..., Result], origin: Mirror, folder: Path, rocmenv: Runner
) -> None:
    copied("6.3.0").fine()
    words = ("--mirror", folder.as_uri(), "--fingerprint", origin.fingerprint, "--offline")
    rocmenv("install", "6.3.0", *words).fine()
    again = folder.with_name("again")
    rocmenv("mirror", "6.3.0", *words, "--to", str(again)).fine()
    assert contents(again) == contents(folder)


@each_way
def test_a_mirror_of_a_smaller_profile_says_what_it_lacks(
    copied: Callable[..., Result], origin: Mirror, folder: Path, rocmenv: Runner, way: str
) -> None:
    copied("6.3.0", "--profile", "runtime").fine()
    with address_of(folder, way) as url:
        environ = {"ROCMENV_MIRROR": url, "ROCMENV_FINGERPRINT": origin.fingerprint}
        words = ("install", "6.3.0", "--profile", "sdk", "-q")
        for more in ((), ("--dry-run",)):
            result = rocmenv(*words, *more, **environ)
            assert "6.3.0_" in result.refused()
            assert result.message.endswith("though the signed index lists it")
            assert "`rocmenv mirror` has the packages of its `--profile`" in result.hint
        assert not (rocmenv.root.cache / "sha256").exists(), "nothing was downloaded"
        (folder / "rocmenv-files.json").unlink()
        late = rocmenv(*words, **environ).refused()  # by the download
        assert late.endswith("though the signed index lists it")
        assert not rocmenv.root.version(Version.parse("6.3.0")).exists()
        rocmenv("install", "6.3.0", "--profile", "runtime", **environ).fine()


@pytest.mark.parametrize("text", ["[]", "{", "[[1]]", "7"])
def test_a_list_of_files_that_is_wrong_does_no_harm(
    copied: Callable[..., Result], origin: Mirror, folder: Path, rocmenv: Runner, text: str
) -> None:
    copied("6.3.0").fine()
    (folder / "rocmenv-files.json").write_text(text)
    with plain_server(folder) as url:
        rocmenv("install", "6.3.0", "--mirror", url, "--fingerprint", origin.fingerprint).fine()


@pytest.mark.parametrize("file", ["InRelease", f"{PACKED}.xz", "deb"])
def test_a_mirror_that_was_changed_is_refused(
    copied: Callable[..., Result], origin: Mirror, folder: Path, rocmenv: Runner, file: str
) -> None:
    """The mirror is not trusted: signatures and digests are those of the first server."""
    copied("6.3.0").fine()
    suite = folder / BASE / "dists/jammy"
    path = next(folder.rglob("hipcc*.deb")) if file == "deb" else suite / file
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    words = ("--mirror", folder.as_uri(), "--fingerprint", origin.fingerprint)
    rocmenv("install", "6.3.0", "-q", *words).refused()
    assert not rocmenv.root.version(Version.parse("6.3.0")).exists()


def test_apt_accepts_the_mirror(
    copied: Callable[..., Result], folder: Path, tmp_path: Path
) -> None:
    tool("apt-get")
    copied("6.3.0").fine()
    place = tmp_path / "apt"
    for name in ("lists/partial", "archives/partial", "none"):
        (place / name).mkdir(parents=True)
    (place / "status").touch()
    (place / "key.asc").write_bytes((folder / "rocm.gpg.key").read_bytes())
    address = (folder / BASE).as_uri()
    (place / "sources.list").write_text(
        f"deb [arch=amd64 signed-by={place}/key.asc] {address} jammy main\n"
    )
    (place / "apt.conf").write_text(
        f'Dir::Etc::main "/dev/null"; Dir::Etc::parts "{place}/none";\n'
        f'Dir::Etc::sourcelist "{place}/sources.list"; Dir::Etc::sourceparts "{place}/none";\n'
        f'Dir::State "{place}"; Dir::State::status "{place}/status"; Dir::Cache "{place}";\n'
        'APT::Architecture "amd64"; APT::Sandbox::User ""; Debug::NoLocking "1";\n'
    )
    subprocess.run(
        ["apt-get", "-q", "-o", "APT::Update::Error-Mode=any", "update"],
        check=True,
        capture_output=True,
        env={**os.environ, "APT_CONFIG": str(place / "apt.conf")},
    )


# Doing it again.


def test_a_second_run_fetches_nothing_and_writes_nothing(
    copied: Callable[..., Result], origin: Mirror, folder: Path
) -> None:
    copied("6.3.0").fine()
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    asked = len(origin.asked(".deb"))
    result = copied("6.3.0", "--json")
    assert json.loads(result.fine())["fetched"] == 0
    assert len(origin.asked(".deb")) == asked
    after = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    del before[folder / ".rocmenv-lock"], after[folder / ".rocmenv-lock"]
    assert after == before


@pytest.mark.parametrize("damage", [b"", b"short", None])
def test_what_is_wrong_is_replaced(
    copied: Callable[..., Result], folder: Path, damage: bytes | None
) -> None:
    copied("6.3.0").fine()
    right = contents(folder)
    for path in (next(folder.rglob("hipcc*.deb")), folder / "rocm.gpg.key"):
        path.write_bytes(bytes(path.stat().st_size) if damage is None else damage)
    assert json.loads(copied("6.3.0", "--json").fine())["fetched"] == 2
    assert contents(folder) == right


def test_a_further_release_joins_the_others(
    copied: Callable[..., Result], origin: Mirror, folder: Path, rocmenv: Runner
) -> None:
    copied("6.3.0").fine()
    origin.publish("6.3.1")
    assert "none of the packages" in copied("6.3.1", "-q").refused()
    copied("6.3.1", "--whole").fine()
    where = ("--mirror", folder.as_uri())
    listed = rocmenv("list-remote", "--online", *where).fine()
    assert [line.split()[0] for line in listed.splitlines()] == ["6.3.0", "6.3.1"]


def test_a_stop_in_between_leaves_no_half_file_and_is_continued(
    copied: Callable[..., Result], origin: Mirror, folder: Path
) -> None:
    large = next(path for path in origin.site.files if "/hipcc6.3.0_" in path)
    size = len(origin.site.files[large])
    origin.site.always[large] = ("cut", size // 2)
    message = copied("6.3.0", "-q", ROCMENV_RETRIES="0").refused()
    assert f"ended after {size // 2} of {size} bytes" in message
    served = {path.removeprefix("/rocm/"): body for path, body in origin.site.files.items()}
    found = contents(folder)
    parts = {path for path in found if path.startswith(".rocmenv-parts/")}
    assert parts
    assert all(found[path] == served[path] for path in found.keys() - parts)
    assert not list(folder.rglob("InRelease"))  # nothing announces what is not there
    del origin.site.always[large]
    copied("6.3.0").fine()
    ranges = {request.headers.get("Range") for request in origin.site.seen}
    assert f"bytes={size // 2}-" in ranges
    assert not (folder / ".rocmenv-parts").exists()


def test_a_killed_run_leaves_whole_files_only(origin: Mirror, folder: Path, tmp_path: Path) -> None:
    """With SIGKILL, at a moment that the server chooses."""
    for path in origin.site.files:
        if path.endswith(".deb"):
            origin.site.always[path] = ("drip", 0.2)
    words = ["mirror", "6.3.0", "--suite", "jammy", "--to", str(folder)]
    environ = {
        "PATH": "/usr/bin:/bin",
        "ROCM_ROOT": str(tmp_path / "root"),
        "ROCMENV_MIRROR": origin.url,
        "ROCMENV_FINGERPRINT": origin.fingerprint,
        "ROCMENV_RATE": "5K",
    }
    with subprocess.Popen(
        [sys.executable, "-m", "rocmenv", *words], env=environ, stderr=subprocess.DEVNULL
    ) as child:
        until = time.monotonic() + 30
        while not list(folder.rglob("*.part")) and time.monotonic() < until:
            time.sleep(0.02)
        child.kill()
    served = {path.removeprefix("/rocm/"): body for path, body in origin.site.files.items()}
    found = {path: body for path, body in contents(folder).items() if not path.startswith(".")}
    assert all(served[path] == body for path, body in found.items())
    assert list(folder.rglob("*.part"))


def test_two_at_once_do_not_mix(copied: Callable[..., Result], folder: Path) -> None:
    from filelock import FileLock  # noqa: PLC0415 - for this test alone

    folder.mkdir()
    with FileLock(folder / ".rocmenv-lock"):
        assert "another rocmenv is writing the mirror" in copied("6.3.0", "-q").refused()


# Words and refusals.


def test_the_plan_alone(copied: Callable[..., Result], origin: Mirror, folder: Path) -> None:
    out = copied("6.3.0", "--dry-run").fine()
    assert f"  {BASE}/pool/hipcc6.3.0" in out
    assert out.splitlines()[-1].startswith("10 files, ")
    shown = json.loads(copied("6.3.0", "--dry-run", "--json").fine())
    assert shown["size"] == sum(row["size"] for row in shown["files"])
    assert not folder.exists()
    assert origin.asked(".deb") == []


def test_a_page_of_somebody_else_stays(copied: Callable[..., Result], folder: Path) -> None:
    (folder / "apt").mkdir(parents=True)
    (folder / "apt/index.html").write_text("<h1>Ours</h1>")
    assert "rocmenv did not make it" in copied("6.3.0").err
    assert (folder / "apt/index.html").read_text() == "<h1>Ours</h1>"
    assert "<a href=" in (folder / "index.html").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nonsense!",), "is not a version"),
        (("6.3.0", "--profile", "hpi"), "`hpi` is not a profile"),
        (("6.3.0", "--with", "rocblass"), "rocblass"),
        (("10.0.0", "--channel", "legacy"), "is not in AMD's legacy repositories"),
        (("6.3.0", "--fingerprint", "0" * 40), "which is not the key expected"),
        (("6.3.0", "--mirror", "http://127.0.0.1:9/x"), "no connection"),
    ],
)
def test_what_cannot_be_mirrored_is_explained(
    copied: Callable[..., Result], folder: Path, words: tuple[str, ...], message: str
) -> None:
    result = copied("-q", *words)
    assert result.status in (1, 2)
    assert message in result.message
    assert not folder.exists()


def test_a_folder_that_is_none_is_refused(copied: Callable[..., Result], folder: Path) -> None:
    folder.write_text("a file")
    assert "is not a folder" in copied("6.3.0").refused(2)


def test_a_machine_without_glibc_mirrors_for_others(
    copied: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(legacy_mirror, "glibc", lambda: None)
    result = copied("6.3.0", "-q")
    assert "glibc" in result.refused()
    assert "--all-suites" in result.hint
    copied("6.3.0", "--suite", "jammy").fine()


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/x", "a//b", "", ".rocmenv-parts/x"])
def test_an_unsafe_name_is_refused(tmp_path: Path, path: str) -> None:
    plan = MirrorPlan(Version.parse("6.3.0"), "x", "x", (MirrorFile(path, content=b"x"),))
    with pytest.raises(RepositoryError, match="cannot be the name"):
        ops.mirror([plan], tmp_path / "m", Downloads(tmp_path / "cache"), Silent())
    assert not (tmp_path / "m").exists()


def test_no_room_is_told_before(
    copied: Callable[..., Result], folder: Path, monkeypatch: pytest.MonkeyPatch, origin: Mirror
) -> None:
    free = SimpleNamespace(free=10)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: free)
    assert "has 0.0 GB free" in copied("6.3.0", "-q").refused()
    assert origin.asked(".deb") == []


def test_what_stands_in_the_way_is_named(copied: Callable[..., Result], folder: Path) -> None:
    copied("6.3.0").fine()
    path = next(folder.rglob("hipcc*.deb"))
    path.unlink()
    path.mkdir()
    message = copied("6.3.0", "-q").refused()
    assert message == f"the mirror cannot be written: {path}: is a directory"


def test_a_disk_that_is_full_is_called_so(
    copied: Callable[..., Result], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, _content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(mirror_folder, "replace_file", full)
    result = copied("6.3.0", "-q")
    assert result.refused() == f"there is no space left for the mirror in {folder}"
    assert result.hint.startswith("make room")


def test_passwords_are_not_in_the_words(
    copied: Callable[..., Result], origin: Mirror, folder: Path
) -> None:
    secret = origin.url.replace("://", "://me:s3cret@")
    result = copied("6.3.0", "--mirror", secret)
    assert "s3cret" not in result.fine() + result.err
    assert all(b"s3cret" not in body for body in contents(folder).values())
