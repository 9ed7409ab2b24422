"""Registering what was found: names, conflicts, and that it may be done again."""

from __future__ import annotations

import json
import os
import shutil
import threading
from pathlib import Path

import pytest

from rocmenv.ops.discover import State, adopt, survey
from rocmenv.store import registry
from rocmenv.store.paths import Root
from tests.builders import fake_prefix, process, put
from tests.cli.runner import Runner
from tests.ops.test_link import state


@pytest.fixture
def sdk(tmp_path: Path) -> Path:
    """A folder to look into."""
    path = tmp_path / "sdk"
    path.mkdir()
    return path


def links(root: Root) -> dict[str, str]:
    """The links that there are: prefix by name."""
    items = registry.load(root).installed.values()
    return {str(i.version): i.prefix for i in items if i.receipt.is_link}


def rows(root: Root, tmp_path: Path, sdk: Path) -> list[tuple[str, State, str, str]]:
    """What a survey says of the things below `sdk`."""
    found = survey(process(root.path, cwd=tmp_path), root, [str(sdk)])
    return [
        (row.finding.prefix, row.state, str(row.name or ""), row.reason)
        for row in found.rows
        if row.finding.prefix.startswith(str(sdk))
    ]


def test_what_is_new_is_registered_and_only_once(
    rocmenv: Runner, root: Root, tmp_path: Path, sdk: Path
) -> None:
    one = fake_prefix(sdk / "rocm-6.4.1", "6.4.1")
    two = fake_prefix(sdk / "rocm/core-10.0", "10.0.0")
    before = state(sdk)
    assert rows(root, tmp_path, sdk) == [
        (str(one), State.NEW, "6.4.1", ""),
        (str(two), State.NEW, "10.0.0", ""),
    ]
    assert links(root) == {}
    result = rocmenv("discover", "--adopt", "--in", "sdk")
    assert f"rocmenv: 6.4.1 is {one}\nrocmenv: 10.0.0 is {two}\n" in result.err
    assert result.err.endswith("rocmenv: select one: `rocmenv use 10.0.0`\n")
    assert result.status == 0
    assert links(root) == {"6.4.1": str(one), "10.0.0": str(two)}
    result = rocmenv("discover", "--adopt", "--in", "sdk")
    assert result.err.endswith("rocmenv: there is nothing new to register\n")
    assert links(root) == {"6.4.1": str(one), "10.0.0": str(two)}
    assert {state for _, state, _, _ in rows(root, tmp_path, sdk)} == {State.LINKED}
    assert rocmenv("+10", "which", "hipcc").fine() == f"{two}/bin/hipcc\n"
    assert state(sdk) == before


def test_one_version_in_several_places_gets_several_names(
    rocmenv: Runner, root: Root, sdk: Path
) -> None:
    """After the folder that holds the prefix; ROCm's own names tell nothing."""
    a = fake_prefix(sdk / "a/rocm-6.4.1", "6.4.1")
    b = fake_prefix(sdk / "My Tools/rocm/core-6.4", "6.4.1")
    c = fake_prefix(sdk / "x/mytools/rocm-6.4.1", "6.4.1")
    d = fake_prefix(sdk / "z/6.4.1", "6.4.1")
    result = rocmenv("discover", "--adopt", "--in", str(sdk))
    expected = {
        "6.4.1": str(b),
        "6.4.1+a": str(a),
        "6.4.1+mytools": str(c),
        "6.4.1+z": str(d),
    }
    assert links(root) == expected
    assert f"6.4.1+z is {d} (there is another 6.4.1)" in result.err
    rocmenv("discover", "--adopt", "--in", str(sdk)).fine()
    assert links(root) == expected


def test_a_name_that_is_taken_by_an_install(rocmenv: Runner, root: Root, sdk: Path) -> None:
    site = fake_prefix(sdk / "rocm-6.3.0", "6.3.0")
    other = fake_prefix(sdk / "sdk/rocm-6.3.0", "6.3.0")
    variant = fake_prefix(sdk / "v/rocm", "6.3.0")
    rocmenv("link", str(variant), "6.3.0+mine").fine()
    result = rocmenv("discover", "--adopt", "--in", str(sdk))
    assert links(root) == {
        "6.3.0+mine": str(variant),
        "6.3.0+sdk": str(site),
        "6.3.0+sdk2": str(other),
    }
    assert f"6.3.0+sdk is {site} (there is another 6.3.0)" in result.err
    assert rocmenv("prefix", "6.3").fine() == f"{root.versions}/6.3.0\n", "requests go on"


@pytest.mark.parametrize(
    ("version", "name"), [("10.0.0rc2", "10.0.0rc2+sdk"), ("10.0.0+bkc.1", "10.0.0+bkc.1.sdk")]
)
def test_other_forms_of_versions(
    rocmenv: Runner, root: Root, sdk: Path, version: str, name: str
) -> None:
    for folder in ("one", "two"):
        fake_prefix(sdk / f"rocm-{folder}", version)
    rocmenv("discover", "--adopt", "--in", str(sdk)).fine()
    assert set(links(root)) == {version, name}


