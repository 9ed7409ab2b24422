"""The prompt hook and the `rocmenv` function in the real shells."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pexpect
import pytest

from rocmenv.env.activation import RECORD
from rocmenv.ops.setup import setup_text
from rocmenv.store.paths import Root
from tests.builders import clean_environ, process, root_with
from tests.cli.runner import COMMAND
from tests.shells.harness import POSIX, STARTS, RealShell, find
from tests.tools import tool


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Root:
    root = root_with(tmp_path_factory.mktemp("hook"), "6.3.0", "6.4.1")
    projects = root.path.parent / "projects"
    for name, version in (
        ("old", "6.3.0"),
        ("new", "6.4"),
        ("missing", "9.9.9"),
        ("range", ">=6.3,<6.4"),
    ):
        (projects / name / "sub").mkdir(parents=True)
        (projects / name / ".rocm-version").write_text(f"{version}\n")
    return root


@pytest.fixture
def projects(root: Root) -> Path:
    return root.path.parent / "projects"


def exported(shell: RealShell, name: str, value: str) -> str:
    return f"set -gx {name} '{value}'" if shell.is_fish else f"export {name}='{value}'"


def status(shell: RealShell) -> str:
    return "$status" if shell.is_fish else "$?"


def test_the_environment_follows_cd_and_leaves_no_trace(
    shell: RealShell, root: Root, projects: Path
) -> None:
    script = f"""
{shell.setup(root)}
DUMP
cd old; _rocmenv_hook
DUMP
cd ../new/sub; _rocmenv_hook
DUMP
cd ../..; _rocmenv_hook
DUMP
"""
    ran = shell.run(script, clean_environ(root), projects)
    start, old, new, end = ran.dumps
    assert "ROCM_PATH" not in start
    assert old["ROCM_PATH"] == str(root.versions / "6.3.0")
    assert new["ROCM_PATH"] == str(root.versions / "6.4.1")
    assert end == start
    assert ran.err.splitlines() == [
        f"rocmenv: 6.3.0 (set by {projects}/old/.rocm-version)",
        f"rocmenv: 6.4.1 (set by {projects}/new/.rocm-version)",
        "rocmenv: system",
    ]


def test_the_status_of_the_last_command_is_kept(
    shell: RealShell, root: Root, projects: Path
) -> None:
    seven = "sh -c 'exit 7'"
    steps = "\n".join(
        f"cd {projects}/{name}\n{seven}\n_rocmenv_hook\necho {status(shell)}"
        for name in ("old", "new", "missing", "old", "old", "range", ".")
    )
    ran = shell.run(f"{shell.setup(root)}\n{steps}", clean_environ(root), projects)
    assert ran.out.split() == ["7"] * 7


def test_a_pin_that_cannot_be_honoured_is_one_line_once_and_no_other_version(
    shell: RealShell, root: Root, projects: Path
) -> None:
    script = f"""
{shell.setup(root)}
cd {projects}/old; _rocmenv_hook
cd {projects}/missing; _rocmenv_hook
_rocmenv_hook
_rocmenv_hook
DUMP
hipcc
echo {status(shell)}
"""
    ran = shell.run(script, clean_environ(root), projects)
    assert "ROCM_PATH" not in ran.dumps[0]
    lines = [line for line in ran.err.splitlines() if "version `9.9.9`" in line]
    assert len(lines) == 2, "one of the hook, one of the shim"
    assert "run `rocmenv install 9.9.9`" in lines[0]
    assert ran.out.split() == ["1"]


def test_a_range_is_resolved_once_by_the_program(
    shell: RealShell, root: Root, projects: Path
) -> None:
    ran = shell.run(
        f"{shell.setup(root)}\ncd {projects}/range; _rocmenv_hook\nDUMP",
        clean_environ(root),
        projects,
    )
    assert ran.dumps[0]["ROCM_PATH"] == str(root.versions / "6.3.0")


def test_use_selects_for_this_shell_and_refuses_what_is_not_there(
    shell: RealShell, root: Root, projects: Path
) -> None:
    script = f"""
{shell.setup(root)}
cd {projects}/old; _rocmenv_hook
rocmenv use 6.4
echo {status(shell)}
DUMP
rocmenv use 9.9
echo {status(shell)}
rocmenv shell 9.9
echo {status(shell)}
DUMP
rocmenv shell
rocmenv use
echo {status(shell)}
DUMP
rocmenv shell 6.4.1
rocmenv shell --unset
rocmenv use system
DUMP
rocmenv use --bogus
echo {status(shell)}
rocmenv version --bare
rocmenv use -- 6.4
echo {status(shell)}
DUMP
rocmenv use ''
echo {status(shell)}
rocmenv shell ''
echo {status(shell)}
rocmenv use --force 6.3
echo {status(shell)}
DUMP
"""
    ran = shell.run(script, clean_environ(root), projects)
    chosen, kept, back, system, marked, left_alone = ran.dumps
    assert chosen["ROCM_PATH"] == kept["ROCM_PATH"] == str(root.versions / "6.4.1")
    assert chosen["ROCMENV_VERSION"] == "6.4.1"
    assert back["ROCM_PATH"] == str(root.versions / "6.3.0")
    assert "ROCMENV_VERSION" not in back
    assert "ROCM_PATH" not in system
    assert marked["ROCM_PATH"] == str(root.versions / "6.4.1")
    assert left_alone == marked
    assert ran.out.split() == ["0", "1", "1", "6.4.1", "0", "2", "system", "0", "2", "2", "2"]
    assert "only rocmenv's function" not in ran.err


def test_writing_the_projects_version_takes_effect_at_once(
    shell: RealShell, root: Root, tmp_path: Path
) -> None:
    script = f"""
{shell.setup(root)}
rocmenv use --project 6.3.0
DUMP
rocmenv local 6.4
DUMP
rocmenv use --project 9.9
echo {status(shell)}
DUMP
"""
    ran = shell.run(script, clean_environ(root), tmp_path)
    first, second, third = ran.dumps
    assert first["ROCM_PATH"] == str(root.versions / "6.3.0")
    assert second["ROCM_PATH"] == third["ROCM_PATH"] == str(root.versions / "6.4.1")
    assert ran.out.split() == ["1"]


def test_deactivate_drops_the_shells_choice_and_rests(
    shell: RealShell, root: Root, projects: Path
) -> None:
    script = f"""
{shell.setup(root)}
rocmenv use 6.4
rocmenv deactivate
DUMP
rocmenv deactivate
cd {projects}/old
_rocmenv_hook
DUMP
"""
    chosen = shell.run(script, clean_environ(root), projects)
    assert all("ROCMENV_VERSION" not in dump for dump in chosen.dumps)
    assert all("ROCM_PATH" not in dump for dump in chosen.dumps)
    script = f"{shell.setup(root)}\nrocmenv deactivate\ncd {projects}/old\n_rocmenv_hook\nDUMP"
    nothing = shell.run(script, clean_environ(root), projects)
    assert "ROCM_PATH" not in nothing.dumps[0]


@pytest.mark.parametrize("name", ["zsh", "fish", "dash", "ksh", "mksh"])
def test_a_change_of_folder_counts_within_one_line(name: str, root: Root, projects: Path) -> None:
    shell = find(name)
    script = f"{shell.setup(root)}\ncd {projects}/old && echo $ROCM_PATH"
    assert shell.run(script, clean_environ(root), projects).out == f"{root.versions}/6.3.0\n"


def test_deactivate_goes_back_and_stays_back(shell: RealShell, root: Root, projects: Path) -> None:
    script = f"""
{shell.setup(root)}
DUMP
cd {projects}/old; _rocmenv_hook
{exported(shell, "HIP_PATH", "/mine")}
rocmenv deactivate
DUMP
_rocmenv_hook
DUMP
rocmenv deactivate
echo {status(shell)}
rocmenv use
DUMP
"""
    ran = shell.run(script, clean_environ(root), projects)
    start, off, still, again = ran.dumps
    assert off == still == {**start, "HIP_PATH": "/mine"}
    assert again["ROCM_PATH"] == str(root.versions / "6.3.0")
    assert "kept HIP_PATH, changed by hand" in ran.err
    assert "nothing is recorded in this shell" in ran.err
    assert ran.out.split() == ["0"]


def test_a_child_shell_continues_and_can_leave(
    shell: RealShell, root: Root, projects: Path
) -> None:
    """Nested shells: the record travels in the environment."""
    first = shell.run(
        f"{shell.setup(root)}\nDUMP\ncd {projects}/old; _rocmenv_hook\nDUMP",
        clean_environ(root),
        projects,
    )
    start, active = first.dumps
    child = shell.run(
        f"{shell.setup(root)}\nDUMP\ncd {projects}; _rocmenv_hook\nDUMP", active, projects / "old"
    )
    assert child.dumps == [active, start]


def test_a_login_shell_that_resets_path_is_mended(
    shell: RealShell, root: Root, projects: Path
) -> None:
    """Tmux starts login shells, and /etc/profile gives PATH a new value below an old record."""
    first = shell.run(f"{shell.setup(root)}\nDUMP", clean_environ(root), projects / "old")
    reset = {**first.dumps[0], "PATH": "/usr/local/bin:/usr/bin:/bin"}
    child = shell.run(
        f"{shell.setup(root)}\nDUMP\ncd ..; _rocmenv_hook\nDUMP", reset, projects / "old"
    )
    inside, outside = child.dumps
    assert inside["PATH"].startswith(f"{root.versions}/6.3.0/bin:")
    assert outside["PATH"] == f"{root.shims}:/usr/local/bin:/usr/bin:/bin"
    assert RECORD not in outside


def test_without_its_record_a_child_takes_the_environment_as_it_is(
    shell: RealShell, root: Root, projects: Path
) -> None:
    """R11, last part."""
    first = shell.run(f"{shell.setup(root)}\nDUMP", clean_environ(root), projects / "old")
    orphan = {k: v for k, v in first.dumps[0].items() if k != RECORD}
    child = shell.run(f"{shell.setup(root)}\nrocmenv deactivate\nDUMP", orphan, projects)
    assert child.dumps == [orphan]
    assert "nothing is recorded in this shell" in child.err


@pytest.mark.parametrize("name", list(STARTS))
@pytest.mark.parametrize("calls", ["same folder", "to and fro"])
def test_no_process_is_started(name: str, calls: str, root: Root, projects: Path) -> None:
    shell = find(name)
    strace = tool("strace")
    prompt = "_rocmenv_prompt" if name in ("bash", "zsh", "fish") else "_rocmenv_hook"
    loop = f"{prompt}\n" * 20
    if calls == "to and fro":
        loop = "".join(f"cd {projects}/{p}\n{prompt}\n" for p in ("old", "new", "old/sub", ".") * 3)

    def starts(body: str) -> int:
        log = projects.parent / f"strace-{name}"
        command = [strace, "-f", "-o", str(log), "-e", "trace=execve,fork,vfork,clone,clone3"]
        script = f"{shell.setup(root)}\n{body}"
        subprocess.run(
            [*command, shell.program, *STARTS[name], "-c", script],
            env=clean_environ(root),
            cwd=projects / "old",
            check=True,
            capture_output=True,
        )
        lines = [line for line in log.read_text().splitlines() if "CLONE_THREAD" not in line]
        return len([line for line in lines if re.search(r"\b(execve|v?fork|clone3?)\(", line)])

    assert starts(loop) == starts("")


ODD = {
    "bash": "set -o pipefail; shopt -s failglob nullglob extglob; alias cd='echo no'",
    "zsh": "setopt ksh_arrays sh_word_split no_nomatch warn_create_global extended_glob no_unset",
    "ksh": "set -o pipefail; set -u",
}


@pytest.mark.parametrize("name", POSIX)
@pytest.mark.parametrize(
    "option",
    ["set -u", "set -f", "IFS=:", "IFS=", "set -C", "set -e", "IFS=r0; set -e -u -f -C", "odd"],
)
def test_the_users_options_do_not_matter(
    name: str, option: str, root: Root, projects: Path
) -> None:
    shell = find(name)
    option = ODD.get(name, "set -u") if option == "odd" else option
    prompt = "_rocmenv_prompt" if name in ("bash", "zsh") else "_rocmenv_hook"
    script = f"""
{option}
{shell.setup(root)}
DUMP
cd {projects}/old
{prompt}
{prompt}
DUMP
cd {projects}/new
{prompt}
{prompt}
rocmenv deactivate
DUMP
"""
    ran = shell.run(script, clean_environ(root), projects)
    start, active, end = ran.dumps
    assert active["ROCM_PATH"] == str(root.versions / "6.3.0")
    assert end == start
    assert all(line.startswith("rocmenv: ") for line in ran.err.splitlines())


@pytest.mark.parametrize("name", POSIX)
def test_aliases_of_our_names_are_no_hindrance(name: str, root: Root, projects: Path) -> None:
    shell = find(name)
    script = f"""
{"shopt -s expand_aliases" if name == "bash" else ""}
alias rocmenv=/nonexistent/rocmenv
alias cd='cd -P'
eval "$(cat {shell.setup(root).split()[-1]})"
cd {projects}/new
_rocmenv_hook
DUMP
rocmenv use 6.3
DUMP
alias cd
"""
    ran = shell.run(script, clean_environ(root), projects)
    followed, chosen = ran.dumps
    assert followed["ROCM_PATH"] == str(root.versions / "6.4.1")
    assert chosen["ROCM_PATH"] == str(root.versions / "6.3.0")
    assert "cd -P" in ran.out
    assert all(line.startswith("rocmenv: ") for line in ran.err.splitlines()), ran.err


def test_bash_may_read_the_set_up_of_sh(root: Root, projects: Path) -> None:
    """As a login bash does with a `~/.profile` that is written for all shells."""
    shell = find("bash")
    path = root.path.parent / "init-sh-for-bash"
    path.write_text(setup_text(process(root.path), root, "sh"))
    script = f"alias cd='cd -P'\n. '{path}'\ncd {projects}/old\nDUMP\nalias cd"
    ran = shell.run(f"shopt -s expand_aliases\n{script}", clean_environ(root), projects)
    assert ran.dumps[0]["ROCM_PATH"] == str(root.versions / "6.3.0")
    assert ran.out == "alias cd='cd -P'\n"
    assert ran.err == f"rocmenv: 6.3.0 (set by {projects}/old/.rocm-version)\n"


@pytest.mark.parametrize(
    "before",
    ["", "PROMPT_COMMAND='echo mine'", "PROMPT_COMMAND='echo mine;'", "PROMPT_COMMAND=(a b)"],
)
def test_bash_keeps_the_prompt_command_it_finds(root: Root, projects: Path, before: str) -> None:
    shell = find("bash")
    twice = f"{shell.setup(root)}\n{shell.setup(root)}"
    ran = shell.run(
        f"{before}\n{twice}\nprintf '%s\\n' \"${{PROMPT_COMMAND[@]}}\"",
        clean_environ(root),
        projects,
    )
    lines = ran.out.splitlines()
    assert sum(line.count("_rocmenv_prompt") for line in lines) == 1
    assert lines[0].startswith("_rocmenv_prompt")
    assert ("mine" in ran.out) == ("mine" in before)


INTERACTIVE = {
    "bash": ["--noprofile", "--norc", "-i"],
    "zsh": ["-f", "-i"],
    "fish": ["--no-config", "-i"],
    "dash": ["-i"],
    "ksh": ["-i"],
    "mksh": ["-i"],
}


def at_a_prompt(shell: RealShell, environ: dict[str, str], folder: Path) -> pexpect.spawn[str]:
    """The shell on a terminal of its own."""
    child = pexpect.spawn(
        shell.program,
        INTERACTIVE[shell.name],
        env={**environ, "TERM": "dumb", "PS1": "> "},
        cwd=str(folder),
        encoding="utf-8",
        timeout=20,
    )
    child.delaybeforesend = None
    return child


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_a_change_that_is_interrupted_is_done_at_the_next_prompt(
    name: str, root: Root, projects: Path, tmp_path: Path
) -> None:
    shell = find(name)
    waits = tmp_path / "waits"
    launcher = tmp_path / "rocmenv"
    slow = f"[ ! -e {waits} ] || {{ : >{tmp_path}/started; sleep 20; }}"
    launcher.write_text(f'#!/bin/sh\n{slow}\nexec {shlex.join(COMMAND)} "$@"\n')
    launcher.chmod(0o755)
    start = replace(process(root.path), launcher=(str(launcher),))
    (tmp_path / "init").write_text(setup_text(start, root, name))
    child = at_a_prompt(shell, clean_environ(root), projects)
    child.sendline(f"{'source' if shell.is_fish else '.'} '{tmp_path}/init'")
    child.sendline("cd old; echo in=$ROCM_PATH.")
    child.expect_exact("in=")
    waits.touch()
    child.sendline("cd ../range")
    started = tmp_path / "started"
    until = time.monotonic() + 10
    while not started.exists() and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.2)
    waits.unlink()  # before the next prompt asks again
    child.sendintr()
    child.sendline("true")
    child.sendline("echo got=$ROCM_PATH.")
    child.expect_exact(f"got={root.versions}/6.3.0.")
    # Where it hangs for good, a second interrupt ends it.
    child.sendline("cd ../old; echo in=$ROCM_PATH.")
    child.expect_exact("in=")
    waits.touch()
    child.sendline("cd ../range")
    for _ in "12":
        time.sleep(1)
        child.sendintr()
    time.sleep(0.5)
    two = "(math 1 + 1)" if shell.is_fish else "$((1 + 1))"
    child.sendline(f"echo free={two}.")
    child.expect_exact("free=2.", timeout=10)
    child.close(force=True)


def test_a_readonly_variable_does_not_end_dash(root: Root, projects: Path) -> None:
    shell = find("dash")
    script = f"""
