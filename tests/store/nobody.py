"""Calls as a user who is not root, for whom rights count."""

from __future__ import annotations

import atexit
import os
import stat
import subprocess
import sys
import sysconfig
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.runner import COMMAND, NOBODY, REPOSITORY
from tests.tools import tool

AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
IS_ROOT = os.geteuid() == 0


@dataclass(frozen=True)
class Start:
    """How the other user starts rocmenv: as whom, by which words, with which variables."""

    before: tuple[str, ...]
    words: tuple[str, ...]
    environ: dict[str, str]


def start() -> Start:
    """A start that works for a user who may not look into root's own Python."""
    if not IS_ROOT:
        return Start((), COMMAND, {})
    tool("setpriv")
    packages = sysconfig.get_paths()["purelib"]
    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        words = (python, *COMMAND[1:])
        environ = {"PYTHONPATH": f"{REPOSITORY}:{packages}"}
        probe = [*AS_NOBODY, "/bin/sh", "-c", '"$@"', "sh", *words, "--version"]
        if subprocess.run(probe, env=environ, capture_output=True, check=False).returncode == 0:
            return Start(AS_NOBODY, words, environ)
    pytest.skip("no Python that other users may run")


def let_in(folder: Path) -> None:
    """Let others pass to a test's folder, until the tests end: pytest's are for their owner alone.

    `folder` is one that pytest has made. What is above pytest's own folders is not opened: a
    test is skipped where that is private.
    """
    tops = [path for path in folder.parents if path.name.startswith("pytest-of-")]
    own = {folder, folder.parent, *(p for p in folder.parents if {p, *p.parents} & set(tops))}
    private = [path for path in (folder, *folder.parents) if not path.stat().st_mode & stat.S_IXOTH]
    for path in reversed(private) if IS_ROOT else ():
        if path not in own:
            pytest.skip(f"other users may not pass {path}")
        mode = stat.S_IMODE(path.stat().st_mode)
        path.chmod(mode | stat.S_IXOTH)
        atexit.register(_restore, path, mode)


def _restore(path: Path, mode: int) -> None:
    with suppress(OSError):  # pytest has deleted it
        path.chmod(mode)


def give_away(folder: Path) -> None:
    """Make the folder and all below it that user's, as if it had made them."""
    let_in(folder)
    if IS_ROOT:  # else it is so already
        for path in [folder, *folder.rglob("*")]:
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
