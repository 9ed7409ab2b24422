"""Commands that read: version, versions, which, whence, prefix, root, env, list-remote."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from rocmenv.model.receipt import Receipt
from rocmenv.model.version import Version
from rocmenv.ops.activate import launch
from rocmenv.ops.current import asked
from rocmenv.sources import distro
from rocmenv.store.paths import Root
from tests.builders import add, clean_environ, fake_prefix, process
from tests.cli.runner import COMMAND, Runner, run, run_command


def test_version_says_what_decides(rocmenv: Runner, project: Path, root: Root) -> None:
    assert rocmenv("version").fine() == "system (nothing selects a version)\n"
    root.default.write_text("6.3\n")
    assert rocmenv("version").fine() == f"6.3.0 (set by {root.default})\n"
    (project / ".rocm-version").write_text("6.4\n")
    assert rocmenv("version").fine() == f"6.4.1 (set by {project}/.rocm-version)\n"
    assert rocmenv("version", ROCMENV_VERSION="6.3.0").fine() == "6.3.0 (set by ROCMENV_VERSION)\n"
    assert rocmenv("+6.3", "version").fine() == "6.3.0 (set by `6.3` on the command line)\n"


def test_version_in_other_forms(rocmenv: Runner, root: Root) -> None:
    assert rocmenv("version", "--bare", ROCMENV_VERSION="6.3").fine() == "6.3.0\n"
    assert rocmenv("version", "--bare").fine() == "system\n"
    value = json.loads(rocmenv("version", "--json", ROCMENV_VERSION="6.3").fine())
    assert value["version"] == "6.3.0"
    assert value["spec"] == "6.3"
    assert value["origin"] == {"source": "variable", "place": "ROCMENV_VERSION"}
    assert json.loads(rocmenv("version", "--json").fine())["prefix"] is None


def test_a_bad_variable_is_named(rocmenv: Runner) -> None:
    result = rocmenv("version", ROCMENV_VERSION="6.3 .0")
    assert result.refused(2) == "`6.3 .0` is not a version (set by ROCMENV_VERSION)"
    assert result.hint.startswith("unset ROCMENV_VERSION")


def test_a_blank_version_is_called_empty(rocmenv: Runner) -> None:
    result = rocmenv("version", ROCMENV_VERSION=" ")
    assert result.refused(2) == "the version is empty (set by ROCMENV_VERSION)"
    assert rocmenv("+ ", "version").refused(2) == "the version is empty"


def test_versions_marks_the_selected_one(rocmenv: Runner) -> None:
    assert rocmenv("versions").fine() == "  6.3.0\n  6.4.1\n"
    out = rocmenv("versions", ROCMENV_VERSION="6.3").fine()
    assert out == "* 6.3.0 (set by ROCMENV_VERSION)\n  6.4.1\n"
    assert rocmenv("versions", "--bare", ROCMENV_VERSION="6.3").fine() == "6.3.0\n6.4.1\n"


def test_versions_lists_also_when_the_selection_is_wrong(rocmenv: Runner) -> None:
    result = rocmenv("versions", ROCMENV_VERSION="9")
    assert result.fine() == "  6.3.0\n  6.4.1\n"
    assert result.err == "rocmenv: no installed version fits `9` (set by ROCMENV_VERSION)\n"


def test_versions_as_json(rocmenv: Runner, root: Root) -> None:
    value = json.loads(rocmenv("versions", "--json", ROCMENV_VERSION="6.4").fine())
    assert [(row["version"], row["selected"]) for row in value["versions"]] == [
        ("6.3.0", False),
        ("6.4.1", True),
    ]
    assert value["versions"][0]["prefix"] == str(root.versions / "6.3.0")
    assert value["broken"] == []


def test_which_shows_the_real_program(rocmenv: Runner, root: Root) -> None:
    out = rocmenv("which", "hipcc", ROCMENV_VERSION="6.3").fine()
    assert out == f"{root.versions}/6.3.0/bin/hipcc\n"
    out = rocmenv("+6.4", "which", "clang++").fine()
    assert out == f"{root.versions}/6.4.1/lib/llvm/bin/clang++\n"
    assert rocmenv("which", "sh").fine() == "/usr/bin/sh\n"


def test_which_names_the_versions_that_have_it(rocmenv: Runner, root: Root, tmp_path: Path) -> None:
    add(root, "6.2.4", fake_prefix(tmp_path / "old", "6.2.4", ("hipcc", "rocprof")))
    result = rocmenv("which", "rocprof", ROCMENV_VERSION="6.4.1")
    message = result.refused(127)
    assert message == "version 6.4.1 has no command `rocprof` (set by ROCMENV_VERSION)"
    assert result.hint == "these have it: 6.2.4; run `rocmenv +6.2.4 exec rocprof`"
    result = rocmenv("which", "rocprof")
    assert result.refused(127).startswith("the system has no command `rocprof`")
    assert "6.2.4" in result.hint
    result = rocmenv("which", "nowhere-at-all", ROCMENV_VERSION="6.4.1")
    assert result.refused(127).startswith("version 6.4.1 has no command `nowhere-at-all`")
    assert result.hint == "no installed version has it; `rocmenv versions` shows them"


@pytest.mark.parametrize(
    ("version", "source", "words"),
    [
        ("6.4.1", "legacy", "6.4.1 --channel legacy --gpu all --with PACKAGE"),
        (
            "6.4.1+site",
            "rpm",
            "6.4.1 --channel rpm --as 6.4.1+site --gpu all --with PACKAGE",
        ),
        (
            "6.4.1+distro",
            "distro",
            "6.4.1 --channel distro --as 6.4.1+distro --with PACKAGE",
        ),
    ],
)
def test_a_hint_for_a_further_package_can_be_pasted(
    rocmenv: Runner, root: Root, tmp_path: Path, version: str, source: str, words: str
) -> None:
    if version != "6.4.1":
        add(root, version, fake_prefix(tmp_path / "more", "6.4.1"))
    path = root.receipt(Version.parse(version))
    path.write_text(path.read_text().replace('"local"', f'"{source}"'))
    hint = rocmenv(f"+{version}", "which", "nowhere-at-all").hint
    assert hint == f"no installed version has it; see `rocmenv install --reinstall {words}`"


@pytest.mark.parametrize("name", ["../bin/hipcc", "bin/hipcc", ""])
def test_a_path_is_no_command_of_a_version(rocmenv: Runner, name: str) -> None:
    rocmenv("which", name, ROCMENV_VERSION="6.4.1").refused(127)


def test_a_program_that_is_a_shim_is_refused(rocmenv: Runner, root: Root) -> None:
    program = root.versions / "6.3.0/bin/hipcc"
    program.unlink()
    program.hardlink_to(root.shims / "hipcc")
    message = rocmenv("which", "hipcc", ROCMENV_VERSION="6.3.0").refused(127)
    assert "starts the shim of `hipcc` again" in message


@pytest.mark.parametrize("way", ["plain", "dot", "slashes", "link", "shim linked"])
def test_the_machines_program_is_never_a_shim_by_another_path(
    rocmenv: Runner, root: Root, tmp_path: Path, way: str
) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (real / "hipcc").write_text("#!/bin/sh\n")
    (real / "hipcc").chmod(0o755)
    link = tmp_path / "link"
    link.mkdir()
    if way == "shim linked":
        (link / "hipcc").symlink_to(root.shims / "hipcc")
    else:
        (link / "root").symlink_to(root.path)
    folder = {
        "plain": f"{root.shims}",
        "dot": f"{root.path.parent}/./root/shims",
        "slashes": f"/{root.shims}/",
        "link": f"{link}/root/shims",
        "shim linked": str(link),
    }[way]
    out = rocmenv("which", "hipcc", PATH=f"{folder}:{real}:/usr/bin").fine()
    assert out == f"{real}/hipcc\n"
    versions = folder.replace("/shims", "/versions/6.3.0/bin")
    out = rocmenv("which", "hipcc", PATH=f"{versions}:{real}:/usr/bin").fine()
    assert out == f"{real}/hipcc\n"


def test_inside_a_shim_which_shows_the_program_too(rocmenv: Runner, root: Root) -> None:
    out = rocmenv(
        "+6.3.0", "which", "hipcc", ROCMENV_SHIMS=":6.3.0/hipcc:" * 2, ROCMENV_VERSION="6.3.0"
    ).fine()
    assert out == f"{root.versions}/6.3.0/bin/hipcc\n"


def test_each_receipt_is_read_once_and_only_where_it_is_needed(
    rocmenv: Runner, root: Root, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start of a program reads the chosen one, and those of links, whose places count."""
    rocmenv("link", str(fake_prefix(tmp_path / "site", "6.2.4")), "6.2.4").fine()
    read: list[str] = []

    def parse(text: str, path: str) -> Receipt:
        read.append(path.removeprefix(f"{root.versions}/").partition("/")[0])
        return real(text, path)

    real = Receipt.parse
    monkeypatch.setattr(Receipt, "parse", parse)
    rocmenv("+6.3", "which", "hipcc").fine()
    assert read == ["6.3.0"]
    rocmenv("+6.3", "prefix").fine()
    assert read == ["6.3.0"] * 2
    read.clear()
    call = process(root.path, {"LD_LIBRARY_PATH": f"{tmp_path}/site/lib:/mine"})
    ready = launch(call, root, asked("6.3"), "hipcc", shim=False)
    assert read == ["6.3.0", "6.2.4"]
    assert ready.environ["LD_LIBRARY_PATH"] == f"{root.versions}/6.3.0/lib:/mine"


