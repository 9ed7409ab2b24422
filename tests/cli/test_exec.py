"""`exec`: the child gets arguments, status and signals as they are."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rocmenv.store.paths import Root
from tests.builders import clean_environ
from tests.cli.runner import COMMAND, Result, Runner, run, run_command

ECHO = f"""#!{sys.executable}
import json, os, sys
print(json.dumps([[list(os.fsencode(a)) for a in sys.argv[1:]], os.getpid(), dict(os.environ)]))
sys.exit(int(os.environ.get("STATUS", "0")))
"""
HOSTILE = ["", "a b", "'\"", "$HOME", "*", "-x", "--", "--help", "+6.4", "a\nb", "\\", "\udcff"]


@pytest.fixture
def echo(root: Root) -> Root:
    """The root, with a tool in both versions that tells what it was started with."""
    for version in ("6.3.0", "6.4.1"):
        (root.versions / version / "bin/hipcc").write_text(ECHO)
    return root


def heard(result: Result) -> tuple[list[bytes], int, dict[str, str]]:
    arguments, pid, environ = json.loads(result.fine())
    return [bytes(a) for a in arguments], pid, environ


@pytest.mark.parametrize(
    "words",
    [
        ("+6.3", "exec", "hipcc"),
        ("+6.3", "exec", "--", "hipcc"),
        ("exec", "-V", "6.3", "hipcc"),
        ("exec", "--version", "6.3", "--", "hipcc"),
        ("+6.4", "exec", "-V", "6.3", "hipcc"),
        ("--root", "ROOT", "exec", "-V", "6.3", "hipcc"),
        ("--root", "ROOT", "exec", "--version=6.3", "hipcc"),
        ("+6.3", "hipcc"),
        ("+6.3", "--root", "ROOT", "hipcc"),
    ],
)
def test_arguments_arrive_to_the_byte(echo: Root, words: tuple[str, ...]) -> None:
    placed = (str(echo.path) if word == "ROOT" else word for word in words)
    arguments, _, environ = heard(run(echo, *placed, *HOSTILE))
    assert arguments == [os.fsencode(word) for word in HOSTILE]
    assert environ["ROCMENV_VERSION"] == "6.3.0"
    assert environ["ROCM_PATH"] == f"{echo.versions}/6.3.0"


def test_a_path_that_cannot_be_started_is_named_as_that(echo: Root, tmp_path: Path) -> None:
    folder = tmp_path / "a b"
    folder.mkdir()
    (folder / "text").write_text("x")
    absent = run(echo, "+6.3", "exec", "./nosuch", cwd=folder)
    assert absent.refused(127) == "`./nosuch` is not there"
    assert absent.hint == f"run `ls '{folder}/.'`"
    text = run(echo, "+6.3", "exec", "a b/text", cwd=tmp_path)
    assert text.refused(127) == "`a b/text` may not be started"
    assert text.hint == "run `chmod +x 'a b/text'`"
    assert run(echo, "+6.3", "exec", "./a b", cwd=tmp_path).refused(127) == "`./a b` is a folder"


def test_any_word_after_a_version_is_a_program_to_run(echo: Root) -> None:
    words, _, environ = heard(run(echo, "+6.3.0", "hipcc", "--help", "x y"))
    assert words == [b"--help", b"x y"]
    assert environ["ROCMENV_VERSION"] == "6.3.0"
    assert "has no command `nosuch`" in run(echo, "+6.3.0", "nosuch").refused(127)


def test_the_status_is_the_childs(echo: Root) -> None:
    assert run(echo, "+6.3", "exec", "hipcc", STATUS="42").status == 42


def test_a_command_of_the_machine_has_the_versions_environment(echo: Root) -> None:
    out = run(echo, "+6.3", "exec", "env").fine().splitlines()
    assert f"ROCM_PATH={echo.versions}/6.3.0" in out
    path = next(line for line in out if line.startswith("PATH="))
    assert path.startswith(f"PATH={echo.versions}/6.3.0/bin:")


def test_the_system_is_left_as_it_was(echo: Root) -> None:
    out = run(echo, "exec", "env").fine().splitlines()
    assert "ROCM_PATH" not in "".join(out)
    assert "PATH=/usr/bin:/bin" in out


@pytest.mark.parametrize("words", [("exec", "cat"), ("+6.3", "exec", "cat")])
def test_without_a_path_the_current_folder_is_not_searched(
    echo: Root, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "cat").write_text("#!/bin/sh\necho mine\n")
    (tmp_path / "cat").chmod(0o755)
    (tmp_path / "text").write_text("the system's\n")
    assert run(echo, *words, "text", cwd=tmp_path, before=("env", "-u", "PATH")).fine() == (
        "the system's\n"
    )


def test_a_program_finds_the_machines_others_where_no_path_was_given(echo: Root) -> None:
    """An interpreter of `#!/usr/bin/env perl`, say."""
    _, _, environ = heard(run(echo, "+6.3", "exec", "hipcc", before=("env", "-u", "PATH")))
    assert environ["PATH"].startswith(f"{echo.versions}/6.3.0/bin:")
    assert environ["PATH"].endswith(f":{os.defpath}")


def test_a_program_by_path_is_run(echo: Root, tmp_path: Path) -> None:
    program = tmp_path / "tool"
    program.write_text(ECHO)
    program.chmod(0o755)
    _, _, environ = heard(run(echo, "+6.3", "exec", "./tool", cwd=tmp_path))
    assert environ["ROCMENV_VERSION"] == "6.3.0"
    run(echo, "+6.3", "exec", "./nothing", cwd=tmp_path).refused(127)


def test_exec_becomes_the_program_and_gets_its_signals(root: Root) -> None:
    program = root.versions / "6.3.0/bin/hipcc"
    program.write_text(
        "#!/bin/sh\ntrap 'echo caught; exit 7' TERM\necho $$\nwhile :; do sleep 0.05; done\n"
    )
    with subprocess.Popen(
        [*COMMAND, "+6.3", "exec", "hipcc"],
        env=clean_environ(root),
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert int(child.stdout.readline()) == child.pid
        child.send_signal(signal.SIGTERM)
        assert child.stdout.read() == "caught\n"
        assert child.wait(20) == 7


def test_a_text_without_a_first_line_is_a_script_of_the_shell(root: Root) -> None:
    program = root.versions / "6.3.0/bin/hipcc"
    program.write_text('echo "$0" "$@"\nexit 5\n')
    for result in (
        run(root, "+6.3", "exec", "hipcc", "a b", "-x"),
        run_command([str(root.shims / "hipcc"), "+6.3", "a b", "-x"], clean_environ(root), "/"),
    ):
        assert (result.status, result.out) == (5, f"{program} a b -x\n")
    program.write_bytes(b"\x7fELF\x02\x01\x01\0not of this machine")
    message = run(root, "+6.3", "exec", "hipcc").refused(127)
    assert message == f"{program} cannot be started (Exec format error)"


def test_a_program_that_cannot_start_is_named(rocmenv: Runner, root: Root) -> None:
    program = root.versions / "6.3.0/bin/hipcc"
    program.write_text("#!/nowhere/at/all\n")
    result = run(root, "+6.3", "exec", "hipcc")
    assert f"{program} cannot be started" in result.refused(127)
    program.chmod(0o644)
    run(root, "+6.3", "exec", "hipcc").refused(127)


def test_a_shim_runs_the_pinned_version(echo: Root, project: Path) -> None:
    (project / ".rocm-version").write_text("6.4\n")
    shim = [str(echo.shims / "hipcc"), *HOSTILE]
    arguments, _, environ = heard(run_command(shim, clean_environ(echo), project))
    assert arguments == [os.fsencode(word) for word in HOSTILE]
    assert environ["ROCM_PATH"] == f"{echo.versions}/6.4.1"
    assert "ROCMENV_SHIM_ROOT" not in environ
    assert "ROCMENV_DIFF" not in environ


def test_an_active_shell_is_left_before_the_version_is_entered(echo: Root) -> None:
    texts = json.loads(run(echo, "env", "6.3", "--json").fine())["variables"]
    active = {name: text for name, text in texts.items() if text is not None}
    _, _, environ = heard(run(echo, "+6.4", "exec", "hipcc", **active))
    assert "6.3.0" not in environ["PATH"]
    assert environ["ROCM_PATH"] == f"{echo.versions}/6.4.1"


def test_a_tool_that_calls_itself_without_end_is_stopped(echo: Root) -> None:
    result = run(
        echo, "+6.3", "exec", "--shim", "hipcc", "--", ROCMENV_SHIMS=":6.3.0/hipcc::6.3.0/hipcc:"
    )
    assert "again, without end" in result.refused(127)
