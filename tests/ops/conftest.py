"""Fixtures of the tests of operations."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocmenv.store.paths import Root
from tests.builders import root_with


@pytest.fixture
def root(tmp_path: Path) -> Root:
    """A root with 6.3.0."""
    return root_with(tmp_path, "6.3.0")
