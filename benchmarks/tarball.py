"""One large tarball, downloaded and unpacked: at once, and one step after the other.

The tree is that of the distribution's packages in the cache of the tests on real ROCm
(`tests/run` fills it with four releases), so its files are real ones.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.real.amdrepo import default_cache

_OURS = """
import os, sys, time
from pathlib import Path
from rocmenv.fetch.archive import Tree
from rocmenv.fetch.streaming import download_and_unpack_tar
from rocmenv.fetch.transfer import Downloads
from rocmenv.model.release import Artifact
url, folder = sys.argv[1], Path(sys.argv[2])
start = time.perf_counter()
tree = Tree(folder / "tree")
download_and_unpack_tar(Artifact(url, "b.tar.gz"), Downloads(folder / "cache"), tree, owner="b")
settled = tree.settle()
wall = time.perf_counter() - start
times = os.times()
peak = Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]
print(wall, times.user + times.system, int(peak) / 1024, settled.size, settled.files)
"""
_BARE = """
import os, sys, time
from rocmenv.fetch.decode import Stream
start = time.perf_counter()
with open(sys.argv[1], "rb") as file:
    stream = Stream(file, "b")
    while stream.read_some(1 << 20):
        pass
times = os.times()
print(time.perf_counter() - start, times.user + times.system)
"""


def run(folder: Path, *, quick: bool) -> Iterator[str]:
    """Lines of the report. Goals: 2.5 x the serial way, 0.85 of the decoder alone, 150 MiB."""
    debs = sorted((default_cache() / "apt").glob("*/debs/*.deb"))
    if not debs or not all(map(shutil.which, ("dpkg-deb", "curl", "tar", "gzip"))):
        yield "needs packages in the tests' cache, dpkg-deb, curl, tar and gzip: left out"
        return
    _make(folder, debs[:12] if quick else debs)
    ways: dict[str, list[tuple[float, float]]] = {"ours": [], "serial": [], "bare": []}
    peak, size, count = 0.0, 0.0, 0.0
    with _serving(folder / "served") as url:
        for number in range(1 if quick else 3):
            place = folder / str(number)
            words = (f"{url}/b.tar.gz", str(place / "ours"))
            taken, (peak_now, size, count) = _measured(_OURS, *words)
            peak = max(peak, peak_now)
            ways["ours"].append(taken)
            ways["serial"].append(_serial(url, place / "serial"))
            ways["bare"].append(_measured(_BARE, str(folder / "served/b.tar.gz"))[0])
            shutil.rmtree(place)
    packed = (folder / "served/b.tar.gz").stat().st_size
    yield f"{packed / 1e6:.0f} MB of gzip, {size / 1e6:.0f} MB in {count:.0f} files"
    yield f"rocmenv: download, hashes, files     {_told(ways['ours'], size)}"
    yield f"curl, then sha256sum, then tar -xzf  {_told(ways['serial'], size)}"
    yield f"the decoder alone, from the disk     {_told(ways['bare'], size)}"
    yield f"{_ratio(ways['serial'], ways['ours'])} x the serial way (goal: 2.5)"
    yield f"{_ratio(ways['bare'], ways['ours'])} of the decoder alone (goal: 0.85)"
    yield f"peak memory {peak:.0f} MiB (goal: 150)"


def _make(folder: Path, debs: list[Path]) -> None:
    tree = folder / "rocm-6.3.0"
    tree.mkdir()
    for deb in debs:
        subprocess.run(["dpkg-deb", "-x", deb, tree / deb.parent.parent.name], check=True)
    (folder / "served").mkdir()
    command = 'tar -C "$1" -cf - rocm-6.3.0 | gzip -6 >"$1/served/b.tar.gz"'
    subprocess.run(["sh", "-c", command, "sh", str(folder)], check=True)
    shutil.rmtree(tree)


@contextmanager
def _serving(folder: Path) -> Iterator[str]:
    """A server in a process of its own, which does not wait for our threads."""
    command = [sys.executable, "-u", "-m", "http.server", "-b", "127.0.0.1", "0"]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        if server.stdout is None:  # a pipe was asked for
            raise AssertionError
        port = server.stdout.readline().split("port ")[1].split()[0]
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


def _measured(program: str, *words: str) -> tuple[tuple[float, float], list[float]]:
    """The time that a program says it took, its processor time, and what else it says."""
    environ = {**os.environ, "no_proxy": "*", "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-c", program, *words]
    done = subprocess.run(command, env=environ, stdout=subprocess.PIPE, check=True)
    wall, cpu, *rest = map(float, done.stdout.split())
    return (wall, cpu), rest


def _serial(url: str, folder: Path) -> tuple[float, float]:
    archive, tree = str(folder / "b.tar.gz"), str(folder / "tree")
    (folder / "tree").mkdir(parents=True)
    start, before = time.perf_counter(), os.times()
    for command in (
        ["curl", "--noproxy", "*", "-sSfo", archive, f"{url}/b.tar.gz"],
        ["sha256sum", archive],
        ["tar", "-C", tree, "-xzf", archive],
    ):
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    cpu = after.children_user + after.children_system
    return time.perf_counter() - start, cpu - before.children_user - before.children_system


def _told(times: list[tuple[float, float]], size: float) -> str:
    wall, cpu = _best(times)
    return f"{wall:6.2f} s  {size / 1e6 / wall:5.0f} MB/s  processor {cpu:5.2f} s"


def _ratio(upper: list[tuple[float, float]], lower: list[tuple[float, float]]) -> str:
    """Of the best times: what else a machine does only adds. In brackets, of processor time."""
    wall, cpu = (a / b for a, b in zip(_best(upper), _best(lower), strict=True))
    return f"{wall:.2f} [{cpu:.2f}]"


def _best(times: list[tuple[float, float]]) -> tuple[float, float]:
    return min(wall for wall, _ in times), min(cpu for _, cpu in times)
