"""GPUs by the kernel's topology (R19), against AMD's own detection."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import rocm_bootstrap
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyfakefs.helpers import reset_ids, set_uid
from rocm_bootstrap import _platform
from rocm_bootstrap import targets as oracle

from rocmenv.model.target import Target
from rocmenv.probe.gpu import look
from rocmenv.probe.kfd import Gpu, read
from tests.builders import process
from tests.probe.machines import gpu, nodes

if TYPE_CHECKING:
    from pyfakefs.fake_filesystem import FakeFilesystem

CPU = "cpu_cores_count 32\nsimd_count 0\ngfx_target_version 0\n"


def found(topology: str) -> tuple[list[tuple[int | None, str]], list[str]]:
    """Node and target of each GPU, and the remarks."""
    told = read(topology)
    assert told is not None
    return [(g.node, str(g.target)) for g in told[0]], told[1]


@pytest.mark.parametrize(
    ("sample", "gpus"),
    [
        ("workstation", [(1, "gfx1100"), (2, "gfx1036")]),
        ("server-hex-targets", [(2, "gfx90a"), (3, "gfx942"), (10, "gfx950")]),
        ("cpu-only", []),
    ],
)
def test_the_samples(cases: Path, sample: str, gpus: list[tuple[int, str]]) -> None:
    assert found(str(cases / "kfd" / sample / "topology")) == (gpus, [])


def test_an_old_kernel_does_not_tell_the_target(cases: Path) -> None:
    """R19: one GPU of an unknown target; not none, and not gfx000."""
    told = read(str(cases / "kfd/old-kernel-without-target/topology"))
    assert told is not None
    assert told[0] == [Gpu(1, None, "vega10", told[0][0].unique_id)]
    assert told[1] == ["node 1 is a GPU, and this kernel does not tell its target"]


def test_an_empty_node_is_a_remark(cases: Path) -> None:
    assert found(str(cases / "kfd/node-with-empty-properties/topology")) == (
        [],
        ["node 1 says nothing of itself; is it hidden here?"],
    )


def test_serial_numbers_stay_exact(cases: Path) -> None:
    path = cases / "kfd/server-hex-targets/topology"
    told = read(str(path))
    assert told is not None
    for item in told[0]:
        lines = (path / f"nodes/{item.node}/properties").read_text().splitlines()
        assert f"unique_id {item.unique_id}" in lines
        assert item.unique_id is not None
    assert any((item.unique_id or 0) > 2**63 for item in told[0])


@pytest.mark.parametrize(
    ("rows", "gpus", "remarks"),
    [
        ({"0": CPU, "1": gpu(90010)}, [(1, "gfx90a")], []),
        ({"0": gpu(110501, cpu_cores_count=32)}, [(0, "gfx1151")], []),  # an APU is one node
        ({"1": gpu(999999), "2": gpu(120001)}, [(1, "None"), (2, "gfx1201")], ["999999"]),
        ({"1": gpu(117000)}, [(1, "None")], ["117000"]),
        ({"1": gpu("x")}, [(1, "None")], ["does not tell"]),
        ({"1": gpu(-90010)}, [(1, "None")], ["does not tell"]),
        ({"1": gpu(0), "x": gpu(), "²": gpu()}, [(1, "None")], ["does not tell"]),
        ({"1": "  simd_count 4\r\ngfx_target_version 90402\r\n\x00\n"}, [(1, "gfx942")], []),
        ({"1": "simd_count\n\n \nsimd_count  4\n"}, [], ["says nothing"]),
        ({"1": "simd_count 4 5\nother 1\n"}, [], []),
        ({}, [], []),
    ],
)
def test_odd_nodes(
    tmp_path: Path, rows: dict[str, str], gpus: list[tuple[int, str]], remarks: list[str]
) -> None:
    (tmp_path / "nodes").mkdir()
    told = found(nodes(tmp_path / "t", rows) if rows else str(tmp_path))
    assert told[0] == gpus
    assert len(told[1]) == len(remarks)
    assert all(words in remark for words, remark in zip(remarks, told[1], strict=True))


def test_a_node_that_cannot_be_read_is_a_remark(tmp_path: Path) -> None:
    """A folder in place of the file: what is refused for lack of rights ends in the same way."""
    topology = nodes(tmp_path, {"1": gpu(), "2": gpu(90402)})
    (tmp_path / "nodes/1/properties").unlink()
    (tmp_path / "nodes/1/properties").mkdir()
    shutil.copytree(tmp_path / "nodes/2", tmp_path / "nodes/3")
    (tmp_path / "nodes/3/properties").unlink()
    assert found(topology) == (
        [(2, "gfx942")],
        [
            "node 1 cannot be read (Is a directory); is it hidden here?",
            "node 3 cannot be read (No such file or directory); is it hidden here?",
        ],
    )


@pytest.mark.parametrize("make", [lambda _: None, lambda path: path.joinpath("nodes").touch()])
def test_without_nodes_there_is_no_answer(tmp_path: Path, make: object) -> None:
    assert callable(make)
    make(tmp_path)
    assert read(str(tmp_path)) is None


def test_the_place_in_the_machine(fs: FakeFilesystem) -> None:
    """/sys itself, and its permissions."""
    base = "/sys/class/kfd/kfd/topology/nodes"
    fs.create_file(f"{base}/0/properties", contents=CPU)
    fs.create_file(f"{base}/1/properties", contents=gpu(120000))
    fs.create_file(f"{base}/2/properties", contents=gpu(120001), st_mode=0o000)
    fs.create_file("/sys/module/amdgpu/version", contents="6.12.12\n")
    fs.chmod(f"{base}/2/properties", 0)
    set_uid(1000)  # root reads everything
    try:
        machine = look(process(Path("/r")))
    finally:
        reset_ids()
    assert [(g.node, str(g.target)) for g in machine.gpus] == [(1, "gfx1200")]
    assert machine.remarks == ("node 2 cannot be read (Permission denied); is it hidden here?",)
    assert (machine.source, machine.driver, machine.has_driver) == ("kfd", "6.12.12", True)


known = st.sampled_from([t for t in oracle.ALL_TARGETS if t.name.isalnum()])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(gpus=st.lists(known, min_size=1, max_size=9))
def test_amds_own_detection_finds_the_same(
    tmp_path: Path, gpus: list[oracle.GfxTarget], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to node 9: beyond that rocm-bootstrap mixes up the order."""
    place = tmp_path / str(len(list(tmp_path.iterdir())))
    rows = {str(n): gpu(t.gfx_target_version) for n, t in enumerate(gpus, start=1)}
    topology = nodes(place, {"0": CPU, **rows})
    monkeypatch.setattr(_platform, "KFD_TOPOLOGY", place / "nodes")
    monkeypatch.setattr(_platform, "get_env", lambda _: None)
    theirs = [(item.node_id, item.target.name) for item in rocm_bootstrap.detect_gpus()]
    assert found(topology) == (theirs, [])