readonly ROCM_HOME=/mine
{shell.setup(root)}
cd {projects}/old
DUMP
cd ..
DUMP
echo end
"""
    ran = shell.run(script, clean_environ(root), projects)
    active, back = ran.dumps
    assert active["ROCM_PATH"] == str(root.versions / "6.3.0")
    assert active["PATH"].startswith(f"{root.versions}/6.3.0/")
    assert "ROCM_PATH" not in back
    assert ran.out == "end\n"


@pytest.mark.parametrize("name", POSIX)
def test_what_set_a_hands_on_does_not_count(name: str, root: Root, projects: Path) -> None:
    """A deactivated bash with `set -a` exports even the hook's own notes."""
    shell = find(name)
    environ = {**clean_environ(root), "_rocmenv_off": "1", "_rocmenv_last": "x"}
    script = f"{shell.setup(root)}\ncd {projects}/old\n_rocmenv_hook\nDUMP"
    ran = shell.run(script, environ, projects)
    assert ran.dumps[0]["ROCM_PATH"] == str(root.versions / "6.3.0")


@pytest.mark.parametrize("name", list(INTERACTIVE))
def test_at_a_real_prompt(name: str, root: Root, projects: Path) -> None:
    shell = find(name)
    environ = {**clean_environ(root), "HOME": str(projects.parent)}
    child = at_a_prompt(shell, environ, projects)
    show = 'echo "got=$ROCM_PATH=$status."' if shell.is_fish else "echo got=$ROCM_PATH=$?."
    child.sendline(shell.setup(root))
    child.sendline("cd old")
    child.sendline("sh -c 'exit 3'")
    child.sendline(show)
    child.expect_exact(f"got={root.versions}/6.3.0=3.")
    child.sendline("cd ../new")
    child.sendline(show)
    child.expect_exact(f"got={root.versions}/6.4.1=0.")
    if name in ("bash", "zsh", "fish"):
        # A pin changed by hand counts at the next prompt, with no `cd`.
        child.sendline("cd ../old; echo 6.4.1 >.rocm-version")
        child.sendline(show)
        child.expect_exact(f"got={root.versions}/6.4.1=0.")
        child.sendline("echo 6.3.0 >.rocm-version")
        child.sendline(show)
        child.expect_exact(f"got={root.versions}/6.3.0=0.")
        # So does a choice made by hand, and its end.
        child.sendline(
            "set -gx ROCMENV_VERSION 6.4" if shell.is_fish else "export ROCMENV_VERSION=6.4"
        )
        child.sendline(show)
        child.expect_exact(f"got={root.versions}/6.4.1=0.")
        child.sendline("set -e ROCMENV_VERSION" if shell.is_fish else "unset ROCMENV_VERSION")
        child.sendline(show)
        child.expect_exact(f"got={root.versions}/6.3.0=0.")
    child.sendline("cd ..")
    child.sendline(show)
    child.expect_exact("got==0.")
    child.sendline("exit")
    child.expect(pexpect.EOF)
    child.close()


