"""Plans for what is at hand."""

from __future__ import annotations

import hashlib
import os
import stat
import tarfile
import threading
from pathlib import Path

import pytest

from rocmenv.errors import ArchiveError, HostError
from rocmenv.fetch import partial, transfer
from rocmenv.fetch.copy import copy_tree, tree_size
from rocmenv.fetch.digest import Digest, sha256_of
from rocmenv.fetch.transfer import Downloads
from rocmenv.model.version import Version
from rocmenv.sources import local
from rocmenv.sources.base import Work
from tests.builders import fake_prefix
from tests.fetch.server import Site

V = Version.parse("6.3.0")


def test_a_path_counts_from_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "a.tar.gz").write_bytes(b"\x1f\x8b" + b"x" * 8)
    plan = local.plan(V, "b/../a.tar.gz", str(tmp_path))
    assert plan.origin == f"{tmp_path}/a.tar.gz"
    assert (plan.download, plan.installed) == (0, 40)
    assert [(p.name, p.version, p.size) for p in plan.parts] == [("a.tar.gz", "", 10)]


def test_a_folder_knows_its_size(tmp_path: Path) -> None:
    source = fake_prefix(tmp_path / "x", "6.3.0")
    plan = local.plan(V, "x", str(tmp_path))
    assert plan.installed == tree_size(str(source))
    assert plan.parts[0].size is None


def test_an_address_knows_nothing_yet() -> None:
    plan = local.plan(V, "https://h/a.tar.gz", "/")
    assert isinstance(plan, local.LocalPlan)
    assert plan.is_remote
    assert (plan.download, plan.installed, plan.parts[0].size) == (None, None, None)
    assert plan.parts[0].name == "a.tar.gz"


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://h/x/a%20b.tar.gz?token=secret#part", "a b.tar.gz"),
        ("https://h/x/a%2Fb.tar", "b.tar"),
        ("https://h/?x", "archive"),
        ("https://h", "archive"),
        ("http://[x/a.tar", "a.tar"),
    ],
)
def test_the_name_of_an_address_is_that_of_its_file(address: str, name: str) -> None:
    plan = local.plan(V, address, "/")
    assert plan.parts[0].name == name
    assert "secret" not in plan.origin


def test_a_kept_download_is_read_once_for_its_digest(
    monkeypatch: pytest.MonkeyPatch, site: Site, downloads: Downloads, cases: Path, tmp_path: Path
) -> None:
    site.files["/a.tar.gz"] = content = (cases / "archives/flat-good.tar.gz").read_bytes()
    plan = local.plan(V, f"{site.url}/a.tar.gz", "/")
    read: list[Path] = []

    def counted(path: Path, *rest: threading.Event) -> Digest:
        read.append(path)
        return sha256_of(path, *rest)

    for module in (local, partial, transfer):
        monkeypatch.setattr(module, "sha256_of", counted)
    for number, count in enumerate((0, 1)):
        built = plan.build(Work(tmp_path / str(number), "/p", downloads, 1, lambda _n: None))
        assert built.items[0].sha256 == hashlib.sha256(content).hexdigest()
        assert len(read) == count


def test_what_is_not_there_or_odd_is_refused() -> None:
    with pytest.raises(ArchiveError, match="cannot be read"):
        local.plan(V, "nowhere", "/")
    with pytest.raises(HostError, match="neither a file nor a folder"):
        local.plan(V, "/dev/null", "/")


@pytest.mark.parametrize("folder", ["/", "/usr", "//usr/", "/usr/local", "/usr/../usr", "link"])
def test_a_prefix_of_the_whole_host_is_refused(tmp_path: Path, folder: str) -> None:
    (tmp_path / "link").symlink_to("/usr")
    with pytest.raises(HostError, match="cannot be copied"):
        local.plan(V, folder, str(tmp_path))


