"""The GPUs that AMD's `rocminfo` prints, for machines without the kernel's topology (WSL).

Form: docs/gpus.md; case R19. `Name:` stands before agents, indented by two, and before their
instruction sets, indented by six; of these only the first one's features are taken.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmenv.errors import InvalidTargetError, visible
from rocmenv.model.target import Target
from rocmenv.probe.kfd import Gpu

if TYPE_CHECKING:
    from collections.abc import Mapping

TIMEOUT = 20.0
"""Seconds that rocminfo gets. A driver in trouble can hold it for ever."""

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_AGENT = re.compile(r"Agent \d+")
_FIELD = re.compile(r"(?P<indent> +)(?P<label>[A-Za-z][^:]*):+ *(?P<value>.*)")
_ISA = re.compile(r"amdgcn-amd-amdhsa--(.+)")
_LIBRARY = re.compile(r"error while loading shared libraries: ([^:\s]+)")
# Choices of the person who calls; what is installed is for the machine.
_LEFT_OUT = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
_OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"


@dataclass(frozen=True, slots=True)
class Told:
    """What rocminfo told: GPUs in its order, remarks, and whether this is WSL."""

    gpus: tuple[Gpu, ...]
    remarks: tuple[str, ...] = ()
    is_wsl: bool = False


def parse(text: str) -> Told:
    """What an output of rocminfo tells, its errors included."""
    lines = [_COLOUR.sub("", line).rstrip() for line in text.splitlines()]
    remarks = [remark for line in lines if (remark := _trouble(line))]
    gpus, agent = [], dict[str, str]()
    for line in [*lines, "Agent 0"]:
        if _AGENT.fullmatch(line):
            if agent.get("Device Type") == "GPU":
                gpu, remark = _gpu(agent)
                gpus.append(gpu)
                remarks += [remark] if remark else []
            agent = {}
        elif match := _FIELD.fullmatch(line):
            # An instruction set's name is kept apart, and the first of each label counts.
            is_own = len(match["indent"]) == 2  # noqa: PLR2004 - an agent's own fields
            agent.setdefault(match["label"] if is_own else f"ISA {match['label']}", match["value"])
    return Told(tuple(gpus), tuple(remarks), any(line.startswith("WSL") for line in lines))


def _gpu(agent: dict[str, str]) -> tuple[Gpu, str | None]:
    name, node = agent.get("Name", ""), agent.get("Node", "")
    number = int(node) if node.isascii() and node.isdigit() else None
    isa = _ISA.fullmatch(agent.get("ISA Name", ""))
    target, remark = None, None
    for text in (isa[1] if isa else "", name):
        with suppress(InvalidTargetError):
            target = Target.parse(text)
            break
    else:
        remark = f"rocminfo names a GPU of an unknown target, {visible(name)}"
    return Gpu(number, target, agent.get("Marketing Name", "")), remark


def _trouble(line: str) -> str | None:
    if match := _LIBRARY.search(line):
        return f"rocminfo does not start: {match[1]} is missing"
    if "NOT loaded" in line:
        return "the kernel module amdgpu is not loaded, says rocminfo"
    if "nable to open /dev/kfd" in line:
        return f"rocminfo cannot open /dev/kfd: {line.rpartition(':')[2].strip()}"
    return None


def run(program: str, environ: Mapping[str, str], timeout: float = TIMEOUT) -> Told:
    """What a rocminfo tells that is given `timeout` seconds; a failure is a remark."""
    import signal  # noqa: PLC0415 - where there is no topology, for this alone
    import subprocess  # noqa: PLC0415 - as above

    kept = {k: v for k, v in environ.items() if k not in (*_LEFT_OUT, _OVERRIDE)}
    try:
        # Not as a context, which would wait without end for what the kernel does not let go.
        child = subprocess.Popen(
            [program],
            env=kept,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        return Told((), (f"{program} cannot be run ({error.strerror})",))
    try:
        output, _ = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        # With what it started: a script's children would go on holding the output.
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            child.communicate(timeout=1)
        return Told((), (f"{program} did not answer within {timeout:g} seconds",))
    told = parse(output.decode("utf-8", "replace"))
    if child.returncode and not told.remarks:
        first = next(iter(output.decode("utf-8", "replace").splitlines()), "")
        words = f": {visible(first)}" if first else ""
        remark = f"{program} failed with status {child.returncode}{words}"
        return Told(told.gpus, (remark,), told.is_wsl)
    return told
