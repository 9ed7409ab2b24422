"""Exit statuses, and what goes to which stream."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rocmenv import __version__
from rocmenv.cli.command_names import COMMANDS
from rocmenv.store.paths import Root
from tests.builders import clean_environ
from tests.cli.runner import COMMAND, REPOSITORY, Result, Runner, run, run_and_stop, run_command


def test_help_comes_without_arguments_and_names_every_command(rocmenv: Runner) -> None:
    text = rocmenv().fine()
    assert text.startswith("Usage: rocmenv")
    shown = [name for name in COMMANDS if name != "resolve"]
    assert all(f"\n  {name} " in text for name in shown)
    assert "resolve" not in text
    assert rocmenv("--help").fine().rstrip() == text.rstrip()


def test_a_group_alone_is_a_usage_error(rocmenv: Runner) -> None:
    result = rocmenv("config")
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith("Usage: rocmenv config")
    assert rocmenv("--root", "/x").refused(2) == "missing command"


# What click 8.0, of Ubuntu 22.04, has not.
_OLD_CLICK = """
import sys, click
def none(*_): raise TypeError("not subscriptable")
click.ParamType.__class_getitem__ = classmethod(none)
vars(click.exceptions).pop("NoArgsIsHelpError", None)
sys.argv[0] = "rocmenv"
from rocmenv.__main__ import main
sys.exit(main())
"""


def test_an_old_click_will_do(root: Root) -> None:
    def call(*words: str) -> Result:
        command = [sys.executable, "-c", _OLD_CLICK, *words]
        return run_command(command, clean_environ(root, PYTHONPATH=REPOSITORY), "/")

    assert call().fine().startswith("Usage: rocmenv")
    assert call("config").err.startswith("Usage: rocmenv config")
    assert call("nosuch").refused(2) == "`nosuch` is not a command of rocmenv"
    assert "export ROCM_PATH" in call("env", "6.3", "--shell", "bash").fine()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(rocmenv: Runner, name: str) -> None:
    assert rocmenv(name, "--help").fine().startswith(f"Usage: rocmenv {name}")


def test_the_version_of_the_program(rocmenv: Runner) -> None:
    assert rocmenv("--version").fine() == f"rocmenv {__version__}\n"


@pytest.mark.parametrize(
    ("words", "status", "message", "hint"),
    [
        (("instal",), 2, "`instal` is not a command of rocmenv", "did you mean `rocmenv install`?"),
        (("xyzzy",), 2, "`xyzzy` is not a command of rocmenv", "`rocmenv --help` lists them"),
        (("which",), 2, "missing argument 'COMMAND'", "see `rocmenv which --help`"),
        (("root", "--no"), 2, "no such option", "see `rocmenv root --help`"),
        (("prefix", "6.3.O"), 2, "`6.3.O` is not a version", "a version is written like"),
        (("prefix", "6.3.1"), 1, "version `6.3.1` is not installed", "did you mean `6.4.1`? or"),
        (("prefix", "7"), 1, "no installed version fits `7`", "run `rocmenv install 7`"),
        (("which", "hipc"), 127, "version 6.4.1 has no command `hipc`", "did you mean `hipcc`?"),
        (("env", "--shell", "fihs"), 2, "`fihs`", "did you mean `fish`?"),
        (("config", "get", "jbos"), 1, "`jbos` is not a setting", "did you mean `jobs`?"),
        (("install",), 2, "a version is missing", "`rocmenv install latest`"),
    ],
)
def test_a_refusal_has_a_status_a_line_and_a_hint(
    rocmenv: Runner, words: tuple[str, ...], status: int, message: str, hint: str
) -> None:
    result = rocmenv(*words, ROCMENV_VERSION="6.4.1")
    assert message in result.refused(status)
    assert hint in result.hint


def test_json_errors_are_an_object_on_stdout(rocmenv: Runner) -> None:
    result = rocmenv("version", "--json", ROCMENV_VERSION="9.9.9")
    assert result.status == 1
    value = json.loads(result.out)
    assert value["schema"] == 1
    error = value["error"]
    assert error["code"] == "not-installed"
    assert error["message"] == result.message
    assert error["hint"] == result.hint


def test_the_json_of_a_command_that_is_run_is_its_own(rocmenv: Runner) -> None:
    for words in (
        ("exec", "no-such"),
        ("+6.3", "exec", "no-such"),
        ("exec", "-V", "6.3", "no-such"),
        ("+6.3", "no-such"),
        ("+6.3", "--root", str(rocmenv.root.path), "no-such"),
    ):
        result = rocmenv(*words, "--json", "--one-line")
        assert "no command `no-such`" in result.refused(127)


def test_the_json_of_a_program_after_a_version_that_is_absent_is_its_own(rocmenv: Runner) -> None:
    assert "no installed version fits `9.9`" in rocmenv("+9.9", "hipcc", "--json").refused()
    assert json.loads(rocmenv("+9.9", "prefix", "--json").out)["error"]["code"] == "usage"


@pytest.mark.parametrize(
    "words",
    [
        ("env", "", "--shell", "bash"),
        ("+6.3", "env", "", "--shell", "bash"),
        ("+6.3", "install", "6.3", "--from", ""),
        ("--root", "ROOT", "prefix", ""),
        ("--root", "", "versions"),
        ("+6.3", "--root", "", "hipcc"),
        ("exec", "-V", "", "hipcc"),
        ("+6.3", "exec", "--version", "", "hipcc"),
        ("",),
        ("", "6.3"),
    ],
)
def test_an_empty_argument_is_never_taken_for_none(root: Root, words: tuple[str, ...]) -> None:
    placed = (str(root.path) if word == "ROOT" else word for word in words)
    assert run(root, *placed).refused(2) == "an argument is empty"


def test_one_line_puts_the_hint_behind_the_message(rocmenv: Runner) -> None:
    result = rocmenv("resolve", "--one-line", "9.9")
    assert result.err.count("\n") == 1
    assert "; " in result.refused()


def test_an_unforeseen_error_is_one_line_and_its_trace_on_request(
    rocmenv: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> str:
        msg = "the moon"
        raise ZeroDivisionError(msg)

    monkeypatch.setattr("rocmenv.store.registry.load", broken)
    result = rocmenv("versions")
    assert result.refused() == "something that should not happen: ZeroDivisionError: the moon"
    assert "ROCMENV_TRACEBACK=1" in result.hint
    traced = rocmenv("versions", ROCMENV_TRACEBACK="1")
    assert (traced.status, traced.out) == (1, "")
    assert traced.err.startswith("Traceback (most recent call last)")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (PermissionError(13, "Permission denied", "/a/b"), "/a/b: Permission denied"),
        (OSError(28, "No space left on device", "/a"), "there is no space left (/a)"),
    ],
)
def test_an_error_of_the_system_names_the_file(
    rocmenv: Runner, monkeypatch: pytest.MonkeyPatch, error: OSError, message: str
) -> None:
    def broken(*_: object) -> str:
        raise error

    monkeypatch.setattr("rocmenv.store.registry.load", broken)
    assert rocmenv("versions").refused() == message


def test_an_interrupt_is_130_and_one_line(rocmenv: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("rocmenv.store.registry.load", broken)
    result = rocmenv("versions")
    assert (result.status, result.out) == (130, "")
    assert result.err.lstrip() == "rocmenv: interrupted\n"  # on a fresh line, after `^C`


def test_an_interrupt_before_anything_is_known_is_the_same(root: Root) -> None:
    result = run_and_stop(root, "rocmenv.process:Process.current", signal.SIGINT, "versions")
    assert (result.status, result.out, result.err) == (130, "", "rocmenv: interrupted\n")
    loaded = "import sys, rocmenv.__main__; print(*(m for m in sys.modules if 'rocmenv' in m))"
    environ = clean_environ(root, PYTHONPATH=REPOSITORY)
    assert run_command([sys.executable, "-c", loaded], environ, "/").fine() == (
        "rocmenv rocmenv.__main__\n"
    ), "what is loaded before `main` cannot be interrupted with a word"


@pytest.mark.parametrize(
    ("line", "status", "message"),
    [
        ("ROCMENV versions >/dev/full", 1, "rocmenv: there is no space left\n"),
        ("ROCMENV version >/dev/full", 1, "rocmenv: there is no space left\n"),
        ("ROCMENV nosuch 2>&1 | true; exit ${PIPESTATUS[0]}", 2, ""),
        ("ROCMENV nosuch 2>/dev/full", 2, ""),
        ("ROCMENV config 2>/dev/full", 2, ""),
        ("ROCMENV env --undo --shell sh 2>/dev/full", 0, ""),
        ("ROCMENV rehash 2>&1 >/dev/full | true; exit ${PIPESTATUS[0]}", 0, ""),
        ("ROCMENV version --json +9 >/dev/full", 2, "rocmenv: got unexpected"),
        ("ROCMENV version >&-", 0, ""),
        ("ROCMENV versions >&-", 0, ""),
        ("ROCMENV prefix 9 2>&-", 1, ""),
        ("ROCMENV init bash | head -c0", 0, ""),
        ("ROCMENV init bash | true; exit ${PIPESTATUS[0]}", 1, ""),
    ],
)
def test_a_closed_or_full_stream_is_no_traceback(
    root: Root, line: str, status: int, message: str
) -> None:
    done = subprocess.run(
        ["bash", "-c", line.replace("ROCMENV", shlex.join(COMMAND))],
        env=clean_environ(root),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stderr.startswith(message) if message else done.stderr == ""
    assert "hint" in done.stderr or done.stderr.count("\n") <= 1
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    assert done.returncode == status


def test_bytes_that_are_not_utf8_go_through(tmp_path: Path, root: Root) -> None:
    folder = tmp_path / os.fsdecode(b"fold\xff er")
    root.path.rename(folder)
    moved = Root(folder)
    assert run(moved, "root").fine() == f"{folder}\n"
    assert run(moved, "prefix", "6.3").fine() == f"{folder}/versions/6.3.0\n"
    assert str(folder / "versions/9") not in run(moved, "versions").fine()
    project = tmp_path / os.fsdecode(b"d\xffx")
    project.mkdir()
    (project / ".rocm-version").write_text("6.3\n")
    for words in (("version",), ("--root", str(folder), "version")):
        shown = run(moved, *words, cwd=project, PYTHONIOENCODING="utf-8:strict").fine()
        assert shown == f"6.3.0 (set by {project}/.rocm-version)\n"
    assert run(moved, "rehash").fine() == ""
    assert run(moved, "uninstall", "6.3.0").status == 0
