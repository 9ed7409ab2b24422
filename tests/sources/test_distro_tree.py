"""A distribution's files, made to fit a prefix."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rocmenv.sources.distro_tree import finish

if TYPE_CHECKING:
    from pathlib import Path


def put(tree: Path, name: str, content: str | bytes, mode: int = 0o644) -> Path:
    path = tree / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(mode)
    return path


def test_mode_and_time_stay_and_a_twin_is_unharmed(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    path = put(tree, "lib/pkgconfig/a.pc", "prefix=/usr\n", 0o640)
    put(tree, "lib/pkgconfig/a.pc.mended", "of a package")
    os.utime(path, ns=(1_600_000_000_000_000_007, 1_600_000_000_000_000_009))
    twin = tmp_path / "twin"
    twin.hardlink_to(path)
    finish(tree, "/p", "5.2.3", ["lib/pkgconfig/a.pc"])
    assert path.read_text() == "prefix=${pcfiledir}/../..\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert path.stat().st_mtime_ns == 1_600_000_000_000_000_009
    assert twin.read_text() == "prefix=/usr\n"
    assert sorted(os.listdir(path.parent)) == ["a.pc", "a.pc.mended"]
    assert (path.parent / "a.pc.mended").read_text() == "of a package"
