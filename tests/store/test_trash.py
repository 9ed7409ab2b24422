"""What is on its way out goes, and nothing else does."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from rocmenv.store import trash
from tests.builders import fake_prefix, root_with
from tests.cli.runner import NOBODY, REPOSITORY, run_command
from tests.store.nobody import IS_ROOT, Start, give_away, start


def empty_soon(folder: Path) -> bool:
    """Whether the folder gets empty, as another process sees to it."""
    for _ in range(200):
        if not os.listdir(folder):
            return True
        time.sleep(0.05)
    return False


def test_it_is_emptied_by_a_process_that_needs_no_module_of_ours(tmp_path: Path) -> None:
    root = root_with(tmp_path, "6.3.0")
    fake_prefix(root.trash / "6.2.0.abc", "6.2.0")
    (root.trash / "file").touch()
    (root.trash / "link").symlink_to(root.versions)
    trash.empty(root)
    assert empty_soon(root.trash)
    assert os.listdir(root.versions) == ["6.3.0"]


def test_what_has_a_note_stays(tmp_path: Path) -> None:
    root = root_with(tmp_path, "6.3.0")
    for name in ("6.2.0.abc", "6.2.0.def"):
        fake_prefix(root.trash / name, "6.2.0")
    (root.journal / "6.2.0.def").touch()
    trash.empty_now(str(root.trash), str(root.journal))
    assert os.listdir(root.trash) == ["6.2.0.def"]
    assert (root.trash / "6.2.0.def/bin/hipcc").exists()


def dig(folder: Path, depth: int) -> Path:
    """A tree of so many folders in each other, with a file at the bottom."""
    folder.mkdir(parents=True)
    here = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("deep", dir_fd=here)
        below = os.open("deep", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("file", os.O_CREAT, dir_fd=here))
    os.close(here)
    return folder


@pytest.mark.parametrize("depth", [1300, 3000])
def test_a_tree_deeper_than_the_stack_or_a_path_goes_too(tmp_path: Path, depth: int) -> None:
    root = root_with(tmp_path, "6.3.0")
    dig(root.trash / "6.2.0.abc", depth)
    trash.empty(root)
    assert empty_soon(root.trash)
    trash.delete(dig(tmp_path / "tree", depth))
    assert not (tmp_path / "tree").exists()


@pytest.fixture(scope="module")
def begin() -> Start:
    return start()


def test_read_only_folders_go_too(tmp_path: Path, begin: Start) -> None:
    tree = fake_prefix(tmp_path / "tree", "6.3.0")
    outside = tmp_path / "outside"
    outside.mkdir(0o755)
    (tree / "lib/link").symlink_to(outside)
    for folder in (tree / "bin", tree / "lib/llvm", tree / "lib", tree):
        folder.chmod(0o555)
    (tree / "lib/llvm/bin").chmod(0)
    give_away(tmp_path)
    script = "import sys; from rocmenv.store import trash; trash.delete(sys.argv[1])"
    python = begin.words[0]
    run_command([*begin.before, python, "-c", script, str(tree)], begin.environ, REPOSITORY).fine()
    assert os.listdir(tmp_path) == ["outside"]
    assert outside.stat().st_mode & 0o777 == 0o755


@dataclass(frozen=True)
class Part:
    """A folder inside one of the user's: whose it is, with which rights, and whose file it has."""

    ours: bool
    mode: int
    file: bool | None


FOREIGN = {
    Part(ours=False, mode=0o755, file=None): False,
    Part(ours=False, mode=0o700, file=None): True,  # nobody can tell that it is empty
    Part(ours=False, mode=0o755, file=False): True,
    Part(ours=False, mode=0o755, file=True): True,
    Part(ours=False, mode=0o777, file=False): False,
    Part(ours=False, mode=0o1777, file=False): True,
    Part(ours=False, mode=0o1777, file=True): False,
    Part(ours=False, mode=0o1777, file=None): False,
    Part(ours=True, mode=0o1777, file=False): False,
    Part(ours=True, mode=0, file=False): False,
}


@pytest.mark.skipif(not IS_ROOT, reason="only root may give files away")
@pytest.mark.parametrize("part", FOREIGN)
def test_a_foreign_part_is_one_that_could_not_be_deleted(
    tmp_path: Path, begin: Start, part: Part
) -> None:
    tree = tmp_path / "tree"
    place = tree / "inner/place"
    place.mkdir(parents=True)
    give_away(tmp_path)
    if part.file is not None:
        (place / "file").touch()
        os.chown(place / "file", *(NOBODY if part.file else 0,) * 2)
    os.chown(place, *(NOBODY if part.ours else 0,) * 2)
    place.chmod(part.mode)
    script = "import sys; from rocmenv.store import trash; print(trash.{}(sys.argv[1]))"
    call = [*begin.before, begin.words[0], "-c"]
    found, _ = (
        run_command([*call, script.format(do), str(tree)], begin.environ, REPOSITORY).fine()
        for do in ("first_foreign", "delete")
    )
    assert found == (f"{place}\n" if FOREIGN[part] else "None\n")
    assert tree.exists() == (FOREIGN[part] and part.file is not None)
