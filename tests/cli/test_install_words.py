"""`install`: words that do not fit each other, and options that come too late."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from rocmenv.model.version import Version
from rocmenv.store.paths import Root
from tests.builders import fake_prefix
from tests.cli.runner import Runner


@pytest.fixture
def tree(tmp_path: Path) -> str:
    """A folder with 6.2.4."""
    return str(fake_prefix(tmp_path / "tree", "6.2.4"))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("garbage!!", "`garbage!!` is not a version"),
        ("7.0.0", "`--as 6.2.4+t` names another release than 7.0.0"),
        ("6.2", "`--as 6.2.4+t` names another release than 6.2.0"),
        ("latest", "`--from` needs the version in full, not `latest`"),
    ],
)
def test_a_name_does_not_hide_a_request_that_is_wrong(
    rocmenv: Runner, root: Root, tree: str, spec: str, message: str
) -> None:
    result = rocmenv("install", spec, "--from", tree, "--as", "6.2.4+t")
    assert result.refused(2) == message
    assert sorted(os.listdir(root.versions)) == ["6.3.0", "6.4.1"]


def test_a_name_is_for_the_release_that_is_chosen(rocmenv: Runner) -> None:
    """Before anything is fetched: no mirror answers here."""
    result = rocmenv("install", "6.3", "--as", "6.3.0+t", "--offline")
    assert result.refused(2) == "`--as 6.3.0+t` names another release than 6.3.3"
    assert result.hint == "name it after its release: `--as 6.3.3+NAME`"


def test_a_variant_has_its_own_name(rocmenv: Runner, root: Root, tree: str) -> None:
    rocmenv("install", "6.2.4", "--from", tree, "--as", "6.2.4+t").fine()
    assert "6.2.4+t" in os.listdir(root.versions)


@pytest.mark.parametrize(
    "words", [("install", "6.2.4", "--from", "TREE", "--as"), ("link", "TREE")]
)
def test_a_name_that_is_no_version_is_told_what_one_is(
    rocmenv: Runner, tree: str, words: tuple[str, ...]
) -> None:
    result = rocmenv(*(tree if word == "TREE" else word for word in words), "latest")
    assert result.refused(2) == "`latest` is not a version in full"
    assert "latest" not in result.hint


def test_settings_that_are_needed_at_the_end_are_looked_at_first(
    rocmenv: Runner, root: Root, tree: str
) -> None:
    root.config.write_text("search = ['rel']\n[aliases]\nwork = 6.10\n")
    message = rocmenv("install", "6.2.4", "--from", tree).refused()
    assert message == f"`search` in {root.config} should be a list of absolute folders"
    assert "6.2.4" not in os.listdir(root.versions)
    root.config.write_text("[aliases]\nwork = 6.10\n")
    rocmenv("install", "6.2.4", "--from", tree).fine()


def test_options_that_come_too_late_are_named(rocmenv: Runner, root: Root, tree: str) -> None:
    words = ("install", "6.3.0", "--with", "rocblas", "--profile", "full sdk")
    result = rocmenv(*words)
    assert result.fine() == ""
    assert result.err.splitlines()[-1] == (
        "note: `--with` and `--profile` had no effect; to make it anew: "
        "`rocmenv install --reinstall 6.3.0 --with rocblas --profile 'full sdk'`"
    )
    assert "note" not in rocmenv("install", "6.3.0").err
    assert "note" not in rocmenv(*words, "--quiet").err
    path = root.receipt(Version.parse("6.3.0"))
    item = '"items": [{"name": "rocblas6.3.0", "url": "x", "size": 1, "sha256": ""}]'
    path.write_text(path.read_text().replace('"items": []', item))
    assert "note" not in rocmenv("install", "6.3.0", "--with", "rocblas").err
    receipt = json.loads(path.read_text())
    path.write_text(json.dumps({**receipt, "source": "legacy", "targets": ["gfx1100"]}))
    for options, is_late in (
        (("--gpu", "gfx1100"), False),
        (("--gpu", "gfx942"), True),
        (("--gpu", "all"), True),
        (("--channel", "auto"), False),
        (("--channel", "legacy"), False),
        (("--channel", "rpm"), True),
    ):
        err = rocmenv("install", "6.3.0", *options).err
        assert (f"note: `{options[0]}` had no effect" in err) == is_late, options
    rocmenv("install", "6.3.0", "--gpu", "junk").refused(2)
    own = ("install", "6.2.4", "--as", "6.2.4+own", "--from")
    rocmenv(*own, tree).fine()
    for source, is_late in (
        (tree, False),
        (os.path.relpath(tree, rocmenv.cwd), False),
        (f"{tree}/", False),
        ("nowhere", True),
        ("https://h/rocm-6.2.4.tar.gz", True),
    ):
        err = rocmenv(*own, source).err
        assert ("note: `--from` had no effect" in err) == is_late, source
    rocmenv("link", tree).fine()
    err = rocmenv("install", "6.2.4", "--with", "rocblas").err
    assert err.endswith(f"`--with` had no effect; it is linked to {tree}, which stays as it is\n")
