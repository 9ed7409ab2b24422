"""Running rocmenv: inside the test's process, or as a real one."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rocmenv.__main__ import dispatch
from rocmenv.cli.boundary import guarded
from rocmenv.store.paths import Root
from tests.builders import clean_environ, process

if TYPE_CHECKING:
    import pytest

NOBODY = 65534
COMMAND = (sys.executable, "-P", "-m", "rocmenv") if sys.version_info >= (3, 11) else (
    sys.executable, "-m", "rocmenv",
)  # fmt: skip
# Runs rocmenv; when the function PLACE is reached, says so and waits to be stopped.
_HALT = """
import importlib, sys, time
place = sys.argv.pop(1)
module, _, name = place.partition(":")
holder, _, name = name.rpartition(".")
owner = importlib.import_module(module)
owner = getattr(owner, holder) if holder else owner
def halt(*args, **named):
    print("reached", flush=True)
    time.sleep(60)
setattr(owner, name, halt)
sys.argv[0] = "rocmenv"
from rocmenv.__main__ import main
sys.exit(main())
"""
REPOSITORY = str(Path(__file__).parent.parent.parent)


@dataclass(frozen=True)
class Result:
    """What a call of rocmenv did: exit status and both outputs."""

    status: int
    out: str
    err: str

    @property
    def message(self) -> str:
        """The one line of an error; fails when stderr has another form."""
        lines = self.err.splitlines()
        assert lines, "nothing on stderr"
        assert lines[0].startswith("rocmenv: "), self.err
        assert len(lines) == 1 or (len(lines) == 2 and lines[1].startswith("hint: ")), self.err
        return lines[0].removeprefix("rocmenv: ")

    @property
    def hint(self) -> str:
        """The hint of an error, empty when it has none."""
        assert self.message
        return self.err.splitlines()[-1].removeprefix("hint: ") if "\nhint: " in self.err else ""

    def refused(self, status: int = 1) -> str:
        """The message of a refusal that said nothing on stdout."""
        assert (self.status, self.out) == (status, ""), self
        return self.message

    def fine(self) -> str:
        """The data of a call that went well."""
        assert self.status == 0, self
        return self.out


class Runner:
    """Calls rocmenv inside this process, in `cwd`, with `root` as ROCM_ROOT."""

    def __init__(self, capture: pytest.CaptureFixture[str], root: Root, cwd: Path) -> None:
        self._capture = capture
        self.root = root
        self.cwd = cwd

    def __call__(self, *args: str, **environ: str) -> Result:
        self._capture.readouterr()
        call = replace(process(self.root.path, environ, self.cwd), args=args)
        status = guarded(lambda: dispatch(call), call)
        captured = self._capture.readouterr()
        return Result(status, captured.out, captured.err)


def run(
    root: Root,
    *args: str,
    cwd: Path | str = "/",
    before: Sequence[str] = (),
    timeout: float = 60,
    **environ: str,
) -> Result:
    """Run rocmenv as a real process, with `before` in front of its command."""
    return run_command([*before, *COMMAND, *args], clean_environ(root, **environ), cwd, timeout)


def run_command(
    command: Sequence[str], environ: Mapping[str, str], cwd: Path | str, timeout: float = 60
) -> Result:
    """Run any program."""
    done = subprocess.run(
        command, env=environ, cwd=cwd, capture_output=True, timeout=timeout, check=False
    )
    return Result(
        done.returncode,
        done.stdout.decode("utf-8", "surrogateescape"),
        done.stderr.decode("utf-8", "surrogateescape"),
    )


def run_and_stop(root: Root, place: str, how: signal.Signals, *args: str, **environ: str) -> Result:
    """Run rocmenv as a real process, and send it `how` when it calls `place`.

    `place` is a function, `module:name` or `module:class.name`.
    """
    with subprocess.Popen(
        [sys.executable, "-c", _HALT, place, *args],
        env=clean_environ(root, **environ),
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "reached\n"
        child.send_signal(how)
        out, err = child.communicate(timeout=20)
    return Result(child.returncode, out, err)
