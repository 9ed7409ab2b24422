"""A made-up /sys and /dev, from the samples of the field reports or from tables."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

TOPOLOGY = "class/kfd/kfd/topology"


def sysfs(folder: Path, sample: Path | None = None, driver: str | None = None) -> str:
    """A /sys below `folder` with the topology of a sample and AMD's driver of this version."""
    if sample is not None:
        shutil.copytree(sample / "topology", folder / "sys" / TOPOLOGY)
    if driver is not None:
        module = folder / "sys/module/amdgpu"
        module.mkdir(parents=True)
        if driver:
            (module / "version").write_text(f"{driver}\n")
    (folder / "sys").mkdir(exist_ok=True)
    return str(folder / "sys")


def nodes(folder: Path, rows: Mapping[str, str]) -> str:
    """A topology below `folder` with these nodes, each with the text of its `properties`."""
    for name, text in rows.items():
        node = folder / "nodes" / name
        node.mkdir(parents=True)
        (node / "properties").write_text(text)
    return str(folder)


def gpu(target: object = 110000, **more: object) -> str:
    """The properties of a GPU."""
    fields = {"simd_count": 64, "gfx_target_version": target, "vendor_id": 4098, **more}
    return "".join(f"{name} {value}\n" for name, value in fields.items())


def program(folder: Path, text: str, name: str = "rocminfo") -> str:
    """A folder for PATH with a shell script of this name."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return os.fspath(folder)
