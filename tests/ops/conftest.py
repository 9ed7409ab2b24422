"""Fixtures of the tests of operations."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocmenv.store.paths import Root
from tests.builders import root_with
from tests.cli.runner import Runner


@pytest.fixture
def root(tmp_path: Path) -> Root:
    """A root with 6.3.0."""
    return root_with(tmp_path, "6.3.0")


@pytest.fixture
def rocmenv(capfd: pytest.CaptureFixture[str], root: Root, tmp_path: Path) -> Runner:
    """Call rocmenv in the test's folder, inside this process."""
    return Runner(capfd, root, tmp_path)
