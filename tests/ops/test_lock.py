"""`rocmenv lock` and `install --locked`: the same files again, or nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rocmenv.model.version import Version
from rocmenv.ops import lock as ops
from rocmenv.sources import at_hand
from rocmenv.store import locks, registry
from rocmenv.store.paths import Root
from tests.cli.runner import Result, Runner
from tests.sources import test_legacy, test_tarball
from tests.sources.test_legacy import Mirror, _machine  # noqa: F401 - a fixture
from tests.sources.test_tarball import Vendor, name

# Fixtures of theirs. Imported, each parameter of that name would seem to hide one.
made, mirror, vendor = test_legacy.made, test_legacy.mirror, test_tarball.vendor

HERE = locks.platform_name()
Call = Callable[..., Result]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "my project"
    (folder / "src").mkdir(parents=True)
    (folder / ".rocm-version").write_text("6.3.0\n")
    return folder


@pytest.fixture
def call(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, project: Path, mirror: Mirror, vendor: Vendor
) -> Call:
    """Rocmenv in the project, in a root of its own or another."""

    def run(*words: str, root: str = "one", **environ: str) -> Result:
        given = {
            "ROCMENV_MIRROR": mirror.url,
            "ROCMENV_FINGERPRINT": mirror.fingerprint,
            "ROCMENV_THEROCK_MIRROR": vendor.url,
        }
        runner = Runner(capfd, Root(tmp_path / root), project / "src")
        return runner(*words, **{**given, **environ})

    return run


def receipt(tmp_path: Path, root: str, version: str) -> dict[str, str]:
    found = registry.find(Root(tmp_path / root), Version.parse(version)).receipt
    return {item.name: item.sha256 for item in found.items}


def test_a_second_machine_gets_the_same_files(
    call: Call, tmp_path: Path, project: Path, mirror: Mirror
) -> None:
    call("install", "6.3.0", "--gpu", "gfx1100").fine()
    call("lock", "--gpu", "gfx1100").fine()
    text = (project / "rocm.lock").read_text()
    assert 'version = "6.3.0"' in text
    assert 'targets = ["gfx1100"]' in text
    seen = len(mirror.site.seen)
    call("install", "--locked", root="two").fine()
    assert receipt(tmp_path, "one", "6.3.0") == receipt(tmp_path, "two", "6.3.0")
    asked = [r.path for r in mirror.site.seen[seen:]]
    assert asked
    assert all(path.endswith(".deb") for path in asked), "no index is read"
    one, two = (
        registry.find(Root(tmp_path / n), Version.parse("6.3.0")).receipt for n in ("one", "two")
    )
    assert (two.source, two.profile, two.targets) == ("legacy", one.profile, ("gfx1100",))
    assert "is installed already, as" in call("install", "--locked", root="two").err


def test_a_lock_does_not_change_by_itself(call: Call, project: Path) -> None:
    call("lock").fine()
    before = (project / "rocm.lock").read_bytes()
    result = call("lock", "--check")
    assert "already" in result.err
    assert result.status == 0
    call("lock").fine()
    assert (project / "rocm.lock").read_bytes() == before
    other = call("lock", "--check", "--profile", "runtime")
    assert other.status == 1
    assert (project / "rocm.lock").read_bytes() == before


def test_other_platforms_stay(call: Call, project: Path) -> None:
    call("lock").fine()
    text = (project / "rocm.lock").read_text()
    (project / "rocm.lock").write_text(text.replace(HERE, "windows-amd64"))
    message = call("install", "--locked").refused()
    assert message.endswith(f"has nothing for {HERE}")
    call("lock").fine()
    after = (project / "rocm.lock").read_text()
    assert "windows-amd64" in after
    assert HERE in after


def test_a_package_that_was_replaced_is_refused(call: Call, tmp_path: Path, mirror: Mirror) -> None:
    call("lock").fine()
    place = f"/rocm/apt/6.3/pool/{mirror.debs['hipcc6.3.0'].name}"
    mirror.site.files[place] = mirror.site.files[place][:-1] + b"\x01"
    result = call("install", "--locked", "-q", root="two")
    assert "sha256" in result.refused()
    assert not (tmp_path / "two/versions/6.3.0").exists()


def test_a_pin_that_says_something_else_is_told(call: Call, project: Path) -> None:
    call("lock").fine()
    (project / ".rocm-version").write_text("6.4\n")
    result = call("install", "--locked")
    assert "is for 6.3.0, and" in result.refused()
    assert "asks for 6.4" in result.message
    assert "rocmenv lock" in result.hint
    assert "'" in result.hint, "the folder has a blank"


def test_without_words_the_lock_comes_first(
    call: Call, tmp_path: Path, project: Path, mirror: Mirror
) -> None:
    call("lock", "--profile", "runtime").fine()
    call("install").fine()
    names = set(receipt(tmp_path, "one", "6.3.0"))
    assert "hipcc6.3.0" not in names
    (project / "rocm.lock").unlink()
    call("install", root="two").fine()
    assert "hipcc6.3.0" in receipt(tmp_path, "two", "6.3.0")
    result = call("install", "--locked", root="three")
    assert (result.refused(2), result.hint) == (
        "there is no rocm.lock here",
        "make one: `rocmenv lock`",
    )
    assert mirror.site.seen


def test_an_install_from_other_files_is_told(call: Call, tmp_path: Path) -> None:
    call("install", "6.3.0", "--profile", "runtime").fine()
    call("lock").fine()
    result = call("install", "--locked")
    assert "is installed from other files than" in result.refused()
    call("install", "--locked", "--reinstall").fine()
    assert "hipcc6.3.0" in receipt(tmp_path, "one", "6.3.0")


def test_an_archive_without_a_digest_is_downloaded_once(
    call: Call, tmp_path: Path, project: Path, vendor: Vendor
) -> None:
    file = name("multiarch", "10.0.1")
    vendor.has("core/tarball", file)
    (project / ".rocm-version").write_text("10.0.1\n")
    told = json.loads(call("lock", "--json").fine())
    (only,) = told["files"]
    assert only["url"] == f"{vendor.url}/core/tarball/{file}"
    assert (told["version"], told["channel"], len(only["sha256"])) == ("10.0.1", "tarball", 64)
    assert vendor.site.count(f"/rocm/core/tarball/{file}") > 0
    call("install", "--locked", root="two").fine()
    assert receipt(tmp_path, "two", "10.0.1") == {file: only["sha256"]}
    vendor.site.files[f"/rocm/core/tarball/{file}"] += b"more"
    assert "bytes" in call("install", "--locked", "-q", root="three").refused()


def test_an_installed_archive_is_not_downloaded_for_a_lock(
    call: Call, project: Path, vendor: Vendor
) -> None:
    file = name("multiarch", "10.0.1")
    vendor.has("core/tarball", file)
    (project / ".rocm-version").write_text("10.0.1\n")
    call("install").fine()
    vendor.site.files.clear()
    call("lock", "--offline").fine()
    assert f"/{file}" in (project / "rocm.lock").read_text()


def test_a_mirror_stands_in_for_the_locked_place(
    call: Call, tmp_path: Path, project: Path, mirror: Mirror
) -> None:
    call("lock").fine()
    for path, body in mirror.site.files.items():
        if path.endswith(".deb"):
            place = tmp_path / "mirror" / path.removeprefix("/rocm/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(body)
    mirror.site.files.clear()
    call("install", "--locked", "--mirror", f"file://{tmp_path}/mirror", root="two").fine()
    assert receipt(tmp_path, "two", "6.3.0")
    assert mirror.url in (project / "rocm.lock").read_text()


@pytest.mark.parametrize("content", [b"", b"[", b"schema = 9\n", b"\xff\xfe", b"a = 1\n"])
def test_what_is_no_lock_is_told(call: Call, project: Path, content: bytes) -> None:
    (project / "rocm.lock").write_bytes(content)
    for words in (("install", "--locked"), ("install",), ("lock",)):
        result = call(*words, "-q")
        assert result.refused().startswith(f"{project}/rocm.lock ")
        assert result.hint
    assert (project / "rocm.lock").read_bytes() == content


def test_what_cannot_be_locked(call: Call, project: Path) -> None:
    (project / ".rocm-version").unlink()
    assert "names a version to lock" in call("lock", "-q").refused(2)
    message = call("install", "--locked", "6.3.0").refused(2)
    assert "`--locked` installs what the lock says" in message


def test_a_damaged_lock_stays_until_it_is_moved(call: Call, project: Path) -> None:
    (project / "rocm.lock").write_text("schema = [")
    result = call("lock", "-q")
    assert result.refused().startswith(f"{project}/rocm.lock is not a lock")
    place = f"'{project}/rocm.lock'"
    assert f"`mv {place} {place}.old && rocmenv lock`" in result.hint


@pytest.mark.parametrize("words", [("--channel", "rpm"), ("--gpu", "gfx1100", "--with", "rccl")])
def test_a_lock_leaves_no_choice(call: Call, words: tuple[str, ...]) -> None:
    call("lock").fine()
    for how in ((), ("--locked",)):
        message = call("install", *how, *words).refused(2)
        assert f"`{words[0]}`" in message
        assert message.endswith("rocm.lock says")
    call("install", "6.3.0", "--dry-run", "--channel", "legacy").fine()


def test_an_alias_is_locked_as_what_it_stands_for(call: Call, project: Path) -> None:
    call("config", "set", "aliases.work", "6.3.0").fine()
    call("lock", "work").fine()
    before = (project / "rocm.lock").read_bytes()
    (project / ".rocm-version").write_text("work\n")
    assert call("lock", "--check").status == 0
    assert (project / "rocm.lock").read_bytes() == before
    told = call("install", "work", "--dry-run", "--json").fine()
    assert json.loads(told)["version"] == "6.3.0"
    assert call("install", "--list", "work").fine().split()[0] == "6.3.0"
    result = call("install", "wrok", "-q")
    assert result.refused().startswith("`wrok` is neither a version nor an alias")


def test_the_mirror_of_the_settings_counts_for_a_lock(
    call: Call, project: Path, tmp_path: Path, mirror: Mirror
) -> None:
    call("lock").fine()
    text = (project / "rocm.lock").read_text()
    (project / "rocm.lock").write_text(text.replace(mirror.url, "https://gone.example.org/rocm"))
    call("install", root="two").fine()
    assert receipt(tmp_path, "two", "6.3.0")
    message = call("install", "-q", "--mirror", "junk", root="three").refused()
    assert message == "`junk` is not the address of a mirror"


def test_what_a_lock_says_cannot_steer_the_terminal(call: Call, project: Path) -> None:
    call("lock").fine()
    text = (project / "rocm.lock").read_text()
    (project / "rocm.lock").write_text(text.replace('"legacy"', '"\\u001b[31mred"'))
    result = call("install", "-q", root="two")
    assert "`\\x1b[31mred`" in result.refused()


@pytest.mark.parametrize("version", ["6.3.0", "10.0.1"])
def test_a_lock_again_without_a_connection(
    call: Call, project: Path, vendor: Vendor, version: str
) -> None:
    vendor.has("core/tarball", name("multiarch", "10.0.1"))
    (project / ".rocm-version").write_text(f"{version}\n")
    refused = call("lock", "--offline", "-q")
    assert "run the command once without `--offline`" in refused.hint
    call("lock").fine()
    result = call("lock", "--offline", "--check")
    assert (result.status, f"has {version} on" in result.err) == (0, True), result


@pytest.mark.parametrize("version", ["6.3.0", "10.0.1"])
def test_the_account_of_a_mirror_is_used_and_kept_nowhere(
    call: Call, project: Path, tmp_path: Path, mirror: Mirror, vendor: Vendor, version: str
) -> None:
    vendor.has("core/tarball", name("multiarch", "10.0.1"))
    (project / ".rocm-version").write_text(f"{version}\n")
    environ = {
        "ROCMENV_MIRROR": mirror.url.replace("//", "//me:secret@"),
        "ROCMENV_THEROCK_MIRROR": vendor.url.replace("//", "//me:secret@"),
    }
    call("lock", **environ).fine()
    call("install", "--locked", root="two", **environ).fine()
    seen = mirror.site.seen + vendor.site.seen
    assert [r.path for r in seen if "Authorization" not in r.headers] == []
    receipts = list((tmp_path / "two").rglob("*.json"))
    assert receipts
    for path in (project / "rocm.lock", *receipts):
        assert "secret" not in path.read_text()


def test_a_lock_again_keeps_its_choices(call: Call, project: Path) -> None:
    call("lock", "--profile", "runtime", "--gpu", "gfx1100", "--with", "hipcc").fine()
    before = (project / "rocm.lock").read_bytes()
    for root in ("one", "two"):
        call("lock", "--check", root=root).fine()
        call("lock", root=root).fine()
    assert (project / "rocm.lock").read_bytes() == before
    entry = ops.wanted_at(project / "rocm.lock")
    assert (entry.profile, entry.targets, entry.extra) == ("runtime", ("gfx1100",), ("hipcc",))
    call("lock", "--gpu", "all", "--profile", "hip").fine()
    entry = ops.wanted_at(project / "rocm.lock")
    assert (entry.profile, entry.targets, entry.extra) == ("hip", (), ("hipcc",))


def test_the_own_channel_of_a_release_is_none_of_the_next(
    call: Call, project: Path, vendor: Vendor
) -> None:
    vendor.has("core/tarball", name("multiarch", "10.0.1"))
    call("lock", "--channel", "legacy").fine()
    (project / ".rocm-version").write_text("10.0.1\n")
    result = call("install", "-q")
    assert "lock anew: `cd " in result.hint
    call("lock").fine()
    assert ops.wanted_at(project / "rocm.lock").channel == "tarball"


def test_a_lock_again_is_from_the_same_mirror(call: Call, project: Path, mirror: Mirror) -> None:
    call("lock").fine()
    before = (project / "rocm.lock").read_bytes()
    call("lock", "--check", ROCMENV_MIRROR="").fine()
    assert (project / "rocm.lock").read_bytes() == before
    elsewhere = mirror.url.replace("127.0.0.1", "localhost")
    call("lock", ROCMENV_MIRROR=elsewhere).fine()
    assert ops.wanted_at(project / "rocm.lock").mirror == elsewhere


def test_an_install_from_another_server_is_not_what_is_locked(
    call: Call, project: Path, mirror: Mirror
) -> None:
    call("install").fine()
    elsewhere = mirror.url.replace("127.0.0.1", "localhost")
    call("lock", "--mirror", elsewhere).fine()
    entry = ops.wanted_at(project / "rocm.lock")
    assert all(item.url.startswith(f"{elsewhere}/") for item in entry.items)
    text = (project / "rocm.lock").read_text()
    (project / "rocm.lock").write_text(
        text.replace(f'mirror = "{elsewhere}"', 'mirror = "http://x"')
    )
    result = call("install", "--locked", "-q", "--mirror", mirror.url, root="two")
    assert result.refused().startswith("no mirror can stand in for")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_both_sides_of_a_merge(call: Call, project: Path, end: str) -> None:
    call("lock").fine()
    side = (project / "rocm.lock").read_text()
    text = f"<<<<<<< HEAD\n{side}=======\n{side}>>>>>>> other\n".replace("\n", end)
    (project / "rocm.lock").write_bytes(text.encode())
    for words in (("install",), ("install", "--locked"), ("lock",)):
        result = call(*words, "-q")
        assert result.refused() == f"{project}/rocm.lock has the marks of an unfinished merge"
        take = f"cd '{project}' && git checkout --ours rocm.lock && rocmenv lock"
        assert result.hint == f"take one side: `{take}`"


def test_a_pin_that_says_system(call: Call, project: Path) -> None:
    call("lock").fine()
    (project / ".rocm-version").write_text("system\n")
    result = call("install", "-q")
    assert "asks for the system's ROCm" in result.refused()
    assert result.hint == f"remove one of them: `rm '{project}/rocm.lock'`"


def test_a_project_with_a_lock_alone_is_known(call: Call, project: Path, tmp_path: Path) -> None:
    (project / ".rocm-version").unlink()
    words = ("lock", "6.3.0", "--profile", "runtime")
    assert call(*words, "--check").status == 1
    assert not (tmp_path / "one/projects").exists()
    call(*words).fine()
    assert call("projects").fine() == f"{project}/src/rocm.lock: 6.3.0 (not installed)\n"
    assert str(project) in (tmp_path / "one/projects").read_text()


def test_without_a_pin_the_lock_says_for_what_it_is(call: Call, project: Path) -> None:
    (project / ".rocm-version").unlink()
    call("lock", "6.3.0", "--profile", "runtime").fine()
    lock = project / "src/rocm.lock"
    before = lock.read_bytes()
    call("lock", "--check").fine()
    call("lock").fine()
    assert lock.read_bytes() == before
    lock.write_text(lock.read_text().replace(HERE, "windows-amd64"))
    call("lock").fine()
    assert {p.spec for p in locks.read(lock).platforms} == {"6.3.0"}
    assert {p.platform for p in locks.read(lock).platforms} == {HERE, "windows-amd64"}


def test_packages_for_a_newer_system_are_refused(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call("lock").fine()
    status = tmp_path / "old-status"
    monkeypatch.setattr(at_hand, "STATUS", str(status))
    status.write_text(test_legacy.STATUS.replace("2.36", "2.5"))
    result = call("install", "--locked", "-q", root="two")
    assert result.refused().endswith("needs libc6 (>= 2.17), and this machine's is older")
    assert result.hint == "lock it on the oldest system that it is for: `rocmenv lock`"
    assert not (tmp_path / "two/versions/6.3.0").exists()
    status.write_text(test_legacy.STATUS)
    call("install", "--locked", "-q", root="two").fine()
    status.unlink()  # as where there is no dpkg
    call("install", "--locked", "-q", root="three").fine()
