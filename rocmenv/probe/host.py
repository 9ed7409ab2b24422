"""What this machine can run."""

from __future__ import annotations

import os
import platform
import re
import sys

from rocmenv.errors import HostError

_FIELD = re.compile(r"""^(ID|VERSION_ID)=["']?([A-Za-z0-9._-]+)["']?\s*$""", re.MULTILINE)


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


def os_release(path: str = "/etc/os-release") -> str:
    """What the host's system says of itself (os-release(5)), empty where it says nothing."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def system_profile(path: str = "/etc/os-release") -> str | None:
    """The host's system as AMD's package places name it: `ubuntu2404`, `debian12`.

    None where the system does not say what it is.
    """
    fields = dict(_FIELD.findall(os_release(path)))
    name, number = fields.get("ID", ""), fields.get("VERSION_ID", "")
    return f"{name}{number.replace('.', '')}" if name and number else None


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
