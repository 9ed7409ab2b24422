"""Sharing on file systems that have reflinks: images of btrfs and xfs, where root may mount."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rocmenv.store.share import AUTO, REFLINK, Tree, share
from rocmenv.store.usage import Meter, shared_extents
from tests.builders import put
from tests.store.nobody import IS_ROOT
from tests.tools import tool

BIG = 1 << 20
MAKERS = {"btrfs": ["mkfs.btrfs", "-q"], "xfs": ["mkfs.xfs", "-q", "-m", "reflink=1"]}


@pytest.fixture(params=MAKERS)
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    if not IS_ROOT:
        pytest.skip("only root may mount an image")
    command = MAKERS[request.param]
    image, place = tmp_path / "image", tmp_path / "disk"
    with image.open("wb") as file:
        file.truncate(400 << 20)
    place.mkdir()
    subprocess.run([tool(command[0]), *command[1:], image], check=True, capture_output=True)
    mount = [tool("mount"), "-o", "loop", str(image), str(place)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip(f"the kernel mounts no {request.param} here")
    yield place
    subprocess.run([tool("umount"), place], check=True)


def free(place: Path) -> int:
    os.sync()
    found = os.statvfs(place)
    return found.f_bavail * found.f_frsize


def soon(happened: Callable[[], bool]) -> bool:
    """Whether it is so within seconds: xfs frees the blocks of a deleted file by and by."""
    for _ in range(100):
        if happened():
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize("way", [AUTO, REFLINK])
def test_a_copy_has_its_blocks_in_common_until_it_is_written(disk: Path, way: str) -> None:
    content = os.urandom(40 * BIG)
    one = put(disk / "old", "lib/same.so", content, 0o644)
    before = free(disk)
    two = put(disk / "new", "lib/same.so", content, 0o755)
    done = share(Tree(str(disk / "new")), [Tree(str(disk / "old"))], way)
    assert done is not None
    assert (done.method, done.files, done.size) == (REFLINK, 1, len(content))
    assert soon(lambda: before - free(disk) < 10 * BIG), "next to nothing was written"
    assert (one.stat().st_mode & 0o777, two.stat().st_mode & 0o777) == (0o644, 0o755)
    assert one.stat().st_ino != two.stat().st_ino
    assert sum(length for _, length in shared_extents(str(two))) >= len(content)

    meter = Meter(clones=True)
    usages = [meter.measure(str(disk / name)) for name in ("old", "new")]
    for usage in usages:
        assert usage.physical >= len(content)
        assert usage.frees < BIG
    assert len(content) <= meter.total < len(content) + 2 * BIG

    with two.open("r+b") as file:
        file.write(b"EDITED")
    assert one.read_bytes() == content
