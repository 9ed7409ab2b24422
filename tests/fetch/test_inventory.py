"""From an unpacked tree to its manifest: what is hashed once, and what is read again."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from rocmenv.fetch import inventory
from rocmenv.fetch.archive import Settled, Tree
from rocmenv.fetch.copy import copy_tree
from rocmenv.model.manifest import FILE, FOLDER, LINK, Entry
from tests.builders import put
from tests.fetch.test_archive import add, folder, hard, link, member, tar
from tests.tools import tool


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of files that are read for their digest after they were written."""
    seen: list[str] = []
    plain = inventory.sha256_hex

    def watched(path: str, cancel: object = None) -> str:
        seen.append(os.path.basename(path))
        return plain(path)

    monkeypatch.setattr(inventory, "sha256_hex", watched)
    return seen


def settled(root: Path) -> Settled:
    tree = Tree(root)
    add(tree, tar(member("bin/a", b"one", mode=0o755), link("bin/l", "a")), "first", str)
    add(tree, tar(member("bin/a", b"one"), member("lib/b", b"two"), folder("etc")), "p", str)
    add(tree, tar(member("c", b"three"), hard("h", "c")), "another", str)
    return tree.settle()


def test_every_path_is_there_once_with_its_owner_and_hash(tmp_path: Path, read: list[str]) -> None:
    entries = settled(tmp_path / "t").inventory.entries(str(tmp_path / "t"))
    assert entries == [
        Entry("bin", FOLDER, 0o755),
        Entry("bin/a", FILE, 0o755, 3, sha(b"one"), owner="first"),
        Entry("bin/l", LINK, target="a", owner="first"),
        Entry("c", FILE, 0o644, 5, sha(b"three"), owner="another"),
        Entry("etc", FOLDER, 0o755),
        Entry("h", FILE, 0o644, 5, sha(b"three"), owner="another"),
        Entry("lib", FOLDER, 0o755),
        Entry("lib/b", FILE, 0o644, 3, sha(b"two"), owner="p"),
    ]
    assert read == []


def test_of_two_packages_with_one_file_the_first_by_name_owns_it(tmp_path: Path) -> None:
    content = tar(member("a", b"x"))
    owners = set()
    for order in (("b", "a"), ("a", "b")):
        tree = Tree(tmp_path / order[0])
        for name in order:
            add(tree, content, name, str)
        owners.add(tree.settle().inventory.files["a"].owner)
    assert owners == {"a"}


def test_only_what_was_touched_is_read_again(tmp_path: Path, read: list[str]) -> None:
    root = tmp_path / "t"
    known = settled(root).inventory
    other = root / "lib/b"
    times = other.stat()
    # A new file of the same size and time, as recipes write them.
    (root / "lib/new").write_bytes(b"2wo")
    os.utime(root / "lib/new", ns=(times.st_atime_ns, times.st_mtime_ns))
    (root / "lib/new").replace(other)
    (root / "made").write_bytes(b"made")
    found = {entry.path: entry for entry in known.entries(str(root))}
    assert sorted(read) == ["b", "made"]
    assert found["lib/b"] == Entry("lib/b", FILE, 0o644, 3, sha(b"2wo"), owner="p")
    assert found["made"].owner == ""
    assert found["made"].sha256 == sha(b"made")


def test_an_edit_in_place_is_seen(tmp_path: Path, read: list[str]) -> None:
    root = tmp_path / "t"
    known = settled(root).inventory
    status = (root / "c").stat()
    (root / "c").write_bytes(b"THREE")
    os.utime(root / "c", ns=(status.st_atime_ns, status.st_mtime_ns))
    found = {entry.path: entry.sha256 for entry in known.entries(str(root))}
    assert found["c"] == found["h"] == sha(b"THREE")
    assert sorted(read) == ["c", "h"]


def test_names_at_the_top_can_be_skipped_there_alone(tmp_path: Path) -> None:
    put(tmp_path, "x/a", "1")
    put(tmp_path, "y/x/b", "2")
    entries = inventory.Inventory().entries(str(tmp_path), skip=("x",))
    assert [entry.path for entry in entries] == ["y", "y/x", "y/x/b"]


def test_sparse_content_has_the_hash_of_the_whole(tmp_path: Path) -> None:
    with (tmp_path / "s").open("wb") as file:
        file.seek(1 << 20)
        file.write(b"end")
    command = [tool("tar"), "-S", "-cf", str(tmp_path / "x.tar"), "-C", str(tmp_path), "s"]
    subprocess.run(command, check=True)
    tree = Tree(tmp_path / "t")
    tree.add_tar(tmp_path / "x.tar", owner="x")
    assert tree.settle().inventory.files["s"].sha256 == sha((tmp_path / "s").read_bytes())


def test_a_copied_folder_is_hashed_and_loses_special_bits(tmp_path: Path, read: list[str]) -> None:
    put(tmp_path / "from", "bin/tool", "x", 0o4755)
    (tmp_path / "from/bin").chmod(0o3755)
    (tmp_path / "to").mkdir()
    copied = copy_tree(str(tmp_path / "from"), tmp_path / "to")
    entries = copied.inventory.entries(str(tmp_path / "to"))
    assert entries == [
        Entry("bin", FOLDER, 0o755),
        Entry("bin/tool", FILE, 0o755, 1, sha(b"x")),
    ]
    assert (tmp_path / "to/bin").stat().st_mode & 0o7000 == 0
    assert read == []
