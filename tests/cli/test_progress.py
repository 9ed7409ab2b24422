"""Words and progress of long operations, on a terminal and in a log."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pexpect
import pytest

from rocmenv.cli import progress
from rocmenv.cli.output import amount
from rocmenv.store.paths import Root
from tests.builders import clean_environ, fake_prefix
from tests.cli.runner import COMMAND, Runner, run_command
from tests.fetch.server import Site
from tests.tools import tool


@pytest.fixture
def archive(tmp_path: Path, site: Site) -> str:
    """The address of a release's tarball."""
    source = fake_prefix(tmp_path / "x" / "rocm-7.0.0", "7.0.0")
    (source / "lib/big").write_bytes(os.urandom(200_000))
    path = tmp_path / "a.tar.gz"
    subprocess.run(["tar", "-C", str(source), "-czf", path, "."], check=True)
    site.files["/a.tar.gz"] = path.read_bytes()
    return f"{site.url}/a.tar.gz"


def on_a_terminal(root: Root, *words: str) -> pexpect.spawn[str]:
    return pexpect.spawn(
        COMMAND[0],
        [*COMMAND[1:], *words],
        env=clean_environ(root, TERM="xterm"),
        encoding="utf-8",
        timeout=30,
        dimensions=(24, 100),
    )


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_999, "1000.0 kB"), (3e12, "3.0 TB")],
)
def test_bytes_as_people_read_them(count: float, text: str) -> None:
    assert amount(count) == text


def test_a_log_has_a_line_for_each_stage_and_now_and_then_the_rate(
    rocmenv: Runner, archive: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_EVERY", 0.0)
    err = rocmenv("install", "7.0.0", "--from", archive).err
    lines = err.splitlines()
    assert lines[0] == "rocmenv: installing 7.0.0"
    rates = [
        line for line in lines if re.fullmatch(r"rocmenv: .*: [\d.]+ kB, [\d.]+ [kM]B/s", line)
    ]
    assert rates
    assert lines[-2] == "rocmenv: checking 7.0.0"
    assert re.fullmatch(r"rocmenv: 7.0.0 \([\d.]+ kB\) is installed: .*", lines[-1])


def test_a_terminal_has_a_bar_that_goes_away(root: Root, site: Site, archive: str) -> None:
    site.always["/a.tar.gz"] = ("drip", 0.05)
    child = on_a_terminal(root, "install", "7.0.0", "--from", archive)
    child.expect(r"installing 7\.0\.0.*kB")
    child.expect(r"rocmenv: 7\.0\.0 \(.*\) is installed")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


def test_an_interrupt_on_a_terminal_is_one_line(root: Root, site: Site, archive: str) -> None:
    site.always["/a.tar.gz"] = ("drip", 0.3)
    child = on_a_terminal(root, "install", "7.0.0", "--from", archive)
    child.expect(r"installing 7\.0\.0.*kB")
    child.sendintr()
    child.expect_exact("rocmenv: interrupted")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    assert "Traceback" not in child.before
    assert os.listdir(root.staging) == []


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_the_shell_that_calls_is_found(root: Root, name: str) -> None:
    """R12: by its process, not by SHELL."""
    command = shlex.join(COMMAND)
    script = f"{command} init; {command} env 6.3; true"
    environ = clean_environ(root, SHELL="/bin/tcsh")
    found = run_command([tool(name), "-c", script], environ, "/")
    named = run_command(
        [tool(name), "-c", f"{command} init {name}; {command} env 6.3 --shell {name}; true"],
        environ,
        "/",
    )
    assert (found.out, found.err) == (named.out, "")
