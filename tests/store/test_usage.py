"""What trees take on the disk, held against `du` and against what `df` would give back."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmenv.store.usage import Meter
from tests.builders import put
from tests.store.nobody import IS_ROOT
from tests.tools import tool


def blocks(*paths: Path) -> int:
    """What coreutils' du says of several folders together, in bytes on the disk."""
    done = subprocess.run(
        [tool("du"), "-sc", "--block-size=1", *paths], capture_output=True, text=True, check=True
    )
    return int(done.stdout.splitlines()[-1].split()[0])


def test_sizes_are_those_of_du(tmp_path: Path) -> None:
    for number in range(40):
        put(tmp_path / "a", f"lib/{number % 7}/{number}", os.urandom(number * 777))
    (tmp_path / "a/lib/link").symlink_to("0")
    usage = Meter().measure(str(tmp_path / "a"))
    assert usage.files == 40
    assert usage.logical == sum(n * 777 for n in range(40))
    assert usage.physical == usage.frees == blocks(tmp_path / "a")
    assert usage.shared == 0


def test_a_file_with_two_names_in_one_tree_is_its_own(tmp_path: Path) -> None:
    put(tmp_path / "a", "x", b"x" * 50_000)
    os.link(tmp_path / "a/x", tmp_path / "a/y")
    usage = Meter().measure(str(tmp_path / "a"))
    assert (usage.files, usage.logical) == (2, 100_000)
    assert usage.physical == usage.frees == blocks(tmp_path / "a")


def test_what_two_trees_share_is_freed_by_neither(tmp_path: Path) -> None:
    for tree in ("a", "b"):
        put(tmp_path / tree, "own", b"x" * 50_000)
    big = put(tmp_path / "a", "big", b"y" * 500_000)
    os.link(big, tmp_path / "b/big")
    meter = Meter()
    first, second = (meter.measure(str(tmp_path / tree)) for tree in ("a", "b"))
    assert meter.total == blocks(tmp_path / "a", tmp_path / "b")
    assert first.shared == second.shared == big.stat().st_blocks * 512
    (tmp_path / "b/big").unlink()
    assert Meter().measure(str(tmp_path / "a")).shared == 0


NAMES = st.integers(0, 5)
LINKS = st.lists(st.tuples(NAMES, NAMES, st.integers(1, 60_000)), max_size=12)


@settings(max_examples=25, deadline=None)
@given(links=LINKS)
def test_what_is_freed_is_what_the_others_do_not_have(
    tmp_path_factory: pytest.TempPathFactory, links: list[tuple[int, int, int]]
) -> None:
    """Whatever is linked with whatever: the total less what a tree frees is the rest."""
    folder = tmp_path_factory.mktemp("trees")
    trees = [folder / str(number) for number in range(3)]
    for number, (one, other, size) in enumerate(links):
        first = put(trees[one % 3], f"{number}-{one}", os.urandom(size))
        for tree in {trees[other % 3], trees[(one + other) % 3]}:
            tree.mkdir(exist_ok=True)
            os.link(first, tree / f"{number}-{other}-more")
    there = [tree for tree in trees if tree.exists()]
    for gone in there:
        meter = Meter()
        usages = {tree: meter.measure(str(tree)) for tree in there}
        rest = [tree for tree in there if tree != gone]
        assert meter.total == (blocks(*there) if there else 0)
        assert meter.total - usages[gone].frees == (blocks(*rest) if rest else 0)
    shutil.rmtree(folder)


def test_what_vanishes_is_not_counted_and_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "a", "there", b"x")
    put(tmp_path / "a/folder", "in", b"x")
    scandir = os.scandir

    def late(path: str) -> object:
        if str(path).endswith("/folder"):
            os.unlink(f"{path}/in")
            os.rmdir(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", late)
    usage = Meter().measure(str(tmp_path / "a"))
    assert (usage.files, usage.unread) == (1, 0)
    assert Meter().measure(str(tmp_path / "nowhere")).physical == 0


@pytest.mark.skipif(IS_ROOT, reason="root may look everywhere")
def test_what_may_not_be_read_is_told(tmp_path: Path) -> None:
    put(tmp_path / "a/private", "x", b"x")
    (tmp_path / "a/private").chmod(0)
    try:
        assert Meter().measure(str(tmp_path / "a")).unread == 1
    finally:
        (tmp_path / "a/private").chmod(0o755)
