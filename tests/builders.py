"""Builders: small fake prefixes, roots with real installs of them, processes."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rocmenv.fetch.transfer import Downloads
from rocmenv.model.version import Version
from rocmenv.ops.install import Options, install
from rocmenv.ops.rehash import rehash
from rocmenv.ops.report import Silent
from rocmenv.process import Process
from rocmenv.sources import local
from rocmenv.store import registry
from rocmenv.store.paths import RECEIPT, RECEIPT_FOLDER, Root

LAUNCHER = (sys.executable, "-m", "rocmenv")
SHOW = """#!/bin/sh
printf '%s\\n' "$0" "$ROCM_PATH" "$ROCMENV_VERSION" "$#" "$@"
"""


def process(root: Path, environ: Mapping[str, str] | None = None, cwd: Path | str = "/") -> Process:
    """A process with this root, environment and folder; nothing of the real one."""
    return Process(
        environ={"ROCM_ROOT": str(root), "PATH": "/usr/bin:/bin", **(environ or {})},
        cwd=str(cwd),
        home=Path("/nonexistent"),
        launcher=LAUNCHER,
    )


def fake_prefix(
    path: Path, version: str, tools: Sequence[str] = ("hipcc", "rocminfo"), text: str = SHOW
) -> Path:
    """A folder shaped like AMD's packages, with tools that print what they were started with."""
    for folder in (".info", "bin", "lib/llvm/bin", "lib/cmake"):
        (path / folder).mkdir(parents=True, exist_ok=True)
    (path / ".info/version").write_text(f"{version}-1\n")
    for name in (*(f"bin/{tool}" for tool in tools), "lib/llvm/bin/clang++"):
        (path / name).write_text(text)
        (path / name).chmod(0o755)
    (path / "llvm").symlink_to("lib/llvm")
    return path


def root_with(folder: Path, *versions: str, tools: Sequence[str] = ("hipcc", "rocminfo")) -> Root:
    """A root below `folder` with these versions really installed."""
    root = Root(folder / "root")
    for version in versions:
        source = fake_prefix(folder / f"source-{version}", version.partition("+")[0], tools)
        add(root, version, source)
    if not versions:
        root.path.mkdir(parents=True)
    return root


def add(root: Root, version: str, source: Path) -> None:
    """Install a folder as a version."""
    plan = local.plan(Version.parse(version), str(source), "/")
    install(process(root.path), root, plan, Downloads(root.cache), Options(jobs=2), Silent())


def move_inside(root: Root, version: str, inner: str) -> Path:
    """Make the prefix of an install a folder inside of it, as wheels have it; the new prefix."""
    found = root.version(Version.parse(version))
    prefix = found / inner
    (found.parent / ".moved").mkdir()
    for path in list(found.iterdir()):
        if path.name != RECEIPT_FOLDER:
            path.rename(found.parent / ".moved" / path.name)
    prefix.parent.mkdir(parents=True)
    (found.parent / ".moved").rename(prefix)
    (found / "bin").mkdir()
    receipt = registry.read_receipt(root, Version.parse(version))
    (found / RECEIPT).write_text(replace(receipt, inner=inner).render())
    rehash(process(root.path), root)
    return prefix


def clean_environ(root: Root, **more: str) -> dict[str, str]:
    """The environment for a real child: this root, system paths, and what coverage needs."""
    kept = {k: v for k, v in os.environ.items() if k.startswith(("COVERAGE_", "COV_"))}
    return {
        **kept,
        "ROCM_ROOT": str(root.path),
        "PATH": "/usr/bin:/bin",
        "HOME": str(root.path.parent),
        "LC_ALL": "C.UTF-8",
        **more,
    }


def put(tree: Path, name: str, content: str | bytes, mode: int = 0o644) -> Path:
    """Write a file of `tree`, with the folders above it."""
    path = tree / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(mode)
    return path
