"""Completion: what the shells' scripts get from the program."""

from __future__ import annotations

from pathlib import Path

import pexpect
import pytest

from rocmenv.store.paths import Root
from tests.builders import clean_environ, fake_prefix, root_with
from tests.cli.runner import COMMAND, run
from tests.shells.harness import find

GFX115X = ["gfx115X-all", "gfx115X-igpu"]


def offered(root: Root, line: str) -> list[str]:
    """What bash gets for the last word of `line`."""
    last = str(len(line.split(" ")) - 1)
    result = run(root, _ROCMENV_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=last)
    assert result.err == ""
    return result.fine().split()


@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("rocmenv ins", ["install"]),
        ("rocmenv use 6", ["6.4.1", "6.3.0"]),
        ("rocmenv use ", ["6.4.1", "6.3.0", "latest", "system"]),
        ("rocmenv +6", ["+6.4.1", "+6.3.0"]),
        ("rocmenv +6.3 pre", ["prefix"]),
        ("rocmenv +6.3 rocmi", ["rocminfo"]),
        ("rocmenv exec hipc", ["hipcc"]),
        ("rocmenv exec -V 6.4", ["6.4.1"]),
        ("rocmenv which rocm", ["rocminfo"]),
        ("rocmenv install 6.3", ["6.3.3", "6.3.2", "6.3.1", "6.3.0"]),
        ("rocmenv install --profile s", ["sdk"]),
        ("rocmenv install --channel d", ["distro"]),
        ("rocmenv config get legacy.m", ["legacy.mirror"]),
        (
            "rocmenv config set channel ",
            ["auto", "legacy", "rpm", "tarball", "native", "wheels", "distro"],
        ),
        ("rocmenv config set offline t", ["true"]),
        ("rocmenv config set aliases.mine 6.3", ["6.3.0"]),
        ("rocmenv config set targets gfx120X", ["gfx120X-all"]),
        ("rocmenv gpu --gpu gfx115", [*(f"gfx115{n}" for n in range(4)), *GFX115X]),
        ("rocmenv gpu --gpu gfx90a,GFX125x-d", ["gfx90a,gfx125X-dcgpu"]),
        ("rocmenv gpu --gpu n", ["none"]),
        ("rocmenv init fi", ["fish"]),
    ],
)
def test_what_fits_is_offered(root: Root, line: str, some: list[str]) -> None:
    assert offered(root, line) == [f"plain,{word}" for word in some]


def test_the_root_that_was_named_is_asked(root: Root, tmp_path: Path) -> None:
    other = root_with(tmp_path / "other", "7.0.0", tools=("rocgdb",))
    line = f"rocmenv --root {other.path}"
    assert offered(root, f"{line} use 7") == ["plain,7.0.0"]
    assert offered(root, f"{line} use 6") == []
    assert offered(root, f"{line} which rocg") == ["plain,rocgdb"]
    assert offered(root, f"rocmenv --root={other.path} prefix 7") == ["plain,7.0.0"]


def test_only_programs_are_offered_as_programs(root: Root) -> None:
    names = ["clang++", "hipcc", "rocminfo"]
    for line in ("rocmenv which ", "rocmenv exec "):
        assert offered(root, line) == [f"plain,{name}" for name in names]


def test_what_a_command_would_refuse_is_not_offered(root: Root, tmp_path: Path) -> None:
    for version in ("6.2.4", "6.2.0"):
        run(root, "link", str(fake_prefix(tmp_path / version, version))).fine()
    (tmp_path / "6.2.0").rename(tmp_path / "gone")
    links = ["plain,6.2.4", "plain,6.2.0"]
    assert offered(root, "rocmenv uninstall ") == ["plain,6.4.1", "plain,6.3.0", *links]
    assert offered(root, "rocmenv unlink ") == links
    assert offered(root, "rocmenv link --refresh ") == links


@pytest.mark.parametrize("line", ["rocmenv exec hipcc a", "rocmenv +6.3 hipcc a"])
def test_behind_a_program_the_shell_offers_files(root: Root, line: str) -> None:
    assert offered(root, line) == ["file,a"]


@pytest.mark.parametrize("line", ["rocmenv nosuch x", "rocmenv config set nosuch ", "rocmenv 'x"])
def test_trouble_offers_nothing_and_says_nothing(root: Root, line: str) -> None:
    assert offered(root, line) == []


def test_a_broken_file_of_settings_offers_nothing_and_says_nothing(root: Root) -> None:
    root.config.write_text("no toml")
    assert offered(root, "rocmenv use 6") == []


def test_a_key_completes_in_a_real_bash(root: Root) -> None:
    child = pexpect.spawn(
        find("bash").program,
        ["--norc", "--noprofile", "-i"],
        env=clean_environ(root, TERM="dumb", PS1="$ ", PY=COMMAND[0]),
        encoding="utf-8",
        timeout=30,
    )
    child.sendline('eval "$("$PY" -m rocmenv init bash)"')
    child.send("rocmenv use 6.4\t --help\r")
    child.expect_exact("use 6.4.1  --help")
    child.expect_exact("Usage: rocmenv use")
    child.close()
