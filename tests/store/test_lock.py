"""One writer at a time; a killed one leaves no lock."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rocmenv.errors import LockedError, RootError, SpaceError
from rocmenv.store.lock import WRITERS, locked, must_be_writable, not_writable, ready_to_write
from rocmenv.store.paths import Root
from tests.builders import clean_environ, fake_prefix, root_with
from tests.cli.runner import run

HOLD = """
import sys, time
from pathlib import Path
from rocmenv.store.lock import locked
from rocmenv.store.paths import Root
with locked(Root(Path(sys.argv[1])), sys.argv[2], "a long nap"):
    print("held", flush=True)
    time.sleep(60)
"""


@contextmanager
def holder(root: Root, name: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds a lock."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(root.path), name],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent.parent.parent,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        try:
            yield child
        finally:
            child.kill()


def test_the_wait_is_bounded_and_the_holder_is_named(tmp_path: Path) -> None:
    root = root_with(tmp_path)
    with holder(root, WRITERS) as child:
        start = time.monotonic()
        with pytest.raises(LockedError) as caught, locked(root, WRITERS, "me", wait=0.3):
            pass
        assert 0.2 < time.monotonic() - start < 5
        words = f"another rocmenv is at work (process {child.pid}: a long nap); "
        assert caught.value.message == f"{words}it holds {root.locks}/writers.lock"
        assert caught.value.code == "locked"


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    """R03: what it leaves is two files that mean nothing."""
    root = root_with(tmp_path, "6.3.0")
    with holder(root, WRITERS) as child:
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert (root.locks / "writers.holder").exists()
    start = time.monotonic()
    assert run(root, "rehash").fine() == ""
    assert time.monotonic() - start < 2
    assert [name for name in os.listdir(root.locks) if name.endswith(".holder")] == []


def test_a_live_holder_makes_an_install_say_so(tmp_path: Path) -> None:
    root = root_with(tmp_path, "6.3.0")
    source = fake_prefix(tmp_path / "source-6.4.1", "6.4.1")
    with holder(root, "6.4.1") as child:
        words = ("install", "6.4.1", "--from", str(source))
        result = run(root, *words)
        assert f"process {child.pid}: a long nap" in result.refused(1)
        assert '"code": "locked"' in run(root, *words, "--json").out
        assert os.listdir(root.staging) == []


@pytest.mark.parametrize("words", [("version",), ("versions",), ("exec", "true"), ("init", "sh")])
def test_readers_take_no_lock(tmp_path: Path, words: tuple[str, ...]) -> None:
    root = root_with(tmp_path, "6.3.0")
    with holder(root, WRITERS):
        assert run(root, *words, timeout=5).status == 0


def test_the_lock_is_given_back_when_work_fails(tmp_path: Path) -> None:
    root = root_with(tmp_path)
    with pytest.raises(ZeroDivisionError), locked(root, "x", "one"):
        raise ZeroDivisionError
    with locked(root, "x", "two", wait=0):
        (root.locks / "x.holder").unlink()
    with locked(root, "x", "three", wait=0):
        assert (root.locks / "x.holder").read_text() == f"{os.getpid()} three\n"


def test_a_root_in_a_place_that_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    root = Root(tmp_path / "file" / "root", "ROCM_ROOT")
    with pytest.raises(RootError, match=r"\(Not a directory\).*\(ROCM_ROOT\)"):
        ready_to_write(root)


def test_asking_whether_it_is_writable_makes_nothing(tmp_path: Path) -> None:
    must_be_writable(Root(tmp_path / "a" / "b"))
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_read_only_file_system_is_said(tmp_path: Path) -> None:
    root = root_with(tmp_path, "6.3.0")
    place = tmp_path / "mounted"
    place.mkdir()
    for words in (("--bind", str(root.path), str(place)), ("-o", "remount,ro,bind", str(place))):
        if subprocess.run(["mount", *words], check=False).returncode:
            pytest.skip("no file system can be mounted here")
    try:
        seen = Root(place)
        assert run(seen, "versions").fine() == "  6.3.0\n"
        assert f"{place}/versions/6.3.0" in run(seen, "+6.3", "exec", "hipcc").fine()
        message = run(seen, "rehash").refused()
        assert message.startswith(f"{place} cannot be written (Read-only file system)")
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_is_not_called_a_missing_right() -> None:
    error = OSError(28, "No space left on device")
    assert isinstance(not_writable(Root(Path("/r")), "/r/x", error), SpaceError)


REHASH = """
import os, signal, sys
at, count, root = int(sys.argv[1]), 0, sys.argv[2]
def last(event, args):
    global count
    if event in ("os.rename", "os.link", "os.symlink", "open") and str(args[0]).startswith(root):
        count += 1
        if count == at:
            os.kill(os.getpid(), signal.SIGKILL)
from rocmenv.__main__ import main
sys.addaudithook(last)
sys.argv = ["rocmenv", "rehash"]
main()
"""


@pytest.mark.parametrize("at", [3, 9, 15, 21, 27])
def test_a_killed_rehash_is_done_again(tmp_path: Path, at: int) -> None:
    """R03."""
    root = root_with(tmp_path, "6.3.0", "6.4.1")
    complete = listing(root)
    for path in [*root.shims.iterdir(), *root.activations.iterdir()]:
        path.unlink()
    killed = subprocess.run(
        [sys.executable, "-c", REHASH, str(at), str(root.path)],
        env=clean_environ(root),
        cwd=Path(__file__).parent.parent.parent,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    start = time.monotonic()
    assert run(root, "rehash").err == ""
    assert time.monotonic() - start < 2
    assert listing(root) == complete


def listing(root: Root) -> list[str]:
    names = sorted(os.listdir(root.shims) + os.listdir(root.activations))
    assert {"hipcc", "clang++", "6.3.0.sh", "6.sh", "latest.fish"} <= set(names)
    return names
