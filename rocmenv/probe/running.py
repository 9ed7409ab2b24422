"""Which folders running processes use: their programs, libraries, and active ROCm.

Linux's `/proc` tells it of processes of the same user, and of all to root. What it does not
tell counts as not used.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")


def users_of(folder: str, proc: Path = PROC) -> dict[str, str]:
    """The entries of `folder` that processes use, each with one of these: `python3 (pid 123)`.

    A process uses an entry when its program or a file that it has mapped is below it, or when
    ROCM_PATH was in it when the process started: what that starts next would use it, too. Of
    this process and those that it was started by only the former counts, as their variables
    may be others by now.
    """
    ways = {os.fsencode(folder), os.fsencode(os.path.realpath(folder))}
    places = b"(?:%b)" % b"|".join(map(re.escape, ways))
    below = re.compile(rb"^(?:[^/\n]* )?%b/([^/\n]+)/" % places, re.MULTILINE)
    active = re.compile(rb"(?:^|\0)ROCM_PATH=%b/([^/\0]+)(?:/[^\0]*)?(?:\0|$)" % places)
    found: dict[str, str] = {}
    ours = _ancestors(proc)
    for pid in _pids(proc):
        names = set(below.findall(_program(proc / pid) + b"\n" + _read(proc / pid / "maps")))
        if pid not in ours:
            names.update(active.findall(_read(proc / pid / "environ")))
        for name in names:
            found.setdefault(os.fsdecode(name), f"{_name(proc / pid)} (pid {pid})")
    return found


def _pids(proc: Path) -> list[str]:
    with suppress(OSError):
        return sorted((n for n in os.listdir(proc) if n.isdecimal()), key=int)
    return []


def _ancestors(proc: Path) -> set[str]:
    """This process and those above it."""
    pid, found = str(os.getpid()), set[str]()
    while pid != "0" and pid not in found:
        found.add(pid)
        # Behind the name, which may have any character in it: the state, and the parent.
        fields = _read(proc / pid / "stat").rpartition(b")")[2].split()
        pid = fields[1].decode() if len(fields) > 1 else "0"
    return found


def _program(process: Path) -> bytes:
    with suppress(OSError):
        return os.fsencode(os.readlink(process / "exe"))
    return b""


def _name(process: Path) -> str:
    return _read(process / "comm").decode("utf-8", "replace").strip() or "a process"


def _read(path: Path) -> bytes:
    with suppress(OSError):  # it has ended, or is another user's
        return path.read_bytes()
    return b""
