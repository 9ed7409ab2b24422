"""What is found out of a machine, and rocminfo as the second source (R19)."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmenv.probe import rocminfo
from rocmenv.probe.gpu import Machine, look
from rocmenv.probe.rocminfo import Told, parse
from tests.builders import process
from tests.probe.machines import program, sysfs


def sample(cases: Path, name: str) -> str:
    return (cases / "rocminfo" / name).read_text()


def machine(tmp_path: Path, sys: str, *, dxg: bool = False, path: str = "/nonexistent") -> Machine:
    dev = tmp_path / "dev"
    dev.mkdir(exist_ok=True)
    if dxg:
        (dev / "dxg").touch()
    return look(process(tmp_path, {"PATH": path}), sys, str(dev))


@pytest.mark.parametrize(
    ("name", "gpus"),
    [
        ("workstation.txt", [("gfx1100", "AMD Radeon RX 7900 XTX"), ("gfx1036", "")]),
        ("server-gfx90a.txt", [("gfx90a:sramecc+:xnack-", "AMD Instinct MI210")]),
        ("wsl.txt", [("gfx1100", "AMD Radeon RX 7900 XTX")]),
        ("module-not-loaded.txt", []),
        ("library-missing.txt", []),
    ],
)
def test_the_samples(cases: Path, name: str, gpus: list[tuple[str, str]]) -> None:
    told = parse(sample(cases, name))
    assert [(str(g.target), g.name) for g in told.gpus] == gpus
    assert told.is_wsl is (name == "wsl.txt")
    assert all(g.node is not None for g in told.gpus)


def test_features_stand_apart(cases: Path) -> None:
    target = parse(sample(cases, "server-gfx90a.txt")).gpus[0].target
    assert target is not None
    assert (str(target.base), target.feature_words) == ("gfx90a", ["sramecc+", "xnack-"])


def test_two_troubles_are_told_apart(cases: Path) -> None:
    assert parse(sample(cases, "module-not-loaded.txt")).remarks == (
        "the kernel module amdgpu is not loaded, says rocminfo",
    )
    assert parse(sample(cases, "library-missing.txt")).remarks == (
        "rocminfo does not start: libhsa-runtime64.so.1 is missing",
    )


def test_without_colours_and_blanks_it_is_the_same(cases: Path) -> None:
    for name in ("workstation.txt", "server-gfx90a.txt"):
        text = sample(cases, name)
        plain = "\n".join(line.rstrip() for line in text.splitlines())
        assert parse(plain.replace("\x1b[37m", "").replace("\x1b[0m", "")) == parse(text)
        assert parse(text.replace("\n", "\r\n")) == parse(text)


def test_a_device_that_may_not_be_opened() -> None:
    text = "\x1b[31mUnable to open /dev/kfd read-write: Permission denied\x1b[0m\n"
    assert parse(text).remarks == ("rocminfo cannot open /dev/kfd: Permission denied",)


AGENT = """*******
Agent 2
*******
  Name:                    {name}
  Marketing Name:          {marketing}
  Device Type:             {kind}
  Node:                    {node}
  ISA Info:
    ISA 1
      Name:                    {isa}
