"""Fixtures of the fetch tests: a server, downloads that do not wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rocmenv.fetch.transfer import Downloads
from tests.fetch.server import Site, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def site() -> Iterator[Site]:
    """A web server on 127.0.0.1, empty at first."""
    with serving(Site()) as running:
        yield running


@pytest.fixture
def downloads(tmp_path: Path) -> Downloads:
    """Downloads into an empty cache, with next to no pause between attempts."""
    return Downloads(tmp_path / "cache", timeout=5.0, attempts=3, pause=0.01)
