"""Fixtures that every test gets: no change of the real environment, tools or a reason."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

CASES = Path(__file__).parent / "cases"


@pytest.fixture(autouse=True)
def _environment_is_left_alone() -> Iterator[None]:
    before = dict(os.environ)
    yield
    after = dict(os.environ)
    after.pop("PYTEST_CURRENT_TEST", None)
    before.pop("PYTEST_CURRENT_TEST", None)
    assert after == before, "the test changed os.environ"


@pytest.fixture
def tool() -> Callable[[str], str]:
    """The path of a program, else: skip at home, fail in CI."""

    def find(name: str) -> str:
        path = shutil.which(name)
        if path is None:
            message = f"{name} is not installed"
            if os.environ.get("CI"):
                pytest.fail(f"{message}; .ci/run should have installed it")
            pytest.skip(message)
        return path

    return find


@pytest.fixture
def cases() -> Path:
    """The folder with the samples of the field reports (read only: copy before writing)."""
    return CASES
