"""Shims and activations fit what is installed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rocmenv.errors import RootError
from rocmenv.model.version import Version
from rocmenv.ops.rehash import rehash
from rocmenv.store import activations, registry, shims
from rocmenv.store.paths import Root
from tests.builders import clean_environ, process, root_with
from tests.cli.runner import run_command

TOOLS = {"clang++", "hipcc", "rocminfo"}


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return root_with(tmp_path, "6.3.0", "6.4.1")


def again(root: Root) -> list[str]:
    return rehash(process(root.path), root)


def commands(root: Root) -> set[str]:
    return {name for name in os.listdir(root.shims) if not name.startswith(".")}


def test_each_command_is_one_file_under_many_names(root: Root) -> None:
    assert commands(root) == TOOLS
    inodes = {(root.shims / name).stat().st_ino for name in TOOLS}
    assert len(inodes) == 1
    assert os.access(root.shims / "hipcc", os.X_OK)


def test_a_second_run_touches_nothing(root: Root) -> None:
    def state() -> list[tuple[str, int, int]]:
        paths = [*root.shims.iterdir(), *root.activations.iterdir()]
        return sorted((str(p), p.lstat().st_ino, p.lstat().st_mtime_ns) for p in paths)

    before = state()
    assert again(root) == []
    assert state() == before


def test_what_is_gone_loses_its_shim_and_what_came_has_one(root: Root) -> None:
    folder = root.versions / "6.4.1" / "bin"
    for path in (root.versions / "6.3.0" / "bin", folder):
        (path / "rocminfo").rename(path / "with blank")
    (folder / "data").write_text("not executable")
    (folder / "folder").mkdir()
    (folder / "dangling").symlink_to("nowhere")
    (folder / "hipcc-link").symlink_to("hipcc")
    again(root)
    assert commands(root) == {"clang++", "hipcc", "hipcc-link", "with blank"}


def test_files_of_others_stay(root: Root) -> None:
    (root.shims / "mine").write_text("#!/bin/sh\necho mine\n")
    again(root)
    assert (root.shims / "mine").read_text() == "#!/bin/sh\necho mine\n"


@pytest.mark.parametrize(
    "name", ["python3", "rocmenv", "sh", "env", "cmake", "ld", "pip3.11", "g++", ".shim", ".lists"]
)
def test_commands_of_the_machine_are_never_hidden(root: Root, name: str) -> None:
    """R04."""
    program = root.versions / "6.3.0/bin" / name
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert again(root) == [name]
    assert commands(root) == TOOLS


def test_without_hard_links_there_are_copies(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    for name in TOOLS:
        (root.shims / name).unlink()
    monkeypatch.setattr(os, "link", refused)
    again(root)
    assert commands(root) == TOOLS
    before = {name: (root.shims / name).stat().st_mtime_ns for name in TOOLS}
    again(root)
    assert {name: (root.shims / name).stat().st_mtime_ns for name in TOOLS} == before
    out = run_command(
        [str(root.shims / "hipcc")], clean_environ(root, ROCMENV_VERSION="6.3"), "/"
    ).fine()
    assert out.splitlines()[1] == f"{root.versions}/6.3.0"
    assert [n for n in os.listdir(root.shims) if n.endswith(".tmp")] == []


def test_what_a_killed_process_of_the_same_number_left_is_in_nobodys_way(root: Root) -> None:
    """Process numbers come again, above all in containers."""
    pid = os.getpid()
    (root.activations / "6.sh").unlink()
    (root.activations / f"6.sh.{pid}.tmp").symlink_to("half")
    (root.activations / f"6.3.0.sh.{pid}.tmp").write_text("half")
    (root.activations / "6.3.0.fish.1.tmp").write_text("half")
    (root.shims / f".shim.{pid}.hipcc.tmp").write_text("half")
    (root.shims / ".shim.1.tmp").write_text("half")
    (root.shims / "hipcc").unlink()
    again(root)
    names = [*os.listdir(root.activations), *os.listdir(root.shims)]
    assert [name for name in names if name.endswith(".tmp")] == []
    assert os.readlink(root.activations / "6.sh") == "6.4.1.sh"
    assert commands(root) == TOOLS


def test_a_folder_in_the_way_is_named(root: Root) -> None:
    (root.shims / "hipcc").unlink()
    (root.shims / "hipcc").mkdir()
    with pytest.raises(RootError, match=f"{root.shims}/hipcc cannot be written"):
        again(root)


def test_commands_of_a_prefix_that_cannot_be_read_are_none(root: Root, tmp_path: Path) -> None:
    item = registry.find(root, Version.parse("6.3.0"))
    (root.versions / "6.3.0/bin").rename(tmp_path / "bin")
    assert shims.commands(item) == {"clang++"}


def test_the_words_that_select_a_version() -> None:
    versions = [Version.parse(text) for text in ("6.3.0", "6.4.1", "6.4.1+test", "7.0.0rc1")]
    aliases = {"work": "6.3", "none": "system", "gone": "9", "loop": "work", "6": "6.3", "x y": "6"}
    found = {word: str(version) for word, version in activations.names(versions, aliases).items()}
    assert found == {
        "6": "6.4.1",
        "6.3": "6.3.0",
        "6.4": "6.4.1",
        "latest": "6.4.1",
        "work": "6.3.0",
    }
