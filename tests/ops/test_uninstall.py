"""What stands in the way of an uninstall, and what an uninstall leaves."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rocmenv.errors import NotInstalledError
from rocmenv.model.selection import PIN_NAME
from rocmenv.model.version import Version
from rocmenv.ops import uninstall as ops
from rocmenv.store import registry
from rocmenv.store.paths import RECEIPT, Root
from tests.builders import clean_environ, fake_prefix, process, root_with
from tests.cli.runner import NOBODY, Result, Runner, run_command
from tests.store.nobody import IS_ROOT, Start, give_away, start
from tests.store.test_trash import empty_soon


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return root_with(tmp_path, "6.3.0", "6.4.1")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda pin: pin.write_text("a b c\n"),
        lambda pin: pin.write_text("not/a/version\n"),
        # As one that may not be read, which root may.
        lambda pin: pin.write_bytes(b"#" * 100_000),
    ],
)
def test_a_pin_that_cannot_be_read_does_not_give_the_default_away(
    rocmenv: Runner, root: Root, tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    root.default.write_text("6.3.0\n")
    spoil(tmp_path / PIN_NAME)
    assert "is the default in" in rocmenv("uninstall", "6.3.0").refused()
    assert sorted(os.listdir(root.versions)) == ["6.3.0", "6.4.1"]


def test_a_default_that_cannot_be_read_does_not_give_the_pinned_away(
    rocmenv: Runner, root: Root, tmp_path: Path
) -> None:
    root.default.write_text("a b c\n")
    (tmp_path / PIN_NAME).write_text("6.3.0\n")
    assert "is pinned by" in rocmenv("uninstall", "6.3.0").refused()
    rocmenv("uninstall", "6.4.1").fine()
    assert os.listdir(root.versions) == ["6.3.0"]


# Somebody else was faster.


def test_what_has_gone_at_the_question_is_not_called_a_root_without_rights(
    rocmenv: Runner, root: Root
) -> None:
    version = ops.removable(process(root.path), root, "6.3.0")
    rocmenv("uninstall", "6.3.0").fine()
    with pytest.raises(NotInstalledError) as caught:
        ops.uninstall(process(root.path), root, version)
    assert caught.value.message == "version 6.3.0 is not installed any more"
    assert os.listdir(root.journal) == []
    assert os.listdir(root.versions) == ["6.4.1"]


def test_what_goes_while_it_is_read_is_not_called_broken(
    root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = os.listdir
    monkeypatch.setattr(os, "listdir", lambda path: [*names(path), "6.9.0"])
    assert registry.load(root).broken == ()
    monkeypatch.undo()
    with pytest.raises(NotInstalledError, match="6.9.0 is not installed any more"):
        registry.find(root, Version.parse("6.9.0"))


@pytest.mark.parametrize("spec", ["latest", "6.4.1"])
def test_what_goes_while_it_is_chosen_is_passed_over_or_not_there(
    root: Root, monkeypatch: pytest.MonkeyPatch, spec: str
) -> None:
    isfile, there = os.path.isfile, str(root.receipt(Version.parse("6.4.1")))

    def last(path: str) -> bool:
        found = isfile(path)
        if str(path) == there:
            shutil.rmtree(root.versions / "6.4.1", ignore_errors=True)
        return found

    monkeypatch.setattr(os.path, "isfile", last)
    if spec == "latest":
        assert str(ops.removable(process(root.path), root, spec)) == "6.3.0"
    else:
        with pytest.raises(NotInstalledError):
            ops.removable(process(root.path), root, spec)


# Receipts that cannot be read.

DAMAGE = [b"\xff\xfe", b"{", b"", b'{"schema": 99}']


@pytest.mark.parametrize("content", DAMAGE)
def test_an_install_without_a_readable_receipt_goes_by_its_full_name(
    rocmenv: Runner, root: Root, content: bytes
) -> None:
    (root.versions / "6.4.1" / RECEIPT).write_bytes(content)
    result = rocmenv("prefix", "6.4.1")
    assert str(root.versions / "6.4.1") in result.refused()
    assert result.hint in ("remove it: `rocmenv uninstall 6.4.1`", "update rocmenv")
    assert "no installed version fits `6.4`" in rocmenv("uninstall", "6.4").refused()
    assert "is an install, not a link" in rocmenv("unlink", "6.4.1").refused()
    root.default.write_text("6.4.1\n")
    assert "is the default in" in rocmenv("uninstall", "6.4.1").refused()
    assert rocmenv("uninstall", "--yes", "6.4.1").err == "rocmenv: removed 6.4.1\n"
    assert os.listdir(root.versions) == ["6.3.0"]


def test_a_short_name_is_not_taken_for_the_next_best(rocmenv: Runner, root: Root) -> None:
    (root.versions / "6.4.1" / RECEIPT).write_bytes(b"")
    result = rocmenv("uninstall", "6")
    assert result.refused() == "`6` fits 6.3.0, 6.4.1"
    assert result.hint == "name one in full: `rocmenv uninstall 6.4.1`"
    assert sorted(os.listdir(root.versions)) == ["6.3.0", "6.4.1"]


@pytest.mark.parametrize("content", DAMAGE)
@pytest.mark.parametrize("command", ["unlink", "uninstall"])
def test_a_link_without_a_readable_receipt_is_forgotten(
    rocmenv: Runner, root: Root, tmp_path: Path, content: bytes, command: str
) -> None:
    site = fake_prefix(tmp_path / "site", "7.0.0")
    rocmenv("link", str(site)).fine()
    (root.versions / "7.0.0" / RECEIPT).write_bytes(content)
    rocmenv(command, "7.0.0").fine()
    assert sorted(os.listdir(root.versions)) == ["6.3.0", "6.4.1"]
    assert (site / "bin/hipcc").exists()


# Rights.


@pytest.fixture(scope="module")
def begin() -> Start:
    return start()


def as_user(begin: Start, root: Root, *words: str) -> Result:
    """Run rocmenv as a user for whom rights count, whose root this is."""
    environ = clean_environ(root, **begin.environ)
    return run_command([*begin.before, *begin.words, *words], environ, "/")


def test_a_version_that_is_read_only_goes_all_the_same(
    root: Root, tmp_path: Path, begin: Start
) -> None:
    subprocess.run(["chmod", "-R", "a-w", str(root.versions / "6.3.0")], check=True)
    give_away(tmp_path)
    assert as_user(begin, root, "uninstall", "6.3.0").err == "rocmenv: removed 6.3.0\n"
    assert os.listdir(root.versions) == ["6.4.1"]
    assert empty_soon(root.trash)


def test_a_version_that_is_read_only_is_replaced(root: Root, tmp_path: Path, begin: Start) -> None:
    subprocess.run(["chmod", "-R", "a-w", str(root.versions / "6.3.0")], check=True)
    source = fake_prefix(tmp_path / "new", "6.3.0", ("new-tool",))
    give_away(tmp_path)
    as_user(begin, root, "install", "-q", "6.3.0", "--reinstall", "--from", str(source)).fine()
    assert os.listdir(root.versions / "6.3.0/bin") == ["new-tool"]
    assert empty_soon(root.trash)


@pytest.mark.skipif(not IS_ROOT, reason="only root may give files away")
@pytest.mark.parametrize(
    "words", [["uninstall", "6.3.0"], ["install", "6.3.0", "--reinstall", "--from", "source-6.3.0"]]
)
def test_what_another_user_has_put_into_it_stays_and_is_said(
    root: Root, tmp_path: Path, begin: Start, words: list[str]
) -> None:
    give_away(tmp_path)
    place = root.versions / "6.3.0/share/his"
    place.mkdir(parents=True)
    os.chown(place.parent, NOBODY, NOBODY)
    (place / "file").touch()
    result = as_user(begin, root, *words[:-1], words[-1].replace("source", f"{tmp_path}/source"))
    message = f"{root.versions}/6.3.0 cannot be removed: what is in {place} is another user's"
    assert result.refused() == message
    assert result.hint == f"see whose it is: `ls -ld {place}`"
    assert sorted(os.listdir(root.versions)) == ["6.3.0", "6.4.1"]
    assert os.listdir(root.trash) == os.listdir(root.journal) == os.listdir(root.staging) == []


@pytest.mark.skipif(not IS_ROOT, reason="only root may give files away")
def test_what_another_user_has_put_into_it_is_not_repaired(
    root: Root, tmp_path: Path, begin: Start
) -> None:
    give_away(tmp_path)
    place = root.versions / "6.3.0/share/his"
    place.mkdir(parents=True)
    os.chown(place.parent, NOBODY, NOBODY)
    (place / "file").touch()
    (root.versions / "6.3.0/bin/rocminfo").unlink()
    message = as_user(begin, root, "verify", "--repair", "6.3.0").refused()
    assert message.startswith(f"{root.versions}/6.3.0 cannot be repaired: what is in {place} ")
