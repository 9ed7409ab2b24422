"""What the host has installed, as its dpkg status file says."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rocmenv.errors import RepositoryError
from rocmenv.sources.apt.index import Index
from rocmenv.sources.apt.stanza import stanzas

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rocmenv.sources.apt.index import Package
    from rocmenv.sources.apt.relation import Relation

STATUS = "/var/lib/dpkg/status"
"""Where dpkg keeps its list on every Debian-like system."""


@dataclass(frozen=True, slots=True)
class Host:
    """Installed packages.

    `versions` maps a name to the installed versions (more than one with several
    architectures); `provided` maps a virtual name to the versions under which it is
    provided, empty text for none. `is_known` is False on a host without dpkg.
    """

    versions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    provided: dict[str, tuple[str, ...]] = field(default_factory=dict)
    is_known: bool = True

    def meets(self, relation: Relation) -> bool | None:
        """Whether an installed package satisfies `relation`; None when that is not known."""
        if not self.is_known:
            return None
        if any(relation.accepts(version) for version in self.versions.get(relation.name, ())):
            return True
        return any(map(relation.accepts_offer, self.provided.get(relation.name, ())))


UNKNOWN = Host(is_known=False)
"""A host without dpkg."""


def read_host(status: Path) -> Host:
    """The packages that the dpkg status file `status` lists as installed.

    A host without that file is `UNKNOWN`; an entry that cannot be read is skipped.
    """
    try:
        text = status.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return UNKNOWN
    installed = [s for s in stanzas(text) if _is_installed(s)]
    versions: dict[str, list[str]] = {}
    provided: dict[str, list[str]] = {}
    for package in _readable(Index("\n\n".join(installed))):
        versions.setdefault(package.name, []).append(package.version)
        with contextlib.suppress(RepositoryError):
            for name, version in package.offers():
                provided.setdefault(name, []).append(version)
    return Host(
        {name: tuple(found) for name, found in versions.items()},
        {name: tuple(found) for name, found in provided.items()},
    )


def _is_installed(stanza: str) -> bool:
    for line in stanza.split("\n"):
        if line.lower().startswith("status:"):
            return line.split()[-1] == "installed"
    return False


def _readable(index: Index) -> Iterator[Package]:
    for name in index.names():
        with contextlib.suppress(RepositoryError):
            yield from index.named(name)
