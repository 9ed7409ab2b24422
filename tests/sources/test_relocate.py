"""Texts that name the place a tree was built for; what maintainer scripts would have made."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rocmenv.sources import relocate as module
from rocmenv.sources.relocate import finish_legacy, relocate
from tests.builders import put
from tests.tools import tool

OLD = "/opt/rocm-6.3.0"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    path.mkdir()
    return path


def moved(tree: Path, name: str, content: str | bytes, new: str = "/new/6.3.0") -> str:
    path = put(tree, name, content)
    relocate(tree, OLD, new, [name])
    return path.read_text()


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("lib/pkgconfig/hip.pc", "${pcfiledir}/../.."),
        ("share/pkgconfig/x/y.pc", "${pcfiledir}/../../.."),
        ("hip.pc", "${pcfiledir}"),
    ],
)
def test_pkgconfig_files_are_relative_to_themselves(tree: Path, name: str, place: str) -> None:
    text = moved(tree, name, f"prefix={OLD}\nlibdir={OLD}/lib\n", "/a b/c")
    assert text == f"prefix={place}\nlibdir={place}/lib\n"


def test_pkg_config_itself_reads_them(tree: Path) -> None:
    tree = tree.rename(tree.with_name("with blank"))
    put(
        tree,
        "lib/pkgconfig/hip.pc",
        f"prefix={OLD}\nName: hip\nDescription: x\nVersion: 1\nLibs: -L${{prefix}}/lib\n",
    )
    relocate(tree, OLD, str(tree), ["lib/pkgconfig/hip.pc"])
    done = subprocess.run(
        [tool("pkg-config"), "--variable=prefix", "hip"],
        env={"PKG_CONFIG_PATH": str(tree / "lib/pkgconfig"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert os.path.samefile(done.stdout.strip().replace("\\", ""), tree)


def test_cmake_files_have_the_absolute_place_escaped(tree: Path) -> None:
    text = f'set(A "{OLD}/lib")\nset(B {OLD}/include)\n'
    assert moved(tree, "a.cmake", text) == text.replace(OLD, "/new/6.3.0")
    place = 'it\'s "a" $b #c (d)\\e'
    escaped = 'it\'s\\ \\"a\\"\\ \\$b\\ \\#c\\ \\(d\\)\\\\e'
    assert moved(tree, "a.cmake", text, f"/{place}") == text.replace(OLD, f"/{escaped}")


def test_cmake_itself_reads_them(tree: Path) -> None:
    place = '/r t/it\'s "a" $b #c (d)'
    text = f'set(A "{OLD}/lib")\nset(B {OLD}/lib)\nmessage("${{A}}|${{B}}")\n'
    moved(tree, "a.cmake", text, place)
    done = subprocess.run(
        [tool("cmake"), "-P", str(tree / "a.cmake")], capture_output=True, text=True, check=False
    )
    assert done.stderr == f"{place}/lib|{place}/lib\n"


def test_scripts_and_other_texts_have_the_new_place(tree: Path) -> None:
    text = f"#!/bin/sh\nexec {OLD}/bin/x -I{OLD}/include '{OLD}'\n"
    assert moved(tree, "bin/tool", text) == text.replace(OLD, "/new/6.3.0")
    start = f"#!{OLD}/bin/python\nx\n"
    assert moved(tree, "bin/script", start) == "#!/new/6.3.0/bin/python\nx\n"


def test_bytes_that_are_not_text_survive(tree: Path) -> None:
    path = put(tree, "a.txt", b"\xff\xfe " + OLD.encode() + b" \xe4")
    relocate(tree, OLD, os.fsdecode(b"/n\xffew"), ["a.txt"])
    assert path.read_bytes() == b"\xff\xfe /n\xffew \xe4"


@pytest.mark.parametrize(
    "near",
    [
        "/opt/rocm-6.3.01",
        "/opt/rocm-6.3.0-rc1",
        "/opt/rocm-6.3.0.2",
        "/opt/rocm-6.3.0_x",
        "/opt/rocm-6.3.1",
    ],
)
def test_a_longer_name_is_another_place(tree: Path, near: str) -> None:
    assert moved(tree, "a.sh", f"{near}/bin\n") == f"{near}/bin\n"


@pytest.mark.parametrize("before", ["/data", "..", "~", "x", "$ORIGIN/..", "/a.b"])
def test_the_end_of_a_longer_path_is_another_place(tree: Path, before: str) -> None:
    assert moved(tree, "a.sh", f"{before}{OLD}/bin\n") == f"{before}{OLD}/bin\n"


@pytest.mark.parametrize(
    "before",
    ["", "=", ":", '"', "(", "-I", "-L", "-isystem", "-Wl,-rpath,", "file://", "${ROOT}", "${X:-"],
)
def test_a_path_begins_after_anything_else(tree: Path, before: str) -> None:
    assert moved(tree, "a.sh", f"{before}{OLD}/bin\n") == f"{before}/new/6.3.0/bin\n"


@pytest.mark.parametrize("after", ["", "/", '"', "'", ":", " ", ";", "\n", ".", ". ", "-", ")"])
def test_the_place_ends_where_a_path_does(tree: Path, after: str) -> None:
    assert moved(tree, "a.sh", f"x {OLD}{after}") == f"x /new/6.3.0{after}"


def test_a_first_line_that_would_not_start_is_left_and_reported(tree: Path) -> None:
    put(tree, "bin/a", f"#!{OLD}/bin/python\n{OLD}\n")
    put(tree, "bin/b", f"#!/bin/sh\n{OLD}\n")
    for new in (f"/{'x' * 120}", "/with blank"):
        found = relocate(tree, OLD, new, ["bin/a", "bin/b"])
        assert found.left == ("bin/a",)
        assert (tree / "bin/a").read_text() == f"#!{OLD}/bin/python\n{OLD}\n"
        assert (tree / "bin/b").read_text() == f"#!/bin/sh\n{new}\n"
        put(tree, "bin/b", f"#!/bin/sh\n{OLD}\n")


def test_binaries_are_reported_and_never_edited(tree: Path) -> None:
    content = b"\x7fELF\0" + OLD.encode() + b"/lib\0"
    path = put(tree, "lib/libx.so", content)
    put(tree, "lib/libclean.so", b"\x7fELF\0nothing")
    found = relocate(tree, OLD, "/new", ["lib/libx.so", "lib/libclean.so"])
    assert (found.rewritten, found.left) == ((), ("lib/libx.so",))
    assert path.read_bytes() == content


def test_large_files_are_searched_across_pieces(tree: Path) -> None:
    for number, start in enumerate([(1 << 20) - 5, (1 << 20) * 3 - len(OLD), 5 << 20]):
        put(tree, f"lib/{number}", b"\0" * start + OLD.encode() + b"/lib" + b"x" * (6 << 20))
    put(tree, "lib/none", b"x" * (6 << 20))
    paths = ["lib/0", "lib/1", "lib/2", "lib/none"]
    assert relocate(tree, OLD, "/new", paths).left == ("lib/0", "lib/1", "lib/2")


AROUND = st.lists(
    st.sampled_from(
        [OLD, OLD[:-1], "1", ".", "-", "x", "_", " ", "/", "-I", "isystem", "://", "..", "ßß"]
    ),
    max_size=12,
)


@settings(max_examples=400, deadline=None)
@given(AROUND, st.integers(1, 40), st.integers(0, 40))
@example([OLD, "1"], len(OLD) + 1, 0)
@example(["..", OLD], len(OLD) + 3, 0)
def test_the_size_of_pieces_makes_no_difference(parts: list[str], size: int, fill: int) -> None:
    content = (" " * fill + "".join(parts)).encode()
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        tree = Path(folder)
        patch.setattr(module, "_PIECE", size)
        put(tree, "whole", b"\0" + content)
        whole = relocate(tree, OLD, "/new", ["whole"]).left
        patch.setattr(module, "_LARGEST_TEXT", 0)
        put(tree, "pieces", b"\0" + content)
        assert bool(relocate(tree, OLD, "/new", ["pieces"]).left) is bool(whole)


def test_what_was_done_is_sorted(tree: Path) -> None:
    names = [f"f{n}.sh" for n in (3, 1, 2)]
    for name in names:
        put(tree, name, OLD)
    put(tree, "other", "nothing")
    found = relocate(tree, OLD, "/new", [*names, "other", "gone"], jobs=3)
    assert found.rewritten == ("f1.sh", "f2.sh", "f3.sh")
    assert found.left == ()


def test_mode_and_time_stay_and_a_twin_is_unharmed(tree: Path, tmp_path: Path) -> None:
    path = put(tree, "bin/tool", f"#!/bin/sh\n{OLD}\n", 0o755)
    os.utime(path, ns=(1_600_000_000_000_000_007, 1_600_000_000_000_000_009))
    twin = tmp_path / "twin"
    twin.hardlink_to(path)
    relocate(tree, OLD, "/new", ["bin/tool"])
    assert path.stat().st_mode & 0o777 == 0o755
    assert path.stat().st_mtime_ns == 1_600_000_000_000_000_009
    assert twin.read_text() == f"#!/bin/sh\n{OLD}\n"
    assert os.listdir(tree / "bin") == ["tool"]


def test_files_of_any_other_name_are_unharmed(tree: Path) -> None:
    put(tree, "bin/tool", f"#!/bin/sh\n{OLD}\n")
    put(tree, "bin/tool.relocated", "of a package")
    longest = "x" * 255
    put(tree, longest, OLD)
    relocate(tree, OLD, "/new", ["bin/tool", longest])
    assert (tree / "bin/tool.relocated").read_text() == "of a package"
    assert (tree / longest).read_text() == "/new"


def test_links_are_not_followed(tree: Path, tmp_path: Path) -> None:
    outside = put(tmp_path, "outside", OLD)
    (tree / "link").symlink_to(outside)
    relocate(tree, OLD, "/new", ["link"])
    assert outside.read_text() == OLD
    assert (tree / "link").is_symlink()


# What AMD's maintainer scripts make.


def test_compiler_links_are_made_where_there_is_a_compiler(tree: Path) -> None:
    put(tree, "lib/llvm/bin/amdclang", "x")
    put(tree, "lib/llvm/bin/amdflang", "x")
    put(tree, "bin/amdflang", "its own")
    made = finish_legacy(tree, "/new", 60300)
    assert made == ["made bin/amdclang, as AMD's maintainer scripts do"]
    assert os.readlink(tree / "bin/amdclang") == "../lib/llvm/bin/amdclang"
    assert (tree / "bin/amdflang").read_text() == "its own"
    assert finish_legacy(tree, "/new", 60300) == []


def test_older_releases_keep_the_compiler_at_the_top(tree: Path) -> None:
    put(tree, "llvm/bin/amdclang++", "x")
    finish_legacy(tree, "/new", 50200)
    assert os.readlink(tree / "bin/amdclang++") == "../llvm/bin/amdclang++"


@pytest.mark.parametrize("folder", ["lib", "opencl/lib"])
def test_the_opencl_driver_is_registered(tree: Path, folder: str) -> None:
    put(tree, f"{folder}/libamdocl64.so", "x")
    prefix = os.fsdecode(b"/n\xffew dir")
    made = finish_legacy(tree, prefix, 60300)
    assert made == ["made etc/OpenCL/vendors/amdocl64_60300.icd, as AMD's maintainer scripts do"]
    icd = tree / "etc/OpenCL/vendors/amdocl64_60300.icd"
    assert icd.read_bytes() == b"/n\xffew dir/" + folder.encode() + b"/libamdocl64.so\n"


def test_a_registration_of_the_packages_own_stays(tree: Path) -> None:
    put(tree, "lib/libamdocl64.so", "x")
    put(tree, "etc/OpenCL/vendors/amd.icd", "libamdocl64.so\n")
    assert finish_legacy(tree, "/new", 60300) == []


def test_rocgdb_gets_the_newest_python_library_of_the_host(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tree, "bin/rocgdb", "x")
    put(tree, "lib/other", "x")
    for name in ("3.9.so.1.0", "3.11.so.1.0", "3.10.so.1.0", "3.12d.so.1.0", "3.13.so", "3.so"):
        put(tmp_path, f"host/libpython{name}", "x")
    put(tmp_path, "later/libpython3.14.so.1.0", "x")
    folders = [str(tmp_path / name) for name in ("gone", "host", "later")]
    monkeypatch.setattr(module, "_PYTHON_FOLDERS", folders)
    made = finish_legacy(tree, "/new", 60300)
    assert made == ["made lib/amdpythonlib.so, as AMD's maintainer scripts do"]
    assert os.readlink(tree / "lib/amdpythonlib.so") == f"{folders[1]}/libpython3.11.so.1.0"
    assert finish_legacy(tree, "/new", 60300) == []


def test_nothing_is_made_for_nothing(tree: Path) -> None:
    assert finish_legacy(tree, "/new", 60300) == []
    assert os.listdir(tree) == []
