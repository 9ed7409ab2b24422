"""Real shells: each scenario is written once and run in all of them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rocmenv.ops.setup import setup_text
from rocmenv.store.paths import Root
from tests.builders import process
from tests.tools import tool

# Options that keep a shell from reading the machine's and the user's own set-up.
STARTS = {
    "bash": ("--noprofile", "--norc"),
    "zsh": ("-f",),
    "dash": (),
    "ksh": (),
    "mksh": (),
    "fish": ("--no-config",),
}
POSIX = [name for name in STARTS if name != "fish"]
# What shells set for themselves.
OWN = {
    "_",
    "_AST_FEATURES",
    "LOGNAME",
    "USER",
    "SHLVL",
    "PWD",
    "OLDPWD",
    "BASH_ENV",
    "ENV",
    "A__z",
    "KSH_VERSION",
    "__fish_initialized",
}


@dataclass
class Ran:
    """What a script did: exit status, both outputs, and the environments it dumped."""

    status: int
    out: str
    err: str
    dumps: list[dict[str, str]]


@dataclass
class RealShell:
    """One shell, as a program."""

    name: str
    program: str

    @property
    def is_fish(self) -> bool:
        """Whether scripts need fish's syntax."""
        return self.name == "fish"

    def run(
        self, script: str, environ: Mapping[str, str], cwd: Path, *, timeout: float = 60
    ) -> Ran:
        """Run `script`. The word `DUMP` on a line of its own dumps the exported variables."""
        dump = cwd / f".dump-{os.urandom(4).hex()}"
        dump.touch()
        lines = [
            f"/usr/bin/env -0 >>'{dump}'; printf '\\0' >>'{dump}'"
            if line.strip() == "DUMP"
            else line
            for line in script.split("\n")
        ]
        done = subprocess.run(
            [self.program, *STARTS[self.name], "-c", "\n".join(lines)],
            env={os.fsencode(k): os.fsencode(v) for k, v in environ.items()},
            cwd=cwd,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
        dumps = []
        if dump.read_bytes():
            dumps = [parse(part) for part in dump.read_bytes().split(b"\0\0")[:-1]]
        dump.unlink()
        return Ran(
            done.returncode,
            done.stdout.decode("utf-8", "surrogateescape"),
            done.stderr.decode("utf-8", "surrogateescape"),
            dumps,
        )

    def setup(self, root: Root) -> str:
        """A command that evaluates `rocmenv init` of this shell."""
        path = root.path.parent / f"init-{self.name}"
        if not path.exists():
            path.write_text(setup_text(process(root.path), root, self.name))
        return f"source '{path}'" if self.is_fish else f". '{path}'"


def parse(dump: bytes) -> dict[str, str]:
    """The variables in the output of `env -0`, without those that shells set for themselves."""
    pairs = (item.partition(b"=") for item in dump.split(b"\0") if item)
    decoded = ((os.fsdecode(name), os.fsdecode(value)) for name, _, value in pairs)
    return {name: value for name, value in decoded if name not in OWN}


def find(name: str) -> RealShell:
    """The shell `name`, else: skip at home, fail in CI."""
    return RealShell(name, tool(name))
