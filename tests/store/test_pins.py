"""Version files: find, read, write."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rocmenv.errors import PinError, SpaceError, StoreError
from rocmenv.model.version import Spec
from rocmenv.store import pins

REPOSITORY = Path(__file__).parent.parent.parent
# Writes a version into a file and stops, locked, before that takes its place.
STOPS = """
import os, sys, time
from pathlib import Path
from rocmenv.model.version import Spec
from rocmenv.store import pins
def stop(*_):
    print("stopped", flush=True)
    time.sleep(60)
os.replace = stop
pins.write(Path(sys.argv[1]), Spec.parse("6.2"))
"""


def test_the_nearest_file_with_a_word_counts(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b" / "c"
    inner.mkdir(parents=True)
    (tmp_path / ".rocm-version").write_text("6.3\n")
    (tmp_path / "a" / ".rocm-version").write_text("# nothing\n")
    (tmp_path / "a" / "b" / ".rocm-version").mkdir()
    assert pins.nearest(str(inner)) == (str(tmp_path / ".rocm-version"), Spec.parse("6.3"))
    (inner / ".rocm-version").write_text("6.4\n")
    assert pins.nearest(str(inner)) == (str(inner / ".rocm-version"), Spec.parse("6.4"))


def test_a_folder_that_is_gone_has_those_above_it(tmp_path: Path) -> None:
    (tmp_path / ".rocm-version").write_text("6.3\n")
    assert pins.nearest(f"{tmp_path}/gone/too/") == (f"{tmp_path}/.rocm-version", Spec.parse("6.3"))


def test_a_bad_file_is_an_error_and_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / ".rocm-version").write_text("6.3\n")
    (tmp_path / "a" / ".rocm-version").write_text("6.3 6.4\n")
    with pytest.raises(PinError, match="line 1: more than one version"):
        pins.nearest(str(tmp_path / "a"))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    place = tmp_path / "a b"
    place.mkdir()
    with pytest.raises(PinError, match=r"cannot be read \(Is a directory\)") as caught:
        pins.read(str(place))
    assert caught.value.hint == f"check its rights: `ls -l '{place}'`"


def test_writing_is_one_step_and_leaves_nothing_beside(tmp_path: Path) -> None:
    path = tmp_path / "version"
    path.write_text("# a\n  # b\n6.3 # c\n")
    pins.write(path, Spec.parse(">=6.3, <7"))
    assert path.read_text() == "# a\n  # b\n>=6.3,<7\n"
    assert os.listdir(tmp_path) == ["version"]


def test_a_failed_write_leaves_the_old_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "version"
    path.write_text("6.3\n")

    def broken(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(SpaceError, match="there is no space left for"):
        pins.write(path, Spec.parse("6.4"))
    assert path.read_text() == "6.3\n"
    assert os.listdir(tmp_path) == ["version"]


def test_the_content_is_on_the_disk_before_it_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a power cut the file would be empty otherwise."""
    path = tmp_path / "version"
    fsync, replace = os.fsync, os.replace
    written: list[int] = []

    def watched_fsync(number: int) -> None:
        found = os.fstat(number)
        assert found.st_size == len("6.4\n")
        written.append(found.st_ino)
        fsync(number)

    def watched_replace(one: str, other: Path) -> None:
        assert written == [os.stat(one).st_ino]
        replace(one, other)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(os, "replace", watched_replace)
    pins.write(path, Spec.parse("6.4"))
    assert written == [path.stat().st_ino]


def test_also_what_nobody_foresees_leaves_nothing_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pins.write(tmp_path / "version", Spec.parse("6.4"))
    assert os.listdir(tmp_path) == []


def stopped(path: Path) -> subprocess.Popen[str]:
    """Another process that is about to write the file."""
    child = subprocess.Popen(
        [sys.executable, "-c", STOPS, str(path)], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "stopped\n"
    return child


def test_what_a_killed_writer_left_goes_with_the_next(tmp_path: Path) -> None:
    path = tmp_path / "version"
    mine = tmp_path / ".version.original"
    mine.touch()
    with stopped(path) as child:
        child.send_signal(signal.SIGKILL)
    assert len(os.listdir(tmp_path)) == 2
    pins.write(path, Spec.parse("6.4"))
    assert sorted(os.listdir(tmp_path)) == [mine.name, "version"]


def test_what_a_living_writer_has_stays(tmp_path: Path) -> None:
    path = tmp_path / "version"
    with stopped(path) as child:
        (his,) = os.listdir(tmp_path)
        pins.write(path, Spec.parse("6.4"))
        assert sorted(os.listdir(tmp_path)) == [his, "version"]
        child.kill()


def test_a_file_that_is_taken_for_left_over_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another writer may clear up between the moments when it is made and locked."""
    import fcntl  # noqa: PLC0415 - to stand in for it here alone

    flock, times = fcntl.flock, iter(range(9))

    def late(number: int, how: int) -> None:
        if how == fcntl.LOCK_EX and next(times) == 0:
            pins._clear_temporaries(tmp_path / "version")  # noqa: SLF001 - what the other does
        flock(number, how)

    monkeypatch.setattr(fcntl, "flock", late)
    pins.write(tmp_path / "version", Spec.parse("6.4"))
    assert os.listdir(tmp_path) == ["version"]
    assert (tmp_path / "version").read_text() == "6.4\n"
    assert next(times) > 1


def test_a_folder_in_its_place_is_called_one(tmp_path: Path) -> None:
    path = tmp_path / "a b"
    path.mkdir()
    with pytest.raises(StoreError, match="a b is a folder") as caught:
        pins.write(path, Spec.parse("6.4"))
    command = str(caught.value.hint).split("`")[1]
    assert shlex.split(command) == ["mv", str(path), f"{path}.old"]


@pytest.mark.parametrize(
    ("old", "kept"),
    [
        (b"# caf\xe9\n6.3.0\n", b"# caf\xe9\n"),
        (b"# a\x0cb\x1c\x85c\n6.3.0\n", b"# a\x0cb\x1c\x85c\n"),
        ("# a\u2028b\n6.3.0".encode(), "# a\u2028b\n".encode()),
        (b"\xef\xbb\xbf# a\r\n6.3.0\r\n", b"# a\n"),
        ("\ufeff# gr\xf6\xdfe\n6.3.0\n".encode("utf-16-le"), "# gr\xf6\xdfe\n".encode()),
        (b"not a pin\n# a\n", b"# a\n"),
    ],
)
def test_every_comment_that_is_read_over_is_kept(tmp_path: Path, old: bytes, kept: bytes) -> None:
    path = tmp_path / "version"
    path.write_bytes(old)
    for version in ("6.4", "6.2"):
        pins.write(path, Spec.parse(version))
        assert path.read_bytes() == kept + f"{version}\n".encode()
        assert pins.read(str(path)) == Spec.parse(version)


def test_what_cannot_be_read_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "version"
    old = b"# notes\n" * 20_000
    path.write_bytes(old)
    with pytest.raises(PinError, match="longer than a version can be"):
        pins.write(path, Spec.parse("6.4"))
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == ["version"]
