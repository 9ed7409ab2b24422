"""What running processes use: real ones."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rocmenv.probe.running import users_of
from tests.cli.runner import REPOSITORY
from tests.tools import tool


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("6.3.0", "6.3.0+b", "a b"):
        (tmp_path / name / "bin").mkdir(parents=True)
    return tmp_path


@contextmanager
def running(*words: str, **environ: str) -> Iterator[str]:
    """A process that has begun its program; its number."""
    given = {"PATH": "/usr/bin:/bin", **environ}
    with subprocess.Popen(words, env=given) as child:
        # Until exec the child is a copy of this process.
        while os.readlink(f"/proc/{child.pid}/exe") == os.path.realpath(sys.executable) and (
            words[0] != sys.executable
        ):
            time.sleep(0.01)
        yield str(child.pid)
        child.kill()


@pytest.mark.parametrize("name", ["6.3.0", "6.3.0+b", "a b"])
def test_a_program_that_runs(folder: Path, name: str) -> None:
    program = shutil.copy(tool("sleep"), folder / name / "bin/sleep")
    with running(str(program), "60") as pid:
        assert users_of(str(folder)) == {name: f"sleep (pid {pid})"}
    assert users_of(str(folder)) == {}


def test_a_library_that_is_loaded(folder: Path) -> None:
    library = folder / "a b/lib.so"
    library.write_bytes(b"x" * 4096)
    code = (
        "import mmap, sys, time; f = open(sys.argv[1], 'rb')\n"
        "m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ); open(sys.argv[2], 'w'); time.sleep(60)"
    )
    with running(sys.executable, "-c", code, str(library), str(folder / "ready")) as pid:
        while not (folder / "ready").exists():
            time.sleep(0.01)
        (user,) = users_of(str(folder)).values()
        assert user.endswith(f"(pid {pid})")


@pytest.mark.parametrize("below", ["", "/env/lib/root"])
def test_an_activation_that_others_inherit(folder: Path, below: str) -> None:
    with running("sleep", "60", ROCM_PATH=f"{folder}/6.3.0{below}") as pid:
        assert users_of(str(folder)) == {"6.3.0": f"sleep (pid {pid})"}


def test_what_only_looks_like_one(folder: Path) -> None:
    environ = {"MY_ROCM_PATH": f"{folder}/6.3.0", "OLDPWD": f"{folder}/6.3.0/bin"}
    with running("sleep", "60", ROCM_PATH=str(folder), **environ):
        assert users_of(str(folder)) == {}


def test_a_folder_behind_a_link(folder: Path, tmp_path: Path) -> None:
    program = shutil.copy(tool("sleep"), folder / "6.3.0/bin/sleep")
    link = tmp_path / "link"
    link.symlink_to(folder)
    with running(str(program), "60"):
        assert list(users_of(str(link))) == ["6.3.0"]


def test_those_that_started_us_may_have_changed_their_variables(folder: Path) -> None:
    code = f"from rocmenv.probe.running import users_of; print(users_of({str(folder)!r}))"
    words = ["/bin/sh", "-c", '"$0" -c "$1"; :', sys.executable, code]
    environ = {**os.environ, "ROCM_PATH": f"{folder}/6.3.0"}
    done = subprocess.run(words, env=environ, cwd=REPOSITORY, capture_output=True, check=True)
    assert done.stdout == b"{}\n"


def test_without_proc_nothing_is_known(tmp_path: Path) -> None:
    assert users_of("/x", tmp_path / "proc") == {}
