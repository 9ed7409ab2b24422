"""What two installs have in common takes its place once, and never comes apart."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from pathlib import Path

import pytest

from rocmenv.fetch.digest import sha256_of
from rocmenv.store import share as module
from rocmenv.store.share import AUTO, HARDLINK, OFF, REFLINK, SMALLEST, Tree, share
from rocmenv.store.usage import Meter
from tests.builders import put

BIG = SMALLEST + 4321


@pytest.fixture
def old(tmp_path: Path) -> Path:
    tree = tmp_path / "old"
    put(tree, "lib/same.so", b"s" * BIG, 0o755)
    put(tree, "lib/other.so", b"o" * BIG)
    put(tree, "share/moved.dat", b"m" * BIG)
    put(tree, "include/small.h", b"h")
    return tree


@pytest.fixture
def new(tmp_path: Path) -> Path:
    tree = tmp_path / "new"
    put(tree, "lib/same.so", b"s" * BIG, 0o755)
    put(tree, "lib/other.so", b"O" * BIG)
    put(tree, "data/moved.dat", b"m" * BIG)
    put(tree, "include/small.h", b"h")
    return tree


def inode(path: Path) -> int:
    return path.stat().st_ino


def test_files_that_are_the_same_become_one(old: Path, new: Path) -> None:
    before = {p: p.read_bytes() for p in new.rglob("*") if p.is_file()}
    done = share(Tree(str(new)), [Tree(str(old))], HARDLINK)
    assert done is not None
    assert (done.method, done.files, done.size) == (HARDLINK, 2, 2 * BIG)
    assert inode(new / "lib/same.so") == inode(old / "lib/same.so")
    assert inode(new / "data/moved.dat") == inode(old / "share/moved.dat")
    assert inode(new / "lib/other.so") != inode(old / "lib/other.so")
    assert inode(new / "include/small.h") != inode(old / "include/small.h"), "not worth it"
    assert {p: p.read_bytes() for p in new.rglob("*") if p.is_file()} == before
    assert Meter().measure(str(new)).shared >= 2 * BIG


def test_a_shared_file_is_read_only_and_keeps_its_other_rights(old: Path, new: Path) -> None:
    share(Tree(str(new)), [Tree(str(old))], HARDLINK)
    assert stat.S_IMODE((new / "lib/same.so").stat().st_mode) == 0o555
    assert stat.S_IMODE((new / "data/moved.dat").stat().st_mode) == 0o444
    assert stat.S_IMODE((new / "lib/other.so").stat().st_mode) == 0o644


def test_one_goes_and_the_other_stays(old: Path, new: Path) -> None:
    share(Tree(str(new)), [Tree(str(old))], HARDLINK)
    (old / "lib/same.so").unlink()
    assert (new / "lib/same.so").read_bytes() == b"s" * BIG


def test_another_mode_is_another_file(old: Path, new: Path) -> None:
    (new / "lib/same.so").chmod(0o644)
    done = share(Tree(str(new)), [Tree(str(old))], HARDLINK)
    assert done is not None
    assert done.files == 1
    assert inode(new / "lib/same.so") != inode(old / "lib/same.so")


@pytest.mark.parametrize("way", [OFF, REFLINK])
def test_a_way_that_is_not_there_leaves_copies(
    old: Path, new: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.EOPNOTSUPP, "not here")

    monkeypatch.setattr(fcntl, "ioctl", refuse)
    before = {p: inode(p) for p in new.rglob("*")}
    assert share(Tree(str(new)), [Tree(str(old))], way) is None
    assert {p: inode(p) for p in new.rglob("*")} == before


def test_without_reflinks_hard_links_are_taken(
    old: Path, new: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def refuse(*_: object) -> int:
        asked.append(1)
        raise OSError(errno.EOPNOTSUPP, "not here")

    monkeypatch.setattr(fcntl, "ioctl", refuse)
    done = share(Tree(str(new)), [Tree(str(old))], AUTO)
    assert done is not None
    assert (done.method, done.files, len(asked)) == (HARDLINK, 2, 1)
    assert [p.name for p in new.rglob(".rocmenv-*")] == []


@pytest.mark.parametrize("number", [errno.EMLINK, errno.EXDEV, errno.EPERM, errno.ENOENT])
def test_a_link_that_cannot_be_made_leaves_the_copy(
    old: Path, new: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", refuse)
    before = {p: inode(p) for p in new.rglob("*")}
    assert share(Tree(str(new)), [Tree(str(old))], HARDLINK) is None
    assert {p: inode(p) for p in new.rglob("*")} == before


def digests(tree: Path) -> dict[str, str]:
    files = [p for p in tree.rglob("*") if p.is_file()]
    return {str(p.relative_to(tree)): sha256_of(p).hexdigest() for p in files}


def test_with_digests_nothing_is_read(
    old: Path, new: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, theirs = Tree(str(new), digests(new)), Tree(str(old), digests(old), since=2e9 * 2)
    monkeypatch.setattr(module, "same_content", lambda *_: pytest.fail("it was read"))
    done = share(mine, [theirs], HARDLINK)
    assert done is not None
    assert done.files == 2


def test_with_digests_a_name_does_not_matter(old: Path, new: Path) -> None:
    (new / "data/moved.dat").rename(new / "data/renamed.bin")
    mine, theirs = Tree(str(new), digests(new)), Tree(str(old), digests(old), since=2e9 * 2)
    assert share(mine, [theirs], HARDLINK) is not None
    assert inode(new / "data/renamed.bin") == inode(old / "share/moved.dat")


def test_what_was_edited_since_it_was_installed_is_not_taken(old: Path, new: Path) -> None:
    """The digest of its install says what it was, and its time that this is past."""
    theirs = Tree(str(old), digests(old), since=(old / "lib/same.so").stat().st_mtime)
    with (old / "lib/same.so").open("r+b") as file:
        file.write(b"EDITED")
    os.utime(old / "lib/same.so", (theirs.since + 10, theirs.since + 10))
    done = share(Tree(str(new), digests(new)), [theirs], HARDLINK)
    assert done is not None
    assert (new / "lib/same.so").read_bytes() == b"s" * BIG
    assert inode(new / "lib/same.so") != inode(old / "lib/same.so")


def test_only_files_are_looked_at(old: Path, new: Path) -> None:
    (new / "lib/same.so").unlink()
    (new / "lib/same.so").symlink_to("other.so")
    (old / "lib/gone").symlink_to("/nowhere")
    os.mkfifo(old / "lib/pipe")
    share(Tree(str(new)), [Tree(str(old)), Tree("/nowhere/at/all")], HARDLINK)
    assert (new / "lib/same.so").is_symlink()
