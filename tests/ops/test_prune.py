"""`prune`: what goes, what stays and why; stopped, refused half-way, two at once."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pexpect
import pytest

from rocmenv.model.version import Version
from rocmenv.ops import prune as ops
from rocmenv.ops.prune import Choice
from rocmenv.store import registry
from rocmenv.store.lock import locked
from rocmenv.store.paths import Root
from tests.builders import add, clean_environ, fake_prefix, process, put, root_with
from tests.cli.runner import COMMAND, Runner, run, run_and_stop, run_command
from tests.store.nobody import IS_ROOT, give_away, start
from tests.store.test_trash import empty_soon
from tests.tools import tool

ALL = ["6.2.0", "6.3.0", "6.3.4", "7.0.0"]


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return root_with(tmp_path, *ALL)


def versions(root: Root) -> list[str]:
    return [str(v) for v in registry.load(root).installed]


def going(rocmenv: Runner, *words: str, **environ: str) -> list[str]:
    value = json.loads(rocmenv("prune", "--json", *words, **environ).fine())
    assert value["removed"] is None
    return [row["version"] for row in value["goes"]]


def staying(rocmenv: Runner, *words: str, **environ: str) -> dict[str, str]:
    value = json.loads(rocmenv("prune", "--json", *words, **environ).fine())
    return {row["version"]: "; ".join(row["reasons"]) for row in value["stays"]}


# What goes.


def test_without_yes_it_only_shows(rocmenv: Runner, root: Root) -> None:
    result = rocmenv("prune")
    lines = [re.sub(r" \([0-9.]+ \w+\)", "", line) for line in result.fine().splitlines()]
    assert lines == [
        "stays  7.0.0: the newest",
        *(f"goes   {version}: nothing asks for it" for version in ALL[:3]),
    ]
    assert "nothing was removed; `--yes` removes it" in result.err
    assert versions(root) == ALL


def test_with_yes_it_goes(rocmenv: Runner, root: Root) -> None:
    result = rocmenv("prune", "--yes")
    assert result.status == 0
    assert "removed 6.2.0, 6.3.0, 6.3.4" in result.err
    assert versions(root) == ["7.0.0"]
    assert "6.3.0.sh" not in os.listdir(root.activations)
    assert empty_soon(root.trash)
    assert "there is nothing to remove" in rocmenv("prune", "--yes").err


def test_a_dry_run_changes_nothing_even_with_yes(rocmenv: Runner, root: Root) -> None:
    rocmenv("prune", "--yes", "--dry-run").fine()
    assert versions(root) == ALL


@pytest.mark.parametrize(("keep", "goes"), [("0", ALL), ("1", ALL[:3]), ("2", ALL[:2]), ("9", [])])
def test_the_newest_stay(rocmenv: Runner, keep: str, goes: list[str]) -> None:
    assert going(rocmenv, "--keep", keep) == goes


def test_a_pre_release_does_not_stand_for_the_newest_release(
    rocmenv: Runner, root: Root, tmp_path: Path
) -> None:
    nightly = fake_prefix(tmp_path / "nightly", "10.1.0")
    add(root, "10.1.0a20260901", nightly)
    add(root, "10.1.0a20260902", nightly)
    assert going(rocmenv) == [*ALL[:3], "10.1.0a20260901"]


def test_everything_that_asks_for_a_version_keeps_it(
    rocmenv: Runner, root: Root, tmp_path: Path
) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    run(root, "local", "6.3", cwd=other).fine()
    rocmenv("config", "set", "aliases.work", "6.2").fine()
    (tmp_path / ".rocm-version").write_text("6.3.0\n")
    root.default.write_text("7\n")
    assert staying(rocmenv, "--keep", "0") == {
        "6.2.0": "what the alias `work` means",
        "6.3.0": f"pinned by {tmp_path}/.rocm-version",
        "6.3.4": f"pinned by {other}/.rocm-version",
        "7.0.0": f"the default in {root.default}",
    }


def test_what_this_shell_uses_stays(rocmenv: Runner) -> None:
    kept = staying(rocmenv, "--keep", "0", ROCMENV_VERSION="6.3.0")
    assert kept == {"6.3.0": "selected by ROCMENV_VERSION"}
    activated = rocmenv("env", "6.2.0", "--json").fine()
    record = json.loads(activated)["variables"]["ROCMENV_DIFF"]
    assert staying(rocmenv, "--keep", "0", ROCMENV_DIFF=record) == {"6.2.0": "active in this shell"}


def test_what_a_process_runs_from_stays(rocmenv: Runner, root: Root) -> None:
    program = shutil.copy(tool("sleep"), root.versions / "6.3.0/bin/sleep")
    with subprocess.Popen([program, "60"]) as child:
        kept = staying(rocmenv, "--keep", "0")
        refused = rocmenv("uninstall", "6.3.0").refused()
        child.kill()
    assert kept == {"6.3.0": f"in use by sleep (pid {child.pid})"}
    assert refused == f"version 6.3.0 is in use by sleep (pid {child.pid})"
    assert staying(rocmenv, "--keep", "0") == {}


@pytest.mark.parametrize("name", ["default", "projects"])
def test_what_may_not_be_read_may_ask_for_anything(root: Root, tmp_path: Path, name: str) -> None:
    begin = start()
    path = getattr(root, name)
    path.write_text("6.3.0\n" if name == "default" else "{}")
    give_away(tmp_path)
    path.chmod(0)
    words = [*begin.before, *begin.words, "prune", "--yes", "--keep", "0"]
    result = run_command(words, clean_environ(root, **begin.environ), "/")
    assert versions(root) == ALL
    assert f"stays  6.3.0: {path} cannot be read, and may ask for it" in result.out


def test_a_damaged_list_of_projects_keeps_everything(rocmenv: Runner, root: Root) -> None:
    root.projects.write_text("{")
    assert set(staying(rocmenv, "--keep", "0")) == set(ALL)
    assert "is damaged, so no project is known" in rocmenv("prune").err
    root.projects.unlink()
    assert staying(rocmenv, "--keep", "0") == {}


def test_linked_ones_are_never_taken(rocmenv: Runner, root: Root, tmp_path: Path) -> None:
    site = fake_prefix(tmp_path / "site", "5.7.0")
    rocmenv("link", str(site)).fine()
    assert staying(rocmenv, "--keep", "0") == {"5.7.0": f"linked to {site}"}
    rocmenv("prune", "--keep", "0", "--yes").fine()
    assert versions(root) == ["5.7.0"]
    assert (site / "bin/hipcc").exists()


def test_where_a_link_leads_stays(rocmenv: Runner, root: Root, tmp_path: Path) -> None:
    rocmenv("link", str(fake_prefix(tmp_path / "site", "5.7.0"))).fine()
    (tmp_path / "site").rename(tmp_path / "old")
    (tmp_path / "site").symlink_to(root.versions / "6.3.0")
    kept = staying(rocmenv, "--keep", "0")
    assert kept["6.3.0"] == "where 5.7.0 leads, which is linked"


def test_what_is_broken_stays_and_is_said(rocmenv: Runner, root: Root) -> None:
    root.receipt(Version.parse("6.2.0")).write_text("{")
    value = json.loads(rocmenv("prune", "--json", "--yes").fine())
    assert "6.2.0 is not an install and stays" in value["notes"][0]
    assert sorted(os.listdir(root.versions)) == ["6.2.0", "7.0.0"]


def test_a_pin_that_may_not_be_read_keeps_everything(root: Root, tmp_path: Path) -> None:
    """Somebody else's project: nobody knows what it asks for."""
    begin = start()
    hidden = tmp_path / "hidden"
    pin = put(hidden, ".rocm-version", "6.3.0\n")
    root.projects.write_text(json.dumps({"schema": 1, "projects": [str(hidden)]}))
    give_away(tmp_path)
    if IS_ROOT:
        os.chown(hidden, 0, 0)
    hidden.chmod(0o700 if IS_ROOT else 0)
    environ = clean_environ(root, **begin.environ)
    done = run_command([*begin.before, *begin.words, "prune", "--yes"], environ, "/")
    hidden.chmod(0o700)
    assert done.status == 0
    assert f"stays  6.2.0: {pin} cannot be read, and may ask for it" in done.out
    assert versions(root) == ALL


