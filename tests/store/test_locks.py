"""`rocm.lock` on the disk: which one counts, and that what it names stays installed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocmenv.errors import PinError
from rocmenv.model.lock import Lock
from rocmenv.model.version import Version
from rocmenv.store import locks, projects, registry
from rocmenv.store.paths import Root
from tests.builders import root_with
from tests.cli.runner import Runner
from tests.model.test_lock import one


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return root_with(tmp_path, "6.3.0", "6.3.4", "7.0.0")


def lock(folder: Path, version: str, platform: str = locks.platform_name()) -> Path:
    folder.mkdir(exist_ok=True)
    entry = one(platform=platform, version=Version.parse(version))
    path = folder / "rocm.lock"
    path.write_text(Lock((entry,)).render())
    return path


def staying(rocmenv: Runner) -> dict[str, str]:
    value = json.loads(rocmenv("prune", "--keep", "0", "--json").fine())
    return {row["version"]: "; ".join(row["reasons"]) for row in value["stays"]}


def test_the_lock_beside_the_nearest_pin_counts(tmp_path: Path) -> None:
    outer = lock(tmp_path, "6.3.0")
    inner = tmp_path / "a/b"
    inner.mkdir(parents=True)
    assert locks.nearest(str(inner)) == outer
    (tmp_path / "a/.rocm-version").write_text("6.3\n")
    assert locks.nearest(str(inner)) is None
    assert locks.nearest(str(inner)) != lock(tmp_path / "a", "6.3.4")
    assert locks.nearest(str(inner)) == tmp_path / "a/rocm.lock"


def test_a_lock_keeps_what_it_names(rocmenv: Runner, root: Root, tmp_path: Path) -> None:
    here = lock(tmp_path, "6.3.0")
    (tmp_path / ".rocm-version").write_text("6.3\n")
    other = lock(tmp_path / "it's other", "7.0.0")
    projects.record(root, str(other.parent))
    assert staying(rocmenv) == {
        "6.3.0": f"locked by {here}",
        "6.3.4": f"pinned by {tmp_path}/.rocm-version",
        "7.0.0": f"locked by {other}",
    }
    result = rocmenv("uninstall", "7.0.0")
    assert result.refused() == f"version 7.0.0 is locked by {other}"
    assert """cd '/""" in result.hint
    assert f"{other}: 7.0.0 -> 7.0.0" in rocmenv("projects").fine().splitlines()


@pytest.mark.parametrize("pin", ["7.0.0", "system"])
def test_a_lock_that_does_not_fit_its_pin_keeps_nothing(
    rocmenv: Runner, tmp_path: Path, pin: str
) -> None:
    lock(tmp_path, "6.3.0")
    (tmp_path / ".rocm-version").write_text(f"{pin}\n")
    assert "6.3.0" not in staying(rocmenv)


def test_another_platforms_lock_keeps_nothing(rocmenv: Runner, tmp_path: Path) -> None:
    lock(tmp_path, "6.3.0", "windows-amd64")
    assert staying(rocmenv) == {}


def test_a_damaged_lock_is_told(rocmenv: Runner, root: Root, tmp_path: Path) -> None:
    path = lock(tmp_path, "6.3.0")
    path.write_text(path.read_text() + "<<<<<<< ours\n")
    with pytest.raises(PinError):
        locks.read(path)
    assert str(path) in rocmenv("projects").err
    assert rocmenv("prune", "--keep", "0", "--yes").status == 0
    assert registry.load(root).installed == {}


def test_a_project_with_a_lock_alone_is_remembered(root: Root, tmp_path: Path) -> None:
    path = lock(tmp_path / "project", "6.3.0")
    projects.record(root, str(path.parent))
    (tmp_path / "next").mkdir()
    (tmp_path / "next/.rocm-version").write_text("7\n")
    projects.record(root, str(tmp_path / "next"))  # which forgets the dead ones
    assert projects.folders(root) == [str(path.parent), str(tmp_path / "next")]
