"""`verify`: what it finds on the disk, and what it leaves alone."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmenv.model.version import Version
from rocmenv.ops import verify
from rocmenv.ops.report import Silent
from rocmenv.store import registry
from rocmenv.store.paths import Root
from tests.builders import add, fake_prefix, put, root_with
from tests.cli.runner import Runner

V630 = Version.parse("6.3.0")


def prefix(root: Root) -> Path:
    return root.version(V630)


def test_an_untouched_version_is_fine(rocmenv: Runner, root: Root) -> None:
    for words in ((), ("--deep",)):
        result = rocmenv("verify", "-q", "6.3", *words)
        assert (result.fine(), result.err) == (
            "6.3.0: all 11 paths are as they were installed\n",
            "",
        )
    value = json.loads(rocmenv("verify", "--json").fine())
    assert value == {
        "schema": 1,
        "broken": [],
        "versions": [
            {
                "version": "6.3.0",
                "prefix": str(prefix(root)),
                "fine": True,
                "paths": 11,
                "missing": [],
                "changed": [],
                "extra": [],
                "repaired": [],
                "compile": None,
                "error": None,
            }
        ],
    }


def test_progress_of_reading_is_told_in_its_own_words(rocmenv: Runner) -> None:
    assert "rocmenv: reading 6.3.0 (" in (err := rocmenv("verify", "--deep").err)
    assert "to read)" in err


def replace(path: Path, make: Callable[[Path], object]) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
    make(path)


DAMAGE: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "a file is gone": (lambda p: (p / "bin/hipcc").unlink(), ["missing `bin/hipcc`"]),
    "a file is cut": (
        lambda p: (p / "bin/hipcc").write_text("x"),
        ["changed `bin/hipcc` (1 bytes, not 71)"],
    ),
    "a file may not be started": (
        lambda p: (p / "bin/hipcc").chmod(0o644),
        ["changed `bin/hipcc` (mode 644, not 755)"],
    ),
    "a file is set-user": (
        lambda p: (p / "bin/hipcc").chmod(0o4755),
        ["changed `bin/hipcc` (mode 4755, not 755)"],
    ),
    "a link is gone": (lambda p: (p / "llvm").unlink(), ["missing `llvm`"]),
    "a link leads elsewhere": (
        lambda p: replace(p / "llvm", lambda q: q.symlink_to("/tmp\n")),
        ["changed `llvm` (a link to `/tmp\\n`, not to `lib/llvm`)"],
    ),
    "a link is a folder": (
        lambda p: replace(p / "llvm", Path.mkdir),
        ["changed `llvm` (a folder, not a link)"],
    ),
    "a folder is gone": (
        lambda p: shutil.rmtree(p / ".info"),
        ["missing `.info`", "missing `.info/version`"],
    ),
    "a folder is a link": (
        lambda p: (p / ".info").rename(p / "moved").parent.joinpath(".info").symlink_to("moved"),
        ["changed `.info` (a link, not a folder)", "missing `.info/version`"],
    ),
    "a folder may not be entered": (
        lambda p: (p / ".info").chmod(0o700),
        ["changed `.info` (mode 700, not 755)"],
    ),
    "a file is a folder": (
        lambda p: replace(p / "bin/hipcc", Path.mkdir),
        ["changed `bin/hipcc` (a folder, not a file)"],
    ),
    "a file is a pipe": (
        lambda p: replace(p / "bin/hipcc", os.mkfifo),
        ["changed `bin/hipcc` (a special file, not a file)"],
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_found_and_named(rocmenv: Runner, root: Root, name: str) -> None:
    damage, lines = DAMAGE[name]
    damage(prefix(root))
    result = rocmenv("verify", "-q", "6.3.0")
    assert result.status == 1
    assert result.out.splitlines() == [f"6.3.0: {line}" for line in lines]
    assert result.err == "hint: `rocmenv verify --repair 6.3.0` fetches what is damaged again\n"
    deep = rocmenv("verify", "--deep", "-q", "6.3.0")
    assert deep.out == result.out
    command = "rocmenv verify --deep --repair 6.3.0"  # or what was read is not looked at
    assert deep.err == f"hint: `{command}` fetches what is damaged again\n"
    (row,) = json.loads(rocmenv("verify", "--json").out)["versions"]
    assert row["fine"] is False
    assert len(row["missing"]) + len(row["changed"]) == len(lines)


def test_other_content_of_the_same_size_is_found_by_a_deep_look(
    rocmenv: Runner, root: Root
) -> None:
    path = prefix(root) / "bin/hipcc"
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.write_bytes(content)
    rocmenv("verify", "6.3.0").fine()
    path.chmod(0o700)  # a wrong mode must not hide it
    result = rocmenv("verify", "--deep", "6.3.0")
    assert result.status == 1
    assert result.out == "6.3.0: changed `bin/hipcc` (other content of the same size)\n"


def test_what_cannot_be_read_is_wrong_and_hides_nothing_else(
    rocmenv: Runner, root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    scandir, opened = os.scandir, open

    def no_folder(path: str) -> object:
        if str(path).endswith("lib/llvm"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    def no_file(path: str, *args: object, **more: object) -> object:
        if str(path).endswith("bin/hipcc"):
            raise OSError(5, "Input/output error", path)
        return opened(path, *args, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "scandir", no_folder)
    monkeypatch.setattr("builtins.open", no_file)
    result = rocmenv("verify", "-q", "--deep", "6.3.0")
    assert result.out.splitlines() == [
        "6.3.0: changed `bin/hipcc` (it cannot be read (Input/output error))",
        "6.3.0: changed `lib/llvm` (it cannot be read (Permission denied))",
    ]


def test_what_is_added_is_told_and_is_not_wrong(rocmenv: Runner, root: Root) -> None:
    put(prefix(root), "bin/mine", "x")
    put(prefix(root), "share/own/a", "x")
    put(prefix(root), "share/own/b/c", "x")
    put(prefix(root), "lib/__pycache__/x.pyc", "x")
    (prefix(root) / "lib/link").symlink_to("nowhere")
    result = rocmenv("verify", "6.3.0")
    assert result.fine().endswith("paths are as they were installed\n")
    extra = ["bin/mine", "lib/link", "share/"]
    assert result.err.splitlines() == [
        f"note: 6.3.0: not installed by rocmenv: `{path}`" for path in extra
    ]
    (row,) = json.loads(rocmenv("verify", "--json").fine())["versions"]
    assert row["extra"] == extra
    assert rocmenv("verify", "-q").err == ""


def test_many_faults_are_cut_for_people_and_whole_in_json(
    rocmenv: Runner, root: Root, tmp_path: Path
) -> None:
    source = fake_prefix(tmp_path / "x", "6.3.0", [f"tool{n}" for n in range(30)])
    add_again(root, source)
    for number in range(30):
        (prefix(root) / f"bin/tool{number}").unlink()
    result = rocmenv("verify", "6.3.0")
    assert len(result.out.splitlines()) == 20
    assert "note: 6.3.0: and 10 more; `--json` lists all" in result.err
    (row,) = json.loads(rocmenv("verify", "--json").out)["versions"]
    assert len(row["missing"]) == 30


def add_again(root: Root, source: Path) -> None:
    shutil.rmtree(prefix(root))
    add(root, "6.3.0", source)


# What has no manifest, or a bad one.


def test_an_install_without_a_manifest_names_the_cure(
    rocmenv: Runner, root: Root, tmp_path: Path
) -> None:
    root.manifest(V630).unlink()
    result = rocmenv("verify", "6.3.0")
    assert result.refused() == (
        "version 6.3.0 has no list of its files: it was installed by an older rocmenv"
    )
    command = f"rocmenv install --reinstall 6.3.0 --from {tmp_path}/source-6.3.0"
    assert result.hint == f"install it again: `{command}`"
    rocmenv(*command.split()[1:]).fine()
    rocmenv("verify", "6.3.0").fine()


@pytest.mark.parametrize("damage", [b"", b"rocmenv-manifest 1\n", b"\xff", b"x\n"])
def test_a_damaged_manifest_is_refused(rocmenv: Runner, root: Root, damage: bytes) -> None:
    root.manifest(V630).write_bytes(damage)
    for words in ((), ("--repair",)):
        result = rocmenv("verify", "6.3.0", *words)
        assert result.refused().startswith(f"{root.manifest(V630)} is damaged: ")
        assert "--reinstall 6.3.0" in result.hint


def test_one_of_a_newer_rocmenv_is_not_called_damaged(rocmenv: Runner, root: Root) -> None:
    root.manifest(V630).write_text("rocmenv-manifest 9\n")
    result = rocmenv("verify", "6.3.0")
    assert "newer rocmenv" in result.refused()
    assert result.hint == "update rocmenv"


def test_a_link_cannot_be_verified_or_repaired(rocmenv: Runner, root: Root, tmp_path: Path) -> None:
    fake_prefix(tmp_path / "x", "6.4.0")
    rocmenv("link", "x").fine()
    for words in ((), ("--repair",)):
        message = rocmenv("verify", "6.4.0", *words).refused()
        assert message == f"version 6.4.0 is linked to {tmp_path}/x: rocmenv did not make its files"
    assert rocmenv("verify").fine() == "6.3.0: all 11 paths are as they were installed\n"


def test_one_version_does_not_hide_another(rocmenv: Runner, root: Root, tmp_path: Path) -> None:
    add(root, "6.4.0", fake_prefix(tmp_path / "x", "6.4.0"))
    root.manifest(V630).unlink()
    (root.versions / "6.5.0").mkdir()
    result = rocmenv("verify")
    assert result.status == 1
    assert result.out == "6.4.0: all 11 paths are as they were installed\n"
    assert "rocmenv: version 6.3.0 has no list of its files" in result.err
    assert f"not an install: {root.versions}/6.5.0" in result.err
    value = json.loads(rocmenv("verify", "--json").out)
    assert [row["fine"] for row in value["versions"]] == [False, True]
    assert value["versions"][0]["error"]["code"] == "store"
    assert value["broken"][0]["path"] == f"{root.versions}/6.5.0"


def test_what_there_is_to_verify(rocmenv: Runner, tmp_path: Path) -> None:
    assert "system's ROCm" in rocmenv("verify", "system").refused(2)
    assert "is not installed" in rocmenv("verify", "6.9.0").refused()
    assert "`--gpu` is for the sample" in rocmenv("verify", "--gpu", "gfx90a").refused(2)
    assert rocmenv("+6.3", "verify").fine() == rocmenv("verify", "6.3", "6.3.0").fine()
    empty = Root(tmp_path / "empty")
    empty.path.mkdir()
    result = rocmenv("--root", str(empty.path), "verify")
    assert (result.fine(), result.err) == ("", "rocmenv: nothing is installed\n")


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_exactly_what_was_damaged_is_found(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("law")
    root = root_with(folder, "6.3.0")
    item = registry.find(root, V630)
    files = [e for e in verify.read_manifest(root, item) if e.kind == "file"]
    chosen = data.draw(st.sets(st.sampled_from([entry.path for entry in files])))
    for path in chosen:
        full = Path(item.prefix, path)
        how = data.draw(st.sampled_from(["gone", "longer", "flipped", "mode"]))
        content = full.read_bytes()
        if how == "gone":
            full.unlink()
        elif how == "mode":
            full.chmod(0o600)
        else:
            other = bytes([content[0] ^ 255]) + content[1:]
            full.write_bytes(content + b"x" if how == "longer" else other)
    checked = verify.check(root, item, deep=True, jobs=2, report=Silent())
    assert {fault.entry.path for fault in checked.faults} == chosen
    assert checked.extra == ()