def test_a_pin_of_nonsense_asks_for_nothing(rocmenv: Runner, root: Root, tmp_path: Path) -> None:
    odd = tmp_path / "odd"
    put(odd, ".rocm-version", "a b c\n")
    root.projects.write_text(json.dumps({"schema": 1, "projects": [str(odd)]}))
    value = json.loads(rocmenv("prune", "--json").fine())
    assert "more than one version" in value["notes"][0]
    assert [row["version"] for row in value["goes"]] == ALL[:3]


# Sizes.


def test_what_two_that_go_have_in_common_is_counted(rocmenv: Runner, root: Root) -> None:
    big = put(root.versions / "6.2.0", "lib/big", os.urandom(500_000))
    for other in ("6.3.0", "7.0.0"):
        os.link(big, root.versions / other / "lib/big")
    value = json.loads(rocmenv("prune", "--json").fine())
    assert value["frees"] < 400_000, "7.0.0 stays, and has it too"
    (root.versions / "7.0.0/lib/big").unlink()
    value = json.loads(rocmenv("prune", "--json").fine())
    assert value["frees"] > 500_000
    assert all(row["frees"] < 400_000 for row in value["goes"]), "each alone frees less"


# Downloads and leftovers.


def test_only_what_is_asked_for(rocmenv: Runner, root: Root) -> None:
    put(root.cache, f"sha256/{'ab' * 32}", b"x" * 1000)
    put(root.staging, "6.4.0.abc/tree/file", b"x" * 100_000)
    value = json.loads(rocmenv("prune", "--json", "--cache").fine())
    assert (len(value["downloads"]), value["goes"], value["leftovers"]) == (1, [], [])
    value = json.loads(rocmenv("prune", "--json", "--staging").fine())
    assert (len(value["leftovers"]), value["goes"], value["downloads"]) == (1, [], [])
    rocmenv("prune", "--staging", "--yes").fine()
    assert os.listdir(root.staging) == []
    assert versions(root) == ALL
    rocmenv("prune", "--cache", "--yes").fine()
    assert os.listdir(root.cache / "sha256") == []


