"""`--offline` and ROCMENV_OFFLINE: no connection, whatever the command and the address."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocmenv.store.paths import Root
from tests.builders import clean_environ
from tests.cli.runner import COMMAND, Result, run, run_command
from tests.tools import tool

# Loaded by Python itself before rocmenv: whoever asks for a name or an address ends there.
ALARM = """
import os, socket
def alarm(*args, **named):
    os.write(2, b"ALARM: a connection was opened\\n")
    os._exit(99)
socket.getaddrinfo = alarm
socket.socket.connect = alarm
socket.socket.connect_ex = alarm
"""
FAR = "http://repo.example.invalid/rocm"
CALLS = (
    ("install", "6.3.0", "--mirror", FAR),
    ("install", "6.3.0", "--mirror", "http://127.0.0.1:9/rocm", "--dry-run"),
    ("install", "6.3.0", "--keyring", f"{FAR}/key"),
    ("install", "6.3.0", "--from", f"{FAR}/rocm.tar.gz"),
    ("install", "--list", "--online", "--mirror", FAR),
    ("list-remote", "--online", "--mirror", FAR),
    ("mirror", "6.3.0", "--mirror", FAR, "--to", "DIR"),
)


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return Root(tmp_path / "root")


@pytest.fixture
def alarmed(tmp_path: Path) -> str:
    """A folder for PYTHONPATH that raises the alarm at the first connection."""
    folder = tmp_path / "alarm"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(ALARM)
    return str(folder)


def call(root: Root, alarmed: str, *words: str, **environ: str) -> Result:
    python, *rest = COMMAND
    command = [python, *(word for word in rest if word != "-P"), *words]
    where = Path(__file__).parent.parent.parent
    return run_command(command, clean_environ(root, PYTHONPATH=alarmed, **environ), where)


def words_of(words: tuple[str, ...], tmp_path: Path) -> list[str]:
    return [str(tmp_path / "mirror") if word == "DIR" else word for word in words]


@pytest.mark.parametrize("by_variable", [True, False])
@pytest.mark.parametrize("words", CALLS, ids=" ".join)
def test_no_command_opens_a_connection(
    root: Root, tmp_path: Path, alarmed: str, words: tuple[str, ...], *, by_variable: bool
) -> None:
    given = words_of(words, tmp_path)
    environ = {"ROCMENV_OFFLINE": "1"} if by_variable else {}
    result = call(root, alarmed, *given, *([] if by_variable else ["--offline"]), **environ)
    assert result.status == 1, result
    assert "this run is offline" in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize("words", CALLS, ids=" ".join)
def test_the_alarm_works(root: Root, tmp_path: Path, alarmed: str, words: tuple[str, ...]) -> None:
    """The same calls without the switch, or the test above would be worth nothing."""
    result = call(root, alarmed, *words_of(words, tmp_path))
    assert result.status == 99, result


def test_the_kernel_sees_no_socket_either(root: Root, tmp_path: Path) -> None:
    """Also none of a thread, a library or a child."""
    log = tmp_path / "log"
    before = [tool("strace"), "-f", "-qq", "-e", "trace=socket,connect", "-o", str(log)]
    result = run(root, "install", "6.3.0", "--mirror", FAR, "--offline", before=before)
    if "ptrace" in result.err and result.status != 1:
        pytest.skip("this machine allows no tracing")
    assert "this run is offline" in result.err
    assert "AF_INET" not in log.read_text()
    run(root, "install", "6.3.0", "--mirror", "http://127.0.0.1:9/rocm", before=before)
    assert "AF_INET" in log.read_text()


def test_offline_in_the_file_of_settings(root: Root, alarmed: str) -> None:
    root.path.mkdir()
    root.config.write_text("offline = true\n")
    result = call(root, alarmed, "list-remote", "--online", "--channel", "legacy")
    assert "this run is offline" in result.refused()
    assert result.hint


def test_files_of_this_machine_are_no_connection(root: Root, tmp_path: Path, alarmed: str) -> None:
    (tmp_path / "mirror/apt").mkdir(parents=True)
    (tmp_path / "mirror/apt/index.html").write_text('<a href="6.3/">6.3/</a>')
    where = (tmp_path / "mirror").as_uri()
    result = call(root, alarmed, "list-remote", "--online", "--offline", "--mirror", where)
    assert result.fine().split()[0] == "6.3.0"


def test_nothing_but_the_switch_is_needed(root: Root, alarmed: str) -> None:
    """An answer that needs no network gives none an excuse."""
    for words in (["install", "--list"], ["versions"], ["config", "list"], ["--help"]):
        assert call(root, alarmed, *words).status == 0
