"""The main job on real ROCm: install side by side, select, compile, run, and never mix."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.real.world import Ran, World

pytestmark = pytest.mark.real

HIP = re.compile(r"HIP version: (\d+)\.(\d+)\.(\d+)")


def hip_number(world: World, version: str) -> tuple[str, int]:
    """HIP's version of a release as text, and as its runtime prints it; from its own header."""
    header = (world.prefix(version) / "include/hip/hip_version.h").read_text()
    found = dict(re.findall(r"#define HIP_VERSION_(MAJOR|MINOR|PATCH) (\d+)", header))
    major, minor, patch = (int(found[name]) for name in ("MAJOR", "MINOR", "PATCH"))
    return f"{major}.{minor}.{patch}", major * 10_000_000 + minor * 100_000 + patch


def compiled(world: World, folder: Path, target: str, name: str = "vector_add") -> Ran:
    """What hipcc, found as a shim, said when it compiled the sample for a target."""
    return world.run(["hipcc", f"--offload-arch={target}", "vector_add.hip", "-o", name], folder)


def knows(world: World, version: str, target: str) -> bool:
    """Whether a release has device code for a target: by its own bitcode."""
    number = target.removeprefix("gfx")
    found = list(world.prefix(version).glob(f"**/bitcode/oclc_isa_version_{number}.bc"))
    return bool(found)


def code_objects(world: World, version: str, program: Path) -> set[str]:
    """The targets inside a program, as the release's own tools list them."""
    llvm = world.prefix(version) / "llvm/bin"
    bundle = program.with_suffix(".fatbin")
    dump = f"--dump-section=.hip_fatbin={bundle}"
    extract = [f"{llvm}/llvm-objcopy", dump, str(program), "/dev/null"]
    done = world.run(extract, program.parent, libraries(world, version))
    assert done.status == 0, done.err
    listing = [f"{llvm}/clang-offload-bundler", "--list", "--type=o", f"--input={bundle}"]
    done = world.run(listing, program.parent, libraries(world, version))
    assert done.status == 0, done.err
    return set(re.findall(r"gfx[0-9a-f]+", done.out))


def libraries(world: World, version: str) -> dict[str, str]:
    """An environment in which tools that are no shims find the release's libraries."""
    return world.environ(LD_LIBRARY_PATH=str(world.prefix(version) / "lib"))


def selected(world: World) -> list[tuple[str, Path]]:
    """Each installed release, with a project that is pinned to it."""
    return [(version, world.project(f"pinned-{version}", version)) for version in world.versions]


def test_two_or_more_real_releases_stand_side_by_side(world: World) -> None:
    listed = world.rocmenv("versions", "--json")
    rows = json.loads(listed.out)["versions"]
    assert [row["version"] for row in rows] == world.versions
    assert len(rows) >= 2
    for row in rows:
        receipt = json.loads((Path(row["prefix"]) / ".rocmenv/receipt.json").read_text())
        assert receipt["source"] == "legacy"
        assert all(len(item["sha256"]) == 64 for item in receipt["items"])
        assert {f"rocm-core{row['version']}", f"rocm-llvm{row['version']}"} <= {
            item["name"] for item in receipt["items"]
        }


def test_the_shim_answers_for_the_pinned_release(world: World) -> None:
    for version, folder in selected(world):
        done = world.run(["hipcc", "--version"], folder)
        match = HIP.search(done.out)
        assert match, done.err
        assert ".".join(match.groups()) == hip_number(world, version)[0]
        assert "clang version" in done.out
        assert "nvcc" not in done.out.lower()
        assert (
            world.rocmenv("which", "hipcc", cwd=folder).out.strip()
            == f"{world.prefix(version)}/bin/hipcc"
        )


def test_a_program_is_compiled_and_runs_on_the_release_that_is_selected(world: World) -> None:
    for version, folder in selected(world):
        done = compiled(world, folder, "gfx90a")
        assert done.status == 0, done.err
        assert code_objects(world, version, folder / "vector_add") == {"gfx90a"}
        ran = world.rocmenv("exec", "./vector_add", cwd=folder)
        text, number = hip_number(world, version)
        assert f"compiled {text}\n" in ran.out, ran.err
        assert f"runtime {number} hipSuccess\n" in ran.out
        assert (ran.status, "hipErrorNoDevice" in ran.out) == (2, True) or ran.status == 0


def test_a_target_is_compiled_for_where_the_release_knows_it(world: World) -> None:
    known = {version: knows(world, version, "gfx1100") for version in world.versions}
    assert any(known.values())
    for version, folder in selected(world):
        done = compiled(world, folder, "gfx1100", "for-gfx1100")
        if known[version]:
            assert done.status == 0, done.err
            assert code_objects(world, version, folder / "for-gfx1100") == {"gfx1100"}
        else:
            assert done.status != 0
            assert "gfx1100" in done.err, "the message names what the release does not know"


def test_relocated_scripts_and_links_work_in_their_new_place(world: World) -> None:
    for version, folder in selected(world):
        prefix = world.prefix(version)
        named = subprocess.run(
            ["grep", "-rIl", f"/opt/rocm-{version}", str(prefix), "--exclude-dir=.rocmenv"],
            capture_output=True, text=True, check=False,
        ).stdout.split()  # fmt: skip
        receipt = json.loads((prefix / ".rocmenv/receipt.json").read_text())
        assert sorted(named) == sorted(f"{prefix}/{path}" for path in receipt["unrelocated"])
        header = prefix / "include/rocm_version.h"
        assert header.resolve().is_relative_to(prefix)
        assert "ROCM_VERSION_MAJOR" in header.read_text()
        done = world.run(["clang-ocl", "-mcpu=gfx90a", "vector_add.cl", "-o", "cl.co"], folder)
        assert done.status == 0, done.err
        for name in ("amdclang++", "amdclang"):
            done = world.run([name, "--version"], folder)
            assert "clang version" in done.out, done.err


