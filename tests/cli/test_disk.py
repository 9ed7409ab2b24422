"""`du`, `projects`, and `install` without a version."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from rocmenv.store import projects
from rocmenv.store.paths import Root
from tests.builders import fake_prefix, put
from tests.cli.runner import Runner, run


def usages(rocmenv: Runner, *words: str) -> dict[str, dict[str, int] | None]:
    value = json.loads(rocmenv("du", "--json", *words).fine())
    return {row["version"]: row["usage"] for row in value["versions"]}


def test_every_version_and_the_rest(rocmenv: Runner, root: Root) -> None:
    put(root.cache, "sha256/x", b"x" * 100_000)
    put(root.trash, "6.0.0.abc/file", b"x" * 200_000)
    lines = [line.split()[-1] for line in rocmenv("du").fine().splitlines()]
    assert lines == ["FREES", "6.3.0", "6.4.1", "cache", "staging", "trash", "total"]
    value = json.loads(rocmenv("du", "--json").fine())
    assert value["cache"]["logical"] == 100_000
    assert value["trash"]["logical"] == 200_000
    parts = [row["usage"]["physical"] for row in value["versions"]]
    parts += [value[name]["physical"] for name in ("cache", "staging", "trash")]
    assert value["total"] == sum(parts)


def test_what_is_shared(rocmenv: Runner, root: Root) -> None:
    big = put(root.versions / "6.3.0", "lib/big", os.urandom(500_000))
    os.link(big, root.versions / "6.4.1/lib/big")
    found = usages(rocmenv)
    for usage in found.values():
        assert usage is not None
        assert usage["shared"] == big.stat().st_blocks * 512
        assert usage["frees"] == usage["physical"] - usage["shared"]


def test_some_versions(rocmenv: Runner) -> None:
    assert list(usages(rocmenv, "6.3")) == ["6.3.0"]
    assert list(usages(rocmenv, "6.4.1", "6.3", "6.4")) == ["6.4.1", "6.3.0"]
    assert "trash" not in rocmenv("du", "6.3").fine()
    assert "no installed version fits `9`" in rocmenv("du", "9").refused()
    assert "the system's ROCm is not in the root" in rocmenv("du", "system").refused(2)


def test_a_linked_one_is_measured_when_asked(rocmenv: Runner, root: Root, tmp_path: Path) -> None:
    site = fake_prefix(tmp_path / "site", "7.0.0")
    put(site, "lib/big", b"x" * 100_000)
    rocmenv("link", str(site)).fine()
    assert usages(rocmenv)["7.0.0"] is None
    assert f"7.0.0 -> {site}" in rocmenv("du").fine()
    usage = usages(rocmenv, "--linked")["7.0.0"]
    assert usage is not None
    assert usage["logical"] > 100_000


def test_what_is_no_install_is_measured_and_said(rocmenv: Runner, root: Root) -> None:
    put(root.versions / "junk", "file", b"x" * 50_000)
    result = rocmenv("du")
    assert "junk" in result.fine()
    assert "not an install" in result.err
    value = json.loads(rocmenv("du", "--json").fine())
    assert [r["usage"]["logical"] for r in value["versions"] if r["problem"]] == [50_000]


def test_an_empty_root(rocmenv: Runner, tmp_path: Path) -> None:
    rocmenv.root = Root(tmp_path / "none")
    assert json.loads(rocmenv("du", "--json").fine())["total"] == 0


# Projects.


def test_projects_are_those_whose_pins_were_seen(
    rocmenv: Runner, root: Root, project: Path, tmp_path: Path
) -> None:
    assert rocmenv("projects").fine() == ""
    rocmenv("local", "6.3").fine()
    other = tmp_path / "other"
    other.mkdir()
    run(root, "use", "--project", "--force", "9.9.9", cwd=other).fine()
    assert rocmenv("projects").fine().splitlines() == [
        f"{project}/.rocm-version: 6.3 -> 6.3.0",
        f"{other}/.rocm-version: 9.9.9 (not installed)",
    ]
    rocmenv("local", "--unset").fine()
    value = json.loads(rocmenv("projects", "--json").fine())
    assert value["projects"] == [
        {"path": f"{other}/.rocm-version", "spec": "9.9.9", "version": None, "problem": None}
    ]


@pytest.mark.parametrize(
    "words", [("version",), ("versions",), ("local",), ("projects",), ("exec", "true"), ("du",)]
)
def test_reading_remembers_nothing(root: Root, project: Path, words: tuple[str, ...]) -> None:
    put(project, ".rocm-version", "6.3\n")
    run(root, *words, cwd=project).fine()
    assert projects.folders(root) == []


def test_another_projects_pin_stands_in_the_way_of_an_uninstall(
    rocmenv: Runner, root: Root, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    run(root, "local", "6.3", cwd=other).fine()
    result = rocmenv("uninstall", "6.3.0")
    assert result.refused() == f"version 6.3.0 is pinned by {other}/.rocm-version"
    rocmenv("uninstall", "--yes", "6.3.0").fine()


# Install what the project asks for.


def test_without_a_version_the_pin_counts(rocmenv: Runner, root: Root, project: Path) -> None:
    inner = project / "a/b"
    inner.mkdir(parents=True)
    put(project, ".rocm-version", "6.3\n")
    done = run(root, "install", cwd=inner)
    assert done.fine() == ""
    assert done.err.startswith(f"rocmenv: 6.3.0 is installed already (set by {project}/")
    assert projects.folders(root) == [str(project)]


def test_a_pin_that_is_not_installed_is_looked_for(
    rocmenv: Runner, root: Root, project: Path
) -> None:
    put(project, ".rocm-version", "work\n")
    rocmenv("config", "set", "aliases.work", "6.2").fine()
    result = rocmenv("install", "--offline", "--mirror", "http://127.0.0.1:9/rocm")
    assert result.status == 1
    assert f"rocmenv: 6.2 (set by {project}/.rocm-version)" in result.err
    assert "offline" in result.err


@pytest.mark.parametrize("pin", ["system\n", "# nothing\n", None])
def test_without_a_pin_a_version_is_missing(
    rocmenv: Runner, project: Path, pin: str | None
) -> None:
    if pin is not None:
        put(project, ".rocm-version", pin)
    assert rocmenv("install").refused(2) == "a version is missing"
