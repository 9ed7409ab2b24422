"""What stands in the way of an uninstall, and what an uninstall leaves."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rocmenv.model.selection import PIN_NAME
from rocmenv.store.paths import Root
from tests.builders import root_with
from tests.cli.runner import Runner


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return root_with(tmp_path, "6.3.0", "6.4.1")


@pytest.fixture
def rocmenv(capfd: pytest.CaptureFixture[str], root: Root, tmp_path: Path) -> Runner:
    return Runner(capfd, root, tmp_path)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda pin: pin.write_text("a b c\n"),
        lambda pin: pin.write_text("not/a/version\n"),
        # As one that may not be read, which root may.
        lambda pin: pin.write_bytes(b"#" * 100_000),
    ],
)
def test_a_pin_that_cannot_be_read_does_not_give_the_default_away(
    rocmenv: Runner, root: Root, tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    root.default.write_text("6.3.0\n")
    spoil(tmp_path / PIN_NAME)
    assert "is the default in" in rocmenv("uninstall", "6.3.0").refused()
    assert sorted(os.listdir(root.versions)) == ["6.3.0", "6.4.1"]


def test_a_default_that_cannot_be_read_does_not_give_the_pinned_away(
    rocmenv: Runner, root: Root, tmp_path: Path
) -> None:
    root.default.write_text("a b c\n")
    (tmp_path / PIN_NAME).write_text("6.3.0\n")
    assert "is pinned by" in rocmenv("uninstall", "6.3.0").refused()
    rocmenv("uninstall", "6.4.1").fine()
    assert os.listdir(root.versions) == ["6.3.0"]
