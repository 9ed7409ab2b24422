"""One prompt with the hook, against one without; and a switch of versions."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from benchmarks.fixtures import project
from rocmenv.ops.setup import setup_text
from tests.builders import process

SHELLS = {
    "bash": ["--noprofile", "--norc", "-c"],
    "zsh": ["-f", "-c"],
    "dash": ["-c"],
    "fish": ["--no-config", "-c"],
}
# A loop of N prompts in the language of the shell, timed by itself.
POSIX_LOOP = """i=0; s=$EPOCHREALTIME; while [ $i -lt {count} ]; do {body}; i=$((i+1)); done
e=$EPOCHREALTIME; echo "took $s $e" """
DASH_LOOP = """i=0; while [ $i -lt {count} ]; do {body}; i=$((i+1)); done"""
FISH_LOOP = """set s (date +%s%N); for i in (seq {count}); {body}; end; set e (date +%s%N); echo "took $s $e" """


def run(folder: Path, *, quick: bool) -> Iterator[str]:
    """Lines of the report. Goal: an unchanged prompt <= 0.1 ms and no process."""
    root, inner, environ = project(folder, "6.3.0", "6.4.1")
    other = folder / "other"
    other.mkdir()
    (other / ".rocm-version").write_text("6.4.1\n")
    count = 20 if quick else 500
    for name, start in SHELLS.items():
        program = shutil.which(name)
        if program is None:
            yield f"{name} is not installed: left out"
            continue
        script = folder / f"init-{name}"
        script.write_text(setup_text(process(root.path), root, name))
        source = f"source {script}" if name == "fish" else f". {script}"
        module = "zmodload zsh/datetime; " if name == "zsh" else ""

        def timed(body: str, *, loops: int) -> float:
            loop = {"fish": FISH_LOOP, "dash": DASH_LOOP}.get(name, POSIX_LOOP)  # noqa: B023
            text = f"{module}{source}; cd {inner}; _rocmenv_hook; {loop.format(count=loops, body=body)}"  # noqa: B023
            return _seconds(name, [program, *start, text], environ) / loops  # noqa: B023

        empty = min(timed(":" if name != "fish" else "true", loops=count) for _ in range(3))
        prompt = "_rocmenv_hook" if name == "dash" else "_rocmenv_prompt"
        same = min(timed(prompt, loops=count) for _ in range(3)) - empty
        switch = f"cd {other}; {prompt}; cd {inner}; {prompt}"
        both = min(timed(switch, loops=max(count // 20, 5)) for _ in range(2)) - empty
        yield (
            f"{name:<5} unchanged prompt {same * 1e6:6.0f} us   switch of versions {both / 2 * 1e6:6.0f} us"
        )


def _seconds(name: str, command: list[str], environ: dict[str, str]) -> float:
    import time  # noqa: PLC0415

    start = time.perf_counter()
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    whole = time.perf_counter() - start
    match = re.search(r"took (\S+) (\S+)", done.stdout)
    if match is None:
        return whole
    scale = 1e9 if name == "fish" else 1.0
    return (float(match[2]) - float(match[1])) / scale
