"""What this machine can run."""

from __future__ import annotations

import os
import platform
import sys

from rocmenv.errors import HostError


def glibc() -> tuple[int, ...] | None:
    """The version of the host's glibc, as numbers; None on a host without one."""
    try:
        text = os.confstr("CS_GNU_LIBC_VERSION")  # "glibc 2.36"
    except (ValueError, OSError):
        return None
    name, _, version = (text or "").partition(" ")
    if name != "glibc":
        return None
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def is_windows() -> bool:
    """Whether this is Windows itself, not a Linux in it."""
    return sys.platform == "win32"


def debian_architecture() -> str:
    """The host's architecture by Debian's name; `HostError` where AMD publishes nothing."""
    machine = platform.machine().lower()
    if machine in ("x86_64", "amd64"):
        return "amd64"
    msg = f"AMD publishes ROCm for x86-64, and this machine is {machine}"
    raise HostError(msg, hint="`rocmenv install VERSION --from FILE` takes a tree of your own")
