"""R15: an install that is stopped never counts, and the next one needs no extra step."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pexpect
import pytest

from rocmenv.store import registry
from rocmenv.store.paths import Root
from tests.builders import clean_environ, fake_prefix
from tests.cli.runner import COMMAND, run, run_and_stop
from tests.fetch.server import Site

PLACE = "/rocm-7.0.0.tar.gz"
POINTS = {
    "unpacking": "rocmenv.fetch.archive:Tree.settle",
    "checking": "rocmenv.ops.install:find_layout",
    "before the rename": "rocmenv.store.transaction:Stage._put_in_place",
}
STATUS = {
    signal.SIGINT: 130,
    signal.SIGTERM: -signal.SIGTERM,
    signal.SIGHUP: -signal.SIGHUP,
    signal.SIGKILL: -signal.SIGKILL,
}


@pytest.fixture
def words(tmp_path: Path, site: Site) -> list[str]:
    """An install from the server, of an archive that does not fit into a few pieces."""
    source = fake_prefix(tmp_path / "rocm-7.0.0", "7.0.0")
    (source / "lib/big").write_bytes(os.urandom(300_000))
    archive = tmp_path / "rocm.tar.gz"
    subprocess.run(["tar", "-C", str(tmp_path), "-czf", archive, source.name], check=True)
    site.files[PLACE] = archive.read_bytes()
    return ["install", "7.0.0", "--from", f"{site.url}{PLACE}"]


def check_after(root: Root, words: list[str]) -> None:
    """Nothing is listed; then the same install succeeds and nothing is left over."""
    assert [str(v) for v in registry.load(root).installed] == ["6.3.0"]
    assert registry.load(root).broken == ()
    assert run(root, "versions", "--bare").fine() == "6.3.0\n"
    assert run(root, *words).fine() == ""
    assert run(root, "versions", "--bare").fine() == "6.3.0\n7.0.0\n"
    for folder in (root.staging, root.journal):
        assert os.listdir(folder) == []
    assert [n for n in os.listdir(root.locks) if n.endswith(".holder")] == []
    assert [p.name for p in root.cache.rglob("*") if p.is_file() and p.parent.name != "url"] == []
    assert "ROCM_PATH" in run(root, "+7", "exec", "env").fine()
    assert (root.activations / "7.0.0.sh").exists()


@pytest.mark.parametrize("how", STATUS)
@pytest.mark.parametrize("point", POINTS)
def test_stopped_after_loading(
    root: Root, words: list[str], point: str, how: signal.Signals
) -> None:
    stopped = run_and_stop(root, POINTS[point], how, *words)
    assert (stopped.status, stopped.out) == (STATUS[how], "")
    assert "Traceback" not in stopped.err
    if how != signal.SIGKILL:
        assert stopped.err.splitlines()[-1] == "rocmenv: interrupted"
        assert os.listdir(root.staging) == os.listdir(root.journal) == []
    assert len(os.listdir(root.cache / "sha256")) == 1, "the whole download is kept"
    check_after(root, words)


@pytest.mark.parametrize("how", STATUS)
def test_stopped_while_loading(
    root: Root, site: Site, words: list[str], how: signal.Signals
) -> None:
    site.script[PLACE] = [("drip", 0.2)]
    with subprocess.Popen(
        [*COMMAND, *words], env=clean_environ(root), stderr=subprocess.PIPE, text=True
    ) as child:
        wait_for(lambda: any(p.stat().st_size for p in root.cache.rglob("*.part")))
        child.send_signal(how)
        _, err = child.communicate(timeout=20)
    assert child.returncode == STATUS[how]
    assert "Traceback" not in err
    assert site.count(PLACE) == 1
    check_after(root, words)
    assert site.count(PLACE) == 2
    assert site.seen[-1].headers["Range"].startswith("bytes="), "continued, not begun again"


def test_a_terminal_that_is_closed_ends_it_in_good_order(
    root: Root, site: Site, words: list[str]
) -> None:
    """The hang-up finds nobody to read what is said."""
    site.always[PLACE] = ("drip", 0.2)
    child = pexpect.spawn(COMMAND[0], [*COMMAND[1:], *words], env=clean_environ(root, TERM="xterm"))
    child.expect_exact("installing 7.0.0")
    os.close(child.child_fd)
    _, status = os.waitpid(child.pid, 0)
    child.terminated = child.closed = True
    # By the signal, or by the error of the bar that cannot be drawn any more.
    assert status != 0
    assert os.listdir(root.staging) == os.listdir(root.journal) == []


def test_a_hang_up_that_the_caller_ignores_is_ignored(
    root: Root, site: Site, words: list[str]
) -> None:
    site.script[PLACE] = [("drip", 0.1)]
    with subprocess.Popen(
        ["nohup", *COMMAND, *words], env=clean_environ(root), stderr=subprocess.PIPE, text=True
    ) as child:
        wait_for(lambda: any(p.stat().st_size for p in root.cache.rglob("*.part")))
        child.send_signal(signal.SIGHUP)
        _, err = child.communicate(timeout=20)
    assert (child.returncode, "is installed" in err) == (0, True)


def wait_for(happened: object, seconds: float = 20) -> None:
    assert callable(happened)
    until = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_an_interrupt_ends_a_stalled_download_at_once(
    root: Root, site: Site, words: list[str]
) -> None:
    site.script[PLACE] = [("wait", 15)]
    with subprocess.Popen(
        [*COMMAND, *words], env=clean_environ(root), stderr=subprocess.PIPE, text=True
    ) as child:
        wait_for(lambda: site.count(PLACE))
        start = time.monotonic()
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=20)
    assert time.monotonic() - start < 5
    assert (child.returncode, "Traceback" in err) == (130, False)


def test_an_interrupt_after_the_rename_leaves_a_whole_version(root: Root, words: list[str]) -> None:
    """The shims are missing then; the next install makes them, of whatever version."""
    stopped = run_and_stop(root, "rocmenv.ops.install:rehash", signal.SIGINT, *words)
    assert stopped.status == 130
    assert run(root, "versions", "--bare").fine() == "6.3.0\n7.0.0\n"
    assert not (root.activations / "7.0.0.sh").exists()
    result = run(root, *words)
    assert "is installed already" in result.err
    assert (root.activations / "7.0.0.sh").exists()
    assert os.listdir(root.journal) == os.listdir(root.staging) == []


# Several at once.


def installs(root: Root, *calls: list[str]) -> list[tuple[int, str]]:
    """Start all calls together; status and stderr of each."""
    children = [
        subprocess.Popen(
            [*COMMAND, *words], env=clean_environ(root), stderr=subprocess.PIPE, text=True
        )
        for words in calls
    ]
    out = []
    for child in children:
        _, err = child.communicate(timeout=60)
        out.append((child.returncode, err))
    return out


def test_the_same_version_at_once_is_installed_once(
    root: Root, site: Site, words: list[str]
) -> None:
    site.always[PLACE] = ("drip", 0.05)
    results = sorted(installs(root, words, words))
    assert [status for status, _ in results] == [0, 1]
    assert "another rocmenv is at work (process " in results[1][1]
    assert "install 7.0.0" in results[1][1]
    assert run(root, "versions", "--bare").fine() == "6.3.0\n7.0.0\n"
    big = root.versions / "7.0.0/lib/big"
    assert big.stat().st_size == 300_000
    assert os.listdir(root.staging) == os.listdir(root.journal) == []


def test_two_versions_at_once_are_both_there(
    root: Root, tmp_path: Path, site: Site, words: list[str]
) -> None:
    other = fake_prefix(tmp_path / "other", "6.4.1", ("only-there",))
    site.always[PLACE] = ("drip", 0.05)
    results = installs(root, words, ["install", "6.4.1", "--from", str(other)])
    assert [status for status, _ in results] == [0, 0], results
    assert run(root, "versions", "--bare").fine() == "6.3.0\n6.4.1\n7.0.0\n"
    assert (root.shims / "only-there").exists()
    assert {"7.0.0.sh", "6.4.1.sh"} <= set(os.listdir(root.activations))
    assert os.listdir(root.staging) == os.listdir(root.journal) == []


def test_many_changes_at_once_leave_a_whole_root(root: Root, tmp_path: Path) -> None:
    versions = [f"6.{minor}.0" for minor in range(4, 9)]
    calls = [
        [
            "install",
            version,
            "--from",
            str(fake_prefix(tmp_path / version, version, (f"t{version}",))),
        ]
        for version in versions
    ]
    results = installs(root, *calls, ["uninstall", "6.3.0"], ["rehash"])
    assert [status for status, _ in results] == [0] * 7, results
    assert run(root, "versions", "--bare").fine().split() == versions
    assert {f"t{version}" for version in versions} <= set(os.listdir(root.shims))
    assert "6.3.0.sh" not in os.listdir(root.activations)
    assert run(root, "rehash").err == ""
