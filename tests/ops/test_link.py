"""`link` and `unlink`: a ROCm that somebody else looks after."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

import pytest

from rocmenv.store.paths import Root
from tests.builders import clean_environ, fake_prefix
from tests.cli.runner import Runner, run_command

HEADER = "".join(
    f"#define ROCM_VERSION_{n} {v}\n" for n, v in (("MAJOR", 6), ("MINOR", 2), ("PATCH", 4))
)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The cluster's own ROCm."""
    return fake_prefix(tmp_path / "site" / "rocm", "6.2.4", ("hipcc", "site-tool"))


def state(folder: Path) -> dict[str, tuple[int, int]]:
    paths = [folder, *folder.rglob("*")]
    return {str(p): (p.lstat().st_mtime_ns, p.lstat().st_ctime_ns) for p in paths}


def test_a_linked_version_works_and_its_prefix_is_unchanged(
    rocmenv: Runner, root: Root, site: Path
) -> None:
    before = state(site)
    result = rocmenv("link", "site/rocm")
    assert result.fine() == ""
    assert result.err == f"rocmenv: 6.2.4 is {site}\n"
    assert rocmenv("versions").fine() == f"  6.2.4 -> {site}\n  6.3.0\n"
    assert rocmenv("prefix", "6.2").fine() == f"{site}\n"
    assert rocmenv("+6.2", "which", "hipcc").fine() == f"{site}/bin/hipcc\n"
    shim = [str(root.shims / "site-tool")]
    out = run_command(shim, clean_environ(root, ROCMENV_VERSION="6.2"), "/").fine()
    assert out.splitlines()[1] == str(site)
    for command in ("uninstall", "unlink"):
        rocmenv("link", "site/rocm")
        result = rocmenv(command, "6.2")
        assert result.err == "rocmenv: 6.2.4 is no longer registered\n"
        assert rocmenv("versions").fine() == "  6.3.0\n"
        assert not (root.shims / "site-tool").exists()
        assert state(site) == before


def test_the_version_from_the_header_or_by_hand(rocmenv: Runner, site: Path) -> None:
    (site / ".info/version").unlink()
    result = rocmenv("link", str(site))
    assert "does not say which release it is" in result.refused()
    assert "6.5.0 is" in rocmenv("link", str(site), "6.5").err
    (site / "include").mkdir()
    (site / "include/rocm_version.h").write_text(HEADER)
    assert "6.2.4 is" in rocmenv("link", str(site)).err
    assert "6.2.4+site is" in rocmenv("link", str(site), "6.2.4+site").err


@pytest.mark.parametrize(
    "folder", ["/usr", "/usr/", "/", "/usr/local", "//usr", "usr-link", "/usr/../usr"]
)
def test_a_systems_own_folders_are_refused(rocmenv: Runner, tmp_path: Path, folder: str) -> None:
    (tmp_path / "usr-link").symlink_to("/usr")
    result = rocmenv("link", folder, "6.4.0")
    assert "would put all of" in result.refused()
    assert "`rocmenv use system`" in result.hint


def test_what_is_no_rocm_is_refused(rocmenv: Runner, root: Root, tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    assert "is not the prefix of a ROCm" in rocmenv("link", "x").refused()
    assert "it has no bin" in rocmenv("link", "x", "6.4.0").refused()
    assert "is not a folder" in rocmenv("link", "nowhere", "6.4.0").refused()
    inside = str(root.versions / "6.3.0")
    assert "it is in the root already" in rocmenv("link", inside, "6.4.0").refused()
    (tmp_path / "by-a-link").symlink_to(inside)
    assert "it is in the root already" in rocmenv("link", "by-a-link", "6.4.0").refused()
    (tmp_path / "a:b").mkdir()
    assert "can hold a colon" in rocmenv("link", "a:b", "6.4.0").refused()
    (tmp_path / "file").touch()
    assert "is not a folder" in rocmenv("link", "file").refused()
    rocmenv("link", "x", "../x").refused(2)
    assert os.listdir(root.versions) == ["6.3.0"]


def test_a_version_that_is_there_is_not_replaced(rocmenv: Runner, root: Root, site: Path) -> None:
    (site / ".info/version").write_text("6.3.0-39\n")
    result = rocmenv("link", str(site), "6.3.0")
    assert result.refused() == f"version 6.3.0 is already there: {root.versions}/6.3.0"
    assert result.hint == f"give it another name: `rocmenv link {site} 6.3.0+site`"
    assert rocmenv("unlink", "6.3.0").refused() == "version 6.3.0 is an install, not a link"
    assert rocmenv("unlink", "system").refused(2) == "`system` is not linked"
    rocmenv("unlink", "6.9").refused()


def test_the_name_that_is_proposed_is_free(rocmenv: Runner, tmp_path: Path) -> None:
    fake_prefix(tmp_path / "my site", "6.3.0")
    words: list[str] = ["link", "my site"]
    names = []
    for _ in range(3):
        command = rocmenv(*words).hint.split("`")[1]
        program, *words = shlex.split(command)
        assert program == "rocmenv"
        rocmenv(*words).fine()
        names.append(words[-1])
    assert names == ["6.3.0+site", "6.3.0+site2", "6.3.0+site3"]


def test_a_rocm_is_not_linked_as_another_release(rocmenv: Runner, site: Path) -> None:
    site = site.rename(site.parent / "my rocm")
    result = rocmenv("link", str(site), "8.0.0")
    assert result.refused() == f"`{site}` says it is 6.2.4, not 8.0.0"
    words = shlex.split(result.hint.split("`")[1])
    assert words == ["rocmenv", "link", str(site), "6.2.4"]
    rocmenv(*words[1:]).fine()
    assert "6.2.4+mine is" in rocmenv("link", str(site), "6.2.4+mine").err


def test_a_link_whose_prefix_is_gone(rocmenv: Runner, site: Path) -> None:
    rocmenv("link", str(site)).fine()
    shutil.rmtree(site)
    result = rocmenv("versions")
    assert result.fine() == "  6.3.0\n"
    assert f"{site}, which 6.2.4 is linked to, is gone" in result.err
    result = rocmenv("prefix", "6.2.4")
    assert "is gone" in result.refused()
    assert result.hint == "run `rocmenv unlink --yes 6.2.4`"
    assert "no installed version fits `6.2`" in rocmenv("prefix", "6.2").refused()
    rocmenv("unlink", "6.2").fine()
    assert rocmenv("versions").err == ""
