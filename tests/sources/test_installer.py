"""`install --from rocm-installer*.run`, with files that the real makeself made."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import tarfile
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rocmenv.errors import ArchiveError, HostError, ResolveError, UsageError
from rocmenv.fetch.transfer import Downloads
from rocmenv.model.version import Version
from rocmenv.sources import installer
from rocmenv.sources.base import Request, Work
from rocmenv.sources.installer_content import located
from rocmenv.store import registry
from rocmenv.store.paths import Root
from tests.builders import put
from tests.cli.runner import Result, Runner, run
from tests.sources.installers import (
    amd_header,
    core_content,
    core_tree,
    inner_archive,
    legacy_tree,
    makeself,
)
from tests.sources.test_repair import flip, state

LEGACY = "rocm-installer_1.1.0.60400-30-47~22.04.run"
CORE = "rocm-installer-10.0.0-4.run"
V6, V10 = Version.parse("6.4.0"), Version.parse("10.0.0")
pytestmark = pytest.mark.usefixtures("bare_machine")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an installer of each era."""
    folder = tmp_path_factory.mktemp("installers")
    header = ("--header", str(amd_header(folder)))
    makeself(legacy_tree(folder / "legacy"), folder / LEGACY, *header)
    content = core_content(folder / "content")
    makeself(core_tree(folder / "core", content), folder / CORE, *header, "--nocomp")
    return folder


def tree(folder: Path) -> dict[str, str]:
    """Files and links below a folder: the text of each, links with an arrow."""
    return {
        str(p.relative_to(folder)): f"-> {os.readlink(p)}" if p.is_symlink() else p.read_text()
        for p in folder.rglob("*")
        if (p.is_symlink() or p.is_file()) and ".rocmenv" not in p.parts
    }


