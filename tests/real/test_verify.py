"""`verify` of real releases: their files, their compilers, and putting one right."""

from __future__ import annotations

import json

import pytest

from tests.real.world import World

pytestmark = pytest.mark.real


def test_real_releases_are_as_they_were_installed(world: World) -> None:
    done = world.rocmenv("verify", "--deep", "--json")
    assert done.status == 0, done.err + done.out
    rows = json.loads(done.out)["versions"]
    assert [row["version"] for row in rows] == world.versions
    for row in rows:
        assert row["fine"]
        assert row["paths"] > 500
        assert row["extra"] == []


def test_their_own_compilers_build_the_sample(world: World) -> None:
    for version in world.versions:
        done = world.rocmenv(
            "verify", "--compile", "--gpu", "gfx90a", "--gpu", "gfx1030", version, "--json"
        )
        assert done.status == 0, done.out + done.err
        (row,) = json.loads(done.out)["versions"]
        assert row["compile"]["compiler"] == f"{world.prefix(version)}/bin/hipcc"
        assert row["compile"]["targets"] == ["gfx90a", "gfx1030"]
        assert row["compile"]["problem"] is None


def test_a_target_that_a_release_does_not_know_is_told(world: World) -> None:
    done = world.rocmenv("verify", "--compile", "--gpu", "gfx12ff", world.versions[0])
    assert done.status == 1
    assert "it does not compile: `" in done.out
    assert "gfx12ff" in done.out


def test_a_compiler_that_lost_its_library_is_found_and_mended(world: World) -> None:
    version = world.versions[-1]
    prefix = world.prefix(version)
    hipcc, header = prefix / "bin/hipcc", prefix / "include/hip/hip_runtime.h"
    content = hipcc.read_bytes(), header.read_bytes()
    header.write_bytes(b"x" + header.read_bytes()[1:])
    done = world.rocmenv("verify", "--compile", "--gpu", "gfx90a", version)
    assert done.status == 1, done.out
    assert "does not compile" in done.out
    hipcc.unlink()
    done = world.rocmenv("verify", "--deep", "--repair", "--compile", "--gpu", "gfx90a", version)
    assert done.status == 0, done.out + done.err
    assert "repaired `bin/hipcc`" in done.out
    assert "repaired `include/hip/hip_runtime.h`" in done.out
    assert "compiles for gfx90a" in done.out
    assert (hipcc.read_bytes(), header.read_bytes()) == content