def test_setting_up_again_leaves_what_the_user_has_done(
    shell: RealShell, root: Root, projects: Path
) -> None:
    script = f"""
{shell.setup(root)}
rocmenv use 6.4
{exported(shell, "HIP_PATH", "/mine")}
{shell.setup(root)}
DUMP
rocmenv deactivate
{shell.setup(root)}
DUMP
"""
    ran = shell.run(script, clean_environ(root), projects / "old")
    by_hand, rests = ran.dumps
    assert by_hand["HIP_PATH"] == "/mine"
    assert "ROCM_PATH" not in rests


def test_setting_up_twice_changes_nothing_more(
    shell: RealShell, root: Root, projects: Path
) -> None:
    once = shell.run(f"{shell.setup(root)}\nDUMP", clean_environ(root), projects / "old")
    twice = shell.run(
        f"{shell.setup(root)}\n{shell.setup(root)}\nDUMP", clean_environ(root), projects / "old"
    )
    assert once.dumps == twice.dumps
    assert once.err == twice.err == ""


def test_an_install_without_rendered_texts_works_all_the_same(
    shell: RealShell, tmp_path: Path
) -> None:
    root = root_with(tmp_path, "6.3.0")
    for file in root.activations.iterdir():
        file.unlink()
    (tmp_path / ".rocm-version").write_text("6.3.0\n")
    script = f"{shell.setup(root)}\nDUMP\nrocmenv deactivate\nDUMP"
    ran = shell.run(script, clean_environ(root), tmp_path)
    active, end = ran.dumps
    assert active["ROCM_PATH"] == str(root.versions / "6.3.0")
    assert "ROCM_PATH" not in end


