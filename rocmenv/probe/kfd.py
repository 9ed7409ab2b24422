"""The GPUs that the kernel's compute driver tells of: its topology in sysfs.

One folder a node, `nodes/N` with `name` and `properties`, which has lines `FIELD NUMBER`. A node
with `simd_count` above 0 is a GPU, or has one. Fields come and go with kernels, so they are taken
by their names. Sources: docs/gpus.md; case R19.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from rocmenv.model.target import Target

_LONGEST = 65536


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU. `target` is None where it is not told, or is none that we can name.

    `node` is the number of its node, and `name` what the source calls it, which may be empty.
    `unique_id` is the serial number, up to 64 bits; None where there is none.
    """

    node: int | None
    target: Target | None
    name: str = ""
    unique_id: int | None = None


def read(topology: str) -> tuple[list[Gpu], list[str]] | None:
    """The GPUs of a topology in the order of their nodes, and remarks; None where it has no nodes.

    A node that cannot be read is passed over with a remark: a container may hide a device.
    """
    nodes = os.path.join(topology, "nodes")
    try:
        names = os.listdir(nodes)
    except OSError:
        return None
    gpus, remarks = [], []
    # Their order is that of the numbers: as text, node 10 would come before node 2.
    for name in sorted((n for n in names if n.isascii() and n.isdigit()), key=int):
        number, folder = int(name), os.path.join(nodes, name)
        try:
            fields = _fields(_text(os.path.join(folder, "properties")))
        except OSError as error:
            remarks.append(f"node {number} cannot be read ({error.strerror}); is it hidden here?")
            continue
        if not fields:
            remarks.append(f"node {number} says nothing of itself; is it hidden here?")
        elif fields.get("simd_count", 0) > 0:
            gpu, remark = _gpu(number, fields, folder)
            gpus.append(gpu)
            remarks += [remark] if remark else []
    return gpus, remarks


def _gpu(number: int, fields: dict[str, int], folder: str) -> tuple[Gpu, str | None]:
    try:
        name = _text(os.path.join(folder, "name")).strip()
    except OSError:
        name = ""
    value = fields.get("gfx_target_version", 0)
    target = Target.from_number(value)
    remark = None
    if not value:
        remark = f"node {number} is a GPU, and this kernel does not tell its target"
    elif target is None:
        remark = f"node {number} is a GPU of an unknown target, {value}"
    return Gpu(number, target, name, fields.get("unique_id") or None), remark


def _fields(text: str) -> dict[str, int]:
    """The numbers by their names; lines of another form are passed over."""
    found = {}
    for line in text.splitlines():
        name, _, value = line.strip().partition(" ")
        if value.isascii() and value.isdigit():
            found[name] = int(value)
    return found


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read(_LONGEST)
