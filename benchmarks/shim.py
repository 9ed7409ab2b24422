"""Starting a program through its shim, against starting it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from benchmarks.fixtures import project, pyenv_shim
from benchmarks.timing import interleaved, spawn
from rocmenv.ops.activate import launch
from rocmenv.ops.current import asked
from tests.builders import process


def run(folder: Path, *, quick: bool) -> Iterator[str]:
    """Lines of the report. Goals: overhead <= 1.3 x `sh -c :`, and >= 40 x less than pyenv's."""
    root, inner, environ = project(folder, "6.3.0")
    os.chdir(inner)
    program = str(root.versions / "6.3.0/bin/hipcc")
    # The same program, started as an activated shell starts it: in the environment that the
    # shim gives it, in which the loader has one more folder to look into.
    active = launch(
        process(root.path, environ, inner), root, asked("6.3.0"), "hipcc", shim=False
    ).environ
    ways = {
        "direct": spawn([program], active),
        "bare": spawn([program], environ),
        "sh -c :": spawn(["/bin/sh", "-c", ":"], environ),
        "shim": spawn([str(root.shims / "hipcc")], environ),
    }
    medians = interleaved(ways, 20 if quick else 400)
    for name, seconds in medians.items():
        yield f"{name:<8} {seconds * 1000:6.2f} ms   x direct {seconds / medians['direct']:5.2f}"
    cost = medians["sh -c :"]
    over, bare = (medians["shim"] - medians[name] for name in ("direct", "bare"))
    yield f"overhead of the shim / cost of `sh -c :` = {over / cost:.2f}"
    yield f"the same over a start without the version's environment = {bare / cost:.2f}"
    peer = pyenv_shim(folder)
    if peer is None:
        yield "pyenv is not installed: left out"
        return
    command, its_environ = peer
    pair = {**ways, "pyenv": spawn([command], its_environ)}
    medians = interleaved(pair, 5 if quick else 60)
    theirs = medians["pyenv"] - medians["direct"]
    ours = medians["shim"] - medians["direct"]
    cost = medians["pyenv"] * 1000
    yield f"pyenv's shim {cost:.1f} ms; its overhead / ours = {theirs / ours:.0f}"
