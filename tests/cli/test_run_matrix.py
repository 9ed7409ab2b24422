"""`run-matrix`: what runs under which version, and what is said of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pexpect
import pytest

from rocmenv.store.paths import Root
from tests.builders import clean_environ, root_with
from tests.cli.runner import COMMAND, Result, run

SHOW = 'echo "$ROCMENV_VERSION $ROCM_PATH"'


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return root_with(tmp_path, "6.2.0", "6.3.0", "6.3.4", "7.0.0")


def matrix(root: Root, *words: str) -> Result:
    return run(root, "run-matrix", *words)


def rows(result: Result) -> list[tuple[str, str]]:
    """Version and result of each line of the table."""
    return [(line.split()[0], line[7:27].strip()) for line in result.out.splitlines()]


@pytest.mark.parametrize(
    ("words", "versions"),
    [
        (("6.2", "6.3"), ["6.2.0", "6.3.4"]),
        (("6.3.0", "6.3.0", "6.3"), ["6.3.0", "6.3.4"]),
        ((">=6.3",), ["6.3.0", "6.3.4", "7.0.0"]),
        (("latest", "<7"), ["7.0.0", "6.2.0", "6.3.0", "6.3.4"]),
        (("--all",), ["6.2.0", "6.3.0", "6.3.4", "7.0.0"]),
    ],
)
def test_the_command_runs_in_each_environment(
    root: Root, words: tuple[str, ...], versions: list[str]
) -> None:
    result = matrix(root, *words, "--", "sh", "-c", SHOW)
    lines = result.fine().splitlines()
    count = len(versions)
    assert lines[:count] == [f"{v} {root.versions}/{v}" for v in versions]
    assert [line.split()[:2] for line in lines[count:]] == [[v, "passed"] for v in versions]
    heads = [line for line in result.err.splitlines() if line.startswith("== ")]
    assert heads == [f"== {v}: sh -c '{SHOW}'" for v in versions]


def test_every_result_is_told_and_one_failure_counts(root: Root) -> None:
    script = """
case $ROCMENV_VERSION in 6.2.0) exit 3;; 6.3.0) kill -9 $$;; 6.3.4) kill -34 $$;; esac"""
    result = matrix(root, "-q", "--all", "--", "sh", "-c", script)
    assert result.status == 1
    assert result.err == ""
    assert rows(result) == [
        ("6.2.0", "failed (3)"),
        ("6.3.0", "ended by SIGKILL"),
        ("6.3.4", "ended by SIGRTMIN"),
        ("7.0.0", "passed"),
    ]


def test_what_a_version_lacks_is_a_result(root: Root) -> None:
    tool = root.versions / "6.3.4/bin/rocmonly"
    tool.write_text("echo script $1\n")  # without a first line, as shells take it
    tool.chmod(0o755)
    result = matrix(root, ">=6.3.4", "--", "rocmonly", "a b", "")
    assert result.status == 1
    assert result.out.splitlines()[0] == "script a b"
    assert rows(result)[1:] == [("6.3.4", "passed"), ("7.0.0", "not started")]
    assert "version 7.0.0 has no command `rocmonly`" in result.err


def test_the_first_failure_may_be_the_end(root: Root) -> None:
    result = matrix(root, "--all", "--fail-fast", "--", "sh", "-c", "[ $ROCMENV_VERSION = 6.2.0 ]")
    assert result.status == 1
    assert rows(result) == [
        ("6.2.0", "passed"),
        ("6.3.0", "failed (1)"),
        ("6.3.4", "not run"),
        ("7.0.0", "not run"),
    ]


def test_json_is_all_of_stdout(root: Root) -> None:
    result = matrix(root, "--json", "6.2", "7", "--", "sh", "-c", "echo out; exit 4", "--json")
    assert result.status == 1
    value = json.loads(result.out)
    assert value["command"] == ["sh", "-c", "echo out; exit 4", "--json"]
    assert [(r["version"], r["status"], r["problem"]) for r in value["runs"]] == [
        ("6.2.0", 4, None),
        ("7.0.0", 4, None),
    ]
    assert result.err.splitlines().count("out") == 2


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("6.2",), 2, "the command is missing"),
        (("--all",), 2, "the command is missing"),
        (("6.2", "--"), 2, "the command is missing"),
        (("--", "--", "ls"), 2, "the versions are missing"),
        (("6.2", "", "--", "ls"), 2, "an argument is empty"),
        (("6.2", "--", ""), 2, "an argument is empty"),
        (("system", "--", "ls"), 2, "not one of the installed versions"),
        (("6.2", "9", "--", "ls"), 1, "no installed version fits `9`"),
        ((">9", "--", "ls"), 1, "no installed version fits `>9`"),
        (("6..2", "--", "ls"), 2, "6..2"),
    ],
)
def test_nothing_runs_before_all_is_right(
    root: Root, words: tuple[str, ...], status: int, message: str
) -> None:
    result = matrix(root, *words)
    assert (result.status, result.out) == (status, "")
    assert message in result.err
    assert "== " not in result.err


def test_a_root_without_versions(tmp_path: Path) -> None:
    result = matrix(Root(tmp_path / "none"), "--all", "--", "ls")
    assert result.status == 2
    assert "no version is installed" in result.err


def test_an_interrupt_ends_the_whole(root: Root) -> None:
    child = pexpect.spawn(
        COMMAND[0],
        [*COMMAND[1:], "run-matrix", "--all", "--", "sh", "-c", "echo begun; sleep 60"],
        env=clean_environ(root),
        encoding="utf-8",
        timeout=20,
    )
    child.expect_exact("\nbegun")
    child.sendintr()
    child.expect(pexpect.EOF)
    child.close()
    assert "6.3.0" not in child.before
    assert child.exitstatus == 130


def test_a_signal_to_end_is_handed_on(root: Root, tmp_path: Path) -> None:
    script = f"echo $$ >{tmp_path}/pid; exec sleep 60"
    with subprocess.Popen(
        [*COMMAND, "run-matrix", "--all", "--", "sh", "-c", script], env=clean_environ(root)
    ) as child:
        pid = tmp_path / "pid"
        until = time.monotonic() + 20
        while not (pid.is_file() and pid.read_text().strip()) and time.monotonic() < until:
            time.sleep(0.02)
        child.send_signal(signal.SIGTERM)
        assert child.wait(20) == -signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
