"""Fixtures of the tests of static mirrors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sources.test_legacy import Mirror, made, mirror  # noqa: F401 - fixtures
from tests.sources.test_native import built, ubuntu  # noqa: F401 - as above
from tests.sources.test_native import mirror as server  # noqa: F401 - as above
from tests.sources.test_tarball import vendor  # noqa: F401 - as above


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the mirror is made."""
    return tmp_path / "my mirror"


@pytest.fixture
def origin(mirror: Mirror) -> Mirror:  # noqa: F811 - the fixture
    """The server that is copied from."""
    return mirror
