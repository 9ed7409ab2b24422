"""The world of real releases, made once for all tests that need it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.real.world import World, build_all, served


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A root with every real release that can be had, installed from a local server."""
    folder = tmp_path_factory.mktemp("real")
    built, missing = build_all(folder / "served")
    for suite, reason in missing.items():
        print(f"suite {suite}: {reason}")  # noqa: T201 - for the report
    if len(built) < 2:
        message = f"fewer than two real releases: {missing}"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    with served(folder / "served") as address:
        world = World(folder, address, built[0].fingerprint)
        for release in built:
            world.install(release.version)
            world.versions.append(release.version)
        yield world