def test_what_is_under_way_is_not_left_over(rocmenv: Runner, root: Root) -> None:
    put(root.staging, "6.4.0.abc/tree/file", b"x")
    (root.journal / "6.4.0.abc").touch()
    with locked(root, "6.4.0", "install 6.4.0"):
        assert json.loads(rocmenv("prune", "--json", "--staging").fine())["leftovers"] == []
        rocmenv("prune", "--staging", "--yes").fine()
        assert os.listdir(root.staging) == ["6.4.0.abc"]
    rocmenv("prune", "--staging", "--yes").fine()
    assert os.listdir(root.staging) == os.listdir(root.journal) == []


# Failures.


def test_one_that_cannot_go_leaves_the_others(rocmenv: Runner, root: Root) -> None:
    with locked(root, "6.3.0", "install 6.3.0"):
        result = rocmenv("prune", "--yes")
    assert result.status == 1
    assert "removed 6.2.0, 6.3.4" in result.err
    assert "6.3.0 stays: another rocmenv is at work" in result.err
    assert versions(root) == ["6.3.0", "7.0.0"]
    assert going(rocmenv) == ["6.3.0"]


def test_what_is_pinned_at_the_question_stays(root: Root, tmp_path: Path) -> None:
    here = process(root.path, cwd=tmp_path)
    found = ops.look(here, root, Choice())
    (tmp_path / ".rocm-version").write_text("6.3.0\n")
    done = ops.carry_out(here, root, found, Choice())
    assert [str(v) for v in done.versions] == ["6.2.0", "6.3.4"]
    assert done.failed[0][0] == "6.3.0"
    assert versions(root) == ["6.3.0", "7.0.0"]


POINTS = {
    "before one goes": "rocmenv.store.trash:first_foreign",
    "after one went": "rocmenv.ops.uninstall:rehash",
    "before the trash": "rocmenv.store.trash:empty",
}


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("point", POINTS)
def test_stopped_anywhere_the_next_one_goes_on(root: Root, point: str, how: signal.Signals) -> None:
    stopped = run_and_stop(root, POINTS[point], how, "prune", "--yes", "--json")
    assert stopped.status == (-signal.SIGKILL if how == signal.SIGKILL else 130)
    assert "Traceback" not in stopped.err
    assert registry.load(root).broken == ()
    assert "7.0.0" in versions(root)
    assert run(root, "prune", "--yes").status == 0
    assert versions(root) == ["7.0.0"]
    assert os.listdir(root.journal) == []
    assert not {"6.2.0.sh", "6.3.0.sh"} & set(os.listdir(root.activations))


def test_two_at_once_remove_each_version_once(root: Root) -> None:
    children = [
        subprocess.Popen(
            [*COMMAND, "prune", "--yes"], env=clean_environ(root), stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    ended = [(*child.communicate(timeout=60), child.returncode) for child in children]
    assert all("Traceback" not in err for _, err, _ in ended)
    assert {status for *_, status in ended} <= {0, 1}
    assert versions(root) == ["7.0.0"]
    assert os.listdir(root.journal) == []


@pytest.mark.parametrize(("answer", "left"), [("y", ["7.0.0"]), ("n", ALL), ("", ALL)])
def test_a_terminal_is_asked(root: Root, answer: str, left: list[str]) -> None:
    environ = clean_environ(root, TERM="xterm")
    child = pexpect.spawn(COMMAND[0], [*COMMAND[1:], "prune"], env=environ, cwd="/")
    child.expect_exact("Remove this?")
    child.sendline(answer)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert versions(root) == left