def test_only_those_that_were_named(rocmenv: Runner, root: Root, tmp_path: Path, sdk: Path) -> None:
    one = fake_prefix(sdk / "rocm-6.4.1", "6.4.1")
    fake_prefix(sdk / "rocm-6.4.2", "6.4.2")
    result = rocmenv("discover", "sdk/rocm-6.4.1", ROCM_PATH=f"{sdk}/rocm-6.4.2")
    assert [line.split()[0] for line in result.fine().splitlines() if line[0] != " "] == [
        "VERSION",
        "6.4.1",
    ]
    rocmenv("discover", "--adopt", "sdk/rocm-6.4.1").fine()
    assert links(root) == {"6.4.1": str(one)}
    name = tmp_path / "name"
    name.symlink_to(sdk / "rocm-6.4.2")
    rocmenv("discover", "--adopt", str(name)).fine()
    assert links(root)["6.4.2"] == f"{sdk}/rocm-6.4.2", "by its real path"


def test_what_cannot_be_registered_is_said(
    rocmenv: Runner, root: Root, tmp_path: Path, sdk: Path
) -> None:
    put(sdk, "unnamed/bin/hipcc", "")
    fake_prefix(sdk / "a:b", "6.4.1")
    put(sdk, "spack/bin/hipcc", "")
    put(sdk, "spack/.spack/spec.json", "{}")
    (sdk / "nothing").mkdir()
    good = fake_prefix(sdk / "good", "6.4.1")
    assert [
        (Path(p).name, s.value, why.partition(":")[0]) for p, s, _, why in rows(root, tmp_path, sdk)
    ] == [
        ("a:b", "unfit", "no list of folders can hold a colon"),
        ("good", "new", ""),
        ("spack", "partial", "Spack has a prefix for each package"),
        ("unnamed", "unfit", "it does not say which release it is"),
    ]
    assert rocmenv("discover", "--adopt", "--in", "sdk").status == 0
    assert links(root) == {"6.4.1": str(good)}
    for name, hint in (
        ("unnamed", f"name it: `rocmenv link {sdk}/unnamed VERSION`"),
        ("a:b", f"look at it: `ls {sdk}/a:b`"),
        ("spack", f"look at it: `ls {sdk}/spack`"),
        ("nothing", f"look at it: `ls {sdk}/nothing`"),
    ):
        result = rocmenv("discover", "--adopt", f"sdk/{name}")
        assert result.status == 1
        assert f"rocmenv: `{sdk}/{name}` cannot be registered: " in result.err
        assert result.err.endswith(f"hint: {hint}\n")
    assert links(root) == {"6.4.1": str(good)}
    assert rocmenv("discover", "sdk/absent").refused() == f"`{sdk}/absent` is not a folder"
    assert rocmenv("discover", "--in", "absent").refused() == f"`{tmp_path}/absent` is not a folder"
    assert "is in the root of rocmenv" in rocmenv("discover", f"{root.versions}/6.3.0").refused()


def test_what_was_upgraded_is_renewed(
    rocmenv: Runner, root: Root, tmp_path: Path, sdk: Path
) -> None:
    """Also when another prefix wants the name that becomes free."""
    prefix = fake_prefix(sdk / "rocm", "6.4.1")
    rocmenv("discover", "--adopt", "--in", "sdk").fine()
    (prefix / ".info/version").write_text("6.4.2-9\n")
    other = fake_prefix(sdk / "rocm-6.4.1", "6.4.1")
    third = fake_prefix(sdk / "rocm-6.4.2", "6.4.2")
    assert [row[:3] for row in rows(root, tmp_path, sdk)] == [
        (str(other), State.NEW, "6.4.1"),
        (str(prefix), State.CHANGED, "6.4.1"),
        (str(third), State.NEW, "6.4.2+sdk"),
    ]
    result = rocmenv("discover", "--in", "sdk")
    assert "rocmenv: 6.4.1 was 6.4.1, is 6.4.2; run `rocmenv link --refresh 6.4.1`" in result.err
    result = rocmenv("discover", "--adopt", "--in", "sdk")
    assert links(root) == {"6.4.1": str(other), "6.4.2": str(prefix), "6.4.2+sdk": str(third)}
    assert result.status == 0
    assert rocmenv("versions").err == ""


def test_a_link_that_says_nothing_any_more_stays_and_is_said(
    rocmenv: Runner, root: Root, sdk: Path
) -> None:
    prefix = fake_prefix(sdk / "rocm", "6.4.1")
    fine = fake_prefix(sdk / "fine", "6.4.2")
    rocmenv("link", str(prefix)).fine()
    (prefix / ".info/version").unlink()
    result = rocmenv("discover", "--adopt", "--in", "sdk")
    assert result.status == 1
    assert f"`{prefix}` does not say any more which release it is" in result.err
    assert links(root) == {"6.4.1": str(prefix), "6.4.2": str(fine)}, "the others go on"