def test_whence_lists_versions_or_paths(rocmenv: Runner, root: Root, tmp_path: Path) -> None:
    add(root, "6.2.4", fake_prefix(tmp_path / "old", "6.2.4", ("rocprof",)))
    assert rocmenv("whence", "hipcc").fine() == "6.3.0\n6.4.1\n"
    assert rocmenv("whence", "--path", "rocprof").fine() == f"{root.versions}/6.2.4/bin/rocprof\n"
    value = json.loads(rocmenv("whence", "--json", "rocprof").fine())
    assert value["versions"] == {"6.2.4": f"{root.versions}/6.2.4/bin/rocprof"}
    assert json.loads(rocmenv("whence", "--json", "no").fine())["versions"] == {}
    assert rocmenv("whence", "no").refused(127) == "no installed version has a command `no`"


def test_prefix_of_a_version_or_of_the_selection(rocmenv: Runner, root: Root) -> None:
    assert rocmenv("prefix", "6.3").fine() == f"{root.versions}/6.3.0\n"
    assert rocmenv("prefix", ROCMENV_VERSION="6.4").fine() == f"{root.versions}/6.4.1\n"
    assert rocmenv("prefix", "latest").fine() == f"{root.versions}/6.4.1\n"
    assert "has no prefix of ours" in rocmenv("prefix").refused()


