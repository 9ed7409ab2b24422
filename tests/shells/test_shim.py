"""The shim: arguments, endless loops, odd places, and what it costs in system calls."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rocmenv.store.paths import Root
from tests.builders import add, clean_environ, fake_prefix, root_with
from tests.tools import tool

ARGUMENTS = [
    "a b", 'say "hi"', "%PATH%", "100%", "a&b", "<x>", "^", "!x!", "", "line one\nline two", "*",
    "-n", "--", "$HOME", "`id`", "it's", "\\", "größe", "\udcff", "+x",
]  # fmt: skip
AS_JSON = f"""#!{sys.executable}
import json, os, sys
json.dump({{"argv": [os.fsencode(a).decode("latin-1") for a in sys.argv[1:]], "pid": os.getpid(),
           "stdin": sys.stdin.read()}}, sys.stdout)
sys.exit(7)
"""


def start(
    root: Root, command: str, *arguments: str, cwd: Path | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(root.shims / command), *arguments],
        env=clean_environ(root, ROCMENV_VERSION="6.3.0", **more),
        cwd=cwd or root.path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        preexec_fn=few_processes,
    )


def few_processes() -> None:
    """Endless forking must stop at once (the limit does not hold for root, hence the clock)."""
    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return root_with(tmp_path, "6.3.0")


def test_arguments_status_input_and_process_pass_through(tmp_path: Path) -> None:
    """R06."""
    root = Root(tmp_path / "root")
    add(root, "6.3.0", fake_prefix(tmp_path / "p", "6.3.0", ["tool"], AS_JSON))
    child = subprocess.Popen(
        [os.fsencode(root.shims / "tool"), *map(os.fsencode, ARGUMENTS)],
        env=clean_environ(root, ROCMENV_VERSION="6.3.0"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    out, _ = child.communicate(b"in\x00put\n", timeout=60)
    value = json.loads(out)
    assert [a.encode("latin-1") for a in value["argv"]] == [os.fsencode(a) for a in ARGUMENTS]
    assert value["pid"] == child.pid
    assert value["stdin"] == "in\x00put\n"
    assert child.returncode == 7


def test_signals_reach_the_program(tmp_path: Path) -> None:
    root = Root(tmp_path / "root")
    script = (
        "#!/bin/sh\ntrap 'echo caught; exit 5' TERM\necho ready\nwhile :; do sleep 0.05; done\n"
    )
    add(root, "6.3.0", fake_prefix(tmp_path / "p", "6.3.0", ["tool"], script))
    child = subprocess.Popen(
        [root.shims / "tool"],
        env=clean_environ(root, ROCMENV_VERSION="6.3.0"),
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    child.send_signal(signal.SIGTERM)
    assert child.communicate(timeout=20)[0] == b"caught\n"
    assert child.returncode == 5


def test_plus_version_selects_for_one_call(tmp_path: Path) -> None:
    root = root_with(tmp_path, "6.3.0", "6.4.1")
    done = start(root, "hipcc", "+6.4", "x")
    assert done.stdout.splitlines()[1:] == [f"{root.versions}/6.4.1", "6.4.1", "1", "x"]
    bad = start(root, "hipcc", "+9.9", "x")
    assert (bad.returncode, bad.stdout) == (1, "")
    assert "`+9.9`" in bad.stderr or "`9.9`" in bad.stderr


@pytest.mark.parametrize("tools", [("hipcc", "rocmenv", "env", "bash", "python3", "sh")])
def test_no_shim_hides_what_shims_need(tmp_path: Path, tools: tuple[str, ...]) -> None:
    """R04."""
    root = root_with(tmp_path, "6.3.0", tools=tools)
    made = {path.name for path in root.shims.iterdir()}
    assert made == {".shim", ".lists", "hipcc", "clang++"}
    first = clean_environ(root, ROCMENV_VERSION="6.3.0")
    first["PATH"] = f"{root.shims}:{first['PATH']}"
    rehash = subprocess.run(
        [sys.executable, "-m", "rocmenv", "rehash"],
        env=first,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "no shims for bash, env, python3, rocmenv, sh" in rehash.stderr
    done = subprocess.run(
        ["hipcc", "--version"], env=first, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[0] == f"{root.versions}/6.3.0/bin/hipcc"


def test_a_program_that_is_itself_the_shim_is_not_run(root: Root) -> None:
    """R04: the second line of defence."""
    program = root.versions / "6.3.0/bin/hipcc"
    program.unlink()
    os.link(root.shims / "hipcc", program)
    done = start(root, "hipcc")
    assert done.returncode == 127
    assert "without end" in done.stderr


def test_a_script_that_starts_its_own_shim_is_stopped(root: Root) -> None:
    program = root.versions / "6.3.0/bin/hipcc"
    program.write_text(f'#!/bin/sh\necho x\n"{root.shims}/hipcc" "$@"\n')
    done = start(root, "hipcc")
    assert done.stdout.count("x") <= 3
    assert done.returncode == 127
    assert "without end" in done.stderr


def test_two_that_start_each_other_are_stopped(tmp_path: Path) -> None:
    root = root_with(tmp_path, "6.3.0", tools=("one", "two"))
    for name, other in (("one", "two"), ("two", "one")):
        (root.versions / "6.3.0/bin" / name).write_text(f'#!/bin/sh\nexec "{root.shims}/{other}"\n')
    done = start(root, "one")
    assert done.returncode == 127
    assert "without end" in done.stderr


def test_a_missing_command_names_the_versions_that_have_it(tmp_path: Path) -> None:
    root = root_with(tmp_path, "6.3.0")
    add(root, "6.4.1", fake_prefix(tmp_path / "more", "6.4.1", ["hipcc", "rocprofv3"]))
    done = start(root, "rocprofv3")
    assert (done.returncode, done.stdout) == (127, "")
    assert "version 6.3.0 has no command `rocprofv3`" in done.stderr
    assert "6.4.1" in done.stderr


@pytest.mark.parametrize(
    "name", ["with blank", "it's", 'say "hi"', "$HOME", "größe", "a\\b", "-n", "#x", "[a]*"]
)
def test_any_root_will_do(tmp_path: Path, name: str) -> None:
    """R05."""
    folder = tmp_path / name
    folder.mkdir()
    root = root_with(folder, "6.3.0")
    done = start(root, "hipcc", "x")
    assert done.stdout.splitlines() == [
        f"{root.versions}/6.3.0/bin/hipcc", f"{root.versions}/6.3.0", "6.3.0", "1", "x",
    ]  # fmt: skip
    slow = start(root, "hipcc", "+9", "x")
    assert slow.stderr.startswith("rocmenv: ")


def test_a_root_that_was_moved_still_works(tmp_path: Path) -> None:
    root = root_with(tmp_path, "6.3.0")
    moved = Root(tmp_path / "moved here")
    root.path.rename(moved.path)
    done = start(moved, "hipcc")
    assert done.stdout.splitlines()[1] == f"{moved.versions}/6.3.0"
    odd = start(moved, "hipcc", "+>=6.3,<7")
    assert odd.returncode == 0, odd.stderr


def test_a_root_reached_by_a_link_and_a_shim_linked_elsewhere(tmp_path: Path) -> None:
    root = root_with(tmp_path, "6.3.0")
    (tmp_path / "link").symlink_to(root.path)
    linked = Root(tmp_path / "link")
    assert start(linked, "hipcc").stdout.splitlines()[1] == f"{linked.versions}/6.3.0"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/hipcc").symlink_to(root.shims / "hipcc")
    done = subprocess.run(
        [tmp_path / "bin/hipcc"], env=clean_environ(root, ROCMENV_VERSION="6.3.0"),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines()[1] == f"{root.versions}/6.3.0"


def test_an_empty_environment_is_enough(tmp_path: Path) -> None:
    root = root_with(tmp_path, "6.3.0")
    (tmp_path / ".rocm-version").write_text("6.3.0\n")
    done = subprocess.run(
        [root.shims / "hipcc"], env={}, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[1] == f"{root.versions}/6.3.0", done.stderr
    (tmp_path / ".rocm-version").write_text("9.9\n")
    done = subprocess.run(
        [root.shims / "hipcc"], env={}, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "no installed version fits `9.9`" in done.stderr


def test_a_relative_path_and_a_relative_entry_of_path(tmp_path: Path) -> None:
    root = root_with(tmp_path, "6.3.0")
    environ = clean_environ(root, ROCMENV_VERSION="6.3.0", PATH="root/shims:/usr/bin:/bin")
    for command in (["root/shims/hipcc"], ["sh", "-c", "hipcc"], ["sh", "root/shims/hipcc"]):
        done = subprocess.run(
            command, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.stdout.splitlines()[1] == f"{root.versions}/6.3.0", done.stderr


def test_without_rocmenv_itself_the_shim_says_so(tmp_path: Path) -> None:
    root = root_with(tmp_path, "6.3.0")
    template = (root.shims / ".shim").read_text().replace(sys.executable, "/nonexistent/python")
    (root.shims / "gone").write_text(template)
    (root.shims / "gone").chmod(0o755)
    done = start(root, "gone")
    assert done.returncode == 127
    assert "cannot find rocmenv itself" in done.stderr


def test_an_activation_of_this_shell_is_undone_for_the_systems_tool(tmp_path: Path) -> None:
    root = root_with(tmp_path, "6.3.0")
    system = fake_prefix(tmp_path / "system", "5.0.0")
    active = clean_environ(root, ROCM_PATH=str(root.versions / "6.3.0"))
    active["ROCMENV_DIFF"] = f"1|6.3.0|ROCM_PATH|-|+{active['ROCM_PATH']}"
    active["PATH"] = f"{root.shims}:{system}/bin:/usr/bin:/bin"
    active["ROCMENV_VERSION"] = "system"
    done = subprocess.run(["hipcc"], env=active, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[:2] == [f"{system}/bin/hipcc", ""], done.stderr


def test_no_record_is_handed_to_the_program(tmp_path: Path) -> None:
    """What a shell below finds is where it sets out from."""
    root = root_with(tmp_path, "6.3.0")
    (root.versions / "6.3.0/bin/hipcc").write_text('#!/bin/sh\necho "got=${ROCMENV_DIFF-none}"\n')
    active = clean_environ(root, ROCMENV_DIFF="1|6.3.0|HIP_PATH|-|+x", ROCMENV_VERSION="6.3.0")
    done = subprocess.run(
        [root.shims / "hipcc"], env=active, capture_output=True, text=True, check=False
    )
    assert done.stdout == "got=none\n", done.stderr


def test_an_empty_entry_of_path_is_the_current_folder(tmp_path: Path) -> None:
    root = root_with(tmp_path, "6.3.0")
    system = fake_prefix(tmp_path / "system", "5.0.0")
    environ = clean_environ(root, ROCMENV_VERSION="system", PATH=f"{root.shims}::/usr/bin:/bin")
    done = subprocess.run(
        [root.shims / "hipcc"],
        env=environ,
        cwd=system / "bin",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines()[0] == "./hipcc", done.stderr


def test_the_plain_case_starts_no_process_and_few_calls(tmp_path: Path) -> None:
    strace = tool("strace")
    root = root_with(tmp_path, "6.3.0")
    program = root.versions / "6.3.0/bin/hipcc"
    shutil.copy2("/bin/true", program)
    project = tmp_path / "a/b/c/d"
    project.mkdir(parents=True)
    (tmp_path / ".rocm-version").write_text("6.3.0\n")
    log = tmp_path / "log"
    environ = clean_environ(root)
    subprocess.run(
        [strace, "-f", "-o", log, root.shims / "hipcc"], env=environ, cwd=project, check=True
    )
    lines = [line for line in log.read_text().splitlines() if "exited with" not in line]
    assert not [line for line in lines if "fork(" in line or "clone" in line]
    assert len([line for line in lines if " execve(" in line]) == 2
    assert len(lines) <= 155, len(lines)


def test_calls_write_nothing(root: Root) -> None:
    before = {path: path.lstat().st_mtime_ns for path in root.path.rglob("*")}
    start(root, "hipcc")
    start(root, "hipcc", "+9.9")
    assert {path: path.lstat().st_mtime_ns for path in root.path.rglob("*")} == before