def test_a_link_whose_prefix_is_gone_is_shown_and_kept(
    rocmenv: Runner, root: Root, sdk: Path
) -> None:
    prefix = fake_prefix(sdk / "rocm", "6.4.1")
    rocmenv("link", str(prefix)).fine()
    shutil.rmtree(prefix)
    for words in (("discover",), ("discover", "--adopt")):
        result = rocmenv(*words)
        assert f"{prefix}" in result.fine()
        assert "broken, linked as 6.4.1: it is not there" in result.out
    assert "6.4.1 is broken; `rocmenv unlink --yes 6.4.1` forgets it" in rocmenv("discover").err
    assert sorted(os.listdir(root.versions)) == ["6.3.0", "6.4.1"]


def test_one_prefix_with_two_names(rocmenv: Runner, root: Root, sdk: Path) -> None:
    prefix = fake_prefix(sdk / "rocm", "6.4.1")
    rocmenv("link", str(prefix)).fine()
    rocmenv("link", str(prefix), "6.4.1+mine").fine()
    assert "linked as 6.4.1, 6.4.1+mine" in rocmenv("discover").fine()
    (prefix / ".info/version").write_text("6.4.2-9\n")
    rocmenv("discover", "--adopt").fine()
    assert links(root) == {"6.4.2": str(prefix), "6.4.2+mine": str(prefix)}


def test_two_at_once_give_one_name(root: Root, tmp_path: Path, sdk: Path) -> None:
    for number in range(3):
        fake_prefix(sdk / f"{number}/rocm", "6.4.1")
    done: list[int] = []

    def work() -> None:
        result = adopt(process(root.path, cwd=tmp_path), root, [str(sdk)])
        done.append(len([i for i in result.done if i.prefix.startswith(str(sdk))]))

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(done) == [0, 0, 3]
    assert len(set(links(root).values())) == len(links(root)) == 3


def test_the_table_as_json(rocmenv: Runner, root: Root, tmp_path: Path, sdk: Path) -> None:
    prefix = fake_prefix(sdk / "rocm-6.4.1", "6.4.1")
    (sdk / "rocm").symlink_to(prefix)
    value = json.loads(rocmenv("discover", "--json", "sdk/rocm").fine())
    assert value["schema"] == 1
    (row,) = value["found"]
    trace = {"how": "named", "told": "the command line", "name": f"{sdk}/rocm"}
    assert row == {
        "version": "6.4.1",
        "prefix": str(prefix),
        "layout": "legacy",
        "state": "new",
        "reason": None,
        "name": "6.4.1",
        "links": [],
        "names": [f"{sdk}/rocm"],
        "traces": [trace],
        "remarks": [],
    }
    value = json.loads(rocmenv("discover", "--adopt", "--json", "sdk/rocm").fine())
    assert value["adopted"] == [{"version": "6.4.1", "prefix": str(prefix)}]
    assert value["refused"] == []
    assert value["found"][0]["state"] == "linked"
    assert value["found"][0]["links"] == [{"version": "6.4.1", "was": None, "is": None}]
    (prefix / ".info/version").write_text("6.4.2-9\n")
    value = json.loads(rocmenv("discover", "--json", "sdk/rocm").fine())
    assert value["found"][0]["links"] == [{"version": "6.4.1", "was": "6.4.1", "is": "6.4.2"}]
    (tmp_path / "empty").mkdir()
    result = rocmenv("discover", "--adopt", "--json", "empty")
    assert result.status == 1
    (refused,) = json.loads(result.out)["refused"]
    assert refused["code"] == "store"


def test_the_setting_names_folders(rocmenv: Runner, sdk: Path) -> None:
    prefix = fake_prefix(sdk / "rocm-6.4.1", "6.4.1")
    assert str(prefix) not in rocmenv("discover").out
    rocmenv("config", "set", "search", str(sdk)).fine()
    assert str(prefix) in rocmenv("discover").fine()


def test_broken_ones_are_counted_and_shown_on_demand(rocmenv: Runner, tmp_path: Path) -> None:
    gone = f"{tmp_path}/gone"
    result = rocmenv("discover", ROCM_PATH=gone)
    assert gone not in result.out
    assert "broken; `rocmenv discover --all` shows what is wrong" in result.err
    result = rocmenv("discover", "--all", ROCM_PATH=gone)
    assert "broken: it is not there" in result.out
    assert f"    variable: ROCM_PATH -> {gone}\n" in result.out


def test_what_is_ours_is_not_shown(rocmenv: Runner, root: Root) -> None:
    result = rocmenv("discover", "--all", ROCM_PATH=str(root.versions / "6.3.0"))
    assert str(root.versions) not in result.out
