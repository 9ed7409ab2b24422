"""Fixtures of the tests of what is at hand: a root, a machine, and `install --from`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rocmenv.sources import at_hand
from rocmenv.store.paths import Root
from tests.cli.runner import Result, Runner


@pytest.fixture
def root(tmp_path: Path) -> Root:
    """A root that is not there yet."""
    return Root(tmp_path / "root")


@pytest.fixture
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which dpkg has a C library and nothing else."""
    status = "Package: libc6\nStatus: install ok installed\nVersion: 2.36-9\nArchitecture: amd64\n"
    (tmp_path / "status").write_text(status)
    monkeypatch.setattr(at_hand, "STATUS", str(tmp_path / "status"))


@pytest.fixture
def install(capfd: pytest.CaptureFixture[str], root: Root, made: Path) -> Callable[..., Result]:
    """`rocmenv install` in the folder `made`, which the module makes."""
    runner = Runner(capfd, root, made)
    return lambda *words: runner("install", *words)
