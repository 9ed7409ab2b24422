"""What the channels of TheRock's own builds share, of releases from 7.9 on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmenv.errors import HostError
from rocmenv.probe.host import glibc

if TYPE_CHECKING:
    from rocmenv.model.version import Version

# Built on manylinux_2_28 (source: TheRock's design notes on manylinux builds).
_GLIBC = (2, 28)


def check_host(release: Version) -> None:
    """`HostError` on a machine whose C library is older than that of the builds, or another."""
    host = glibc()
    if host is None or host < _GLIBC:
        needs = ".".join(map(str, _GLIBC))
        has = f"glibc {'.'.join(map(str, host))}" if host else "no glibc"
        msg = f"release {release} needs glibc {needs} or newer, and this machine has {has}"
        hint = "use a container with a newer Debian, Ubuntu or Enterprise Linux"
        raise HostError(msg, hint=hint)
