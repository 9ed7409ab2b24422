"""Settings are changed whole, one change after the other."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from rocmenv.store.paths import Root
from tests.builders import clean_environ, root_with
from tests.cli.runner import COMMAND, REPOSITORY, Runner


def test_a_mirror_that_is_no_address_is_not_set(rocmenv: Runner, root: Root) -> None:
    message = rocmenv("config", "set", "legacy.mirror", "ftp://x").refused()
    assert message == "`ftp://x` is not the address of a mirror"
    assert not root.config.exists()
    rocmenv("config", "set", "legacy.mirror", "https://mirror.example.org/rocm").fine()


def test_only_targets_are_set_as_targets(rocmenv: Runner, root: Root) -> None:
    result = rocmenv("config", "set", "targets", "gfx1100,gfx9010")
    assert result.refused(2) == "`gfx9010` is not a GPU target"
    assert result.hint == "did you mean `gfx90a`?"
    assert rocmenv("config", "set", "targets", "all,gfx1100").refused(2)
    assert not root.config.exists()
    rocmenv("config", "set", "targets", "gfx110X-all:gfx90a:xnack-").fine()
    assert root.config.read_text() == 'targets = ["gfx110X-all", "gfx90a:xnack-"]\n'
    assert rocmenv("config", "get", "targets").fine() == "gfx110X-all,gfx90a:xnack-\n"


def test_what_is_no_text_is_refused_and_leaves_nothing(rocmenv: Runner, root: Root) -> None:
    before = sorted(os.listdir(root.path))
    message = rocmenv("config", "set", "legacy.keyring", os.fsdecode(b"/k/\xff")).refused()
    assert message == f"`/k/\\udcff` cannot be written into {root.config}: it is not UTF-8"
    assert sorted(os.listdir(root.path)) == before


@pytest.mark.parametrize(
    ("name", "words"),
    [("config.toml", ("config", "set", "jobs", "2")), ("version", ("global", "6.3.0"))],
)
def test_a_folder_in_place_of_the_file_is_called_one(
    rocmenv: Runner, root: Root, name: str, words: tuple[str, ...]
) -> None:
    place = root.path / name
    place.mkdir()
    result = rocmenv(*words)
    assert result.refused() == f"{place} is a folder"
    assert result.hint == f"move it away: `mv {place} {place}.old`"
    assert os.listdir(place) == []


def test_the_editor_gets_the_whole_path(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    root = root_with(tmp_path / "a b")
    for text in ("jobs = ", "legacy = 1"):
        root.config.write_text(text)
        hint = Runner(capfd, root, tmp_path)("config", "set", "legacy.mirror", "http://m").hint
        assert hint.endswith(f"`${{EDITOR:-vi}} '{root.config}'`")


# Sets `jobs`, and waits with the new text at hand until the file GO is there.
LATE = """
import os, sys, time
from rocmenv.ops import configure
replace = configure.replace_file
def late(path, content):
    print("reached", flush=True)
    while not os.path.exists(os.environ["GO"]):
        time.sleep(0.01)
    replace(path, content)
configure.replace_file = late
from rocmenv.__main__ import main
sys.argv = ["rocmenv", "config", "set", "jobs", "3"]
sys.exit(main())
"""


def test_of_two_changes_at_once_none_is_lost(root: Root, tmp_path: Path) -> None:
    go = tmp_path / "go"
    environ = clean_environ(root, GO=str(go))
    with subprocess.Popen(
        [sys.executable, "-c", LATE], env=environ, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "reached\n"
        words = [*COMMAND, "config", "set", "channel", "distro"]
        with subprocess.Popen(words, env=environ, stderr=subprocess.DEVNULL) as second:
            with suppress(subprocess.TimeoutExpired):
                second.wait(1.5)  # long enough for one that does not wait for the first
            go.touch()
    assert (first.returncode, second.returncode) == (0, 0)
    assert root.config.read_text() == 'jobs = 3\nchannel = "distro"\n'
