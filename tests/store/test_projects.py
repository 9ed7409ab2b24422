"""The memory of pins that were seen: who writes it, and what it survives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rocmenv.store import projects
from rocmenv.store.paths import Root
from tests.builders import put
from tests.cli.runner import REPOSITORY


@pytest.fixture
def root(tmp_path: Path) -> Root:
    (tmp_path / "root").mkdir()
    return Root(tmp_path / "root")


def pinned(folder: Path) -> str:
    put(folder, ".rocm-version", "6.3\n")
    return str(folder)


def test_a_project_is_remembered_once(root: Root, tmp_path: Path) -> None:
    first, second = pinned(tmp_path / "a"), pinned(tmp_path / "b")
    for folder in (first, second, first):
        projects.record(root, folder)
    assert projects.folders(root) == [first, second]


def test_what_has_no_pin_any_more_goes_with_the_next_one(root: Root, tmp_path: Path) -> None:
    first, second, third = (pinned(tmp_path / name) for name in "abc")
    projects.record(root, first)
    projects.record(root, second)
    (tmp_path / "a/.rocm-version").unlink()
    assert projects.folders(root) == [first, second], "reading changes nothing"
    projects.record(root, third)
    assert projects.folders(root) == [second, third]


def test_the_oldest_make_room(root: Root, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projects, "MOST", 3)
    folders = [pinned(tmp_path / str(number)) for number in range(5)]
    for folder in folders:
        projects.record(root, folder)
    assert projects.folders(root) == folders[2:]


def test_names_that_are_no_text_come_back(root: Root, tmp_path: Path) -> None:
    odd = pinned(tmp_path / os.fsdecode(b"\xff new\nline"))
    projects.record(root, odd)
    assert projects.folders(root) == [odd]
    assert json.loads(root.projects.read_text())["schema"] == 1


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"projects": 1}',
        b'{"projects": [1, "relative"]}',
        b"[" * 99999,
    ],
)
def test_a_damaged_memory_is_an_empty_one(root: Root, tmp_path: Path, content: bytes) -> None:
    root.projects.write_bytes(content)
    assert projects.folders(root) == []
    folder = pinned(tmp_path / "a")
    projects.record(root, folder)
    assert projects.folders(root) == [folder]


def test_without_a_root_nothing_is_made(tmp_path: Path) -> None:
    root = Root(tmp_path / "none")
    projects.record(root, pinned(tmp_path / "a"))
    assert not root.path.exists()


def test_many_at_once_are_all_remembered(root: Root, tmp_path: Path) -> None:
    folders = [pinned(tmp_path / str(number)) for number in range(8)]
    code = (
        "import sys; from pathlib import Path; from rocmenv.store.paths import Root\n"
        "from rocmenv.store import projects; projects.record(Root(Path(sys.argv[1])), sys.argv[2])"
    )
    children = [
        subprocess.Popen([sys.executable, "-c", code, str(root.path), folder], cwd=REPOSITORY)
        for folder in folders
    ]
    assert [child.wait(timeout=60) for child in children] == [0] * 8
    assert sorted(projects.folders(root)) == folders