"""


@pytest.mark.parametrize(
    ("fields", "target", "remarks"),
    [
        ({"isa": "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"}, "gfx942:sramecc+:xnack-", 0),
        ({"isa": "amdgcn-amd-amdhsa--gfx11-generic"}, "gfx1100", 0),
        ({"isa": ""}, "gfx1100", 0),
        ({"isa": "", "name": "gfx9010"}, "None", 1),
        ({"isa": "", "name": ""}, "None", 1),
        ({"isa": "", "node": "-1"}, "gfx1100", 0),
    ],
)
def test_odd_agents(fields: dict[str, str], target: str, remarks: int) -> None:
    whole = {"name": "gfx1100", "marketing": "X", "kind": "GPU", "node": "1", **fields}
    told = parse(AGENT.format(**whole))
    assert [str(g.target) for g in told.gpus] == [target]
    assert len(told.remarks) == remarks
    assert told.gpus[0].node == (None if "node" in fields else 1)


def test_other_agents_are_no_gpus() -> None:
    for kind in ("CPU", "DSP", "gpu", ""):
        text = AGENT.format(name="gfx1100", marketing="", kind=kind, node="1", isa="")
        assert parse(text) == Told(())


@given(st.text())
def test_any_output_has_an_answer(text: str) -> None:
    assert isinstance(parse(text), Told)
    assert isinstance(parse(f"Agent 1\n  Name: {text}\n  Device Type: GPU\n"), Told)


def test_the_kernel_comes_first(cases: Path, tmp_path: Path) -> None:
    """A rocminfo is not even started where there is a topology."""
    tools = program(tmp_path / "bin", f"touch {shlex.quote(str(tmp_path / 'ran'))}")
    sys_ = sysfs(tmp_path, cases / "kfd/workstation", "6.10.5")
    found = machine(tmp_path, sys_, path=tools)
    assert [str(g.target) for g in found.gpus] == ["gfx1100", "gfx1036"]
    assert (found.source, found.driver, found.has_driver) == ("kfd", "6.10.5", True)
    assert (found.is_wsl, found.remarks) == (False, ())
    assert not (tmp_path / "ran").exists()


def test_without_a_gpu_the_kernel_is_believed(cases: Path, tmp_path: Path) -> None:
    found = machine(tmp_path, sysfs(tmp_path, cases / "kfd/cpu-only"))
    assert found == Machine((), "kfd", remarks=("the kernel driver amdgpu is not loaded",))


def test_the_kernels_own_driver_has_no_version(cases: Path, tmp_path: Path) -> None:
    found = machine(tmp_path, sysfs(tmp_path, cases / "kfd/workstation", ""))
    assert (found.driver, found.has_driver, found.remarks) == (None, True, ())


@pytest.mark.parametrize(
    ("driver", "dxg", "words"),
    [
        (None, False, "the kernel driver amdgpu is not loaded"),
        ("6.10.5", False, "amdgpu is loaded, and the kernel tells of no compute devices"),
        (
            None,
            True,
            "under WSL the kernel tells of no GPUs, and there is no rocminfo on PATH to ask",
        ),
    ],
)
def test_nobody_to_ask(tmp_path: Path, driver: str | None, words: str, *, dxg: bool) -> None:
    found = machine(tmp_path, sysfs(tmp_path, driver=driver), dxg=dxg)
    assert (found.gpus, found.source, found.is_wsl) == ((), "", dxg)
    assert found.remarks == (words,)


@pytest.mark.parametrize("dxg", [True, False])
def test_under_wsl_rocminfo_is_asked(cases: Path, tmp_path: Path, *, dxg: bool) -> None:
    """Told by /dev/dxg, or by rocminfo itself."""
    output = shlex.quote(str(cases / "rocminfo/wsl.txt"))
    tools = program(tmp_path / "bin", f"/bin/cat {output}")
    found = machine(tmp_path, sysfs(tmp_path), dxg=dxg, path=tools)
    assert [str(g.target) for g in found.gpus] == ["gfx1100"]
    assert (found.source, found.is_wsl, found.remarks) == ("rocminfo", True, ())


def test_a_choice_of_devices_is_not_handed_on(tmp_path: Path) -> None:
    tools = program(tmp_path / "bin", f"/usr/bin/env >{shlex.quote(str(tmp_path / 'environ'))}")
    environ = {
        "PATH": tools,
        "ROCR_VISIBLE_DEVICES": "1",
        "HIP_VISIBLE_DEVICES": "0",
        "HSA_OVERRIDE_GFX_VERSION": "10.3.0",
        "LD_LIBRARY_PATH": "/x",
    }
    look(process(tmp_path, environ), str(tmp_path / "sys"), str(tmp_path / "dev"))
    given = (tmp_path / "environ").read_text().splitlines()
    assert {line.partition("=")[0] for line in given} & set(environ) == {"PATH", "LD_LIBRARY_PATH"}


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("exit 1", "{path} failed with status 1"),
        ("echo oh no >&2; exit 3", "{path} failed with status 3: `oh no`"),
        ("printf '\\033[31mROCk module is NOT loaded\\033[0m\\n'; exit 1", (
            "the kernel module amdgpu is not loaded, says rocminfo"
        )),
        ("printf '\\377\\n'; exit 1", "{path} failed with status 1: `�`"),
        ("kill -9 $$", "{path} failed with status -9"),
    ],
)  # fmt: skip
def test_a_rocminfo_that_fails_is_a_remark(tmp_path: Path, text: str, remark: str) -> None:
    tools = program(tmp_path / "bin", text)
    found = machine(tmp_path, sysfs(tmp_path), path=tools)
    assert found.gpus == ()
    assert found.remarks == (remark.format(path=f"{tools}/rocminfo"),)


def test_a_rocminfo_that_cannot_run_is_a_remark(tmp_path: Path) -> None:
    path = Path(program(tmp_path / "bin", "")) / "rocminfo"
    path.write_text("#!/nonexistent/interpreter\n")
    told = rocminfo.run(str(path), {})
    assert told.remarks == (f"{path} cannot be run (No such file or directory)",)


def test_a_rocminfo_that_hangs_is_left_with_all_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    path = f"{program(tmp_path / 'bin', f'sleep 60 & echo $! $$ >{pids}; sleep 60')}/rocminfo"
    told = rocminfo.run(path, {"PATH": "/usr/bin:/bin"}, timeout=1)
    assert told.remarks == (f"{path} did not answer within 1 seconds",)
    for pid in pids.read_text().split():
        assert not is_running(pid)


def is_running(pid: str) -> bool:
    """Whether a process goes on, one that only waits to be collected not counted."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
