"""What the channels of packages have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmenv.sources.base import Part

if TYPE_CHECKING:
    from rocmenv.model.version import Version
    from rocmenv.sources.apt.index import Package
    from rocmenv.sources.remembered import Remembered


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagePlan:
    """One release, resolved to packages: the parts of `base.Plan` that follow from these.

    `version` is the name that it is installed as, `release` what it is. `host` are
    packages that the machine lacks, `remembered` the indexes and keys that were read.
    """

    version: Version
    release: Version
    packages: tuple[Package, ...]
    notes: tuple[str, ...]
    host: tuple[str, ...]
    remembered: Remembered

    @property
    def parts(self) -> tuple[Part, ...]:
        """The packages, largest first."""
        packages = sorted(self.packages, key=lambda p: (-(p.size or 0), p.name))
        return tuple(Part(p.name, p.version, p.size) for p in packages)

    @property
    def download(self) -> int:
        """The sum of the packages' sizes."""
        return sum(p.size or 0 for p in self.packages)

    @property
    def installed(self) -> int:
        """The sum of what the packages say they take on disk, documentation included."""
        return sum(p.installed_size or 0 for p in self.packages)
