"""Kernel files of other GPUs: left out on request, listed, and added later."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rocmenv.model.version import Version
from rocmenv.store import registry
from rocmenv.store.paths import Root
from tests.cli.runner import Result, Runner
from tests.sources import test_legacy
from tests.sources.apt.builders import PREFIX, Deb, build_deb
from tests.sources.test_legacy import DEB, Mirror, _machine  # noqa: F401 - a fixture

# Fixtures of theirs. Imported, each parameter of that name would seem to hide one.
made, mirror = test_legacy.made, test_legacy.mirror

LIBRARY = "lib/rocblas/library"
KERNELS = {
    f"{LIBRARY}/TensileLibrary_lazy_gfx90a.dat": b"a" * 500,
    f"{LIBRARY}/Kernels.so-000-gfx90a-xnack+.hsaco": b"b" * 600,
    f"{LIBRARY}/TensileLibrary_lazy_gfx1100.dat": b"c" * 700,
    f"{LIBRARY}/TensileManifest.txt": b"all",
    "lib/librocblas.so.4": b"host",
}


@pytest.fixture
def call(
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    mirror: Mirror,
) -> Callable[..., Result]:
    """rocmenv, with a server whose rocBLAS has code for two GPUs."""
    package = Deb(
        "rocblas6.3.0",
        DEB,
        fields={"Depends": "rocm-core6.3.0", "Installed-Size": "9"},
        files={f"{PREFIX}/{name}": body for name, body in KERNELS.items()},
    )
    (tmp_path / "debs").mkdir()
    built = build_deb(package, tmp_path / "debs", "gzip")
    replace(mirror, debs={**mirror.debs, "rocblas6.3.0": built}).publish()
    runner = Runner(capfd, Root(tmp_path / "root"), tmp_path)

    def run(*words: str, **environ: str) -> Result:
        given = {"ROCMENV_MIRROR": mirror.url, "ROCMENV_FINGERPRINT": mirror.fingerprint}
        return runner(*words, **{**given, **environ})

    return run


def has(tmp_path: Path) -> set[str]:
    prefix = tmp_path / "root/versions/6.3.0"
    return {name for name in KERNELS if (prefix / name).exists()}


GFX90A = {name for name in KERNELS if "gfx90a" in name}
INSTALL = ("install", "6.3.0", "--with", "rocblas")


def test_code_of_other_gpus_is_left_out(call: Callable[..., Result], tmp_path: Path) -> None:
    call(*INSTALL, "--gpu", "gfx1100", "--prune-targets").fine()
    assert has(tmp_path) == KERNELS.keys() - GFX90A
    root = Root(tmp_path / "root")
    receipt = registry.find(root, Version.parse("6.3.0")).receipt
    assert receipt.pruned is not None
    assert (receipt.pruned.files, receipt.pruned.size) == (2, 1100)
    assert receipt.targets == ("gfx1100",)
    lines = root.left_out(Version.parse("6.3.0")).read_text().splitlines()
    assert [line.split("\t")[0] for line in lines] == ["600", "500"]
    assert all(line.split("\t")[1] == "rocblas6.3.0" for line in lines)
    assert call("verify", "6.3.0", "--deep").status == 0


@pytest.mark.parametrize(
    ("words", "environ"),
    [
        (("--gpu", "gfx1100"), {}),
        (("--gpu", "gfx1100", "--no-prune-targets"), {"ROCMENV_PRUNE_TARGETS": "1"}),
        (("--gpu", "all", "--prune-targets"), {}),
        (("--prune-targets",), {}),
        (("--gpu", "gfx90a,gfx1100", "--prune-targets"), {}),
        (("--gpu", "none", "--no-prune-targets"), {}),
        (("--no-prune-targets",), {"ROCMENV_TARGETS": "none", "ROCMENV_PRUNE_TARGETS": "1"}),
    ],
)
def test_nothing_is_left_out_unasked_or_for_unknown_gpus(
    call: Callable[..., Result], tmp_path: Path, words: tuple[str, ...], environ: dict[str, str]
) -> None:
    call(*INSTALL, *words, **environ).fine()
    assert has(tmp_path) == set(KERNELS)
    receipt = registry.find(Root(tmp_path / "root"), Version.parse("6.3.0")).receipt
    assert receipt.pruned is None
    assert not Root(tmp_path / "root").left_out(Version.parse("6.3.0")).exists()


def test_the_setting_decides_where_no_word_does(
    call: Callable[..., Result], tmp_path: Path
) -> None:
    call("config", "set", "prune_targets", "true").fine()
    call(*INSTALL, ROCMENV_TARGETS="gfx90a").fine()
    assert has(tmp_path) == {n for n in KERNELS if "gfx1100" not in n}


@pytest.mark.parametrize(
    ("words", "environ"),
    [
        (("--gpu", "none"), {}),
        (("--gpu", "None", "--prune-targets"), {}),
        ((), {"ROCMENV_TARGETS": "none"}),
        # What is the default anyway says nothing.
        (("--gpu", "none"), {"ROCMENV_PRUNE_TARGETS": "0"}),
        (("--gpu", "none"), {"HSA_OVERRIDE_GFX_VERSION": "9.0.10"}),
    ],
)
def test_a_machine_without_a_gpu_gets_no_kernels(
    call: Callable[..., Result], tmp_path: Path, words: tuple[str, ...], environ: dict[str, str]
) -> None:
    call(*INSTALL, *words, **environ).fine()
    left = {name for name in KERNELS if "gfx" not in name}
    assert has(tmp_path) == left
    root = Root(tmp_path / "root")
    receipt = registry.find(root, Version.parse("6.3.0")).receipt
    assert receipt.targets == ("none",)
    call("verify", "6.3.0", "--deep").fine()
    assert "had no effect" in call(*INSTALL, "--gpu", "gfx90a").err
    assert "had no effect" not in call(*INSTALL, "--gpu", "none").err
    assert "is no GPU to add" in call("add-target", "none", "--to", "6.3.0").refused(2)
    call("add-target", "-q", "gfx90a", "--to", "6.3.0").fine()
    assert has(tmp_path) == left | GFX90A
    assert registry.find(root, Version.parse("6.3.0")).receipt.targets == ("gfx90a",)
    call("verify", "6.3.0", "--deep").fine()


def test_a_lock_for_no_gpu(call: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / ".rocm-version").write_text("6.3.0\n")
    call("lock", "--with", "rocblas", "--gpu", "none").fine()
    text = (tmp_path / "rocm.lock").read_text()
    assert "prune = true" in text
    assert '"none"' in text
    call("install", "--locked").fine()
    assert has(tmp_path) == {name for name in KERNELS if "gfx" not in name}
    receipt = registry.find(Root(tmp_path / "root"), Version.parse("6.3.0")).receipt
    assert receipt.targets == ("none",)
    # The same lock is made of what is installed.
    call("lock", "--with", "rocblas", "--gpu", "none").fine()
    assert (tmp_path / "rocm.lock").read_text() == text


def test_a_gpu_is_added_later(call: Callable[..., Result], tmp_path: Path) -> None:
    call(*INSTALL, "--gpu", "gfx1100", "--prune-targets").fine()
    told = call("add-target", "gfx90a", "--to", "6.3.0", "--dry-run")
    assert "to download" in told.err
    assert has(tmp_path) == KERNELS.keys() - GFX90A
    call("add-target", "gfx90a", "--to", "6.3").fine()
    assert has(tmp_path) == set(KERNELS)
    receipt = registry.find(Root(tmp_path / "root"), Version.parse("6.3.0")).receipt
    assert set(receipt.targets) == {"gfx1100", "gfx90a"}
    assert "rocblas6.3.0" in {item.name for item in receipt.items}, "what was asked for stays"
    again = call("add-target", "gfx90a", "--to", "6.3.0", "--json")
    assert json.loads(again.fine())["added"] == []


def test_what_cannot_get_a_gpu(call: Callable[..., Result]) -> None:
    call(*INSTALL, "--gpu", "gfx1100").fine()
    assert "gfx9999x" in call("add-target", "gfx9999x", "--to", "6.3.0").refused(2)
    assert call("add-target").refused(2) == "name the GPUs to add"
    assert "not ours to change" in call("add-target", "gfx90a").refused(2)


def test_a_lock_keeps_the_choice(call: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / ".rocm-version").write_text("6.3.0\n")
    call("config", "set", "prune_targets", "true").fine()
    call("lock", "--with", "rocblas", "--gpu", "gfx1100").fine()
    assert "prune = true" in (tmp_path / "rocm.lock").read_text()
    call("config", "unset", "prune_targets").fine()
    call("install", "--locked").fine()
    assert has(tmp_path) == KERNELS.keys() - GFX90A


def test_a_dry_run_shows_both_sizes(call: Callable[..., Result]) -> None:
    words = (*INSTALL, "--gpu", "gfx1100", "--prune-targets", "--dry-run")
    result = call(*words)
    assert "for gfx1100; for every GPU: " in result.fine()
    plan = json.loads(call(*words, "--json").fine())
    assert plan["targets"] == ["gfx1100"]
    assert plan["every_gpu"]["download"] == plan["download"]