def unpacked_by_itself(path: Path, folder: Path) -> Path:
    """What the installer's own script unpacks."""
    command = ["sh", str(path), "--noexec", "--nox11", "--quiet", "--target", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    assert not (folder / "ran").exists()
    return folder


# Up to 7.2.


def test_the_default_profile_of_the_legacy_era(
    install: Callable[..., Result], root: Root, made: Path
) -> None:
    result = install("--from", LEGACY)
    assert result.fine() == ""
    assert result.err.splitlines()[0] == f"rocmenv: it is 6.4.0, says the name of {LEGACY}"
    prefix = root.versions / "6.4.0"
    found = tree(prefix)
    assert set(found) == {
        ".info/version",
        "bin/amdclang",
        "bin/away",
        "bin/hipcc",
        "lib/llvm/bin/amdclang",
        "lib/llvm/bin/clang",
        "llvm",
    }
    assert found["bin/hipcc"] == f"#!/bin/sh\nexport X={prefix}/bin\nprintf '%s' \"$ROCM_PATH\"\n"
    assert found["bin/away"] == "-> ../llvm/bin/clang"
    assert found["bin/amdclang"] == "-> ../lib/llvm/bin/amdclang"
    receipt = registry.find(root, V6).receipt
    file = made / LEGACY
    (item,) = receipt.items
    assert (item.name, item.url, item.size) == (LEGACY, str(file), file.stat().st_size)
    assert item.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    assert (receipt.source, receipt.origin) == ("local", str(file))
    assert installer.UNSIGNED in receipt.notes
    assert receipt.host == ("libnuma1 | libnuma2",)
    assert not root.cache.exists(), "a file at hand needs no cache"
    assert run(root, "+6.4", "exec", "hipcc").fine() == str(prefix)


def test_profiles_and_further_packages(install: Callable[..., Result], root: Root) -> None:
    install("-q", "--from", LEGACY, "--profile", "sdk").fine()
    found = tree(root.versions / "6.4.0")
    assert {"lib/librocblas.so", "lib/libamdocl64.so", "etc/OpenCL/vendors/amdocl64.icd"} <= set(
        found
    )
    assert found["lib/cmake/b.cmake"] == f"set(B {root.versions}/6.4.0/lib)\n"
    assert "lib/librccl.so" not in found
    install("-q", "--from", LEGACY, "--with", "rccl", "--as", "6.4.0+rccl").fine()
    found = tree(root.versions / "6.4.0+rccl")
    assert "lib/librccl.so" in found
    assert "lib/librocblas.so" not in found
    message = install("-q", "--from", LEGACY, "--with", "rocbla", "--reinstall")
    assert message.refused() == "`rocbla` is wanted, but the installer has no such package"
    assert message.hint == "did you mean `rocblas`?"
    message = install("-q", "--from", LEGACY, "--profile", "all", "--reinstall")
    assert "`all` is not a profile" in message.refused()


def test_all_packages_are_what_the_script_unpacks(tmp_path: Path, made: Path) -> None:
    """Every package's tree merged, as AMD's installer does it, but for what lies elsewhere."""
    plan = installer.plan(V6, str(made / LEGACY), Request("full"))
    assert set(plan.contents.packages) - set(plan.packages) == {("", "rccl")}
    everything = installer.plan(V6, str(made / LEGACY), Request("full", ("rccl",)))
    built = everything.build(work(tmp_path))
    source = unpacked_by_itself(made / LEGACY, tmp_path / "itself") / "component-rocm"
    wanted = {
        str(p.relative_to(top))
        for top in source.glob("*/content/rocm-6.4.0")
        for p in top.rglob("*")
        if p.is_file() or p.is_symlink()
    }
    ours = set(tree(tmp_path / "tree"))
    assert wanted <= ours
    assert ours - wanted == {"bin/amdclang", "etc/OpenCL/vendors/amdocl64.icd"}
    ours_on_disk = [tmp_path / "tree" / name for name in wanted]
    assert len(built.items) == 1
    assert built.files == sum(not p.is_symlink() for p in ours_on_disk) + 1


def work(tmp_path: Path, cancel: Downloads | None = None) -> Work:
    downloads = cancel or Downloads(tmp_path / "no-cache", offline=True)
    return Work(tmp_path / "tree", "/new/place", downloads, 2, lambda _n: None)


def test_one_without_needs_is_taken_whole(tmp_path: Path) -> None:
    folder = legacy_tree(tmp_path / "x")
    for deps in folder.glob("component-rocm/*/deps/deps.txt"):
        deps.unlink()
    path = makeself(folder, tmp_path / LEGACY)
    plan = installer.plan(V6, str(path), Request())
    assert {name for _, name in plan.packages} >= {"rccl", "hipcc", "rocblas"}
    assert "it does not say what its packages need, so all of them are taken" in plan.notes


def test_names_with_the_release_and_of_rpms(tmp_path: Path) -> None:
    folder = legacy_tree(tmp_path / "x")
    rocm = folder / "component-rocm"
    for name in ("hipcc", "rocm-core", "rocm-llvm"):
        (rocm / name).rename(rocm / f"{name}6.4.0")
    (rocm / "rocm-hip-runtime-dev").rename(rocm / "rocm-hip-runtime-devel6.4.0")
    path = makeself(folder, tmp_path / LEGACY)
    plan = installer.plan(V6, str(path), Request())
    assert {name for _, name in plan.packages} == {"hipcc6.4.0", "rocm-core6.4.0", "rocm-llvm6.4.0"}
    assert plan.host == (), "what RPMs need is not for dpkg to judge"


def test_a_newer_c_library_is_told(tmp_path: Path) -> None:
    folder = legacy_tree(tmp_path / "x")
    put(folder, "component-rocm/hipcc/deps/deps.txt", "libc6 (>= 99)\n")
    path = makeself(folder, tmp_path / LEGACY)
    with pytest.raises(HostError, match="`hipcc` needs libc6"):
        installer.plan(V6, str(path), Request())


# From 7.9 on.


def merged(content: Path, *tags: str) -> dict[str, str]:
    """The packages' trees of these tags, merged."""
    found: dict[str, str] = {}
    for tag in tags:
        for top in (content / tag).glob("*/rocm/core-10.0"):
            found |= tree(top)
    return found


@pytest.mark.parametrize(
    ("targets", "tags"),
    [
        ((), ("base", "gfx1100", "gfx1101", "gfx942")),
        (("gfx1100",), ("base", "gfx1100")),
        (("gfx942", "gfx1101"), ("base", "gfx1101", "gfx942")),
    ],
)
def test_base_and_the_code_for_the_gpus(
    tmp_path: Path, made: Path, targets: tuple[str, ...], tags: tuple[str, ...]
) -> None:
    plan = installer.plan(V10, str(made / CORE), Request(targets=targets))
    built = plan.build(work(tmp_path))
    wanted = merged(made / "content", *tags)
    wanted["bin/hipcc"] = "#!/bin/sh\necho /new/place\n"
    assert tree(tmp_path / "tree") == wanted
    assert built.files == len(wanted) - 1
    names = {part.name for part in plan.parts}
    assert ("content-gfx94x.tar.xz" in names) == ("gfx942" in tags)
    assert not any("tests" in name or "amdgpu" in name for name in names)


def test_it_is_installed_whole(install: Callable[..., Result], root: Root, made: Path) -> None:
    out = install("--from", CORE, "--dry-run").fine()
    for name in ("content-base.tar.xz", "content-gfx110x.tar.xz", "content-gfx94x.tar.xz"):
        assert re.search(rf"[0-9.]+ k?B  {name}", out)
    assert f"10.0.0 from local ({made / CORE}): 0 B to download" in out
    assert not root.path.exists()
    install("--from", CORE, "--profile", "hip").fine()
    receipt = registry.find(root, V10).receipt
    assert receipt.notes[:2] == (
        installer.UNSIGNED,
        "`--profile` and `--with` have no effect: it is taken whole",
    )
    hipcc = root.versions / "10.0.0/bin/hipcc"
    assert hipcc.read_text() == f"#!/bin/sh\necho {root.versions}/10.0.0\n"
    assert os.access(hipcc, os.X_OK)
    assert run(root, "+10.0", "exec", "hipcc").fine() == f"{root.versions}/10.0.0\n"
    assert (root.shims / "hipcc").exists()


def test_gpus_choose_what_is_taken(install: Callable[..., Result], root: Root, made: Path) -> None:
    install("--from", CORE, "--gpu", "gfx1100", "--profile", "hip").fine()
    prefix = root.versions / "10.0.0"
    assert set(tree(prefix)) == set(merged(made / "content", "base", "gfx1100"))
    receipt = registry.find(root, V10).receipt
    assert (receipt.targets, receipt.profile, receipt.extra) == (("gfx1100",), "", ())
    result = install("-q", "--from", CORE, "--gpu", "gfx90a", "--reinstall")
    assert "has no code for gfx90a" in result.refused()
    assert result.hint == "take it for all GPUs that it knows: `--gpu all`"
    install("-q", "--from", CORE, "--gpu", "all", "--reinstall").fine()
    tags = ("base", "gfx1100", "gfx1101", "gfx942")
    assert set(tree(prefix)) == set(merged(made / "content", *tags))
    assert registry.find(root, V10).receipt.targets == ()


def test_a_setting_chooses_gpus_as_well(
    root: Root, made: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rocmenv = Runner(capfd, root, made)
    rocmenv("config", "set", "targets", "gfx942").fine()
    rocmenv("install", "--from", CORE).fine()
    assert set(tree(root.versions / "10.0.0")) == set(merged(made / "content", "base", "gfx942"))


def test_a_gpu_that_it_has_no_code_for(made: Path) -> None:
    with pytest.raises(ResolveError, match="has no code for gfx90a; it has gfx110x, gfx94x"):
        installer.plan(V10, str(made / CORE), Request(targets=("gfx1100", "gfx90a")))


def test_a_gpu_of_the_family_that_is_not_in_it(tmp_path: Path, made: Path) -> None:
    """Which GPUs a family's archive has, only it knows where the list is missing."""
    folder = core_tree(tmp_path / "x", made / "content")
    (folder / "component-rocm/.gfx-lists").unlink()
    path = makeself(folder, tmp_path / CORE, "--nocomp")
    installer.plan(V10, str(path), Request(targets=("gfx1101",))).build(work(tmp_path))
    assert set(tree(tmp_path / "tree")) == set(merged(made / "content", "base", "gfx1101"))
    shutil.rmtree(tmp_path / "tree")
    plan = installer.plan(V10, str(path), Request(targets=("gfx1103",)))
    with pytest.raises(ResolveError, match="has no code for gfx1103; it has none"):
        plan.build(work(tmp_path))


def test_packages_that_are_not_in_inner_archives(tmp_path: Path, made: Path) -> None:
    """AMD's builds without compression."""
    rocm = tmp_path / "x/component-rocm"
    rocm.mkdir(parents=True)
    core_content(rocm / "content")
    path = makeself(tmp_path / "x", tmp_path / CORE, "--nocomp")
    plan = installer.plan(V10, str(path), Request(targets=("gfx1100",)))
    plan.build(work(tmp_path))
    wanted = merged(made / "content", "base", "gfx1100")
    assert set(tree(tmp_path / "tree")) == set(wanted)


def test_one_archive_of_everything_inside(tmp_path: Path, made: Path) -> None:
    """7.12: `components.tar.xz`, with `component-rocm/TAG/PACKAGE/content/...`."""
    for package in core_content(tmp_path / "plain").glob("*/*"):
        tag = package.parent.name
        new = tmp_path / f"in/component-rocm/{tag}/{package.name}/content"
        new.parent.mkdir(parents=True, exist_ok=True)
        package.rename(new)
    inner_archive(tmp_path / "in", tmp_path / "x/components.tar.xz", "component-rocm")
    path = makeself(tmp_path / "x", tmp_path / CORE, "--nocomp")
    plan = installer.plan(V10, str(path), Request(targets=("gfx942",)))
    plan.build(work(tmp_path))
    assert set(tree(tmp_path / "tree")) == set(merged(made / "content", "base", "gfx942"))
    plan = installer.plan(V10, str(path), Request(targets=("gfx90a",)))
    shutil.rmtree(tmp_path / "tree")
    with pytest.raises(ResolveError, match="has no code for gfx90a"):
        plan.build(work(tmp_path))


@pytest.mark.parametrize("how", ["z", ""])
def test_inner_archives_in_a_compressed_outer_one(tmp_path: Path, made: Path, how: str) -> None:
    """AMD's builds for development: streams in streams, whatever the names end in."""
    content = core_content(tmp_path / "content")
    path = makeself(core_tree(tmp_path / "x", content, how), tmp_path / CORE)
    installer.plan(V10, str(path), Request()).build(work(tmp_path))
    tags = ("base", "gfx1100", "gfx1101", "gfx942")
    assert set(tree(tmp_path / "tree")) == set(merged(made / "content", *tags))


def test_hard_links_of_an_inner_archive(tmp_path: Path) -> None:
    """Also to a file that is left out, for which the inner archive is read again."""
    content = core_content(tmp_path / "content")
    package = content / "base/amdrocm-llvm10.0"
    clang = package / "rocm/core-10.0/lib/llvm/bin/clang++"
    (clang.parent / "clang").hardlink_to(clang)
    away = put(package, "usr/share/x", "left out")
    (package / "rocm/core-10.0/lib/x").hardlink_to(away)
    path = makeself(core_tree(tmp_path / "x", content), tmp_path / CORE, "--nocomp")
    installer.plan(V10, str(path), Request()).build(work(tmp_path))
    bins = tmp_path / "tree/lib/llvm/bin"
    assert (bins / "clang").samefile(bins / "clang++")
    assert (tmp_path / "tree/lib/x").read_text() == "left out"


def test_memory_does_not_grow_with_what_is_in_it(tmp_path: Path, made: Path) -> None:
    """Installers have gigabytes, and so have single members."""
    content = core_content(tmp_path / "content")
    big = put(content, "base/amdrocm-llvm10.0/rocm/core-10.0/lib/big", "")
    os.truncate(big, 96 << 20)
    tree_ = core_tree(tmp_path / "x", content, how="J")
    os.truncate(put(tree_, "component-amdgpu/other", ""), 96 << 20)
    path = makeself(tree_, tmp_path / CORE, "--nocomp")
    assert path.stat().st_size > 96 << 20
    tracemalloc.start()
    try:
        installer.plan(V10, str(path), Request()).build(work(tmp_path))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (tmp_path / "tree/lib/big").stat().st_size == 96 << 20
    assert peak < 32 << 20


# Repair.


@pytest.mark.parametrize(
    ("words", "version", "lost", "form"),
    [
        (
            (LEGACY, "--profile", "sdk", "--with", "rccl"),
            "6.4.0",
            (
                "bin/hipcc",
                "bin/amdclang",
                "lib/librccl.so",
                "lib/cmake/b.cmake",
                "etc/OpenCL/vendors/amdocl64.icd",
            ),
            "--profile sdk --with rccl --gpu all",
        ),
        (
            (CORE, "--gpu", "gfx1100"),
            "10.0.0",
            ("bin/hipcc", ".kpack/blas_gfx1100.kpack", "llvm"),
            "--gpu gfx1100 --no-prune-targets",
        ),
    ],
)
def test_what_is_damaged_comes_again(
    capfd: pytest.CaptureFixture[str],
    root: Root,
    made: Path,
    tmp_path: Path,
    words: tuple[str, ...],
    version: str,
    lost: tuple[str, ...],
    form: str,
) -> None:
    rocmenv = Runner(capfd, root, tmp_path)
    file = shutil.copy(made / words[0], tmp_path)
    rocmenv("install", "-q", "--from", *words).fine()
    prefix = root.versions / version
    before = state(prefix)
    for name in lost:
        (prefix / name).unlink()
    flip(prefix / ".info/version")
    rocmenv("verify", "--deep", "--repair", version).fine()
    assert state(prefix) == before
    (prefix / "bin/hipcc").unlink()
    with Path(file).open("ab") as out:
        out.write(b"x")
    result = rocmenv("verify", "-q", "--repair", version)
    assert result.refused() == (
        f"`{file}` is not the file any more that the version was installed from"
    )
    command = f"rocmenv install --reinstall {version} --from {shlex.quote(str(file))} {form}"
    again = f"install it again: `{command}`"
    assert result.hint == again
    os.unlink(file)
    result = rocmenv("verify", "-q", "--repair", version)
    assert result.refused() == f"`{file}` cannot be read (No such file or directory)"
    assert result.hint == again


# Versions.


@pytest.mark.parametrize(
    ("name", "version"),
    [
        (LEGACY, "6.4.0"),
        ("rocm-installer_1.2.7.70202-26-81~el9.run", "7.2.2"),
        ("renamed.run", "6.4.0"),
        ("rocm-installer_1.2.7.run", "6.4.0"),
    ],
)
def test_a_file_says_its_release(tmp_path: Path, made: Path, name: str, version: str) -> None:
    """By the name, else by what is in it."""
    (tmp_path / name).symlink_to(made / LEGACY)
    told = installer.told(str(tmp_path / name))
    assert told is not None
    assert str(told.version) == version


@pytest.mark.parametrize(
    ("name", "text", "version"),
    [
        (CORE, None, "10.0.0"),
        ("rocm-installer-7.14.0rc3-2.run", None, "7.14.0rc3"),
        ("x.run", None, None),
        ("x.run", "2.1.0\n7.14.1\n", "7.14.1"),
        ("x.run", "2.1.0\n7.14\n", None),
        ("rocm-installer-99999.0.0-1.run", "1\n", None),
    ],
)
def test_a_file_says_its_release_in_its_name_or_help(
    tmp_path: Path, made: Path, name: str, text: str | None, version: str | None
) -> None:
    path = made / CORE
    if text is not None:
        help_ = ("--help-header", str(put(tmp_path, "VERSION", text)))
        path = makeself(core_tree(tmp_path / "x", made / "content"), tmp_path / name, *help_)
    else:
        path = tmp_path / name
        path.symlink_to(made / CORE)
    told = installer.told(str(path))
    assert (told and str(told.version)) == version


def test_another_version_than_it_says_is_refused(
    install: Callable[..., Result], root: Root, tmp_path: Path, made: Path
) -> None:
    result = install("-q", "6.4.1", "--from", LEGACY)
    again = shlex.join(("rocmenv", "install", "--from", str(made / LEGACY)))
    assert result.hint == f"leave the version out: `{again}`"
    assert result.refused(2) == f"6.4.1 was asked for, but the name of `{LEGACY}` says 6.4.0"
    (tmp_path / "rocm-installer_1.60401-3.run").symlink_to(made / LEGACY)
    result = install("-q", "6.4.1", "--from", str(tmp_path / "rocm-installer_1.60401-3.run"))
    assert "but the content of" in result.refused(2)
    (tmp_path / "x.run").symlink_to(made / CORE)
    result = install("--from", str(tmp_path / "x.run"))
    assert "does not say which release it is" in result.refused(2)
    install("-q", "10.0.0", "--from", str(tmp_path / "x.run")).fine()
    (tmp_path / "rocm-installer-10.0.1-4.run").symlink_to(made / CORE)
    result = install("-q", "--from", str(tmp_path / "rocm-installer-10.0.1-4.run"))
    assert "says it is 10.0.0, not 10.0.1" in result.refused()
    assert registry.versions(root) == [V10]


# Damage and hostility.


def test_a_damaged_file_is_refused_before_it_is_unpacked(
    install: Callable[..., Result], root: Root, tmp_path: Path, made: Path
) -> None:
    data = (made / CORE).read_bytes()
    place = data.rindex(b"content-gfx94x.tar.xz") + 612
    path = put(tmp_path, CORE, data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
    assert "is not the one that it has of itself" in install("-q", "--from", str(path)).refused()
    path.write_bytes(data[:-100])
    assert "100 bytes are missing" in install("-q", "--from", str(path)).refused()
    assert os.listdir(root.versions) == os.listdir(root.staging) == []


def test_damage_inside_one_without_check_sums(tmp_path: Path, made: Path) -> None:
    sums = ("--nomd5", "--nocrc", "--nocomp")
    path = makeself(core_tree(tmp_path / "x", made / "content"), tmp_path / CORE, *sums)
    data = path.read_bytes()
    place = data.rindex(b"content-gfx94x.tar.xz") + 612
    path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
    plan = installer.plan(V10, str(path), Request())
    assert "it has no check sums of itself: only its form was checked" in plan.notes
    with pytest.raises(ArchiveError, match="content-gfx94x.tar.xz"):
        plan.build(work(tmp_path))


def test_a_file_that_changes_under_way_is_refused(tmp_path: Path, made: Path) -> None:
    path = put(tmp_path, CORE, (made / CORE).read_bytes())
    plan = installer.plan(V10, str(path), Request())
    os.utime(path, ns=(1, 1))
    with pytest.raises(ArchiveError, match="was changed while it was read"):
        plan.build(work(tmp_path))


def hostile(folder: Path, *members: tarfile.TarInfo) -> Path:
    """An inner archive of `base` with these members, beside a good one."""
    rocm = folder / "component-rocm"
    rocm.mkdir(parents=True)
    with tarfile.open(rocm / "content-base.tar.xz", "w:xz") as tar:
        for member in members:
            tar.addfile(member)
    return folder


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


BIN = "base/amdrocm-x/rocm/core-10.0/bin"


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (member("base/../../x"), "lies outside"),
        (member("/base/x"), "lies outside"),
        (member(f"{BIN}/../../../../../../x"), "lies outside"),
        (member(f"{BIN}/x", tarfile.LNKTYPE, "/etc/passwd"), "lies outside"),
        (member(f"{BIN}/x", tarfile.LNKTYPE, f"{BIN}/none"), "no file of that name"),
        (member(f"{BIN}/x", tarfile.CHRTYPE), "is a device"),
        (member(f"{BIN}/x", tarfile.FIFOTYPE), "is a pipe"),
    ],
)
def test_members_that_would_leave_the_tree_are_refused(
    tmp_path: Path, bad: tarfile.TarInfo, words: str
) -> None:
    path = makeself(hostile(tmp_path / "x", member(f"{BIN}/a"), bad), tmp_path / CORE, "--nocomp")
    with pytest.raises(ArchiveError, match=words):
        installer.plan(V10, str(path), Request()).build(work(tmp_path))
    assert not (tmp_path / "x/x").exists()


def test_links_that_lead_out_are_left_out(tmp_path: Path) -> None:
    bad = [
        member(f"{BIN}/up", tarfile.SYMTYPE, "../../../../../../../../../etc/passwd"),
        member(f"{BIN}/away", tarfile.SYMTYPE, "/etc/passwd"),
        member(f"{BIN}/own", tarfile.SYMTYPE, "/opt/rocm/core-10.0/bin/a"),
        member(f"{BIN}/away/passwd"),
    ]
    path = makeself(hostile(tmp_path / "x", member(f"{BIN}/a"), *bad), tmp_path / CORE, "--nocomp")
    built = installer.plan(V10, str(path), Request()).build(work(tmp_path))
    names = {str(p.relative_to(tmp_path / "tree")) for p in (tmp_path / "tree").rglob("*")}
    assert names == {"bin", "bin/a", "bin/own", "bin/away", "bin/away/passwd"}
    assert os.readlink(tmp_path / "tree/bin/own") == "a"
    assert sum("is left out" in note for note in built.notes) == 2


def test_installers_of_other_things(tmp_path: Path) -> None:
    put(tmp_path / "x", "bin/game", "x")
    path = makeself(tmp_path / "x", tmp_path / "x.run", label="A Game")
    with pytest.raises(ArchiveError, match="`x.run` is an installer of `A Game`, not of ROCm"):
        installer.plan(V10, str(path), Request())
    put(tmp_path / "y", "component-rocm/a/content/rocm-6.4.0/lib/x", "x")
    put(tmp_path / "y", "component-rocm/a/deps/deps.txt", "b\n")
    path = makeself(tmp_path / "y", tmp_path / "y.run")
    with pytest.raises(ResolveError, match="none of the packages of the profile"):
        installer.plan(V6, str(path), Request())
    with pytest.raises(UsageError, match=r"says 6\.4\.0"):
        installer.plan(V10, str(path), Request())
    content = core_content(tmp_path / "z", "11.0", "11.0.0")
    path = makeself(core_tree(tmp_path / "core", content), tmp_path / "z.run", "--nocomp")
    with pytest.raises(ArchiveError, match="holds nothing for /opt/rocm/core-10.0"):
        installer.plan(V10, str(path), Request()).build(work(tmp_path))


# Without a network.


@pytest.mark.parametrize("name", [LEGACY, CORE])
def test_no_connection_is_opened(
    install: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    install("-q", "--from", name).fine()
    value = json.loads(install("--from", name, "--dry-run", "--json").fine())
    assert (value["channel"], value["download"]) == ("local", 0)


def places() -> Iterator[tuple[str, tuple[str, str, str] | None]]:
    core = "rocm/core-10.0/bin/x"
    yield "component-rocm/a/content/rocm-6.4.0/x", ("", "a", "opt/rocm-6.4.0/x")
    yield "component-rocm/a/content/opt/rocm-6.4.0/x", ("", "a", "opt/rocm-6.4.0/x")
    yield "component-rocm/a/content/usr/share/x", ("", "a", "usr/share/x")
    yield "component-rocm/a/content-etc/x", ("", "a", "etc/x")
    yield "component-rocm/a/content", None
    yield "component-rocm/a/scriptlets/postinst", None
    yield f"component-rocm/content/gfx90a/b/{core}", ("gfx90a", "b", f"opt/{core}")
    yield f"component-rocm/base/b/content/{core}", ("base", "b", f"opt/{core}")
    yield f"gfx1100/b/{core}", ("gfx1100", "b", f"opt/{core}")
    yield f"base/b/{core}", ("base", "b", f"opt/{core}")
    yield f"other/b/{core}", None
    yield "component-amdgpu/b/content/usr/x", None


@pytest.mark.parametrize(("name", "place"), list(places()))
def test_where_members_belong(name: str, place: tuple[str, str, str] | None) -> None:
    found = located(name)
    assert (tuple(found) if found else None) == place
