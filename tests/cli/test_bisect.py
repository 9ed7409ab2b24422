"""`bisect`: which versions are tried, and what is said in the end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocmenv.store import registry
from rocmenv.store.paths import Root
from tests.builders import root_with
from tests.cli.runner import Result, run
from tests.fetch.server import Site
from tests.ops.mirror import NEW, OLD, Mirror, mirrored
from tests.tools import tool

VERSIONS = ("6.1.0", "6.2.0", "6.3.0", "6.3.4", "7.0.0", "7.1.0")


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return root_with(tmp_path, *VERSIONS)


def bisect(root: Root, *words: str) -> Result:
    return run(root, "bisect", *words)


def script(**status: str) -> tuple[str, str, str]:
    """A command with an exit status by version: `bad="7.*"` fails there, `none` tells nothing."""
    words = {"bad": 3, "none": 125, "crash": 139}
    cases = "".join(f"{glob}) exit {words[name]};;" for name, glob in status.items())
    return "sh", "-c", f"echo out; case $ROCMENV_VERSION in {cases} esac"


def tried(result: Result) -> list[tuple[str, str]]:
    lines = [line.split() for line in result.out.splitlines() if line.endswith(" s")]
    return [(words[0], words[1]) for words in lines]


def test_the_first_bad_version_is_found(root: Root) -> None:
    result = bisect(root, "6.1", "7", "--", *script(bad="6.3.4|7.*"))
    assert result.fine().splitlines()[-1] == (
        "6.3.4 is the first bad version, 6.3.0 the last good one"
    )
    assert tried(result) == [
        ("6.1.0", "good"),
        ("7.1.0", "bad"),
        ("6.3.0", "good"),
        ("6.3.4", "bad"),
    ]
    assert "== 6.3.4: sh -c " in result.err


def test_going_back_and_a_crash_is_bad(root: Root) -> None:
    result = bisect(root, "-q", "7.1.0", "6.1.0", "--", *script(crash="6.1*|6.2*"))
    last = result.fine().splitlines()[-1]
    assert last == "6.2.0 is the first bad version, 6.3.0 the last good one"
    assert result.err == ""


def test_what_tells_nothing_is_named(root: Root) -> None:
    result = bisect(root, "6.1", "7", "--", *script(bad="7.*", none="6.3.*"))
    assert result.fine().splitlines()[-2:] == [
        "7.0.0 is bad, 6.2.0 is good",
        "nothing could be told of 6.3.0, 6.3.4 in between: each may be the first bad one",
    ]


def test_json(root: Root) -> None:
    value = json.loads(bisect(root, "--json", "6.1", "7", "--", *script(bad="7.*")).fine())
    assert (value["good"], value["bad"], value["untold"]) == ("6.3.4", "7.0.0", [])
    assert value["tried"][1] == {
        "version": "7.1.0",
        "verdict": "bad",
        "status": 3,
        "seconds": value["tried"][1]["seconds"],
        "problem": None,
    }


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("6.1", "7"), 2, "the command is missing"),
        (("6.1", "--", "ls"), 2, "two versions are needed"),
        (("6.1", "6.2", "7", "--", "ls"), 2, "two versions are needed"),
        (("6.1", "", "--", "ls"), 2, "an argument is empty"),
        (("6.1", "6.1.0", "--", "ls"), 2, "are the same version, 6.1.0"),
        (("6.1", "9", "--", "ls"), 1, "`--install` installs what is tried"),
        (("system", "7", "--", "ls"), 2, "not one of the installed versions"),
    ],
)
def test_nothing_runs_before_all_is_right(
    root: Root, words: tuple[str, ...], status: int, message: str
) -> None:
    result = bisect(root, *words)
    assert (result.status, result.out) == (status, "")
    assert message in result.err


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("true", "7.1.0 is good, and was named as bad"),
        ("false", "6.1.0 is bad, and was named as good"),
        ("not-there", "6.1.0 is skipped, and was named as good"),
    ],
)
def test_ends_that_are_otherwise_are_told(root: Root, command: str, message: str) -> None:
    result = bisect(root, "6.1", "7", "--", command)
    assert result.status == 1
    assert f"rocmenv: {message}" in result.err.splitlines()
    value = json.loads(bisect(root, "--json", "6.1", "7", "--", command).out)
    assert value["error"]["message"] == message


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirror]:
    tool("dpkg-deb")
    with mirrored(tmp_path_factory.mktemp("debs")) as mirror:
        yield mirror


def test_releases_are_installed_to_be_tried(tmp_path: Path, made: Mirror, site: Site) -> None:
    """The mirror has two; what else there should be in between tells nothing."""
    root = Root(tmp_path / "root")
    variables = made.publish(site)
    words = ("bisect", "--install", "-q", OLD, NEW, "--", *script(bad=NEW))
    result = run(root, *words, timeout=120, **variables)
    assert [str(v) for v in registry.versions(root)] == [OLD, NEW]
    assert f"{NEW} is " in result.fine()
    assert tried(result)[:2] == [(OLD, "good"), (NEW, "bad")]
    assert {verdict for _, verdict in tried(result)[2:]} <= {"skipped"}