def test_a_copy_counts_what_it_copied(tmp_path: Path) -> None:
    source = fake_prefix(tmp_path / "x", "6.3.0")
    (source / "empty").mkdir()
    target = tmp_path / "y"
    target.mkdir()
    copied = copy_tree(str(source), target)
    assert copied.files == (".info/version", "bin/hipcc", "bin/rocminfo", "lib/llvm/bin/clang++")
    assert copied.size == tree_size(str(target))
    assert (target / "empty").is_dir()
    assert (target / "bin/hipcc").stat().st_mode == (source / "bin/hipcc").stat().st_mode


def test_a_copys_folders_keep_mode_and_time(tmp_path: Path) -> None:
    source, target = fake_prefix(tmp_path / "x", "6.3.0"), tmp_path / "y"
    (source / "lib/cmake").chmod(0o555)
    (source / "bin").chmod(0o750)
    os.utime(source / "bin", (1_000_000, 1_000_000))
    target.mkdir()
    copy_tree(str(source), target)
    assert stat.S_IMODE((target / "bin").stat().st_mode) == 0o750
    assert (target / "bin").stat().st_mtime == 1_000_000
    assert stat.S_IMODE((target / "lib/cmake").stat().st_mode) == 0o755
    (source / "lib/cmake").chmod(0o755)


def test_links_of_a_copy_lead_where_they_led(tmp_path: Path) -> None:
    """Inside the copy where they led into the source, else to the same place as before."""
    source, target = fake_prefix(tmp_path / "old/rocm", "6.3.0"), tmp_path / "far/away/y"
    (tmp_path / "old/other").mkdir()
    (tmp_path / "old/other/f").write_text("other")
    texts = {
        "self": (str(source), "."),
        "lib/self": (f"{source}/", ".."),
        "lib/up": (f"{source}/../other/f", f"{source}/../other/f"),
        "lib/in": (f"{source}/lib/../bin/hipcc", "../bin/hipcc"),
        "lib/out": ("../../other/f", f"{tmp_path}/old/other/f"),
        "lib/round": ("../../rocm/bin/hipcc", "../bin/hipcc"),
        "lib/through": ("../llvm/../cmake", "cmake"),
        "lib/plain": ("../bin/hipcc", "../bin/hipcc"),
        "near": (f"{source}-other", f"{source}-other"),
    }
    for name, (text, _) in texts.items():
        (source / name).symlink_to(text)
    target.mkdir(parents=True)
    copy_tree(str(source), target)
    assert {name: os.readlink(target / name) for name in texts} == {
        name: text for name, (_, text) in texts.items()
    }
    (tmp_path / "old/rocm").rename(tmp_path / "old/moved")
    assert (target / "lib/through").samefile(target / "lib/cmake")


def test_absolute_links_into_the_source_are_known_by_any_spelling(tmp_path: Path) -> None:
    source, target = fake_prefix(tmp_path / "rocm", "6.3.0"), tmp_path / "y"
    (tmp_path / "alias").symlink_to("rocm")
    (tmp_path / "default-hipcc").symlink_to("alias/bin/hipcc")
    (source / "lib/lnk").symlink_to("llvm")
    texts = {
        "lib/twice": (f"{tmp_path}//rocm/bin/hipcc", "../bin/hipcc"),
        "lib/root": (f"/{tmp_path}/rocm//", ".."),
        "lib/dot": (f"{tmp_path}/./rocm/./bin/hipcc", "../bin/hipcc"),
        "lib/kept": (f"{tmp_path}//rocm/lib/lnk/bin", "lnk/bin"),
        "lib/alias": (f"{tmp_path}/alias/bin/hipcc", "../bin/hipcc"),
        "lib/other": (f"{tmp_path}/default-hipcc", "../bin/hipcc"),
        "lib/whole": (f"{tmp_path}/alias", ".."),
        "lib/missing": (f"{tmp_path}/alias/bin/none", "../bin/none"),
        "lib/away": (f"{tmp_path}//rocm-other/x", f"{tmp_path}//rocm-other/x"),
        "lib/round": (f"{tmp_path}/y-none/../z", f"{tmp_path}/y-none/../z"),
    }
    for name, (text, _) in texts.items():
        (source / name).symlink_to(text)
    target.mkdir()
    copy_tree(str(source), target)
    assert {name: os.readlink(target / name) for name in texts} == {
        name: text for name, (_, text) in texts.items()
    }


