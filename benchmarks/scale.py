"""Large numbers: an index of 50,000 packages, and a root with 100 versions.

The index is made of the machine's own package lists, repeated under other names until it is
large enough; apt reads the same one through folders of its own.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.fixtures import launcher
from benchmarks.timing import interleaved, spawn
from tests.builders import clean_environ, root_with

PACKAGES = 50_000
VERSIONS = 100
# Reads the index and finds what one package needs, as an install does.
_OURS = """
import sys
from rocmenv.sources.apt.closure import close
from rocmenv.sources.apt.index import Index
index = Index(open(sys.argv[1], "rb").read())
close([sys.argv[2]], index, architecture="amd64", on_host=lambda relation: None)
"""
# A process of its own: a child's peak begins with the memory of who started it.
_MEASURE = """
import os, sys, time
start = time.perf_counter()
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(pid, 0)
print()
print(time.perf_counter() - start, used.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def run(folder: Path, *, quick: bool) -> Iterator[str]:
    """Lines of the report. Goals: an index no slower than apt reads it, 150 MiB at most."""
    yield from _index(folder, rounds=1 if quick else 5)
    yield from _versions(folder, rounds=2 if quick else 20)


def _index(folder: Path, rounds: int) -> Iterator[str]:
    stanzas = _stanzas()
    if not stanzas:
        yield "index: needs apt and its package lists: left out"
        return
    lists = folder / "lists"
    (lists / "partial").mkdir(parents=True)
    index = lists / "mirror_dists_stable_main_binary-amd64_Packages"
    index.write_text("\n\n".join(stanzas) + "\n", encoding="utf-8")
    (folder / "status").touch()
    (folder / "sources.list").write_text("deb [trusted=yes] http://mirror stable main\n")
    root = next(
        n for n in ("hipcc", "g++", "dpkg") if any(s.startswith(f"Package: {n}\n") for s in stanzas)
    )
    apt = [
        *("apt-cache", "-o", f"Dir::State::lists={lists}", "-o", f"Dir::Cache={folder}/cache"),
        *("-o", f"Dir::Etc::sourcelist={folder}/sources.list", "-o", "Dir::Etc::sourceparts=-"),
        *("-o", f"Dir::State::status={folder}/status", "-o", "APT::Architecture=amd64"),
        *("--recurse", "--important", "depends", root),
    ]
    ours = [sys.executable, "-c", _OURS, str(index), root]
    times: dict[str, list[float]] = {"ours": [], "apt": []}
    peaks: dict[str, int] = {}
    for _ in range(rounds):
        for name, command in (("ours", ours), ("apt", apt)):
            (folder / "cache/archives/partial").mkdir(parents=True, exist_ok=True)
            taken, peaks[name] = _measured(command)
            times[name].append(taken)
            shutil.rmtree(folder / "cache")
    size = index.stat().st_size / 1e6
    yield f"index of {len(stanzas)} packages, {size:.0f} MB, and the closure of {root}"
    own, other = (statistics.median(times[name]) for name in ("ours", "apt"))
    yield f"  time x apt-cache {own / other:.2f} (ours {own:.2f} s)"
    yield f"  peak ours {peaks['ours'] / 1024:.0f} MiB, apt {peaks['apt'] / 1024:.0f} MiB"


def _stanzas() -> list[str]:
    if not shutil.which("apt-cache"):
        return []
    told = subprocess.run(["apt-cache", "dumpavail"], check=False, capture_output=True).stdout
    found = [s for s in told.decode("utf-8", "replace").split("\n\n") if "\nFilename: " in s]
    if not found:
        return []
    copies = list(found)
    number = 0
    while len(copies) < PACKAGES:
        number += 1
        copies += [re.sub(r"\APackage: (\S+)", rf"Package: \1-{number}", s) for s in found]
    return copies[:PACKAGES]


def _measured(command: Sequence[str]) -> tuple[float, int]:
    """Seconds, and the peak of resident memory in KiB."""
    told = subprocess.run(
        [sys.executable, "-c", _MEASURE, *command], check=True, capture_output=True, text=True
    ).stdout.split()
    return float(told[-2]), int(told[-1])


def _versions(folder: Path, rounds: int) -> Iterator[str]:
    tools = [f"tool{number}" for number in range(150)]
    ways = {}
    program = launcher()
    for count in (1, VERSIONS):
        versions = [f"6.{n // 10}.{n % 10}" for n in range(count)]
        root = root_with(folder / str(count), *versions, tools=tools)
        environ = clean_environ(root)
        for command in ("version", "versions", "rehash"):
            ways[f"{command} {count}"] = spawn([*program, command], environ)
    medians = interleaved(ways, rounds)
    for command in ("version", "versions", "rehash"):
        one, many = medians[f"{command} 1"], medians[f"{command} {VERSIONS}"]
        times = f"{many * 1000:6.1f} ms, x one version {many / one:.2f}"
        yield f"rocmenv {command:<9} {VERSIONS} versions {times}"
