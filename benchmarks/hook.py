"""One prompt with the hook, against one without; and a switch of versions."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
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
# A loop of prompts in the language of the shell, timed by itself; dash has no clock.
POSIX_LOOP = """i=0; s=$EPOCHREALTIME; while [ $i -lt {count} ]; do {body}; i=$((i+1)); done
e=$EPOCHREALTIME; echo "took $s $e" """
DASH_LOOP = """i=0; while [ $i -lt {count} ]; do {body}; i=$((i+1)); done"""
FISH_LOOP = """set s (date +%s%N); for i in (seq {count}); {body}; end
set e (date +%s%N); echo "took $s $e" """


@dataclass(frozen=True)
class Bench:
    """One shell, set up in a project."""

    name: str
    program: str
    setup: str
    environ: dict[str, str]

    @property
    def prompt(self) -> str:
        """What runs before each prompt; in dash, after each `cd`."""
        return "_rocmenv_hook" if self.name == "dash" else "_rocmenv_prompt"

    def seconds(self, body: str, count: int, rounds: int) -> float:
        """The time of one `body`, the best of some loops of `count`."""
        loop = {"fish": FISH_LOOP, "dash": DASH_LOOP}.get(self.name, POSIX_LOOP)
        text = f"{self.setup}; {loop.format(count=count, body=body)}"
        return min(self._once(text) for _ in range(rounds)) / count

    def _once(self, text: str) -> float:
        command = [self.program, *SHELLS[self.name], text]
        start = time.perf_counter()
        done = subprocess.run(
            command, env=self.environ, capture_output=True, text=True, check=True, timeout=20
        )
        whole = time.perf_counter() - start
        match = re.search(r"took (\S+) (\S+)", done.stdout)
        if match is None:
            return whole
        return (float(match[2]) - float(match[1])) / (1e9 if self.name == "fish" else 1.0)


def run(folder: Path, *, quick: bool) -> Iterator[str]:
    """Lines of the report. Goal: an unchanged prompt <= 0.1 ms and no process."""
    root, inner, environ = project(folder, "6.3.0", "6.4.1")
    other = folder / "other"
    other.mkdir()
    (other / ".rocm-version").write_text("6.4.1\n")
    count = 20 if quick else 500
    for name in SHELLS:
        program = shutil.which(name)
        if program is None:
            yield f"{name} is not installed: left out"
            continue
        script = folder / f"init-{name}"
        script.write_text(setup_text(process(root.path), root, name))
        source = f"source {script}" if name == "fish" else f". {script}"
        clock = "zmodload zsh/datetime; " if name == "zsh" else ""
        bench = Bench(name, program, f"{clock}{source}; cd {inner}; _rocmenv_hook", environ)
        empty = bench.seconds("true", count, 3)
        same = bench.seconds(bench.prompt, count, 3) - empty
        both = f"cd {other}; {bench.prompt}; cd {inner}; {bench.prompt}"
        switch = bench.seconds(both, max(count // 20, 5), 2) / 2
        yield f"{name:<5} unchanged prompt {same * 1e6:5.0f} us   switch {switch * 1e6:6.0f} us"
