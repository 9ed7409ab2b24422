"""Calls as a user who is not root, for whom rights count."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
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
    """Let others pass to a test's folder: pytest's are for their owner alone."""
    for path in (folder, *folder.parents) if IS_ROOT else ():
        mode = path.stat().st_mode
        if mode & 0o005 != 0o005:
            path.chmod(mode | 0o005)


def give_away(folder: Path) -> None:
    """Make the folder and all below it that user's, as if it had made them."""
    let_in(folder)
    if IS_ROOT:  # else it is so already
        for path in [folder, *folder.rglob("*")]:
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
