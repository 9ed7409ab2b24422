"""What AMD's two channels of Debian packages share."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rocmenv.errors import SignatureError
from rocmenv.fetch.connection import shown
from rocmenv.fetch.transfer import NotThereError

if TYPE_CHECKING:
    from rocmenv.sources.apt.dpkg import Host
    from rocmenv.sources.apt.index import Index
    from rocmenv.sources.apt.relation import Relation
    from rocmenv.sources.remembered import Remembered

ARCHITECTURE = "amd64"
"""There are packages for no other one."""
LIBC = ("libc6", "libstdc++6", "libgcc-s1")
"""Packages that must be the host's own: a build that needs newer ones cannot run."""
# Documentation, and what tells the system's loader of AMD's own place.
_LEFT_OUT = ("usr/share/", "etc/ld.so.conf.d/")


def is_left_out(member: str) -> bool:
    """Whether it goes without saying that `member` of a package is not in the prefix."""
    return member.startswith(_LEFT_OUT)


def read_keyring(place: str, downloads: Remembered) -> bytes:
    """The keys in a file or at an address; `SignatureError` when they cannot be had."""
    try:
        if "://" in place:
            return downloads.read(place, limit=1 << 20)
        return Path(os.path.expanduser(place)).read_bytes()
    except OSError as error:
        msg = f"the keyring {shown(place)} cannot be read ({error.strerror})"
        raise SignatureError(msg, hint="name the file with the keys: `--keyring FILE`") from error
    except NotThereError as error:
        downloads.refuse_if_offline(error)
        msg = f"the signing key {shown(place)} is not there, so nothing can be verified"
        raise SignatureError(msg, hint="name a copy of the key: `--keyring FILE`") from error


def on_host(index: Index, host: Host, relation: Relation) -> bool | None:
    """Whether the host meets `relation`, as `close` asks."""
    # What the repository has is taken from there: a ROCm package of the host's own release
    # must not stand in for one of this release.
    return False if index.named(relation.name) else host.meets(relation)


@dataclass(frozen=True, slots=True)
class BelowPrefix:
    """Paths below `/opt/rocm-X.Y.Z`, and the OpenCL registration, to paths in the tree."""

    prefix: str

    def __call__(self, member: str) -> str | None:
        """Where `member` goes, None for nowhere."""
        if member == self.prefix:
            return ""
        if member.startswith(f"{self.prefix}/"):
            return member[len(self.prefix) + 1 :]
        return member if member.startswith("etc/OpenCL/vendors/") else None