def configured(world: World, folder: Path, build: Path, *more: str, environ: dict[str, str]) -> Ran:
    """CMake's first step for the sample project."""
    return world.run(
        ["cmake", "-S", str(folder), "-B", str(build), "-DCMAKE_BUILD_TYPE=Release",
         "-DGPU_TARGETS=gfx90a", "-DAMDGPU_TARGETS=gfx90a", "-DCMAKE_HIP_ARCHITECTURES=gfx90a",
         *more],
        folder, environ,
    )  # fmt: skip


def activated(world: World, version: str) -> dict[str, str]:
    """The environment after `eval "$(rocmenv env VERSION --shell sh)"` in a real shell."""
    script = f'eval "$({world.launcher} env {version} --shell sh)"; exec env -0'
    done = subprocess.run(
        ["sh", "-c", script],
        env=world.environ(),
        cwd=world.folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(item.split("=", 1) for item in done.stdout.split("\0") if item)


def foreign_paths(world: World, version: str, build: Path) -> list[str]:
    """Lines of the CMake cache and build files that name a release other than this one."""
    others = [f"{world.prefix(v)}/" for v in world.versions if v != version]
    others.append("/opt/rocm")
    found = []
    for file in (build / "CMakeCache.txt", *build.glob("**/*.make"), *build.glob("**/link.txt")):
        text = file.read_text(errors="replace")
        found += [line for line in text.splitlines() if any(other in line for other in others)]
    return found


@pytest.mark.parametrize("language", [False, True], ids=["find_package", "HIP language"])
def test_cmake_builds_with_the_selected_release_alone_after_each_switch(
    world: World, *, language: bool
) -> None:
    folder = world.project(f"cmake-{language}", world.versions[0])
    for version in [*world.versions, world.versions[0]]:
        environ = activated(world, version)
        compiler = environ["HIPCXX"]
        assert compiler.startswith(str(world.prefix(version)))
        build = folder / f"build-{version}"
        more = ["-DWITH_HIP_LANGUAGE=ON"] if language else [f"-DCMAKE_CXX_COMPILER={compiler}"]
        done = configured(world, folder, build, *more, environ=environ)
        assert done.status == 0, done.out + done.err
        done = world.run(["cmake", "--build", str(build)], folder, environ)
        assert done.status == 0, done.out + done.err
        assert foreign_paths(world, version, build) == []
        cache = (build / "CMakeCache.txt").read_text()
        if not language:
            assert f"hip_DIR:PATH={world.prefix(version)}/lib/cmake/hip" in cache
        ran = world.run([str(build / "vector_add")], folder, environ)
        text, number = hip_number(world, version)
        assert f"compiled {text}\n" in ran.out, ran.err
        assert f"runtime {number} hipSuccess\n" in ran.out


def test_a_poisoned_environment_still_builds_with_the_selected_release(world: World) -> None:
    """A second ROCm is in every variable that can lead to it."""
    first, last = world.versions[0], world.versions[-1]
    folder = world.project("poisoned", first)
    other = world.prefix(last)
    poison = world.environ(
        ROCM_PATH=str(other), HIP_PATH=f"{other}/hip", HIP_CLANG_PATH=f"{other}/llvm/bin",
        DEVICE_LIB_PATH=f"{other}/amdgcn/bitcode", HIP_PLATFORM="nvidia", ROCM_HOME="/opt/rocm",
        LD_LIBRARY_PATH=f"{other}/lib:/srv/mpi/lib", CMAKE_PREFIX_PATH=str(other),
        hip_DIR=f"{other}/lib/cmake/hip", CPATH=f"{other}/include", LIBRARY_PATH=f"{other}/lib",
    )  # fmt: skip
    poison["PATH"] = f"{world.root}/shims:{other}/bin:/usr/bin:/bin"
    done = world.run(
        ["hipcc", "--offload-arch=gfx90a", "vector_add.hip", "-o", "va"], folder, poison
    )
    assert done.status == 0, done.err
    ran = world.run([*world.launcher.split(), "exec", "./va"], folder, poison)
    text, number = hip_number(world, first)
    assert f"compiled {text}\n" in ran.out
    assert f"runtime {number} hipSuccess\n" in ran.out


def test_switching_in_a_shell_changes_which_compiler_answers(world: World) -> None:
    first, last = world.versions[0], world.versions[-1]
    script = f"""
eval "$({world.launcher} init bash)"
rocmenv use {first} && hipcc --version | head -1 && type -P hipcc
rocmenv use {last} && hipcc --version | head -1 && type -P hipcc
rocmenv deactivate; type -P hipcc; echo "${{ROCM_PATH-unset}}"
"""
    done = world.run(["bash", "--noprofile", "--norc", "-c", script])
    lines = done.out.splitlines()
    assert len(lines) == 6, done.err
    for version, said, place in ((first, *lines[:2]), (last, *lines[2:4])):
        assert said.startswith(f"HIP version: {hip_number(world, version)[0]}")
        assert place == f"{world.prefix(version)}/bin/hipcc"
    assert lines[4:] == [f"{world.root}/shims/hipcc", "unset"]


def test_a_release_is_removed_whole_and_comes_back(world: World) -> None:
    version = world.versions[-1]
    done = world.rocmenv("uninstall", "--yes", version)
    assert done.status == 0, done.err
    assert not world.prefix(version).exists()
    world.install(version)
    folder = world.project(f"again-{version}", version)
    assert compiled(world, folder, "gfx90a").status == 0