def test_resolve_answers_as_hooks_want_it(rocmenv: Runner, project: Path) -> None:
    assert rocmenv("resolve", "6.3").fine() == "6.3.0\n"
    assert rocmenv("resolve", "--", "6.3").fine() == "6.3.0\n"
    assert rocmenv("resolve", "--one-line").fine() == "system\n"
    (project / ".rocm-version").write_text("6.4\n")
    assert rocmenv("resolve").fine() == "6.4.1\n"
    assert "unexpected extra argument" in rocmenv("resolve", "6.3.0", "junk").refused(2)
    assert rocmenv("--root", str(rocmenv.root.path), "resolve", "6.3").fine() == "6.3.0\n"


def test_env_is_for_the_named_shell(rocmenv: Runner, root: Root) -> None:
    out = rocmenv("env", "6.3", "--shell", "bash").fine()
    assert f"export ROCM_PATH={root.versions}/6.3.0\n" in out
    assert "set -gx ROCM_PATH" in rocmenv("env", "6.3", "--shell", "fish").fine()
    value = json.loads(rocmenv("env", "6.3", "--json").fine())
    assert value["variables"]["ROCM_PATH"] == f"{root.versions}/6.3.0"


def test_a_version_that_is_not_there_stops_set_e(root: Root) -> None:
    """`eval` sees what is printed, and not the exit status."""
    script = 'set -e; eval "$("$PYTHON" -m rocmenv env 9.9 --shell sh)"; echo on'
    environ = clean_environ(root, PYTHON=COMMAND[0])
    done = run_command(["sh", "-c", script], environ, "/")
    assert (done.status, done.out) == (1, "")
    assert "no installed version fits `9.9`" in done.err
    assert run(root, "env", "9.9", "--shell", "fish").out == "false\n"
    assert json.loads(run(root, "env", "9.9", "--json").out)["error"]["code"] == "not-installed"


def test_env_and_undo_go_there_and_back_in_bash(root: Root) -> None:
    script = """
before=$(env | sort)
eval "$("$PYTHON" -m rocmenv env 6.3 --shell bash)"
echo "$ROCM_PATH"
eval "$("$PYTHON" -m rocmenv env --undo --shell bash)"
test "$before" = "$(env | sort)" && echo same
"""
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        env=clean_environ(root, PYTHON=COMMAND[0]),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout == f"{root.versions}/6.3.0\nsame\n", done.stderr


