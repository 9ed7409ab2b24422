"""`init --install`: what becomes of start files, and that real shells read them."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pexpect
import pytest

from rocmenv.store.paths import Root
from tests.builders import clean_environ, root_with
from tests.cli.runner import Result, run
from tests.shells.harness import find

FILES = {
    "bash": ".bashrc",
    "zsh": ".zshrc",
    "fish": ".config/fish/config.fish",
    "ksh": ".kshrc",
    "mksh": ".mkshrc",
    "dash": "my env",
}
BLOCK = b"# >>> rocmenv >>>\nline\n# <<< rocmenv <<<\n"


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return root_with(tmp_path, "6.3.0", "7.0.0")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "my home"  # ksh93 reads nothing where HOME has a quote in it
    folder.mkdir()
    return folder


def init(root: Root, home: Path, *words: str, **environ: str) -> Result:
    return run(root, "init", *words, HOME=str(home), **environ)  # type: ignore[arg-type] # all texts


@pytest.mark.parametrize("name", list(FILES))
def test_a_real_shell_is_set_up_by_it(root: Root, home: Path, tmp_path: Path, name: str) -> None:
    environ = {"ENV": str(home / FILES[name])} if name == "dash" else {}
    shell = find(name)
    result = init(root, home, name, "--install", **environ)
    assert f"{home / FILES[name]} sets rocmenv up from now on" in result.err
    assert result.out == ""
    (tmp_path / ".rocm-version").write_text("6.3.0\n")
    child = pexpect.spawn(
        shell.program,
        ["-i"],
        env=clean_environ(root, HOME=str(home), TERM="dumb", PS1="> ", **environ),
        cwd=str(tmp_path),
        encoding="utf-8",
        timeout=20,
    )
    child.delaybeforesend = None
    child.sendline("echo got=$ROCM_PATH.")
    child.expect_exact(f"got={root.versions}/6.3.0.")
    child.sendline("rocmenv use 7.0.0; echo now=$ROCM_PATH.")
    child.expect_exact(f"now={root.versions}/7.0.0.")
    child.close(force=True)


@pytest.mark.parametrize(
    "before", [b"", b"alias x=y\n", b"alias x=y", b"a\r\nb\r\n", b"\xff\n", b"\n\n"]
)
def test_it_is_put_in_once_and_taken_out_again(root: Root, home: Path, before: bytes) -> None:
    file = home / ".bashrc"
    file.write_bytes(before)
    file.chmod(0o600)
    init(root, home, "bash", "--install").fine()
    once = file.read_bytes()
    assert once.startswith(before)
    assert "already" in init(root, home, "bash", "--install").err
    assert file.read_bytes() == once
    assert file.stat().st_mode & 0o777 == 0o600
    init(root, home, "bash", "--uninstall").fine()
    assert file.read_bytes() in (before, before + b"\n")
    assert "has no block" in init(root, home, "bash", "--uninstall").err


def test_what_stands_around_it_stays(root: Root, home: Path) -> None:
    file = home / ".zshrc"
    file.write_bytes(b"one\n" + BLOCK + b"two\n")
    init(root, home, "zsh", "--install").fine()
    lines = file.read_text().splitlines()
    assert (lines[0], lines[-1]) == ("one", "two")
    assert "line" not in lines
    init(root, home, "zsh", "--uninstall").fine()
    assert file.read_bytes() == b"one\ntwo\n"


@pytest.mark.parametrize(
    "line",
    ['eval "$(rocmenv init bash)"', "  source <('/opt/a b/rocmenv' --root /r init bash)"],
)
def test_a_line_of_ones_own_is_enough(root: Root, home: Path, line: str) -> None:
    file = home / ".bashrc"
    file.write_text(f"# rocmenv init\n{line}\n")
    result = init(root, home, "bash", "--install")
    assert "sets rocmenv up in line 2: nothing was changed" in result.err
    assert "note: its line 2 sets rocmenv up" in init(root, home, "bash", "--uninstall").err
    assert file.read_text() == f"# rocmenv init\n{line}\n"


@pytest.mark.parametrize("broken", [BLOCK[:20], BLOCK[-18:], BLOCK * 2, BLOCK[-18:] + BLOCK[:18]])
def test_half_a_block_is_left_to_people(root: Root, home: Path, broken: bytes) -> None:
    file = home / ".bashrc"
    file.write_bytes(broken)
    for option in ("--install", "--uninstall"):
        assert "half of a block" in init(root, home, "bash", option).refused()
    assert file.read_bytes() == broken


def test_a_link_stays_one(root: Root, home: Path, tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles"
    kept.write_text("mine\n")
    (home / ".bashrc").symlink_to(kept)
    init(root, home, "bash", "--install").fine()
    assert (home / ".bashrc").is_symlink()
    assert kept.read_text().startswith("mine\n# >>> rocmenv")


def test_where_files_lie_elsewhere(root: Root, home: Path, tmp_path: Path) -> None:
    other = tmp_path / "else where"
    init(root, home, "zsh", "--install", ZDOTDIR=str(other)).fine()
    init(root, home, "fish", "--install", XDG_CONFIG_HOME=str(other)).fine()
    init(root, home, "ksh", "--install", ENV="~/env file").fine()
    found = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()}
    assert {"else where/.zshrc", "else where/fish/config.fish", "my home/env file"} <= found


def test_the_root_that_was_named_is_kept(root: Root, home: Path) -> None:
    run(root, "--root", str(root.path), "init", "bash", "--install", HOME=str(home)).fine()
    assert f"--root {shlex.quote(str(root.path))} init bash" in (home / ".bashrc").read_text()


@pytest.mark.parametrize(
    ("words", "environ", "status", "message"),
    [
        (("sh", "--install"), {}, 2, "ENV is not set"),
        (("dash", "--install"), {"ENV": "$HOME/.shrc"}, 2, "no absolute path"),
        (("bash", "--install", "--uninstall"), {}, 2, "exclude each other"),
        (("tcsh", "--install"), {}, 2, "tcsh"),
    ],
)
def test_what_cannot_be_is_refused(
    root: Root,
    home: Path,
    words: tuple[str, ...],
    environ: dict[str, str],
    status: int,
    message: str,
) -> None:
    result = init(root, home, *words, **environ)
    assert (result.status, result.out) == (status, "")
    assert message in result.err
    assert list(home.iterdir()) == []


def test_what_is_no_file_is_refused(root: Root, home: Path) -> None:
    (home / ".bashrc").mkdir()
    assert "is not a file" in init(root, home, "bash", "--install").refused()
    (home / ".config").write_text("")
    assert "cannot be made" in init(root, home, "fish", "--install").refused()
    os.mkfifo(home / ".zshrc")
    assert "is not a file" in init(root, home, "zsh", "--install").refused()
