"""R07: a root that other people look after."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from rocmenv.store.paths import Root
from tests.builders import clean_environ, fake_prefix, root_with
from tests.cli.runner import NOBODY, Result, run_command
from tests.store.nobody import IS_ROOT, Start, let_in, start
from tests.tools import tool


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Root]:
    """A root with 6.3.0 and 6.4.1, default 6.3.0, that this test's user cannot write to."""
    folder = tmp_path_factory.mktemp("shared")
    let_in(folder)
    root = root_with(folder, "6.3.0", "6.4.1")
    root.default.write_text("6.3.0\n")
    fake_prefix(folder / "rocm-7.0.0", "7.0.0")
    project = folder / "project"
    project.mkdir()
    (project / ".rocm-version").write_text("6.4\n")
    if IS_ROOT:
        os.chown(project, NOBODY, NOBODY)
        yield root
        return
    for path in [root.path, *root.path.rglob("*")]:
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o555)
    yield root
    for path in [root.path, *root.path.rglob("*")]:
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)


@pytest.fixture(scope="module")
def begin() -> Start:
    return start()


@pytest.fixture
def user(shared: Root, begin: Start) -> Callable[..., Result]:
    """Run rocmenv, or a program with `program`, as a user who cannot write to the root."""

    def call(*words: str, program: bool = False) -> Result:
        project = shared.path.parent / "project"
        path = f"{shared.shims}:/usr/bin:/bin"
        environ = clean_environ(shared, HOME=str(project), PATH=path, **begin.environ)
        command = words if program else (*begin.words, *words)
        return run_command([*begin.before, *command], environ, project)

    return call


def state(root: Root) -> dict[str, tuple[int, ...]]:
    """Every file of the root with its inode, mode, size and times of change."""
    out: dict[str, tuple[int, ...]] = {}
    for path in [root.path, *root.path.rglob("*")]:
        stat = path.lstat()
        out[str(path)] = (
            stat.st_ino,
            stat.st_mode,
            stat.st_size,
            stat.st_mtime_ns,
            stat.st_ctime_ns,
        )
    return out


@pytest.fixture(autouse=True)
def _the_root_is_left_as_it_was(shared: Root) -> Iterator[None]:
    before = state(shared)
    yield
    assert state(shared) == before


@pytest.mark.parametrize(
    ("words", "out"),
    [
        (("version",), "6.4.1 (set by "),
        (("versions",), "  6.3.0\n* 6.4.1"),
        (("versions", "--json"), '{\n "schema": 1'),
        (("which", "hipcc"), "/"),
        (("whence", "hipcc"), "6.3.0\n6.4.1\n"),
        (("prefix",), "/"),
        (("exec", "hipcc", "x"), "/"),
        (("+6.3", "exec", "env"), "ROCM_ROOT="),
        (("env", "--shell", "bash"), "export "),
        (("init", "bash"), ""),
        (("global",), "6.3.0\n"),
        (("local",), "6.4\n"),
        (("config", "list"), "channel = "),
        (("install", "--list", "6.3.0"), "* 6.3.0"),
        (("du",), "     SIZE"),
        (("projects",), "/"),
        (("cache", "dir"), "/"),
    ],
)
def test_reading_says_nothing_and_writes_nothing(
    user: Callable[..., Result], words: tuple[str, ...], out: str
) -> None:
    result = user(*words)
    assert result.fine().startswith(out)
    assert result.err == ""


def test_a_shim_runs(user: Callable[..., Result], shared: Root) -> None:
    result = user("hipcc", "a", program=True)
    assert result.fine().splitlines()[1] == f"{shared.versions}/6.4.1"
    assert result.err == ""


@pytest.mark.parametrize("name", ["bash", "zsh", "dash", "fish"])
def test_a_shells_start_line_and_its_functions(
    user: Callable[..., Result],
    shared: Root,
    begin: Start,
    name: str,
) -> None:
    program = tool(name)
    launch = " ".join(begin.words)
    line = (
        f"{launch} init fish | source"
        if name == "fish"
        else f'eval "$({launch} init {"sh" if name == "dash" else name})"'
    )
    script = f"""{line}
_rocmenv_hook
echo $ROCM_PATH
rocmenv shell 6.3.0 2>/dev/null
echo $ROCM_PATH
"""
    options = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}.get(name, [])
    result = user(program, *options, "-c", script, program=True)
    assert (result.out, result.err) == (f"{shared.versions}/6.4.1\n{shared.versions}/6.3.0\n", "")


@pytest.mark.parametrize(
    "words",
    [
        ("install", "7.0.0", "--from", "../rocm-7.0.0"),
        ("install", "6.3.0", "--reinstall", "--from", "../rocm-7.0.0"),
        ("install", "7.0.0", "--mirror", "http://127.0.0.1:9"),
        ("use", "--global", "6.4.1"),
        ("global", "6.4.1"),
        ("global", "--unset"),
        ("rehash",),
        ("uninstall", "--yes", "6.3.0"),
        ("config", "set", "jobs", "2"),
        ("config", "unset", "jobs"),
        ("link", "../rocm-7.0.0"),
        ("upgrade", "--all"),
        ("prune", "--yes"),
    ],
)
def test_changing_is_refused_by_the_folders_name(
    user: Callable[..., Result], shared: Root, words: tuple[str, ...]
) -> None:
    result = user(*words)
    message = result.refused(1)
    assert message.startswith(f"{shared.path} cannot be written (Permission denied)")
    assert "(ROCM_ROOT)" in message
    assert result.hint == (
        "name a root of your own: `export ROCM_ROOT=$HOME/rocm` above `rocmenv init`"
    )


def test_a_project_of_the_users_own_can_be_pinned(
    user: Callable[..., Result], shared: Root
) -> None:
    result = user("local", "6.3")
    assert result.fine() == ""
    assert user("version").fine().startswith("6.3.0 ")
    user("local", "6.4").fine()


def test_what_is_installed_already_needs_no_right(user: Callable[..., Result]) -> None:
    result = user("install", "6.3.0")
    assert result.fine() == ""
    assert "is installed already" in result.err


def test_a_pin_that_may_not_be_read_is_not_replaced(
    user: Callable[..., Result], shared: Root
) -> None:
    pin = shared.path.parent / "project/.rocm-version"
    before = pin.read_bytes()
    pin.chmod(0)
    try:
        result = user("local", "6.3")
        assert result.refused() == f"{pin} cannot be read (Permission denied)"
        assert result.hint == f"check its rights: `ls -l {pin}`"
    finally:
        pin.chmod(0o644)
    assert pin.read_bytes() == before
