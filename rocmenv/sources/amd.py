"""What AMD's two channels of Debian packages share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocmenv.sources.apt.dpkg import Host
    from rocmenv.sources.apt.index import Index
    from rocmenv.sources.apt.relation import Relation

ARCHITECTURE = "amd64"
"""There are packages for no other one."""
LIBC = ("libc6", "libstdc++6", "libgcc-s1")
"""Packages that must be the host's own: a build that needs newer ones cannot run."""


def on_host(index: Index, host: Host, relation: Relation) -> bool | None:
    """Whether the host meets `relation`, as `close` asks."""
    # What the repository has is taken from there: a ROCm package of the host's own release
    # must not stand in for one of this release.
    return False if index.named(relation.name) else host.meets(relation)
