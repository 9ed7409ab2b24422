"""A receipt makes an install; everything else under `versions/` is listed apart."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from rocmenv.errors import StoreError
from rocmenv.model.version import Version
from rocmenv.store import registry
from rocmenv.store.paths import RECEIPT, Root
from tests.builders import clean_environ, fake_prefix, root_with
from tests.cli.runner import Runner, run, run_command


def change(**given: object) -> Callable[[Root, Path], None]:
    def apply(root: Root, path: Path) -> None:
        shutil.copytree(root.versions / "6.3.0", path, symlinks=True)
        value = json.loads((path / RECEIPT).read_text())
        value.update({"version": path.name, **given})
        (path / RECEIPT).write_text(json.dumps(value))

    return apply


def receipt(content: bytes) -> Callable[[Root, Path], None]:
    def apply(root: Root, path: Path) -> None:
        shutil.copytree(root.versions / "6.3.0", path, symlinks=True)
        (path / RECEIPT).write_bytes(content)

    return apply


BROKEN: dict[str, tuple[str, Callable[[Root, Path], object], str]] = {
    "no receipt": ("7.0.0", lambda _, path: (path / "bin").mkdir(parents=True), "has no receipt"),
    "empty receipt": ("7.0.0", receipt(b""), "is not a receipt"),
    "not JSON": ("7.0.0", receipt(b"{"), "is not a receipt"),
    "not UTF-8": ("7.0.0", receipt(b"\xff\xfe"), "cannot be read"),
    "deep JSON": ("7.0.0", receipt(b"[" * 100_000), "is not a receipt"),
    "a list": ("7.0.0", receipt(b"[1]"), "is not a receipt"),
    "newer": ("7.0.0", change(schema=3, rocmenv="99"), "was written by a newer rocmenv (99)"),
    "bad layout": ("7.0.0", change(layout={"kind": "legacy", "bins": ["../x"]}), "not a receipt"),
    "no prefix": ("7.0.0", change(inner="lib/x"), "lib/x, where 7.0.0 should be, is gone"),
    "prefix outside": ("7.0.0", change(inner="../6.3.0"), "is not a receipt"),
    "another's": ("7.0.0", change(version="6.3.0"), "is the receipt of 6.3.0"),
    "receipt folder": (
        "7.0.0",
        lambda _, path: (path / RECEIPT).mkdir(parents=True),
        "cannot be read",
    ),
    "file": ("7.0.0", lambda _, path: path.write_text("x"), "has no receipt"),
    "dangling": ("7.0.0", lambda _, path: path.symlink_to("nowhere"), "has no receipt"),
    "circle": ("7.0.0", lambda _, path: path.symlink_to("7.0.0"), "cannot be read"),
    "no version": ("backup of 6.3.0", lambda _, path: path.mkdir(), "is not a version"),
    "other name": ("07.0.0", change(version="7.0.0"), "of 7.0.0 is called `7.0.0`, not `07.0.0`"),
    "dead link": ("7.0.0", change(prefix="/nowhere/rocm"), "which 7.0.0 is linked to, is gone"),
    "relative link": ("7.0.0", change(prefix="opt"), "not an absolute path"),
    "odd link": ("7.0.0", change(prefix=1), "not an absolute path"),
}


@pytest.fixture(params=list(BROKEN))
def broken(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Root, str, str]:
    """A root with 6.3.0 and one broken entry; the entry's name and what is wrong with it."""
    root = root_with(tmp_path, "6.3.0")
    name, make, words = BROKEN[str(request.param)]
    make(root, root.versions / name)
    return root, name, words


def test_it_is_listed_apart(broken: tuple[Root, str, str]) -> None:
    root, name, words = broken
    listing = registry.load(root)
    assert [str(version) for version in listing.installed] == ["6.3.0"]
    assert [entry.path for entry in listing.broken] == [str(root.versions / name)]
    assert words in listing.broken[0].reason


def test_it_breaks_no_command(
    broken: tuple[Root, str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    root, name, words = broken
    rocmenv = Runner(capfd, root, tmp_path)
    root.default.write_text("latest\n")
    assert rocmenv("version").fine().startswith("6.3.0 ")
    result = rocmenv("versions")
    assert result.fine() == f"* 6.3.0 (set by {root.default})\n"
    assert result.err.startswith(f"rocmenv: not an install: {root.versions}/{name}: ")
    assert words in result.err
    assert rocmenv("rehash").err == ""
    assert f"{root.versions}/6.3.0" in rocmenv("env", "--shell", "sh").fine()
    assert f"{root.versions}/6.3.0" in run(root, "exec", "hipcc").fine()
    shim = run_command([str(root.shims / "hipcc")], clean_environ(root), tmp_path)
    assert f"{root.versions}/6.3.0" in shim.fine()


def test_an_install_takes_its_place(
    broken: tuple[Root, str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    root, name, _ = broken
    rocmenv = Runner(capfd, root, tmp_path)
    source = fake_prefix(tmp_path / "new", "7.0.0")
    words = ("install", "7.0.0", "--from", str(source))
    result = rocmenv(*words)
    if result.status:
        assert "--reinstall" in result.hint or "unlink" in result.hint or "update" in result.hint
        result = rocmenv(*words, "--reinstall")
    result.fine()
    assert Version.parse("7.0.0") in registry.load(root).installed
    assert len(os.listdir(root.versions)) == (2 if name == "7.0.0" else 3)


def test_a_broken_version_that_is_named_says_what_is_wrong(tmp_path: Path) -> None:
    root = root_with(tmp_path, "6.3.0")
    receipt(b"{")(root, root.versions / "7.0.0")
    for words in (("version",), ("exec", "true"), ("env", "--json"), ("resolve",)):
        result = run(root, "+7.0.0", *words)
        assert "versions/7.0.0/.rocmenv/receipt.json is not a receipt" in result.message
        assert result.status == 1


def test_a_folder_that_is_no_install_is_removed_by_the_command_of_its_hint(tmp_path: Path) -> None:
    root = root_with(tmp_path / "a b")
    (root.versions / "7.0.0").mkdir(parents=True)
    with pytest.raises(StoreError) as caught:
        registry.find(root, Version.parse("7.0.0"))
    words = shlex.split(str(caught.value.hint).split("`")[1])
    assert words == ["rm", "-r", str(root.versions / "7.0.0")]


def test_a_folder_without_a_version_is_not_read_as_installed(tmp_path: Path) -> None:
    root = root_with(tmp_path)
    assert registry.load(root) == registry.Listing({})
    assert registry.versions(root) == []
    root.versions.write_text("")
    with pytest.raises(StoreError, match="cannot be read"):
        registry.load(root)


def test_versions_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    root = root_with(tmp_path, "6.10.0", "6.4.1", "6.4.1+test")
    names = ["6.4.1", "6.4.1+test", "6.10.0"]
    assert [str(v) for v in registry.load(root).installed] == names
    assert [str(v) for v in registry.versions(root)] == names
