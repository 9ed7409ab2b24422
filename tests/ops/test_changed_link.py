"""A linked prefix that was upgraded in place: said, and never silently taken."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from pathlib import Path

import pytest

from rocmenv.probe.fingerprint import take
from rocmenv.store.paths import RECEIPT, Root
from tests.builders import clean_environ, fake_prefix, root_with
from tests.cli.runner import Result, Runner, run_command
from tests.ops.test_link import state

SAYS = "was 6.4.1, is 6.4.2"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return fake_prefix(tmp_path / "site/rocm", "6.4.1", ("hipcc", "site-tool"))


@pytest.fixture
def linked(rocmenv: Runner, site: Path) -> Path:
    rocmenv("link", str(site)).fine()
    return site


def upgrade(site: Path, version: str = "6.4.2") -> None:
    (site / ".info/version").write_text(f"{version}-9\n")


def shim(root: Root, name: str, version: str) -> Result:
    return run_command([str(root.shims / name)], clean_environ(root, ROCMENV_VERSION=version), "/")


def test_nothing_is_said_before(rocmenv: Runner, linked: Path) -> None:
    assert rocmenv("versions").err == ""
    assert rocmenv("+6.4", "which", "hipcc").fine() == f"{linked}/bin/hipcc\n"


@pytest.mark.parametrize(
    "words",
    [
        ("+6.4", "which", "hipcc"),
        ("+6.4.1", "version"),
        ("+latest", "version", "--json"),
        ("prefix", "6.4.1"),
        ("resolve", "6.4"),
        ("env", "6.4.1", "--json"),
        ("+6.4.1", "exec", "hipcc"),
        ("+6.4.1", "exec", "true"),
        ("local", "6.4.1"),
        ("global", "6.4"),
    ],
)
def test_every_use_is_refused(
    rocmenv: Runner, linked: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    upgrade(linked)
    result = rocmenv(*words)
    assert result.status == 1
    assert f"rocmenv: 6.4.1 (linked to {linked}) {SAYS} (set by `" in result.err
    assert "run `rocmenv link --refresh 6.4.1`" in result.err
    if "--json" in words:
        assert json.loads(result.out)["error"]["code"] == "changed"
    assert not (tmp_path / ".rocm-version").exists()


def test_versions_says_it_and_lists_all(rocmenv: Runner, linked: Path) -> None:
    upgrade(linked)
    result = rocmenv("versions")
    assert result.fine() == f"  6.3.0\n  6.4.1 -> {linked}\n"
    said = f"rocmenv: 6.4.1 (linked to {linked}) {SAYS}; run `rocmenv link --refresh 6.4.1`\n"
    assert result.err == said
    rows = json.loads(rocmenv("versions", "--json").fine())["versions"]
    assert [row["changed"] for row in rows] == [None, {"was": "6.4.1", "is": "6.4.2"}]
    assert rocmenv("versions", "--bare").err == ""


def test_a_request_does_not_fall_back_to_an_older_one(
    rocmenv: Runner, root: Root, tmp_path: Path, linked: Path
) -> None:
    rocmenv("link", str(fake_prefix(tmp_path / "older", "6.4.0"))).fine()
    upgrade(linked)
    assert SAYS in rocmenv("prefix", "6.4").refused()
    for step in ("before", "after"):
        result = shim(root, "hipcc", "6.4")
        assert (result.status, SAYS in result.err) == (1, True), step
        rocmenv("rehash").fine()
    assert shim(root, "hipcc", "6.4.0").fine().splitlines()[1] == f"{tmp_path}/older"
    assert shim(root, "hipcc", "6.3").fine()


def test_shims_notice_without_a_writer(rocmenv: Runner, root: Root, linked: Path) -> None:
    assert shim(root, "site-tool", "6.4").fine().splitlines()[1] == str(linked)
    upgrade(linked)
    before = state(root.path)
    for word in ("6.4.1", "6.4", "latest"):
        result = shim(root, "site-tool", word)
        assert (result.status, result.out) == (1, "")
        assert SAYS in result.err
    assert state(root.path) == before, "only looking changes nothing"


def test_after_a_rehash_no_text_is_rendered_for_it(
    rocmenv: Runner, root: Root, linked: Path
) -> None:
    upgrade(linked)
    rocmenv("rehash").fine()
    names = {name.rpartition(".")[0] for name in os.listdir(root.activations)}
    assert names == {"6.3.0", "6.3"}, "neither 6.4.1 nor a word that stands for it: 6.4, 6, latest"
    assert SAYS in shim(root, "site-tool", "6").err


def test_refresh_registers_what_it_is_now(rocmenv: Runner, root: Root, linked: Path) -> None:
    upgrade(linked)
    before = state(linked)
    result = rocmenv("link", "--refresh", "6.4.1")
    assert result.fine() == ""
    assert result.err == (f"rocmenv: 6.4.2 is {linked}\nrocmenv: 6.4.1 is no longer registered\n")
    assert state(linked) == before
    result = rocmenv("versions")
    assert (result.fine(), result.err) == (f"  6.3.0\n  6.4.2 -> {linked}\n", "")
    assert "is not installed" in rocmenv("prefix", "6.4.1").refused()
    assert shim(root, "site-tool", "6.4").fine().splitlines()[2] == "6.4.2"


def test_refresh_tells_who_asks_for_the_old_one(
    rocmenv: Runner, tmp_path: Path, linked: Path
) -> None:
    rocmenv("local", "6.4.1").fine()
    upgrade(linked)
    words = rocmenv("link", "--refresh", "6.4.1").err.splitlines()
    pin = f"{tmp_path}/.rocm-version"
    assert words[-1] == f"note: 6.4.1 was pinned by {pin}; change {pin}"
    assert (tmp_path / ".rocm-version").read_text() == "6.4.1\n"


def test_a_word_of_ones_own_is_kept(rocmenv: Runner, site: Path) -> None:
    rocmenv("link", str(site), "6.4.1+site").fine()
    upgrade(site)
    assert "6.4.2+site is" in rocmenv("link", "--refresh", "6.4.1+site").err


def test_refresh_does_not_take_a_name_that_is_anothers(
    rocmenv: Runner, tmp_path: Path, linked: Path
) -> None:
    upgrade(linked)
    other = fake_prefix(tmp_path / "other", "6.4.2")
    rocmenv("link", str(other)).fine()
    result = rocmenv("link", "--refresh", "6.4.1")
    assert result.refused() == f"version 6.4.2 is already there: {other}"
    assert result.hint == (f"`rocmenv link {linked} 6.4.2+site`, then `rocmenv unlink --yes 6.4.1`")
    for command in result.hint.replace("then ", "").split(", "):
        rocmenv(*shlex.split(command.strip("`"))[1:]).fine()
    assert [line.split()[0] for line in rocmenv("versions").fine().splitlines()] == [
        "6.3.0", "6.4.2", "6.4.2+site",
    ]  # fmt: skip


def test_a_refresh_that_stopped_in_between_goes_on(
    rocmenv: Runner, root: Root, linked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upgrade(linked)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rocmenv.ops.link.unlink", stop)
    assert rocmenv("link", "--refresh", "6.4.1").status == 130
    monkeypatch.undo()
    assert sorted(os.listdir(root.versions)) == ["6.3.0", "6.4.1", "6.4.2"]
    rocmenv("link", "--refresh", "6.4.1").fine()
    assert sorted(os.listdir(root.versions)) == ["6.3.0", "6.4.2"]


@pytest.mark.parametrize("how", ["build", "program"])
def test_the_same_release_built_anew_is_said_and_used(
    rocmenv: Runner, root: Root, linked: Path, how: str
) -> None:
    if how == "build":
        (linked / ".info/version").write_text("6.4.1-84\n")
    else:
        (linked / "bin/hipcc").write_text("#!/bin/sh\necho another\n")
    says = "was changed in place, and still is 6.4.1; run `rocmenv link --refresh 6.4.1`"
    assert says in rocmenv("versions").err
    assert rocmenv("prefix", "6.4").fine() == f"{linked}\n"
    assert shim(root, "site-tool", "6.4").fine().splitlines()[1] == str(linked)
    assert rocmenv("link", "--refresh", "6.4").err == f"rocmenv: 6.4.1 is {linked}\n"
    assert rocmenv("versions").err == ""


def test_a_layout_that_changed_is_looked_at_anew(rocmenv: Runner, linked: Path) -> None:
    upgrade(linked)
    (linked / "lib/pkgconfig").mkdir()
    rocmenv("link", "--refresh", "6.4.1").fine()
    texts = json.loads(rocmenv("env", "6.4.2", "--json").fine())
    assert f"{linked}/lib/pkgconfig" in json.dumps(texts)


def test_a_link_to_a_link_notices_that_it_leads_elsewhere(
    rocmenv: Runner, tmp_path: Path, site: Path
) -> None:
    name = tmp_path / "rocm"
    name.symlink_to(site)
    rocmenv("link", str(name)).fine()
    name.unlink()
    name.symlink_to(fake_prefix(tmp_path / "new", "6.4.2"))
    assert f"6.4.1 (linked to {name}) {SAYS}" in rocmenv("prefix", "6.4").refused()


def test_a_link_of_an_older_rocmenv(rocmenv: Runner, root: Root, linked: Path) -> None:
    """Its receipt has no fingerprint, so its name tells what it was."""
    receipt = root.versions / "6.4.1" / RECEIPT
    value = json.loads(receipt.read_text())
    del value["fingerprint"]
    receipt.write_text(json.dumps(value))
    assert rocmenv("versions").err == ""
    upgrade(linked)
    assert SAYS in rocmenv("prefix", "6.4").refused()


def test_a_prefix_that_says_nothing_any_more(rocmenv: Runner, linked: Path) -> None:
    (linked / ".info/version").unlink()
    assert "was 6.4.1, is none that says its release" in rocmenv("prefix", "6.4").refused()
    result = rocmenv("link", "--refresh", "6.4.1")
    assert result.refused() == f"`{linked}` does not say any more which release it is"
    assert "`rocmenv unlink --yes 6.4.1`" in result.hint


def test_what_cannot_be_refreshed(rocmenv: Runner, linked: Path) -> None:
    assert rocmenv("link", "--refresh", "6.3.0").refused() == (
        "version 6.3.0 is an install, not a link"
    )
    assert "takes a version alone" in rocmenv("link", "--refresh", "6.4.1", "/x").refused(2)
    assert rocmenv("link").refused(2) == "a prefix is missing"
    shutil.rmtree(linked)
    assert "is gone" in rocmenv("link", "--refresh", "6.4.1").refused()


def test_an_uninstall_and_an_unlink_still_work(rocmenv: Runner, root: Root, site: Path) -> None:
    for command in ("uninstall", "unlink"):
        rocmenv("link", str(site)).fine()
        upgrade(site)
        result = rocmenv(command, "6.4.1")
        assert result.err == "rocmenv: 6.4.1 is no longer registered\n"
        assert (site / "bin/hipcc").is_file()
        upgrade(site, "6.4.1")
    assert os.listdir(root.versions) == ["6.3.0"]


def test_installs_are_not_compared(tmp_path: Path) -> None:
    """They are ours: nobody upgrades them in place."""
    root = root_with(tmp_path / "own", "6.3.0")
    (root.versions / "6.3.0/.info/version").write_text("6.3.1-1\n")
    assert shim(root, "hipcc", "6.3").fine()


def test_a_fingerprint_is_the_same_on_another_machine(site: Path, tmp_path: Path) -> None:
    """A package manager gives files the same times there, and not the same inodes."""
    copy = tmp_path / "copy"
    shutil.copytree(site, copy, symlinks=True)
    assert take(str(copy)) == take(str(site))
    assert take(str(tmp_path / "nowhere")).marks == ()
