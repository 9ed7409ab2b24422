"""Fixtures of the shell tests."""

from __future__ import annotations

import pytest

from tests.shells.harness import STARTS, RealShell, find


@pytest.fixture(params=list(STARTS))
def shell(request: pytest.FixtureRequest) -> RealShell:
    """Each shell in turn."""
    return find(str(request.param))
