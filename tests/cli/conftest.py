"""Fixtures of the command line's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocmenv.store.paths import Root
from tests.builders import root_with
from tests.cli.runner import Runner


@pytest.fixture
def root(tmp_path: Path) -> Root:
    """A root with 6.3.0 and 6.4.1."""
    return root_with(tmp_path, "6.3.0", "6.4.1")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An empty folder to work in."""
    path = tmp_path / "project"
    path.mkdir()
    return path


@pytest.fixture
def rocmenv(capfd: pytest.CaptureFixture[str], root: Root, project: Path) -> Runner:
    """Call rocmenv in `project`, inside this process."""
    return Runner(capfd, root, project)
