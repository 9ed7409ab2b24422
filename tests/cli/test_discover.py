"""`discover` and what follows it, as real processes and as other users."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from rocmenv.store.paths import Root
from tests.builders import clean_environ, fake_prefix
from tests.cli.runner import Result, run, run_command
from tests.store.nobody import IS_ROOT, Start, give_away, let_in, start


def tree(folder: Path) -> dict[str, tuple[int, int, int, int, str]]:
    """Every entry below a folder: mode, owner, times, and the content's digest."""
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        state = path.lstat()
        content = b""
        if path.is_symlink():
            content = os.fsencode(os.readlink(path))
        elif path.is_file():
            content = path.read_bytes()
        found[str(path)] = (
            state.st_mode,
            state.st_uid,
            state.st_mtime_ns,
            state.st_ctime_ns,
            hashlib.sha256(content).hexdigest(),
        )
    return found


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The cluster's own ROCm, in a folder to look into."""
    return fake_prefix(tmp_path / "sdk/rocm-6.2.4", "6.2.4", ("hipcc", "site-tool"))


def test_from_finding_to_forgetting(root: Root, site: Path) -> None:
    before = tree(site)
    result = run(root, "discover", "--in", str(site.parent))
    assert str(site) in result.fine()
    assert "`rocmenv discover --adopt` registers what is" in result.err
    result = run(root, "discover", "--adopt", str(site))
    assert result.status == 0
    assert result.err == f"rocmenv: 6.2.4 is {site}\nrocmenv: select one: `rocmenv use 6.2.4`\n"
    assert run(root, "+6.2", "exec", "site-tool").fine().splitlines()[1] == str(site)
    assert run(root, "uninstall", "6.2.4").err == "rocmenv: 6.2.4 is no longer registered\n"
    assert tree(site) == before


def test_the_root_need_not_be_there_to_look(tmp_path: Path, site: Path) -> None:
    root = Root(tmp_path / "new")
    assert str(site) in run(root, "discover", "--in", str(site.parent)).fine()
    assert not root.path.exists(), "looking makes nothing"


# Rights.


@pytest.fixture(scope="module")
def begin() -> Start:
    return start()


def as_user(begin: Start, root: Root, *words: str) -> Result:
    environ = clean_environ(root, **begin.environ)
    return run_command([*begin.before, *begin.words, *words], environ, "/")


@pytest.mark.skipif(not IS_ROOT, reason="only root may give files away")
@pytest.mark.parametrize("command", ["uninstall", "unlink"])
def test_a_prefix_of_another_user_is_adopted_and_forgotten(
    root: Root, tmp_path: Path, site: Path, begin: Start, command: str
) -> None:
    """The root is nobody's, the prefix is root's and read-only."""
    give_away(tmp_path)
    subprocess.run(["chown", "-R", "0:0", str(site)], check=True)
    subprocess.run(["chmod", "-R", "a-w", str(site)], check=True)
    before = tree(site)
    as_user(begin, root, "discover", "--adopt", str(site)).fine()
    assert as_user(begin, root, "+6.2", "which", "site-tool").fine() == f"{site}/bin/site-tool\n"
    as_user(begin, root, command, "6.2.4").fine()
    assert tree(site) == before
    assert sorted(os.listdir(root.versions)) == ["6.3.0", "6.4.1"]


@pytest.mark.skipif(not IS_ROOT, reason="only root may take rights away from others")
def test_a_prefix_that_may_not_be_read(
    root: Root, tmp_path: Path, site: Path, begin: Start
) -> None:
    let_in(tmp_path)
    other = fake_prefix(site.parent / "rocm-6.4.0", "6.4.0")
    site.chmod(0o700)
    let_in(root.path)
    words = ("discover", "--all", "--in", str(site.parent))
    result = as_user(begin, root, *words, str(site))
    assert "broken: it cannot be read (Permission denied)" in result.fine()
    result = as_user(begin, root, *words)
    assert str(other) in result.fine()
    assert f"note: {site} cannot be read (Permission denied)\n" in result.err


@pytest.mark.skipif(not IS_ROOT, reason="only root may take rights away from others")
def test_a_root_that_may_only_be_read(root: Root, tmp_path: Path, site: Path, begin: Start) -> None:
    let_in(tmp_path)
    let_in(root.path)
    assert str(site) in as_user(begin, root, "discover", str(site)).fine()
    result = as_user(begin, root, "discover", "--adopt", str(site))
    assert "cannot be written" in result.refused()
