"""Whether a ROCm works: its own compiler makes a small program, and a GPU runs it."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rocmenv.errors import HostError, visible
from rocmenv.model.target import Generic, split
from rocmenv.ops.activate import environ_with, find_command
from rocmenv.probe import kfd
from rocmenv.probe.codeobjects import targets
from rocmenv.resources import data_file
from rocmenv.sources import gpus

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocmenv.process import Process
    from rocmenv.store.paths import Root
    from rocmenv.store.registry import Installed

_ANY = "gfx90a"
"""What is compiled for where the machine has no GPU: every release since 4.3 knows it."""
_DEVICES = ("/dev/kfd", "/dev/dxg")
_NODES = Path("/sys/class/kfd/kfd/topology/nodes")
_PATIENCE = 300.0
"""Seconds for the compiler, and for the program."""
_RIGHT, _WRONG, _UNUSABLE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Sampled:
    """What came of the sample: `compiler` is a path, `targets` what it was compiled for.

    `problem` says what is wrong, and is empty where nothing is. `ran` says what the GPU did,
    or why none was asked.
    """

    compiler: str
    targets: tuple[str, ...]
    problem: str = ""
    ran: str = ""


def asked(words: Sequence[str]) -> tuple[str, ...]:
    """The targets of the words of `--gpu`: of a family all, of a generic name itself.

    `InvalidTargetError` for other words.
    """
    tables = gpus.load()
    found: list[str] = []
    for word in (part for text in words for part in split(text) or [text]):
        generic = Generic.parse(word)
        found += [str(generic)] if generic else map(str, tables.expand(word))
    return tuple(dict.fromkeys(found))


def sample(process: Process, root: Root, item: Installed, wanted: Sequence[str]) -> Sampled:
    """Compile the sample for the targets `wanted`, else the machine's own, and run it.

    `HostError` when the version has no compiler, or it cannot be started.
    """
    here = machine_targets(_NODES)
    chosen = tuple(dict.fromkeys(wanted or here or (_ANY,)))
    compiler, words = _compiler(item)
    environ = environ_with(process, root, item)
    with tempfile.TemporaryDirectory(prefix="rocmenv-") as folder:
        source, program = Path(folder, "sample.hip"), Path(folder, "sample")
        source.write_bytes(data_file("sample.hip"))
        arches = [f"--offload-arch={target}" for target in chosen]
        command = [compiler, *words, *arches, str(source), "-o", str(program)]
        status, said = _run(command, environ, folder)
        if status or not program.is_file():
            return Sampled(compiler, chosen, f"it does not compile: {_first_error(said, status)}")
        inside = targets(program)
        lacking = [t for t in chosen if not any(_is_for(code, t) for code in inside)]
        if lacking:
            msg = f"the program has no code for {', '.join(lacking)}, but for: {_listed(inside)}"
            return Sampled(compiler, chosen, msg)
        if not any(os.path.exists(device) for device in _DEVICES):
            return Sampled(compiler, chosen, ran="not run: this machine has no AMD GPU")
        status, said = _run([str(program)], environ, folder)
    return _judged(Sampled(compiler, chosen), status, said)


def _judged(done: Sampled, status: int, said: str) -> Sampled:
    facts = dict(line.split(" ", 1) for line in said.splitlines() if " " in line)
    target = facts.get("target", "")
    if status == _RIGHT:
        return Sampled(done.compiler, done.targets, ran=f"{target} gave the right result")
    if target and not any(_is_for(target, t) or _is_for(t, target) for t in done.targets):
        ran = f"not run: this machine's {target} is not what it was compiled for"
        return Sampled(done.compiler, done.targets, ran=ran)
    words = f"the GPU {target} gave a wrong result"
    if status != _WRONG:
        words = f"the GPU cannot be used: {facts.get('error', '') or _first_error(said, status)}"
    return Sampled(done.compiler, done.targets, words)


def machine_targets(nodes: Path) -> tuple[str, ...]:
    """The targets of the machine's GPUs by the kernel's topology; none where there is no such."""
    found = kfd.read(str(nodes.parent))
    gpus = found[0] if found else []
    return tuple(dict.fromkeys(str(gpu.target.base) for gpu in gpus if gpu.target is not None))


def _compiler(item: Installed) -> tuple[str, list[str]]:
    hipcc = find_command(item, "hipcc")
    if hipcc is not None:
        return hipcc, []
    for name in ("amdclang++", "clang++"):
        folders = [item.receipt.layout.hip_clang, "bin", "llvm/bin", "lib/llvm/bin"]
        for folder in filter(None, folders):
            path = os.path.join(item.prefix, folder, name)
            if os.access(path, os.X_OK):
                return path, ["-x", "hip", "--hip-link", f"--rocm-path={item.prefix}"]
    msg = f"version {item.version} has no compiler for HIP"
    raise HostError(msg, hint="the profile `hip` has one; `rocmenv versions` shows the others")


def _run(command: list[str], environ: Mapping[str, str], folder: str) -> tuple[int, str]:
    """Exit status and all output of a command."""
    try:
        done = subprocess.run(
            command,
            env=dict(environ),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return -1, f"error: no end after {_PATIENCE:.0f} seconds"
    except OSError as error:
        msg = f"{command[0]} cannot be started ({error.strerror})"
        raise HostError(msg, hint=f"look at it: `file {command[0]}`") from error
    return done.returncode, done.stdout.decode("utf-8", "replace")


def _first_error(said: str, status: int) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    best = (errors or lines[-1:] or [f"exit status {status}, and no word"])[0]
    return visible(best, 300)


def _is_for(code: str, target: str) -> bool:
    """Whether code for `code` (`gfx90a:xnack-`) is what `target` asks for."""
    return code == target or code.split(":", maxsplit=1)[0] == target


def _listed(inside: set[str]) -> str:
    return ", ".join(sorted(inside)) or "no GPU at all"
