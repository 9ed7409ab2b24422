"""The rendered activation does in every real shell what the core says it does."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rocmenv.env.activation import RECORD, leave
from rocmenv.env.diff import EnvDiff, patched
from rocmenv.env.family import PATH_LISTS
from rocmenv.model.version import Version
from rocmenv.ops.activate import launch, switch_to
from rocmenv.ops.current import selected
from rocmenv.store import registry
from rocmenv.store.paths import Root
from tests.builders import move_inside, process, root_with
from tests.shells.harness import RealShell, parse
from tests.strategies import environments, path_list

LAW = settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Root:
    root = root_with(tmp_path_factory.mktemp("law"), "6.3.0", "6.4.1", tools=("hipcc", "env-of"))
    program = root.versions / "6.3.0/bin/env-of"
    program.unlink()
    program.symlink_to("/usr/bin/env")
    move_inside(root, "6.4.1", "lib/python3.12/site packages/_rocm_sdk_devel")
    return root


def as_seen_by(shell: RealShell, environ: dict[str, str]) -> dict[str, str]:
    """Fish turns an empty entry of PATH into `.` when it starts; that is not ours to mend."""
    if not shell.is_fish:
        return environ
    return {**environ, "PATH": ":".join(entry or "." for entry in environ["PATH"].split(":"))}


def expected(root: Root, environ: Mapping[str, str], version: str) -> dict[str, str]:
    item = registry.find(root, Version.parse(version))
    change = switch_to(process(root.path, environ), root, item)
    return patched(environ, change.texts)


def prepared(root: Root, environ: dict[str, str]) -> dict[str, str]:
    """The environment with the tools the script needs, and the shims where `init` puts them."""
    path = environ.get("PATH", "")
    return {
        **environ,
        "LC_ALL": "C.UTF-8",
        "PATH": ":".join([str(root.shims), "/usr/bin", "/bin", *([path] if path else [])]),
    }


@LAW
@given(environments())
def test_activating_switching_and_going_back(
    shell: RealShell, root: Root, tmp_path: Path, environ: dict[str, str]
) -> None:
    environ = prepared(root, environ)
    script = f"""
{shell.setup(root)}
{set_version(shell, "6.3.0")}
_rocmenv_hook
DUMP
{set_version(shell, "6.4")}
_rocmenv_hook
DUMP
rocmenv deactivate
DUMP
"""
    ran = shell.run(script, environ, tmp_path)
    start = as_seen_by(shell, environ)
    first, second, back = ran.dumps
    assert without(first) == without(expected(root, start, "6.3.0")), ran.err
    assert without(second) == without(expected(root, start, "6.4.1")), ran.err
    assert without(back) == start, ran.err


@LAW
@given(environments(), st.sampled_from(sorted(PATH_LISTS - {"PATH"})), path_list)
def test_a_list_edited_meanwhile_is_undone_alike(
    shell: RealShell, root: Root, tmp_path: Path, environ: dict[str, str], name: str, edited: str
) -> None:
    environ = prepared(root, environ)
    start = as_seen_by(shell, environ)
    active = expected(root, start, "6.3.0")
    variants = [
        edited,
        f"{edited}:{active.get(name, '')}",
        ":".join(reversed(active.get(name, "").split(":"))),
    ]
    for value in variants:
        quoted = (
            "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
            if shell.is_fish
            else "'" + value.replace("'", "'\\''") + "'"
        )
        change = f"set -gx {name} {quoted}" if shell.is_fish else f"export {name}={quoted}"
        script = f"""
{shell.setup(root)}
{set_version(shell, "6.3.0")}
_rocmenv_hook
{change}
rocmenv deactivate
DUMP
"""
        ran = shell.run(script, environ, tmp_path)
        changed = {**active, name: value}
        want = patched(changed, leave(changed).texts)
        got = without(ran.dumps[0])
        assert got.get(name, "") == want.get(name, ""), (value, ran.err)


def set_version(shell: RealShell, version: str) -> str:
    return (
        f"set -gx ROCMENV_VERSION {version}"
        if shell.is_fish
        else f"export ROCMENV_VERSION={version}"
    )


def without(dump: dict[str, str]) -> dict[str, str]:
    """The dump without what the script set, and the record with its changes sorted by name."""
    out = {k: v for k, v in dump.items() if k not in ("ROCMENV_VERSION", "ROCM_ROOT")}
    if RECORD in out:
        diff = EnvDiff.decode(out[RECORD])
        changes = tuple(sorted(diff.changes, key=lambda c: c.name))
        out[RECORD] = EnvDiff(diff.version, changes).encode()
    return out


@LAW
@given(environments())
def test_the_shim_gives_its_program_the_same(
    root: Root, tmp_path: Path, environ: dict[str, str]
) -> None:
    environ = prepared(root, environ)
    done = subprocess.run(
        [root.shims / "env-of", "-0"],
        env={**environ, "ROCMENV_VERSION": "6.3"},
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    got = parse(done.stdout)
    want = expected(root, environ, "6.3.0")
    del want[RECORD]
    assert got == {
        **want,
        "ROCMENV_VERSION": "6.3.0",
        "ROCMENV_SHIMS": ":6.3.0/env-of:",
    }


@LAW
@given(environments())
def test_exec_gives_its_program_the_same(root: Root, environ: dict[str, str]) -> None:
    environ = prepared(root, environ)
    run = process(root.path, environ)
    selection = selected(run, root, "6.3")
    ready = launch(run, root, selection, "env-of", shim=False)
    want = expected(root, run.environ, "6.3.0")
    del want[RECORD]
    assert ready.environ == {**want, "ROCMENV_VERSION": "6.3.0"}
    assert ready.program == str(root.versions / "6.3.0/bin/env-of")


def test_values_of_several_lines_pass_through_unharmed(
    shell: RealShell, root: Root, tmp_path: Path, cases: Path
) -> None:
    """R10: values with line feeds, quotes and a function export, to and fro."""
    environ = parse((cases / "env" / "multi-line.env0").read_bytes())
    if shell.name != "bash":
        # Only bash reads exported functions; dash and others drop names that are none.
        environ.pop("BASH_FUNC_greet%%")
    environ = prepared(root, environ)
    script = f"""
{shell.setup(root)}
{set_version(shell, "6.3.0")}
_rocmenv_hook
DUMP
rocmenv deactivate
DUMP
"""
    ran = shell.run(script, environ, tmp_path)
    active, back = ran.dumps
    ours = {name: value for name, value in environ.items() if name.startswith("ROCM_")}
    assert {k: v for k, v in back.items() if k in ours} == ours
    assert "HIP_PATH" not in back
    assert without(active)["ROCM_PATH"] == str(root.versions / "6.3.0")
    assert {k: v for k, v in active.items() if k in ours and k != "ROCM_PATH"} == {
        k: v for k, v in ours.items() if k != "ROCM_PATH"
    }
    assert {line for line in ran.err.splitlines() if not line.startswith("rocmenv: ")} == set()
    assert list(tmp_path.iterdir()) == []
