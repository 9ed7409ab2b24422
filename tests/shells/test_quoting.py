"""R12: every value reaches the real shell to the byte, and runs nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rocmenv.errors import UsageError
from rocmenv.shells.choose import shell_named
from tests.shells.harness import RealShell

ENVIRON = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"}


def test_hostile_values_arrive_unchanged(shell: RealShell, tmp_path: Path, cases: Path) -> None:
    values = json.loads((cases / "env" / "shell-values.json").read_text())
    values += [
        "\x01\x7f",
        "\udcff\udcfe" if not shell.is_fish else "x",
        "$'x'",
        "a\\\nb",
        "\\",
        "'",
        "''",
    ]
    renderer = shell_named(shell.name)
    script = "".join(f"{renderer.render({'ROCM_TEST': value})}DUMP\n" for value in values)
    script_path = tmp_path / "script"
    script_path.write_bytes(script.encode("utf-8", "surrogateescape"))
    ran = shell.run(
        script.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape"),
        ENVIRON,
        tmp_path,
    )
    assert [dump["ROCM_TEST"] for dump in ran.dumps] == values, ran.err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["script"]


def test_lists_become_lists_and_unset_is_not_empty(shell: RealShell, tmp_path: Path) -> None:
    renderer = shell_named(shell.name)
    texts = {"PATH": "/new dir:/usr/bin:/bin", "ROCM_PATH": "/r:x", "EMPTY": "", "GONE": None}
    count = "count $PATH" if shell.is_fish else "echo 3"
    ran = shell.run(f"{renderer.render(texts)}{count}\nDUMP", {**ENVIRON, "GONE": "x"}, tmp_path)
    assert ran.out.strip() == "3"
    assert ran.dumps[0] == {**ENVIRON, "PATH": texts["PATH"], "ROCM_PATH": "/r:x", "EMPTY": ""}


@settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=20))
def test_any_text_arrives_unchanged(shell: RealShell, tmp_path: Path, value: str) -> None:
    ran = shell.run(shell_named(shell.name).render({"X": value}) + "DUMP", ENVIRON, tmp_path)
    assert ran.dumps[0]["X"] == value


def test_an_unknown_shell_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(UsageError) as caught:
        shell_named("fihs")
    assert "did you mean `fish`" in str(caught.value.hint)
    with pytest.raises(UsageError):
        shell_named("tcsh")


def test_a_login_shells_name_and_a_path_are_understood() -> None:
    assert shell_named("-zsh").name == shell_named("/usr/bin/zsh").name == "zsh"