def work(tmp_path: Path, downloads: Downloads) -> Work:
    return Work(tmp_path / "tree", "/new/6.3.0", downloads, 2, lambda _n: None)


def test_the_texts_of_a_folder_name_the_new_place(tmp_path: Path, downloads: Downloads) -> None:
    source = fake_prefix(tmp_path / "real", "6.3.0")
    named = tmp_path / "rocm"
    named.symlink_to("real")
    text = f"set(A {named}/lib)\nset(B {source}/lib)\nset(C {named}-other/lib {named}2/lib)\n"
    (source / "lib/cmake/a.cmake").write_text(text)
    (source / "lib/libx.so").write_bytes(b"\0" + os.fsencode(named) + b"/lib\0")
    (source / "lib/liby.so").write_bytes(b"\0" + os.fsencode(named) + b"-other/lib\0")
    (tmp_path / "tree").mkdir()
    built = local.plan(V, "rocm", str(tmp_path)).build(work(tmp_path, downloads))
    changed = (tmp_path / "tree/lib/cmake/a.cmake").read_text().splitlines()
    assert changed[:2] == ["set(A /new/6.3.0/lib)", "set(B /new/6.3.0/lib)"]
    assert changed[2] == text.splitlines()[2]
    assert built.unrelocated == ("lib/libx.so",)
    assert (source / "lib/cmake/a.cmake").read_text() == text


def test_the_texts_of_a_folder_lose_the_name_of_the_build_too(
    tmp_path: Path, downloads: Downloads
) -> None:
    """All names at once: the new place may lie below an old one."""
    source = fake_prefix(tmp_path / "real", "6.3.0")
    (source / "lib/cmake/a.cmake").write_text(f"set(A /opt/rocm-6.3.0/lib {source}/lib)\n")
    (source / "lib/libx.so").write_bytes(b"\0/opt/rocm-6.3.0/lib\0")
    (source / "lib/liby.so").write_bytes(b"\0" + os.fsencode(source) + b"/lib\0")
    (tmp_path / "tree").mkdir()
    place = Work(tmp_path / "tree", "/opt/rocm-6.3.0/new", downloads, 2, lambda _n: None)
    built = local.plan(V, "real", str(tmp_path)).build(place)
    changed = (tmp_path / "tree/lib/cmake/a.cmake").read_text()
    assert changed == "set(A /opt/rocm-6.3.0/new/lib /opt/rocm-6.3.0/new/lib)\n"
    assert built.unrelocated == ("lib/libx.so", "lib/liby.so")


def test_of_two_names_in_one_another_the_longer_is_meant(
    tmp_path: Path, downloads: Downloads
) -> None:
    source = fake_prefix(tmp_path / "rocm", "6.3.0")
    link = source / "alias"
    link.symlink_to(".")
    (source / "lib/cmake/a.cmake").write_text(f"set(A {link}/lib {source}/lib)\n")
    (tmp_path / "tree").mkdir()
    local.plan(V, str(link), "/").build(work(tmp_path, downloads))
    changed = (tmp_path / "tree/lib/cmake/a.cmake").read_text()
    assert changed == "set(A /new/6.3.0/lib /new/6.3.0/lib)\n"


def test_the_texts_of_a_tarball_name_the_new_place(tmp_path: Path, downloads: Downloads) -> None:
    source = fake_prefix(tmp_path / "rocm-6.3.0", "6.3.0")
    (source / "lib/cmake/a.cmake").write_text("set(A /opt/rocm-6.3.0/lib /opt/rocm-6.3.01)\n")
    (source / "lib/libx.so").write_bytes(b"\0/opt/rocm-6.3.0/lib\0")
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as made:
        made.add(source, "rocm-6.3.0")
    built = local.plan(V, "a.tar.gz", str(tmp_path)).build(work(tmp_path, downloads))
    changed = (tmp_path / "tree/lib/cmake/a.cmake").read_text()
    assert changed == "set(A /new/6.3.0/lib /opt/rocm-6.3.01)\n"
    assert built.unrelocated == ("lib/libx.so",)
