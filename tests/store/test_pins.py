"""Version files: find, read, write."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rocmenv.errors import PinError, StoreError
from rocmenv.model.version import Spec
from rocmenv.store import pins


def test_the_nearest_file_with_a_word_counts(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b" / "c"
    inner.mkdir(parents=True)
    (tmp_path / ".rocm-version").write_text("6.3\n")
    (tmp_path / "a" / ".rocm-version").write_text("# nothing\n")
    (tmp_path / "a" / "b" / ".rocm-version").mkdir()
    assert pins.nearest(str(inner)) == (str(tmp_path / ".rocm-version"), Spec.parse("6.3"))
    (inner / ".rocm-version").write_text("6.4\n")
    assert pins.nearest(str(inner)) == (str(inner / ".rocm-version"), Spec.parse("6.4"))


def test_a_folder_that_is_gone_has_those_above_it(tmp_path: Path) -> None:
    (tmp_path / ".rocm-version").write_text("6.3\n")
    assert pins.nearest(f"{tmp_path}/gone/too/") == (f"{tmp_path}/.rocm-version", Spec.parse("6.3"))


def test_a_bad_file_is_an_error_and_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / ".rocm-version").write_text("6.3\n")
    (tmp_path / "a" / ".rocm-version").write_text("6.3 6.4\n")
    with pytest.raises(PinError, match="line 1: more than one version"):
        pins.nearest(str(tmp_path / "a"))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(PinError, match=r"cannot be read \(Is a directory\)"):
        pins.read(str(tmp_path))


def test_writing_is_one_step_and_leaves_nothing_beside(tmp_path: Path) -> None:
    path = tmp_path / "version"
    path.write_text("# a\n  # b\n6.3 # c\n")
    pins.write(path, Spec.parse(">=6.3, <7"))
    assert path.read_text() == "# a\n  # b\n>=6.3,<7\n"
    assert os.listdir(tmp_path) == ["version"]


def test_a_failed_write_leaves_the_old_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "version"
    path.write_text("6.3\n")

    def broken(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(StoreError, match="No space left"):
        pins.write(path, Spec.parse("6.4"))
    assert path.read_text() == "6.3\n"
    assert os.listdir(tmp_path) == ["version"]
