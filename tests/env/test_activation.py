"""Activation: the laws, and the reports about leaks and lost values (R08 to R11, R13)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmenv.env.activation import RECORD, Known, leave, steps, switch
from rocmenv.env.diff import patched
from rocmenv.env.family import FAMILY, PATH_LISTS, Role
from rocmenv.model.layout import Kind, Layout
from tests.strategies import entry, environments, layouts

KNOWN = Known(("/root/versions",), ("/srv/rocm",), ("/opt",))
LEGACY = Layout(Kind.LEGACY, bins=("bin", "llvm/bin"), libs=("lib",))
TUNING = {"HSA_OVERRIDE_GFX_VERSION": "11.0.0", "HIP_VISIBLE_DEVICES": "", "MIOPEN_FIND_MODE": "2"}


def active(version: str, layout: Layout, environ: dict[str, str]) -> dict[str, str]:
    """`environ` after selecting a version."""
    change = switch(version, layout, f"/root/versions/{version}", environ, KNOWN)
    return patched(environ, change.texts)


def left(environ: dict[str, str]) -> dict[str, str]:
    """`environ` after going back."""
    return patched(environ, leave(environ).texts)


@given(environments(), layouts)
def test_going_back_is_exact(environ: dict[str, str], layout: Layout) -> None:
    assert left(active("6.3.0", layout, environ)) == environ


@given(environments(), layouts, layouts)
def test_switching_leaves_no_trace_of_the_version_before(
    environ: dict[str, str], first: Layout, second: Layout
) -> None:
    """R11: no variable that only the first sets is left while the second is active."""
    both = active("6.4.1", second, active("6.3.0", first, environ))
    once = active("6.4.1", second, environ)
    assert both == once
    assert left(both) == environ


@given(environments(), layouts)
def test_activating_again_changes_nothing(environ: dict[str, str], layout: Layout) -> None:
    once = active("6.3.0", layout, environ)
    assert active("6.3.0", layout, once) == once


@given(environments(), layouts)
def test_variables_outside_the_table_are_untouched(environ: dict[str, str], layout: Layout) -> None:
    environ = {**environ, **TUNING}
    after = active("6.3.0", layout, environ)
    names = {row.name for row in FAMILY} | {RECORD}
    assert {k: v for k, v in after.items() if k not in names} == {
        k: v for k, v in environ.items() if k not in names
    }


@given(environments(), layouts)
def test_no_entry_of_another_rocm_is_left_and_no_empty_one_is_added(
    environ: dict[str, str], layout: Layout
) -> None:
    """R08 and R09."""
    after = active("6.3.0", layout, environ)
    prefix = "/root/versions/6.3.0"
    for name in PATH_LISTS:
        entries = after[name].split(":") if after.get(name) else []
        for item in entries:
            assert not KNOWN.owns(item) or item == prefix or item.startswith(f"{prefix}/")
        before = environ.get(name, "").split(":") if environ.get(name) else []
        assert entries.count("") <= before.count("")
        kept = ":".join(e for e in entries if not KNOWN.owns(e))
        assert kept == ":".join(e for e in before if not KNOWN.owns(e))


@settings(max_examples=50)
@given(
    environments(),
    layouts,
    st.sampled_from(sorted(PATH_LISTS)),
    entry.filter(lambda e: not KNOWN.owns(e)),
)
def test_an_entry_added_while_active_survives(
    environ: dict[str, str], layout: Layout, name: str, mine: str
) -> None:
    after = active("6.3.0", layout, environ)
    # Of an entry that was there before as well, nobody can tell which one was added.
    if not after.get(name) or mine in environ.get(name, "").split(":"):
        return
    back = left({**after, name: f"{mine}:{after[name]}"})
    expected = f"{mine}:{environ[name]}" if environ.get(name) else mine
    assert back.get(name, "") == expected


@pytest.mark.parametrize("start", [None, "", "/root/versions/6.3.0", "/elsewhere"])
def test_each_start_state_of_a_variable_comes_back(start: str | None) -> None:
    """R11: equal to what activation sets, empty and unset are three different things."""
    environ = {"PATH": "/bin"} | ({} if start is None else {"ROCM_PATH": start})
    both = active("6.4.1", LEGACY, active("6.3.0", LEGACY, environ))
    assert both["ROCM_PATH"] == "/root/versions/6.4.1"
    assert left(both) == environ


def test_a_value_set_by_hand_while_active_is_kept_and_named() -> None:
    """R11, second part."""
    first = active("6.3.0", LEGACY, {"PATH": "/bin"})
    change = switch("6.4.1", LEGACY, "/root/versions/6.4.1", {**first, "HIP_PATH": "/mine"}, KNOWN)
    assert change.kept == ("HIP_PATH",)
    second = patched({**first, "HIP_PATH": "/mine"}, change.texts)
    assert left(second) == {"PATH": "/bin", "HIP_PATH": "/mine"}


def test_without_a_record_nothing_is_undone() -> None:
    environ = active("6.3.0", LEGACY, {"PATH": "/bin"})
    del environ[RECORD]
    change = leave(environ)
    assert change.left is None
    assert change.texts == {}


def test_a_record_that_is_damaged_is_dropped_and_activation_still_works() -> None:
    environ = {"PATH": "/opt/rocm/bin:/bin", RECORD: "1|x|y"}
    after = active("6.3.0", LEGACY, environ)
    assert after["PATH"] == "/root/versions/6.3.0/bin:/root/versions/6.3.0/llvm/bin:/bin"
    assert left(after) == {"PATH": "/opt/rocm/bin:/bin"}


def test_a_module_or_profile_does_not_win() -> None:
    """R08."""
    environ = {
        "LD_LIBRARY_PATH": "/opt/rocm-5.7.1/lib:/srv/mpi/lib:/opt/rocm-5.7.1/lib64",
        "PATH": "/opt/rocm-5.7.1/bin:/usr/bin:/bin",
    }
    after = active("6.3.0", LEGACY, environ)
    assert after["LD_LIBRARY_PATH"] == "/root/versions/6.3.0/lib:/srv/mpi/lib"
    assert after["PATH"].split(":")[-2:] == ["/usr/bin", "/bin"]
    assert "5.7.1" not in after["PATH"] + after["LD_LIBRARY_PATH"]
    assert left(after) == environ


def test_what_beats_rocm_path_is_cleared_and_what_points_elsewhere_is_dropped() -> None:
    """R13: HIP_PATH of another layout, and variables that some reader takes first."""
    environ = {
        "PATH": "/bin",
        "HIP_PATH": "/opt/rocm-5.4.0/hip",
        "HIP_CLANG_PATH": "/opt/rocm/llvm/bin",
        "DEVICE_LIB_PATH": "/opt/rocm/lib",
        "hip_DIR": "/opt/rocm/lib/cmake/hip",
        "HIPCXX": "/usr/bin/clang++",
        "ROCBLAS_TENSILE_LIBPATH": "/opt/rocm-5.7.1/lib/rocblas/library",
        "LLVM_PATH": "/home/u/llvm",
        "HIP_PLATFORM": "nvidia",
    }
    after = active("6.3.0", LEGACY, environ)
    assert after["HIP_PATH"] == after["ROCM_PATH"] == "/root/versions/6.3.0"
    assert after["HIP_PLATFORM"] == "amd"
    for name in (
        "HIP_CLANG_PATH",
        "DEVICE_LIB_PATH",
        "hip_DIR",
        "HIPCXX",
        "ROCBLAS_TENSILE_LIBPATH",
    ):
        assert name not in after
    assert after["LLVM_PATH"] == "/home/u/llvm"
    assert left(after) == environ


def test_man_keeps_its_own_rule() -> None:
    """An unset MANPATH means: follow PATH. Setting it would hide the system's pages."""
    layout = Layout(Kind.LEGACY, man=("share/man",))
    assert "MANPATH" not in active("6.3.0", layout, {"PATH": "/bin"})
    after = active("6.3.0", layout, {"PATH": "/bin", "MANPATH": "/mine:"})
    assert after["MANPATH"] == "/root/versions/6.3.0/share/man:/mine:"


@pytest.mark.parametrize(
    ("path", "owned"),
    [
        ("/opt/rocm", True),
        ("/opt/rocm/bin", True),
        ("/opt/rocm-5.7.1", True),
        ("/opt/rocm-5.7.1/", True),
        ("/opt/rocm/core-10.0/lib", True),
        ("/srv/rocm", True),
        ("/srv/rocm/lib", True),
        ("/root/versions/6.3.0/bin", True),
        ("/root/shims", False),
        ("/opt/rocmish", False),
        ("/opt/rocm-tools/bin", False),
        ("/srv/rocmother", False),
        ("", False),
        ("/", False),
        ("/usr/bin", False),
    ],
)
def test_a_rocm_is_told_by_its_path(path: str, owned: bool) -> None:  # noqa: FBT001 - given by parametrize or by one caller
    assert KNOWN.owns(path) is owned


def test_the_table_is_consistent() -> None:
    names = [row.name for row in FAMILY]
    assert len(names) == len(set(names))
    assert all(name.endswith("PATH") for name in PATH_LISTS), "fish splits only such names"
    done = [step.name for step in steps(LEGACY)]
    assert done == names
    assert {row.name for row in FAMILY if row.role is Role.CONSTANT} == {"HIP_PLATFORM"}
