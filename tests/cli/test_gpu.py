"""`rocmenv gpu` (R19): what was found, what installs are for, what versions say."""

from __future__ import annotations

import functools
import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from rocmenv.ops import machine
from rocmenv.probe.gpu import look
from rocmenv.store.paths import Root
from tests.builders import root_with
from tests.cli.runner import Runner, run
from tests.probe.machines import gpu, nodes, program, sysfs


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Have a sample's /sys, and an empty /dev, in place of the machine's."""

    def place(sys: str) -> None:
        dev = str(tmp_path / "dev")
        monkeypatch.setattr(machine, "look", functools.partial(look, sys=sys, dev=dev))

    return place


@pytest.fixture
def workstation(on: Callable[[str], None], cases: Path, tmp_path: Path) -> None:
    on(sysfs(tmp_path, cases / "kfd/workstation", "6.10.5"))


@pytest.mark.usefixtures("workstation")
def test_the_gpus_and_the_selected_version(rocmenv: Runner) -> None:
    result = rocmenv("+6.3.0", "gpu")
    assert result.fine().splitlines() == [
        " 1  gfx1100   RDNA 3, discrete: Radeon RX 7900 XTX/7900 XT/7900 GRE, Radeon PRO W7900/W7800",  # noqa: E501 - one line
        " 2  gfx1036   RDNA 2, integrated: Ryzen 7000/9000 desktop graphics (Raphael)",
        "6.3.0: gfx1036 is not listed",
        "6.3.0: gfx1100 is listed",
    ]
    assert result.err.splitlines() == [
        "rocmenv: told by the kernel",
        "rocmenv: amdgpu 6.10.5, that of 6.3 (unverified)",
        "rocmenv: installs are for gfx1036, gfx1100 (this machine's GPUs)",
        "warning: no release lists gfx1036; people run code for gfx1030 on it (documented by third parties) (source: ollama/ollama, docs/gpu.mdx; ROCm/ROCm issues 2061 and 2353)",  # noqa: E501 - one line
    ]


@pytest.mark.usefixtures("workstation")
def test_json_has_every_version(rocmenv: Runner) -> None:
    value = json.loads(rocmenv("gpu", "--json").fine())
    assert [(g["node"], g["target"], g["features"]) for g in value["gpus"]] == [
        (1, "gfx1100", []),
        (2, "gfx1036", []),
    ]
    assert value["gpus"][0]["unique_id"].isdigit()
    assert (value["source"], value["wsl"], value["remarks"]) == ("kfd", False, [])
    assert value["driver"] == {"version": "6.10.5", "loaded": True}
    assert (value["targets"], value["origin"]) == (["gfx1036", "gfx1100"], "this machine's GPUs")
    assert [(f["version"], f["selected"]) for f in value["versions"]] == [
        ("6.3.0", False),
        ("6.4.1", False),
    ]
    first = value["versions"][0]
    assert first["targets"][1] == {"target": "gfx1100", "level": "listed", "note": ""}
    assert [a["code"] for a in first["advice"]] == ["stand-in"]


@pytest.mark.usefixtures("workstation")
def test_a_target_may_be_asked_about_that_is_not_here(rocmenv: Runner) -> None:
    result = rocmenv("+6.3", "gpu", "--gpu", "gfx1201,gfx120X-all")
    assert "6.3.0: gfx1201 is not listed" in result.fine()
    assert "installs are for gfx1200, gfx1201 (set by `--gpu`)" in result.err
    message = rocmenv("gpu", "--gpu", "gfx9010").refused(2)
    assert message == "`gfx9010` is not a GPU target (set by `--gpu`)"


def test_a_server_counts_in_hex_and_by_number(
    rocmenv: Runner, on: Callable[[str], None], cases: Path, tmp_path: Path
) -> None:
    on(sysfs(tmp_path, cases / "kfd/server-hex-targets"))
    value = json.loads(rocmenv("gpu", "--json").fine())
    assert [(g["node"], g["target"]) for g in value["gpus"]] == [
        (2, "gfx90a"),
        (3, "gfx942"),
        (10, "gfx950"),
    ]
    assert max(int(g["unique_id"]) for g in value["gpus"]) > 2**63


def test_a_gpu_of_an_unknown_target(
    rocmenv: Runner, on: Callable[[str], None], cases: Path, tmp_path: Path
) -> None:
    on(sysfs(tmp_path, cases / "kfd/old-kernel-without-target"))
    result = rocmenv("gpu")
    assert result.fine() == " 1  unknown   vega10\n"
    assert "note: node 1 is a GPU, and this kernel does not tell its target" in result.err
    assert "installs are for every GPU (this machine has a GPU of an unknown target)" in result.err


def test_text_from_outside_does_not_reach_the_terminal_raw(
    rocmenv: Runner, on: Callable[[str], None], tmp_path: Path
) -> None:
    topology = nodes(tmp_path / "sys/class/kfd/kfd/topology", {"1": gpu(999999)})
    (Path(topology) / "nodes/1/name").write_text("\x1b[2J\n")
    on(str(tmp_path / "sys"))
    assert "\x1b" not in rocmenv("gpu").fine()


@pytest.mark.parametrize("sample", ["cpu-only", "node-with-empty-properties", None])
def test_no_gpu_is_an_answer(
    rocmenv: Runner,
    on: Callable[[str], None],
    cases: Path,
    tmp_path: Path,
    sample: str | None,
) -> None:
    on(sysfs(tmp_path, cases / "kfd" / sample if sample else None))
    result = rocmenv("gpu")
    assert result.fine() == ""
    assert result.err.startswith("rocmenv: no AMD GPU was found\n")
    assert "installs are for every GPU (no GPU was found)" in result.err
    assert json.loads(rocmenv("gpu", "--json").fine())["gpus"] == []


def test_rocminfo_is_the_second_source(
    rocmenv: Runner, on: Callable[[str], None], cases: Path, tmp_path: Path
) -> None:
    on(sysfs(tmp_path))
    output = shlex.quote(str(cases / "rocminfo/wsl.txt"))
    tools = program(tmp_path / "tools", f"/bin/cat {output}")
    result = rocmenv("gpu", PATH=tools)
    assert "gfx1100   AMD Radeon RX 7900 XTX (RDNA 3, discrete)" in result.fine()
    assert result.err.splitlines()[:2] == [
        "rocmenv: told by rocminfo",
        "rocmenv: WSL: the driver is that of Windows",
    ]


@pytest.mark.usefixtures("workstation")
@pytest.mark.parametrize(
    ("config", "words", "note"),
    [
        ('targets = ["gfx9010"]\n', (), "`gfx9010` is not a GPU target"),
        ("targets = 3\n", (), "should be a list of GPU targets"),
        ("", ("+9.9",), "no installed version fits `9.9`"),
    ],
)
def test_what_else_is_wrong_is_a_note(
    rocmenv: Runner, root: Root, config: str, words: tuple[str, ...], note: str
) -> None:
    root.config.write_text(config)
    result = rocmenv(*words, "gpu")
    assert "gfx1100" in result.fine()
    assert note in result.err


def test_on_this_machine_it_ends_well(tmp_path: Path) -> None:
    """Whatever GPUs it has."""
    result = run(root_with(tmp_path), "gpu", "--json")
    assert json.loads(result.fine())["gpus"] == json.loads(result.out)["gpus"]
    assert "Traceback" not in result.err
