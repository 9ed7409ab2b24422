"""The process as a value."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from rocmenv.process import Process
from tests.builders import process
from tests.cli.runner import REPOSITORY

SHOW = """
import json, sys
sys.argv = json.loads(sys.argv[1])
from rocmenv.process import Process
p = Process.current()
print(json.dumps([p.cwd, p.launcher, p.args, p.interactive, str(p.home), p.environ.get("X")]))
"""


def current(cwd: Path, argv: list[str], environ: Mapping[str, str] | None = None) -> list[object]:
    given = {"PATH": "/usr/bin:/bin", "HOME": "/h", "PYTHONPATH": REPOSITORY, **(environ or {})}
    done = subprocess.run(
        [sys.executable, "-c", SHOW, json.dumps(argv)],
        env=given,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )
    found: list[object] = json.loads(done.stdout)
    return found


def test_the_folder_is_as_the_shell_names_it(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    link = tmp_path / "link"
    link.symlink_to("real")
    assert current(real, ["x"], {"PWD": str(link)})[0] == str(link)
    assert current(real, ["x"], {"PWD": str(tmp_path)})[0] == str(real), "PWD of another folder"
    assert current(real, ["x"], {"PWD": "/nowhere"})[0] == str(real)
    assert current(real, ["x"], {"PWD": "."})[0] == str(real)
    assert current(real, ["x"])[0] == str(real)


def test_a_folder_that_is_gone_is_the_top(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = 'cd "$1" && rmdir "$1" && exec "$2" -m rocmenv version'
    done = subprocess.run(
        ["sh", "-c", script, "sh", str(gone), sys.executable],
        env={
            "PATH": "/usr/bin:/bin",
            "ROCM_ROOT": str(tmp_path / "root"),
            "PYTHONPATH": REPOSITORY,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("system (nothing selects a version)\n", "")


def test_arguments_environment_and_home(tmp_path: Path) -> None:
    found = current(tmp_path, ["rocmenv", "a", "b c"], {"X": "y"})
    assert found[2:] == [["a", "b c"], False, "/h", "y"]


def test_the_program_starts_itself_again(tmp_path: Path) -> None:
    program = tmp_path / "rocmenv"
    program.write_text("#!/bin/sh\n")
    module = current(tmp_path, [str(program)])[1]
    assert isinstance(module, list)
    program.chmod(0o755)
    assert current(tmp_path, [str(program)])[1] == [str(program)]
    assert current(tmp_path, ["./rocmenv"])[1] == [str(program)]
    if len(module) > 1:  # no program beside this Python
        assert module[0] == sys.executable
        assert module[-2:] == ["-m", "rocmenv"]


def test_an_empty_variable_is_as_if_unset() -> None:
    given = process(Path("/r"), {"A": "", "B": "x"})
    assert (given.get("A"), given.get("B"), given.get("C")) == (None, "x", None)


def test_becoming_another_program_flushes_first(tmp_path: Path) -> None:
    script = (
        "import os; from rocmenv.process import Process; print('first');"
        "Process.current().replace('/bin/sh', ['-c', 'echo second $X'], {'X': 'y'})"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, cwd=REPOSITORY
    )
    assert done.stdout == b"first\nsecond y\n"


def test_a_program_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        process(tmp_path).replace(str(tmp_path / "x"), [], {})


def test_nothing_else_looks_at_the_environment() -> None:
    here = Process.current()
    assert here.environ == dict(os.environ)
    assert here.environ is not os.environ
