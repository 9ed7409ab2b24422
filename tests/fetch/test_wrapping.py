"""The folder around an archive, and what is not wanted of it: one result in any order."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmenv.errors import ArchiveError
from rocmenv.fetch import archive
from rocmenv.fetch.archive import Settled, Tree
from tests.fetch.test_archive import add, deb, folder, hard, link, listing, member, tar, unpack

if TYPE_CHECKING:
    from pyfakefs.fake_filesystem import FakeFilesystem

Member = tuple[tarfile.TarInfo, bytes]
# Names that leave no doubt, that leave some, and that seem to be what they are not.
PATHS = ("bin/a", "lib/b", "lib/c/d", "doc/e", "readme", "rocm-6.3.0/f", "rocm-6.3.0/bin/g")
TOPS = {"bin", "lib"}


def oracle(names: list[str]) -> str:
    """The wrapping folder by its definition, from all names at once."""
    tops = {name.split("/")[0] for name in names}
    if len(tops) != 1 or tops & TOPS or any("/" not in name for name in names):
        return ""
    second = {name.split("/")[1] for name in names}
    return tops.pop() if second & TOPS else ""


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(PATHS), min_size=1, max_size=6, unique=True),
    st.sampled_from(["", "", "rocm-6.3.0/", "./", "x/y/"]),
    st.booleans(),
)
def test_the_order_of_members_does_not_matter(
    tmp_path_factory: pytest.TempPathFactory,
    paths: list[str],
    around: str,
    prunes: bool,  # noqa: FBT001 - hypothesis passes by position
) -> None:
    names = [f"{around}{path}" for path in paths]
    clean = [name.removeprefix("./") for name in names]
    top = oracle(clean)
    wanted = {name.removeprefix(f"{top}/") if top else name for name in clean}
    left = {name for name in wanted if name.endswith(("a", "g"))} if prunes else set()
    for order in (names, names[::-1]):
        root = tmp_path_factory.mktemp("w")
        (root / "x.tar").write_bytes(tar(*(member(name, name.encode()) for name in order)))
        tree = Tree(root / "t")
        keep = (lambda path: path not in left) if prunes else None
        tree.add_tar(root / "x.tar", owner="x", keep=keep)
        settled = tree.settle()
        files = {
            p.relative_to(root / "t").as_posix() for p in (root / "t").rglob("*") if p.is_file()
        }
        assert files == wanted - left
        assert {one.member for one in settled.pruned} == left


def test_archives_share_folders_whichever_comes_first(tmp_path: Path) -> None:
    one = tar(member("r/bin/a", b"a"), member("r/lib/x/b", b"b"), folder("r/share"), folder("r"))
    other = tar(member("bin/c", b"c"), member("lib/x/y/d", b"d"), member("share", b"s"))
    third = tar(member("lib/x/b", b"b"), link("lib/x/l", "../../bin/a"))
    for order in ([one, third], [third, one]):
        root = tmp_path / str(len(os.listdir(tmp_path)))
        unpack(root, *order)
        assert listing(root)["lib/x/l"] == "> ../../bin/a"
        assert {p for p, v in listing(root).items() if v in "ab"} == {"bin/a", "lib/x/b"}
    for number, order in enumerate(([one, other], [other, one])):
        with pytest.raises(ArchiveError, match="`share` is a f"):
            unpack(tmp_path / f"clash-{number}", *order)


def test_the_folders_times_come_along(tmp_path: Path) -> None:
    made = member("r/bin", type=tarfile.DIRTYPE, mode=0o755, mtime=1_500_000_000)
    unpack(tmp_path / "t", tar(made, member("r/bin/a", b"a")))
    assert (tmp_path / "t/bin").stat().st_mtime == 1_500_000_000


def test_nothing_is_left_of_what_was_apart(tmp_path: Path) -> None:
    unpack(tmp_path / "t", tar(member("r/bin/a", b"a"), hard("r/bin/b", "r/bin/a")))
    assert listing(tmp_path / "t") == {"bin": "/", "bin/a": "a", "bin/b": "a"}
    with pytest.raises(ArchiveError):
        unpack(tmp_path / "u", tar(member("r/bin/a", b"a"), member("../x", b"a")))
    assert [p for p in (tmp_path / "u").rglob("*") if p.is_file()] == []


# What is not wanted.


def pruned(root: Path, data: bytes, keep: Callable[[str], bool], *, is_deb: bool) -> Settled:
    root.mkdir()
    path = root / "x"
    path.write_bytes(deb(data) if is_deb else data)
    tree = Tree(root / "t")
    if is_deb:
        tree.add_deb(path, owner="x", mapping=lambda m: m.removeprefix("r/"), keep=keep)
    else:
        tree.add_tar(path, owner="x", keep=keep)
    return tree.settle()


@pytest.mark.parametrize("is_deb", [False, True])
def test_what_is_not_kept_is_counted_and_nothing_of_it_written(
    tmp_path: Path, *, is_deb: bool
) -> None:
    data = tar(
        member("r/lib/k/gfx90a.co", b"x" * 3000),
        member("r/lib/k/gfx1100.co", b"y" * 2000),
        link("r/lib/k/l-gfx90a.co", "gfx90a.co"),
        hard("r/lib/k/h-gfx90a.co", "r/lib/k/gfx90a.co"),
        member("r/bin/a", b"a"),
    )
    settled = pruned(tmp_path / "x", data, lambda path: "gfx90a" not in path, is_deb=is_deb)
    assert settled.paths == ("bin/a", "lib/k/gfx1100.co")
    assert (settled.files, settled.size) == (2, 2001)
    found = {one.member.removeprefix("r/"): one.size for one in settled.pruned}
    assert found == {"lib/k/gfx90a.co": 3000, "lib/k/l-gfx90a.co": 0, "lib/k/h-gfx90a.co": 0}
    assert settled.left_out == ()


@pytest.mark.parametrize("is_deb", [False, True])
def test_a_hard_link_to_what_is_not_kept_has_its_content(tmp_path: Path, *, is_deb: bool) -> None:
    data = tar(member("r/bin/no", b"content", mode=0o755), hard("r/bin/yes", "r/bin/no"))
    settled = pruned(tmp_path / "x", data, lambda path: path != "bin/no", is_deb=is_deb)
    assert listing(tmp_path / "x/t") == {"bin": "/", "bin/yes": "content"}
    assert os.access(tmp_path / "x/t/bin/yes", os.X_OK)
    assert settled.inventory.files["bin/yes"].owner == "x"


def test_paths_are_those_of_the_tree_also_where_the_start_of_an_archive_misleads(
    tmp_path: Path,
) -> None:
    asked: list[str] = []

    def keep(path: str) -> bool:
        asked.append(path)
        return path != "x/bin/a"

    data = tar(member("x/bin/a", b"a"), member("x/bin/b", b"b"), member("y", b"y"))
    settled = pruned(tmp_path / "f", data, keep, is_deb=False)
    assert settled.paths == ("x/bin/b", "y")
    assert asked == ["bin/a", "bin/b", "x/bin/a", "x/bin/b", "y"]


# Names that differ only in case.


CASES = [
    tar(member("bin/Tool", b"1"), member("bin/tool", b"2")),
    tar(member("LIB/a", b"1"), member("lib/b", b"2")),
    tar(member("bin/a", b"1"), link("bin/A", "a")),
    tar(member("bin/ß", b"1"), member("bin/SS", b"1")),
    tar(member("bin/é", b"1"), member("bin/E\u0301", b"1")),
]


@pytest.mark.parametrize("data", CASES)
@pytest.mark.parametrize("mapping", [None, str])
def test_both_are_there_where_the_disk_tells_them_apart(
    tmp_path: Path, data: bytes, mapping: Callable[[str], str] | None
) -> None:
    settled = unpack(tmp_path / "t", data, mapping=mapping)
    assert len(settled.paths) == 2


@pytest.mark.parametrize("data", CASES)
@pytest.mark.parametrize("mapping", [None, str])
def test_one_is_refused_by_name_where_it_does_not(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    data: bytes,
    mapping: Callable[[str], str] | None,
) -> None:
    monkeypatch.setattr(archive, "_ignores_case", lambda _: True)
    with pytest.raises(ArchiveError, match="differ only in case") as caught:
        unpack(tmp_path / "t", data, mapping=mapping)
    assert caught.value.hint


def test_two_archives_can_have_one_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "_ignores_case", lambda _: True)
    tree = Tree(tmp_path / "t")
    add(tree, tar(member("bin/Tool", b"1")), "a")
    with pytest.raises(ArchiveError, match="`bin/Tool` and `bin/tool` differ only in case"):
        add(tree, tar(member("bin/tool", b"2")), "b")


def test_the_same_name_twice_is_no_such_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "_ignores_case", lambda _: True)
    data = tar(folder("bin"), member("bin/a", b"1"), folder("bin"), member("bin/a", b"2"))
    unpack(tmp_path / "t", data, data)
    assert listing(tmp_path / "t") == {"bin": "/", "bin/a": "2"}


@pytest.mark.parametrize("is_sensitive", [True, False])
def test_what_a_disk_does_is_looked_up(fs: FakeFilesystem, *, is_sensitive: bool) -> None:
    fs.is_case_sensitive = is_sensitive
    fs.create_dir("/t")
    assert archive._ignores_case(Path("/t/.name-0")) is not is_sensitive  # noqa: SLF001 - what is tested
    assert not os.listdir("/t")
