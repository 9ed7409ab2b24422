"""`shell-spawn`: a shell with its own start files, and the version that was asked for."""

from __future__ import annotations

import shlex
from pathlib import Path

import pexpect
import pytest

from rocmenv.store.paths import Root
from tests.builders import clean_environ, root_with
from tests.cli.runner import COMMAND, run
from tests.shells.harness import find

FILES = {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/config.fish"}
SHOW = 'printf \'got=%s|%s|%s|\\n\' "$ROCM_PATH" "$ROCMENV_VERSION" "$MINE"'


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return root_with(tmp_path, "6.3.0", "6.3.4", "7.0.0")


def home_of(tmp_path: Path, name: str, *, with_set_up: bool) -> Path:
    """A home with a start file that sets a variable, and rocmenv up or not."""
    home = tmp_path / "my home"
    file = home / FILES[name]
    file.parent.mkdir(parents=True)
    line = f"{shlex.join(COMMAND)} init {name}"
    set_up = f"{line} | source" if name == "fish" else f'eval "$({line})"'
    mine = "set -gx MINE own" if name == "fish" else "MINE=own"
    file.write_text(f"{mine}\n{set_up if with_set_up else ''}\n")
    return home


@pytest.mark.parametrize("with_set_up", [True, False])
@pytest.mark.parametrize("name", list(FILES))
def test_the_shell_stays_with_its_version(
    root: Root, tmp_path: Path, name: str, *, with_set_up: bool
) -> None:
    home = home_of(tmp_path, name, with_set_up=with_set_up)
    project = tmp_path / "project"
    project.mkdir()
    (project / ".rocm-version").write_text("7.0.0\n")
    environ = clean_environ(root, HOME=str(home), TERM="dumb", PS1="> ", ZDOTDIR=str(home))
    child = pexpect.spawn(
        COMMAND[0],
        [*COMMAND[1:], "shell-spawn", "--shell", find(name).program, "6.3"],
        env=environ,
        cwd=str(project),
        encoding="utf-8",
        timeout=20,
    )
    child.delaybeforesend = None
    child.expect_exact(f"{name} with 6.3.4; `exit` ends it")
    for folder in (".", "/"):
        child.sendline(f"cd {folder}; {SHOW}")
        child.expect_exact(f"got={root.versions}/6.3.4|6.3.4|own|")
    child.sendline("exit 5")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 5


def test_it_leaves_what_was_active_behind(root: Root) -> None:
    before = run(root, "env", "7.0.0", "--shell", "sh").fine()
    line = shlex.join([*COMMAND, "shell-spawn", "-q", "--shell", "sh", "6.3.0"])
    script = f"{before}\necho 'echo $PATH; echo $ROCM_PATH' | {line}\necho $ROCM_PATH"
    shell = find("dash")
    ran = shell.run(script, clean_environ(root), root.path)
    path, inner, outer = ran.out.splitlines()
    assert inner == f"{root.versions}/6.3.0"
    assert outer == f"{root.versions}/7.0.0"
    assert "7.0.0" not in path


@pytest.mark.parametrize(
    ("words", "inside"),
    [((), "7.0.0"), (("system",), "system"), (("6.3",), "6.3.4")],
)
def test_what_is_selected_here_is_taken(
    root: Root, tmp_path: Path, words: tuple[str, ...], inside: str
) -> None:
    (tmp_path / ".rocm-version").write_text("7\n")
    program = tmp_path / "my shell"
    program.write_text("#!/bin/sh\necho $ROCMENV_VERSION\n")
    program.chmod(0o755)
    result = run(root, "shell-spawn", *words, cwd=tmp_path, SHELL=str(program))
    given = run(root, "shell-spawn", *words, "--shell", str(program), cwd=tmp_path)
    assert given.fine() == f"{inside}\n"
    assert result.err.endswith(f"with {inside}; `exit` ends it\n")


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("9",), 1, "no installed version fits `9`"),
        (("6.3", "--shell", "not-there"), 127, "has no command `not-there`"),
        (("6.3", "--shell", ""), 2, "an argument is empty"),
        (("6..3",), 2, "6..3"),
    ],
)
def test_what_cannot_begin_is_refused(
    root: Root, words: tuple[str, ...], status: int, message: str
) -> None:
    result = run(root, "shell-spawn", *words)
    assert (result.status, result.out) == (status, "")
    assert message in result.err
