"""Fetching and unpacking packages, against `curl` and `dpkg-deb -x` one after the other.

The packages are the xz-compressed ones that the distribution's `hipcc` needs, from the
cache of the tests on real ROCm (`tests/run` or `tests/demo` fills it).
"""

from __future__ import annotations

import hashlib
import shutil
import statistics
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from rocmenv.fetch.archive import Tree
from rocmenv.fetch.pipeline import Job, download_and_unpack
from rocmenv.fetch.transfer import Downloads
from rocmenv.model.release import Artifact
from tests.real.amdrepo import default_cache
from tests.real.world import served


def run(folder: Path, *, quick: bool) -> Iterator[str]:
    """Lines of the report. Goal: >= 2 x as fast on two cores."""
    debs = sorted((default_cache() / "apt/bookworm/debs").glob("*.deb"))
    if not debs or not shutil.which("dpkg-deb") or not shutil.which("curl"):
        yield "needs packages in the tests' cache, curl and dpkg-deb: left out"
        return
    debs = debs[:8] if quick else debs
    size = sum(deb.stat().st_size for deb in debs)
    yield f"{len(debs)} packages, {size / 1e6:.0f} MB"
    with served(debs[0].parent) as url:
        artifacts = [_artifact(url, deb) for deb in debs]
        ours, theirs = [], []
        for number in range(1 if quick else 3):
            ours.append(_ours(artifacts, folder / f"ours-{number}"))
            theirs.append(_theirs(artifacts, folder / f"theirs-{number}"))
    yield f"rocmenv, 2 workers      {statistics.median(ours):5.1f} s (every size and hash checked)"
    yield f"curl, then dpkg-deb -x  {statistics.median(theirs):5.1f} s (nothing checked)"
    ratios = [b / a for a, b in zip(ours, theirs, strict=True)]
    yield f"ratio {statistics.median(ratios):.2f} (rounds: {', '.join(f'{r:.2f}' for r in ratios)})"


def _artifact(url: str, deb: Path) -> Artifact:
    digest = hashlib.sha256(deb.read_bytes()).hexdigest()
    return Artifact(f"{url}/{quote(deb.name)}", deb.name, deb.stat().st_size, digest)


def _ours(artifacts: list[Artifact], folder: Path) -> float:
    start = time.perf_counter()
    tree = Tree(folder / "tree")
    jobs = [Job(artifact, artifact.name, str) for artifact in artifacts]
    download_and_unpack(jobs, Downloads(folder / "cache"), tree, workers=2)
    tree.settle()
    return time.perf_counter() - start


def _theirs(artifacts: list[Artifact], folder: Path) -> float:
    (folder / "debs").mkdir(parents=True)
    start = time.perf_counter()
    for artifact in artifacts:
        target = folder / "debs" / artifact.name
        subprocess.run(["curl", "-sSfo", target, artifact.url], check=True)
    for artifact in artifacts:
        deb = folder / "debs" / artifact.name
        subprocess.run(["dpkg-deb", "-x", deb, folder / "tree"], check=True)
    return time.perf_counter() - start
