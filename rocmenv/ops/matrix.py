"""One command under a version: which versions are asked for, and what comes of it."""

from __future__ import annotations

import errno
import shlex
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from rocmenv.errors import CommandNotFoundError, NotInstalledError, UsageError
from rocmenv.ops import current
from rocmenv.ops.activate import launch
from rocmenv.process import may_be_script
from rocmenv.store import registry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocmenv.model.selection import Selection
    from rocmenv.model.version import Version
    from rocmenv.ops.activate import Launch
    from rocmenv.process import Process
    from rocmenv.store.paths import Root

_PATIENCE = 10.0
"""Seconds that a command gets to end once it was told to."""


@dataclass(frozen=True, slots=True)
class Run:
    """What came of the command under one version.

    `status` is its exit status, 127 where it could not be started, which `problem` explains,
    and -N where signal N ended it. `seconds` is how long it took.
    """

    version: Version
    status: int
    seconds: float
    problem: str = ""

    @property
    def words(self) -> str:
        """The result for people."""
        if self.problem:
            return "not started"
        if self.status < 0:
            with suppress(ValueError):
                return f"ended by {signal.Signals(-self.status).name}"
            return f"ended by signal {-self.status}"
        return f"failed ({self.status})" if self.status else "passed"


def asked(process: Process, root: Root, texts: Sequence[str]) -> list[Version]:
    """The installed versions that requests stand for, each once, in their order.

    A range stands for all that fit, oldest first; every other request for one version, as
    everywhere. Raises `NotInstalledError` for a request that nothing fits.
    """
    installed = list(registry.load(root).installed)
    found: list[Version] = []
    for text in texts:
        selection = current.asked(text)
        spec = selection.spec
        if spec.clauses:
            fitting = [version for version in installed if spec.fits(version)]
            if not fitting:
                msg = f"no installed version fits `{spec}` ({selection.origin})"
                hint = "`rocmenv versions` shows what is installed"
                raise NotInstalledError(msg, hint=hint)
            found += fitting
            continue
        found.append(meant(process, root, selection))
    return list(dict.fromkeys(found))


def meant(process: Process, root: Root, selection: Selection) -> Version:
    """The installed version that a request stands for; `UsageError` for the system's."""
    version = current.version_for(process, root, selection)
    if version is None:
        msg = "the system's ROCm is not one of the installed versions"
        raise UsageError(msg, hint="`rocmenv link PREFIX` makes it one")
    return version


def run(
    process: Process,
    root: Root,
    version: Version,
    command: Sequence[str],
    *,
    output: int | None = None,
) -> Run:
    """Run `command` under a version, once.

    It has the terminal, and writes to ours, or with `output` to that file descriptor what it
    has for stdout.
    """
    start = time.monotonic()
    try:
        ready = launch(process, root, current.asked(str(version)), command[0], shim=False)
        status = _run(process, ready, command[1:], output)
    except CommandNotFoundError as error:
        hint = f"; {error.hint}" if error.hint else ""
        return Run(version, error.exit_status, 0.0, f"{error.message}{hint}")
    return Run(version, status, time.monotonic() - start)


def _run(process: Process, ready: Launch, arguments: Sequence[str], output: int | None) -> int:
    start = partial(subprocess.Popen, env=ready.environ, cwd=process.cwd, stdout=output)
    words = [ready.program, *arguments]
    try:
        try:
            child = start(words)
        except OSError as error:
            if error.errno != errno.ENOEXEC or not may_be_script(ready.program):
                raise
            child = start(["/bin/sh", *words])  # as shells do, and `exec`
    except OSError as error:
        msg = f"{ready.program} cannot be started ({error.strerror})"
        look = f"file {shlex.quote(ready.program)}"
        raise CommandNotFoundError(msg, hint=f"look at it: `{look}`") from error
    try:
        return child.wait()
    except BaseException:
        # Ctrl-C reaches the command by itself; what only we were sent is handed on.
        child.terminate()
        try:
            child.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        raise
