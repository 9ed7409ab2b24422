"""Fixtures that every test gets: no change of the real environment, a web server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocmenv.fetch.network import Network
from rocmenv.fetch.transfer import Downloads
from tests.fetch.server import Site, serving

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
def site() -> Iterator[Site]:
    """A web server on 127.0.0.1, empty at first."""
    with serving(Site()) as running:
        yield running


@pytest.fixture
def downloads(tmp_path: Path) -> Downloads:
    """Downloads into an empty cache, with next to no pause between attempts."""
    return Downloads(tmp_path / "cache", network=Network(timeout=5.0, pause=0.01, retries=2))


@pytest.fixture
def cases() -> Path:
    """The folder with the samples of the field reports (read only: copy before writing)."""
    return CASES