@pytest.mark.parametrize("stranger", [80003, 90400, 117000])
def test_where_amds_own_detection_fails_ours_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stranger: int
) -> None:
    """Why it is no dependency (docs/decisions.md): one GPU that it does not know hides all."""
    topology = nodes(tmp_path, {"1": gpu(stranger), "2": gpu(110000)})
    monkeypatch.setattr(_platform, "KFD_TOPOLOGY", tmp_path / "nodes")
    monkeypatch.setattr(_platform, "get_env", lambda _: None)
    with pytest.raises(ValueError, match="Unknown gfx_target_version"):
        rocm_bootstrap.detect_gpus()
    gpus, _ = found(topology)
    assert gpus[-1] == (2, "gfx1100")


def test_amds_own_detection_takes_node_10_for_the_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topology = nodes(tmp_path, {str(n): gpu() for n in (1, 2, 10)})
    monkeypatch.setattr(_platform, "KFD_TOPOLOGY", tmp_path / "nodes")
    monkeypatch.setattr(_platform, "get_env", lambda _: None)
    assert [item.node_id for item in rocm_bootstrap.detect_gpus()] == [1, 10, 2]
    assert [node for node, _ in found(topology)[0]] == [1, 2, 10]


@given(st.integers(0, 200000))
def test_every_number_is_a_target_or_unknown(number: int) -> None:
    target = Target.from_number(number)
    if target is not None:
        assert target.number == number