def test_in_a_real_tmux(root: Root, projects: Path) -> None:
    """A server that was started inside a project hands its environment to every new window."""
    tmux = tool("tmux")
    shell = find("bash")
    active = shell.run(f"{shell.setup(root)}\nDUMP", clean_environ(root), projects / "old").dumps[0]
    socket = f"rocmenv-test-{os.getpid()}"
    rc = projects.parent / "tmux.bashrc"
    rc.write_text(f"PATH=/usr/local/bin:/usr/bin:/bin\n{shell.setup(root)}\nPS1='> '\n")
    out = projects.parent / "tmux.out"
    environ = {**active, "TERM": "xterm", "SHELL": shell.program}
    start = [tmux, "-L", socket, "-f", "/dev/null"]
    try:
        subprocess.run(
            [*start, "new-session", "-d", "-c", str(projects), f"bash --rcfile {rc} -i"],
            env=environ,
            cwd=projects,
            check=True,
        )
        keys = (
            f"cd {projects}/new && cd . ; true",
            f'echo "$ROCM_PATH $PATH" >{out}.tmp; mv {out}.tmp {out}',
        )
        for line in keys:
            subprocess.run([*start, "send-keys", line, "Enter"], env=environ, check=True)
        for _ in range(100):
            if out.exists():
                break
            time.sleep(0.1)
        rocm, _, path = out.read_text().partition(" ")
        assert rocm == str(root.versions / "6.4.1")
        assert path.startswith(f"{root.versions}/6.4.1/bin:")
        assert "6.3.0" not in path
    finally:
        subprocess.run([*start, "kill-server"], env=environ, check=False)