def test_undo_without_an_activation_says_so(rocmenv: Runner) -> None:
    result = rocmenv("env", "--undo", "--shell", "sh")
    assert result.fine() == ""
    assert "nothing to undo" in result.err


def test_init_has_the_root_and_runs_nothing(rocmenv: Runner, root: Root) -> None:
    for shell in ("bash", "zsh", "fish", "sh"):
        assert str(root.path) in rocmenv("init", shell).fine()
    assert rocmenv("init", "tcsh").refused(2)


def test_completion_prints_the_script(rocmenv: Runner) -> None:
    assert "_ROCMENV_COMPLETE" in rocmenv("completion", "bash").fine()
    assert rocmenv("completion", "csh").refused(2)


def test_a_shell_that_cannot_be_told_is_not_guessed(root: Root) -> None:
    """R12: called from this program, which is no shell."""
    result = run(root, "env", "6.3", before=("setsid", "-w"))
    if result.status:  # under a shell, as in a terminal, that shell is found
        assert "cannot tell which shell" in result.refused(2)
        assert "name it" in result.hint


@pytest.mark.parametrize("command", [("install", "--list"), ("list-remote",)])
def test_the_known_releases_are_listed(rocmenv: Runner, command: tuple[str, ...]) -> None:
    lines = rocmenv(*command).fine().splitlines()
    names = [line[2:].split()[0] for line in lines]
    assert names[0] == "5.0.0"
    assert "6.3.0" in names
    assert "5.5.2" not in names, "not one of AMD's release notes"
    marked = [line[2:].split()[0] for line in lines if line.startswith("*")]
    assert marked == ["6.3.0", "6.4.1"]


@pytest.mark.parametrize("option", ["--online", "--pre", "--all"])
def test_an_option_of_the_list_is_not_passed_over(rocmenv: Runner, option: str) -> None:
    message = rocmenv("install", "latest", "--offline", option).refused(2)
    assert message == f"`{option}` may be given with `--list` only"


def test_an_upgrade_of_nothing_says_so(rocmenv: Runner) -> None:
    result = rocmenv("upgrade", "--all", "--offline")
    assert (result.fine(), "nothing is installed that" in result.err) == ("", True)


def test_the_list_of_the_distribution(rocmenv: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    found = ([Version.parse("5.2.3"), Version.parse("6.4.1")], ("a source is left out",))
    monkeypatch.setattr(distro, "releases", lambda *_: found)
    result = rocmenv("list-remote", "--channel", "distro", "--online", "--json")
    rows = json.loads(result.fine())["releases"]
    assert [(r["version"], r["channels"], r["installed"]) for r in rows] == [
        ("5.2.3", ["distro"], False),
        ("6.4.1", ["distro"], True),
    ]
    assert result.err == "note: a source is left out\n"


def test_the_list_is_filtered(rocmenv: Runner) -> None:
    def listed(*words: str) -> list[str]:
        value = json.loads(rocmenv("list-remote", "--json", *words).fine())
        return [row["version"] for row in value["releases"]]

    assert listed("6.3") == ["6.3.0", "6.3.1", "6.3.2", "6.3.3"]
    assert listed(">=6.3,<6.3.2") == ["6.3.0", "6.3.1"]
    assert listed("latest") == listed()[-1:]
    assert listed("5.5.2") == []
    assert listed("--all", "5.5.2") == ["5.5.2"]
    assert listed("--pre", "latest") == listed()[-1:]
    assert listed("--channel", "distro") == []
    assert "add `--online`" in rocmenv("list-remote", "--channel", "distro").err
    assert "with `--online` only" in rocmenv("list-remote", "--mirror", "http://m/").refused(2)
    result = rocmenv("list-remote", "lastest")
    assert (result.fine(), "no known release fits" in result.err) == ("", True)


def test_the_root_option_is_above_the_variable(rocmenv: Runner, tmp_path: Path) -> None:
    assert rocmenv("--root", str(tmp_path / "other"), "root").fine() == f"{tmp_path}/other\n"
    result = rocmenv("--root", str(tmp_path / "other"), "versions")
    assert (result.fine(), "nothing is installed" in result.err) == ("", True)
    assert not (tmp_path / "other").exists()
