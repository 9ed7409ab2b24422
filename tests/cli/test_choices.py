"""Commands that choose: local, global, use, shell, deactivate, config."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pexpect
import pytest

from rocmenv.model.version import Version
from rocmenv.ops.activate import switch_to
from rocmenv.store import registry
from rocmenv.store.paths import Root
from tests.builders import add, clean_environ, fake_prefix, process, root_with
from tests.cli.runner import COMMAND, Runner, run

PIN = ".rocm-version"


@pytest.mark.parametrize("words", [("local", "6.3"), ("use", "--project", "6.3")])
def test_the_projects_version_is_written_as_typed(
    rocmenv: Runner, project: Path, words: tuple[str, ...]
) -> None:
    result = rocmenv(*words)
    assert result.fine() == ""
    assert result.err == f"rocmenv: {project}/{PIN} now says 6.3\n"
    assert (project / PIN).read_text() == "6.3\n"
    assert rocmenv("local").fine() == "6.3\n"
    assert os.listdir(project) == [PIN]


@pytest.mark.parametrize("words", [("global", "6.3"), ("use", "--global", "6.3")])
def test_the_default_is_written_as_typed(
    rocmenv: Runner, root: Root, words: tuple[str, ...]
) -> None:
    assert rocmenv("global").fine() == "system\n"
    assert rocmenv(*words).err == f"rocmenv: {root.default} now says 6.3\n"
    assert root.default.read_text() == "6.3\n"
    assert rocmenv("global").fine() == "6.3\n"
    assert rocmenv("global", "--unset").fine() == ""
    assert rocmenv("global").fine() == "system\n"
    assert rocmenv("global", "--unset").fine() == ""


@pytest.mark.parametrize("command", ["local", "global"])
def test_a_choice_says_what_it_writes(
    rocmenv: Runner, root: Root, project: Path, command: str
) -> None:
    path = project / PIN if command == "local" else root.default
    assert rocmenv(command, "v6.3.0").err == f"rocmenv: {path} now says 6.3.0\n"
    assert path.read_text() == "6.3.0\n"


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("local", "--unset", "7.0"), "--unset"),
        (("global", "7.0", "--unset"), "--unset"),
        (("shell", "--unset", "7.0"), "--unset"),
        (("env", "--undo", "7.0", "--shell", "sh"), "--undo"),
    ],
)
def test_a_version_beside_an_option_that_takes_none_is_refused(
    rocmenv: Runner, root: Root, project: Path, words: tuple[str, ...], option: str
) -> None:
    (project / PIN).write_text("6.3\n")
    root.default.write_text("6.3\n")
    assert rocmenv(*words).refused(2) == f"`{option}` takes no version"
    assert (project / PIN).exists()
    assert root.default.exists()


def test_hints_have_quotes_where_a_shell_needs_them(tmp_path: Path, rocmenv: Runner) -> None:
    assert "`rocmenv '+>=6.3,<7' exec COMMAND`" in rocmenv("use", ">=6.3,<7").hint
    assert "`rocmenv install '!=6.3,>7'`" in rocmenv("prefix", "!=6.3,>7").hint
    root = root_with(tmp_path / "a b", "6.3.0")
    (root.versions / "6.3.0/bin/hipcc").write_text("#!/nowhere/at/all\n")
    hint = run(root, "+6.3", "exec", "hipcc").hint
    assert hint == f"look at it: `file '{root.versions}/6.3.0/bin/hipcc'`"
    (root.path / PIN).mkdir()
    assert f"`mv '{root.path}/{PIN}'" in run(root, "local", "6.3", cwd=root.path).hint
    root.config.write_text("no toml")
    assert f"-vi}} '{root.config}'`" in run(root, "config", "list").hint
    root.config.unlink()
    root.config.mkdir()
    hint = run(root, "config", "list").hint
    assert hint == f"move it away: `mv '{root.config}' '{root.config}'.old`"


def test_comments_of_a_pin_stay(rocmenv: Runner, project: Path) -> None:
    (project / PIN).write_bytes(b"\xef\xbb\xbf# the cluster has this\r\n6.4.1  # for now\r\n")
    rocmenv("local", "6.3.0").fine()
    assert (project / PIN).read_bytes() == b"# the cluster has this\n6.3.0\n"


def test_an_unreadable_pin_is_replaced(rocmenv: Runner, project: Path) -> None:
    (project / PIN).write_bytes(b"\xff\xfe6\x00.\x003\x00 \xd8")
    rocmenv("local", "6.4").fine()
    assert (project / PIN).read_text() == "6.4\n"


@pytest.mark.parametrize("command", ["local", "global"])
def test_what_is_not_installed_needs_force(
    rocmenv: Runner, root: Root, project: Path, command: str
) -> None:
    path = project / PIN if command == "local" else root.default
    result = rocmenv(command, "6.2")
    assert "no installed version fits `6.2`" in result.refused()
    assert result.hint.endswith("`--force` writes it all the same")
    assert not path.exists()
    rocmenv(command, "6.2", "--force").fine()
    assert path.read_text() == "6.2\n"
    rocmenv(command, "6 .2", "--force").refused(2)


def test_a_projects_version_is_removed(rocmenv: Runner, project: Path) -> None:
    rocmenv("local", "6.3").fine()
    assert rocmenv("local", "--unset").err == f"rocmenv: removed {project}/{PIN}\n"
    assert not (project / PIN).exists()
    assert rocmenv("local", "--unset").refused() == f"there is no {project}/{PIN}"
    assert rocmenv("local").refused() == f"no {PIN} in {project} or above"


def test_a_folder_of_the_pins_name_is_refused(rocmenv: Runner, project: Path) -> None:
    (project / PIN).mkdir()
    assert rocmenv("local", "6.3").refused() == f"{project}/{PIN} is a folder"


def test_a_project_that_cannot_be_written_is_named(rocmenv: Runner, project: Path) -> None:
    project.rmdir()
    message = rocmenv("local", "6.3").refused()
    assert message == f"{project}/{PIN} cannot be written (No such file or directory)"


def test_use_alone_needs_the_shells_function(rocmenv: Runner) -> None:
    result = rocmenv("use", "6.3")
    assert "changes this shell" in result.refused(2)
    assert "rocmenv init" in result.hint
    assert "`rocmenv +6.3 exec COMMAND`" in result.hint
    for words in (("use",), ("deactivate",), ("shell", "6.3"), ("shell", "--unset")):
        assert "changes this shell" in rocmenv(*words).refused(2)
    assert rocmenv("use", "--project").refused(2) == "a version is missing"
    assert "two different places" in rocmenv("use", "--project", "--global", "6.3").refused(2)


def test_shell_shows_its_own_version(rocmenv: Runner) -> None:
    assert rocmenv("shell", ROCMENV_VERSION="6.3").fine() == "6.3\n"
    assert rocmenv("shell").refused() == "this shell has no version of its own"


# Settings.


def test_settings_are_listed_with_their_origin(rocmenv: Runner, root: Root) -> None:
    root.config.write_text('jobs = 3\n[legacy]\nmirror = "http://m"\n[aliases]\nwork = "6.3"\n')
    lines = rocmenv("config", "list", ROCMENV_OFFLINE="1").fine().splitlines()
    assert any(line.startswith("channel = auto (default): ") for line in lines)
    assert any(line.startswith(f"jobs = 3 ({root.config}): ") for line in lines)
    assert any(line.startswith("offline = true (ROCMENV_OFFLINE): ") for line in lines)
    assert f"aliases.work = 6.3 ({root.config})" in lines
    value = json.loads(rocmenv("config", "list", "--json").fine())
    assert value["settings"]["legacy.mirror"] == {"value": "http://m", "origin": str(root.config)}
    assert value["settings"]["search"] == {"value": ["/opt"], "origin": "default"}
    assert value["aliases"] == {"work": "6.3"}


def test_a_setting_is_set_got_and_unset_with_comments_kept(rocmenv: Runner, root: Root) -> None:
    text = "# mine\njobs = 2 # slow disk\n\n[legacy]\n# the house's\nmirror = 'http://m'\n"
    root.config.write_text(text)
    rocmenv("config", "set", "jobs", "5").fine()
    rocmenv("config", "set", "legacy.keyring", "/k y").fine()
    assert root.config.read_text() == text.replace("jobs = 2", "jobs = 5") + 'keyring = "/k y"\n'
    assert rocmenv("config", "get", "jobs").fine() == "5\n"
    assert rocmenv("config", "get", "legacy.keyring").fine() == "/k y\n"
    assert rocmenv("config", "get", "jobs", ROCMENV_JOBS="7").fine() == "7\n"
    rocmenv("config", "unset", "jobs").fine()
    rocmenv("config", "unset", "legacy.keyring").fine()
    assert "jobs" not in root.config.read_text()
    assert "# the house's\nmirror = 'http://m'\n" in root.config.read_text()


def test_a_file_with_a_byte_order_mark_is_changed(rocmenv: Runner, root: Root) -> None:
    root.config.write_bytes(b"\xef\xbb\xbf# mine\r\njobs = 3\r\n")
    rocmenv("config", "set", "offline", "yes").fine()
    assert rocmenv("config", "get", "jobs").fine() == "3\n"
    assert rocmenv("config", "get", "offline").fine() == "true\n"


def test_a_folder_to_search_counts_however_it_is_written(rocmenv: Runner, root: Root) -> None:
    rocmenv("config", "set", "search", "/opt/:~/r").fine()
    assert root.config.read_text() == 'search = ["/opt", "~/r"]\n'
    home = "/nonexistent"
    lists = f"/opt/rocm-5.0/lib:{home}/r/rocm/lib:/mine"
    out = rocmenv("env", "6.3", "--json", LD_LIBRARY_PATH=lists).fine()
    assert json.loads(out)["variables"]["LD_LIBRARY_PATH"] == f"{root.versions}/6.3.0/lib:/mine"
    message = "`search` should be a list of absolute folders, not `/opt/:rel` (the command line)"
    assert rocmenv("config", "set", "search", "/opt/:rel").refused() == message


def test_unsetting_what_is_not_set_changes_nothing(rocmenv: Runner, root: Root) -> None:
    rocmenv("config", "unset", "legacy.mirror").fine()
    rocmenv("config", "unset", "aliases.work").fine()
    assert not root.config.exists()


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        ("jobs", "0", "`jobs` should be a number from 1, not `0`"),
        ("jobs", "many", "`jobs` should be a number from 1"),
        ("offline", "maybe", "`offline` should be `true` or `false`"),
        ("profile", "", "`profile` should be one of"),
        ("mirror", "x", "`mirror` is not a setting"),
        ("aliases.latest", "6.3", "`latest` cannot be an alias"),
        ("aliases.system", "6.3", "`system` cannot be an alias"),
        ("aliases.6", "6.3", "`6` cannot be an alias"),
        ("aliases.work", "play", "`work` cannot be an alias of `play`"),
    ],
)
def test_a_setting_that_does_not_fit_is_refused(
    rocmenv: Runner, root: Root, key: str, text: str, message: str
) -> None:
    assert message in rocmenv("config", "set", key, text).refused()
    assert not root.config.exists()


@pytest.mark.parametrize("text", ["jobs = \n", "\xff", "[legacy\n"])
def test_a_file_that_is_not_toml_is_named_and_left(rocmenv: Runner, root: Root, text: str) -> None:
    root.config.write_bytes(text.encode("latin-1"))
    for words in (("config", "list"), ("config", "set", "jobs", "2"), ("env", "6.3", "--json")):
        assert str(root.config) in rocmenv(*words).message
    assert root.config.read_bytes() == text.encode("latin-1")
    assert rocmenv("version").status == 0


def test_a_text_where_a_table_should_be_is_named(rocmenv: Runner, root: Root) -> None:
    root.config.write_text('legacy = "http://m"\n')
    for words in (("set", "legacy.mirror", "https://x"), ("unset", "legacy.mirror")):
        assert "`legacy` in" in rocmenv("config", *words).refused()
    assert root.config.read_text() == 'legacy = "http://m"\n'


def test_an_alias_stands_for_a_version_everywhere(rocmenv: Runner, root: Root) -> None:
    rocmenv("config", "set", "aliases.work", "6.3").fine()
    assert rocmenv("config", "get", "aliases.work").fine() == "6.3\n"
    assert rocmenv("prefix", "work").fine() == f"{root.versions}/6.3.0\n"
    assert rocmenv("+work", "version", "--bare").fine() == "6.3.0\n"
    assert (root.activations / "work.sh").is_symlink()
    rocmenv("config", "unset", "aliases.work").fine()
    assert not os.path.lexists(root.activations / "work.sh")
    result = rocmenv("prefix", "work")
    assert "neither a version nor an alias" in result.refused()
    assert "aliases: none is set" in result.hint
    assert rocmenv("config", "get", "aliases.work").refused() == "`work` is not an alias"


def test_an_alias_without_quotes_never_stands_for_another_version(
    tmp_path: Path, rocmenv: Runner, root: Root
) -> None:
    """TOML reads 6.10 as the number 6.1."""
    for version in ("6.1.0", "6.10.0"):
        add(root, version, fake_prefix(tmp_path / version, version))
    root.config.write_text("[aliases]\nwork = 6.10\n")
    for words in (("+work", "version"), ("config", "list"), ("config", "get", "aliases.work")):
        result = rocmenv(*words)
        assert f"`aliases.work` in {root.config} should be a text" in result.refused()
        assert "in quotes" in result.hint
    add(root, "6.5.0", fake_prefix(tmp_path / "6.5.0", "6.5.0"))
    assert not os.path.lexists(root.activations / "work.sh")
    rocmenv("config", "set", "aliases.work", "6.10").fine()
    assert rocmenv("+work", "version", "--bare").fine() == "6.10.0\n"


def test_an_alias_of_no_version_is_named_with_its_file(rocmenv: Runner, root: Root) -> None:
    root.config.write_text('[aliases]\nbad = "6..3"\n')
    result = rocmenv("+bad", "version")
    assert result.refused(2) == f"`6..3` is not a version (the alias `bad` in {root.config})"
    assert result.hint == "run `rocmenv config set aliases.bad VERSION`"


# Uninstall.


def active(root: Root, version: str) -> dict[str, str]:
    item = registry.find(root, Version.parse(version))
    texts = switch_to(process(root.path), root, item).texts
    return {name: text for name, text in texts.items() if text is not None}


def test_uninstall_removes_a_version_and_its_shims(rocmenv: Runner, root: Root) -> None:
    (root.versions / "6.3.0/bin/rocminfo").rename(root.versions / "6.3.0/bin/only-here")
    rocmenv("rehash").fine()
    assert (root.shims / "only-here").exists()
    assert rocmenv("uninstall", "6.3").err == "rocmenv: removed 6.3.0\n"
    assert os.listdir(root.versions) == ["6.4.1"]
    assert not (root.shims / "only-here").exists()
    assert not (root.activations / "6.3.0.sh").exists()
    assert (
        rocmenv("uninstall", "6.3").refused()
        == "no installed version fits `6.3` (set by `6.3` on the command line)"
    )


def test_the_trash_is_emptied(rocmenv: Runner, root: Root) -> None:
    (root.trash / "file").touch()
    (root.trash / "link").symlink_to(root.versions)
    rocmenv("uninstall", "6.3.0").fine()
    for _ in range(200):
        if not os.listdir(root.trash):
            break
        time.sleep(0.05)
    assert os.listdir(root.trash) == []
    assert os.listdir(root.versions) == ["6.4.1"]


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("shell", "active in this shell"),
        ("variable", "selected by ROCMENV_VERSION"),
        ("pin", "pinned by"),
        ("default", "the default in"),
    ],
)
def test_what_is_in_use_is_not_removed_without_yes(
    rocmenv: Runner, root: Root, project: Path, how: str, words: str
) -> None:
    environ: dict[str, str] = {}
    if how == "shell":
        environ = active(root, "6.3.0")
    elif how == "variable":
        environ = {"ROCMENV_VERSION": "6.3"}
    elif how == "pin":
        (project / PIN).write_text("<6.4\n")
    else:
        root.default.write_text("6.3\n")
    result = rocmenv("uninstall", "6.3.0", **environ)
    assert f"version 6.3.0 is {words}" in result.refused()
    assert result.hint.endswith("`rocmenv uninstall --yes 6.3.0`")
    assert (root.versions / "6.3.0").exists()
    rocmenv("uninstall", "6.4.1", **environ).fine()
    rocmenv("uninstall", "--yes", "6.3.0", **environ).fine()
    assert os.listdir(root.versions) == []


def test_a_request_that_another_version_meets_keeps_nothing(rocmenv: Runner, root: Root) -> None:
    root.default.write_text("6\n")
    rocmenv("uninstall", "6.3.0").fine()


def test_the_systems_is_not_removed(rocmenv: Runner) -> None:
    assert "not ours to remove" in rocmenv("uninstall", "system").refused(2)


@pytest.mark.parametrize(("answer", "gone"), [("y", True), ("n", False)])
def test_a_person_is_asked(root: Root, answer: str, *, gone: bool) -> None:
    root.default.write_text("6.3.0\n")
    child = pexpect.spawn(
        COMMAND[0],
        [*COMMAND[1:], "uninstall", "6.3.0"],
        env=clean_environ(root, TERM="dumb"),
        encoding="utf-8",
        timeout=20,
    )
    child.expect_exact("Uninstall 6.3.0 all the same?")
    child.sendline(answer)
    child.expect(pexpect.EOF)
    child.close()
    assert (child.exitstatus, (root.versions / "6.3.0").exists()) == (0 if gone else 1, not gone)
    assert "Traceback" not in child.before


def test_rehash_tells_which_commands_get_no_shim(rocmenv: Runner, root: Root) -> None:
    program = root.versions / "6.3.0/bin/python3"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    result = rocmenv("rehash")
    assert result.fine() == ""
    assert "no shims for python3" in result.err
    assert not (root.shims / "python3").exists()
    assert rocmenv("rehash", "--quiet").err == ""


def test_a_plain_run_writes_nothing_on_stderr(root: Root) -> None:
    assert run(root, "rehash").err == ""
