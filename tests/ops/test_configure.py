"""Settings are changed whole, one change after the other."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rocmenv.store.paths import Root
from tests.builders import root_with
from tests.cli.runner import Runner


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return root_with(tmp_path, "6.3.0")


@pytest.fixture
def rocmenv(capfd: pytest.CaptureFixture[str], root: Root, tmp_path: Path) -> Runner:
    return Runner(capfd, root, tmp_path)


def test_what_is_no_text_is_refused_and_leaves_nothing(rocmenv: Runner, root: Root) -> None:
    before = sorted(os.listdir(root.path))
    message = rocmenv("config", "set", "legacy.keyring", os.fsdecode(b"/k/\xff")).refused()
    assert message == f"`/k/\\udcff` cannot be written into {root.config}: it is not UTF-8"
    assert sorted(os.listdir(root.path)) == before


@pytest.mark.parametrize(
    ("name", "words"),
    [("config.toml", ("config", "set", "jobs", "2")), ("version", ("global", "6.3.0"))],
)
def test_a_folder_in_place_of_the_file_is_called_one(
    rocmenv: Runner, root: Root, name: str, words: tuple[str, ...]
) -> None:
    place = root.path / name
    place.mkdir()
    result = rocmenv(*words)
    assert result.refused() == f"{place} is a folder"
    assert result.hint == f"move it away: `mv {place} {place}.old`"
    assert os.listdir(place) == []


def test_the_editor_gets_the_whole_path(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    root = root_with(tmp_path / "a b")
    for text in ("jobs = ", "legacy = 1"):
        root.config.write_text(text)
        hint = Runner(capfd, root, tmp_path)("config", "set", "legacy.mirror", "http://m").hint
        assert hint.endswith(f"`${{EDITOR:-vi}} '{root.config}'`")
