"""Where the root is: option, ROCM_ROOT, ROCMENV_ROOT, the user's data folder."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import platformdirs
import pytest

from rocmenv.errors import RootError
from rocmenv.model.version import Version
from rocmenv.store.paths import Root, find_root
from tests.builders import fake_prefix, process
from tests.cli.runner import run


def found(option: str | None = None, cwd: str = "/", **environ: str) -> Root:
    given = process(Path("/unused"), cwd=cwd)
    return find_root(replace(given, environ={"PATH": "/bin", **environ}), option)


def test_the_order_of_origins() -> None:
    every = {"ROCMENV_ROOT": "/c", "ROCM_ROOT": "/b", "ROCMENV_SHIM_ROOT": "/s"}
    assert found("/a", **every) == Root(Path("/a"), "--root")
    assert found(**every) == Root(Path("/s"), "ROCMENV_SHIM_ROOT")
    del every["ROCMENV_SHIM_ROOT"]
    assert found(**every) == Root(Path("/b"), "ROCM_ROOT")
    assert found(ROCMENV_ROOT="/c") == Root(Path("/c"), "ROCMENV_ROOT")
    assert found(ROCMENV_ROOT="/c", ROCM_ROOT="") == Root(Path("/c"), "ROCMENV_ROOT")


def test_the_default_is_the_users_data_folder() -> None:
    default = found()
    assert default.path == platformdirs.user_data_path("rocmenv", appauthor=False)
    assert default.origin == "the default"


@pytest.mark.parametrize("more", [{}, {"XDG_DATA_HOME": "/x y/data"}])
def test_the_default_in_a_real_process(tmp_path: Path, more: dict[str, str]) -> None:
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", **more}
    code = "import platformdirs; print(platformdirs.user_data_dir('rocmenv', appauthor=False))"
    outs = [
        subprocess.run(
            [sys.executable, *words], env=environ, capture_output=True, check=True, cwd="/"
        ).stdout
        for words in (("-m", "rocmenv", "root"), ("-c", code))
    ]
    assert outs[0] == outs[1]
    assert os.listdir(tmp_path) == []


def test_a_default_that_would_follow_the_folder_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As platformdirs 4.0 answers for a relative XDG_DATA_HOME."""
    monkeypatch.setattr(platformdirs, "user_data_path", lambda *_, **__: Path("rel/rocmenv"))
    assert found() == Root(Path("/nonexistent/.local/share/rocmenv"))


def test_a_relative_data_folder_is_passed_over(tmp_path: Path) -> None:
    root = Root(tmp_path / "root")
    for cwd in ("/", "/usr"):
        out = run(root, "root", cwd=cwd, ROCM_ROOT="", XDG_DATA_HOME="rel").fine()
        assert out == f"{tmp_path}/.local/share/rocmenv\n"


def test_a_relative_root_counts_from_the_current_folder() -> None:
    assert found(ROCM_ROOT="a/../b", cwd="/x/y").path == Path("/x/y/b")
    assert found("../b", cwd="/x/y").path == Path("/x/b")


def test_the_home_folder_is_understood(tmp_path: Path) -> None:
    root = Root(tmp_path / "x" / "root")
    result = run(root, "root", ROCM_ROOT="~/my rocm")
    assert result.fine() == f"{root.path.parent}/my rocm\n"


def test_a_rocm_is_no_root(tmp_path: Path) -> None:
    """Some guides set ROCM_ROOT to the ROCm itself."""
    prefix = fake_prefix(tmp_path / "rocm-6.3.0", "6.3.0")
    with pytest.raises(RootError, match="is a ROCm install, not a root") as caught:
        found(ROCM_ROOT=str(prefix))
    assert str(caught.value).endswith("(ROCM_ROOT)")
    assert "unset ROCM_ROOT" in str(caught.value.hint)
    assert "`rocmenv link " in str(caught.value.hint)
    assert str(caught.value.hint).startswith("`unset ROCM_ROOT`")
    (prefix / ".info/version").unlink()
    with pytest.raises(RootError, match="is a ROCm install"):
        found(str(prefix))


def test_the_way_out_of_a_rocm_can_be_typed(tmp_path: Path) -> None:
    prefix = fake_prefix(tmp_path / "my data/rocmenv", "6.3.0")
    root = Root(tmp_path / "root")
    hint = run(root, "--root", str(prefix), "root").hint
    assert hint == f"leave `--root` out, then `rocmenv link '{prefix}'`"
    hint = run(root, "root", ROCM_ROOT="", XDG_DATA_HOME=str(prefix.parent)).hint
    assert hint == f"`export ROCM_ROOT=$HOME/rocm`, then `rocmenv link '{prefix}'`"


@pytest.mark.parametrize("text", ["/a:b", "/a\nb"])
def test_what_no_list_of_folders_can_hold_is_no_root(text: str) -> None:
    with pytest.raises(RootError, match="cannot be a root"):
        found(ROCM_ROOT=text)


def test_a_file_is_no_root(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RootError, match="is not a folder"):
        found(ROCM_ROOT=str(tmp_path / "file"))


@pytest.mark.parametrize(
    ("words", "status", "out"),
    [
        (("version",), 0, "system (nothing selects a version)\n"),
        (("versions",), 0, ""),
        (("which", "hipcc"), 127, ""),
        (("exec", "true"), 0, ""),
        (("env", "--shell", "sh"), 0, ""),
        (("config", "get", "profile"), 0, "hip\n"),
        (("global",), 0, "system\n"),
        (("list-remote", "6.3.0"), 0, "  6.3.0  2024-12-03  legacy rpm\n"),
        (("install", "--dry-run", "6.3.0", "--from", "/nowhere"), 1, ""),
        (("install", "8.0.0"), 1, ""),
        (("uninstall", "6.3.0"), 1, ""),
    ],
)
def test_a_root_that_is_not_there_is_not_made_by_reading(
    tmp_path: Path, words: tuple[str, ...], status: int, out: str
) -> None:
    result = run(Root(tmp_path / "none"), *words)
    assert (result.status, result.out) == (status, out), result.err
    assert os.listdir(tmp_path) == []


def test_every_place_is_below_the_root() -> None:
    root = Root(Path("/r"))
    version = Version.parse("6.3.0")
    places = [
        getattr(root, name) for name in dir(Root) if isinstance(getattr(Root, name), property)
    ]
    for place in [*places, root.version(version), root.receipt(version)]:
        assert place.is_relative_to("/r")
    assert len(set(places)) == len(places)
