"""Start-up of the program."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.fixtures import launcher, project
from benchmarks.timing import interleaved, spawn


def run(folder: Path, *, quick: bool) -> Iterator[str]:
    """Lines of the report. Goal: `rocmenv version` <= 4 x `python -c pass`."""
    _, inner, environ = project(folder, "6.3.0")
    os.chdir(inner)
    program = launcher()
    ways = {
        "python -c pass": spawn([sys.executable, "-c", "pass"], environ),
        "rocmenv version": spawn([*program, "version"], environ),
        "rocmenv exec true": spawn([*program, "exec", "true"], environ),
        "rocmenv init bash": spawn([*program, "init", "bash"], environ),
        "rocmenv versions": spawn([*program, "versions"], environ),
    }
    medians = interleaved(ways, 5 if quick else 60)
    base = medians["python -c pass"]
    for name, seconds in medians.items():
        yield f"{name:<18} {seconds * 1000:6.1f} ms   x python -c pass {seconds / base:5.2f}"
