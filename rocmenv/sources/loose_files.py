"""Reading package files: what each is, and which of AMD's releases it is of."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rocmenv.errors import ArchiveError, InvalidVersionError, RepositoryError, visible
from rocmenv.fetch.ar import damaged
from rocmenv.fetch.deb import control
from rocmenv.fetch.kind import HEAD, kind
from rocmenv.fetch.rpm import read_rpm
from rocmenv.model.version import Version
from rocmenv.sources.amd import LIBC
from rocmenv.sources.amdrocm import release_in
from rocmenv.sources.apt.index import Index, Package, parse_package

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rocmenv.sources.apt.relation import Group

FORMS = {"ar": "deb", "rpm": "rpm"}
"""Forms of packages by the kind of their first bytes."""
_ARCHITECTURES = frozenset({"amd64", "all", "x86_64", "noarch", ""})
_SUFFIX = re.compile(r"\D(\d{1,2}\.\d{1,2}\.\d{1,2})(?:-asan|-rpath)?$")
# `6.3.0.60300-39~22.04`, `1.1.1.60300-39.el9`
_PACKED = re.compile(r"\.(\d{5,6})-")


@dataclass(frozen=True, slots=True)
class Loose:
    """One package file; `form` is `deb` or `rpm`, `size` in bytes.

    `release` is the one of AMD's releases that it is of, None for other packages.
    """

    path: Path
    form: str
    size: int
    package: Package
    release: Version | None

    @property
    def has_release_in_name(self) -> bool:
        """Whether its name says the release, as those do that can stand side by side."""
        name = self.package.name
        return name.startswith("amdrocm") or _SUFFIX.search(name) is not None

    def is_of(self, version: Version) -> bool:
        """Whether it is of the release of `version`, for this kind of machine."""
        same = self.release is not None and self.release.release == version.release
        return same and self.package.architecture in _ARCHITECTURES


def is_package(path: str) -> bool:
    """Whether `path` is a file with a package's first bytes; False for what cannot be read."""
    try:
        with open(path, "rb") as file:
            return kind(file.read(HEAD)) in FORMS
    except OSError:
        return False


def package_files(path: str) -> list[Path]:
    """The package files that lie in the folder `path`, or that file itself, by name."""
    if not os.path.isdir(path):
        return [Path(path)]
    named = sorted(e.path for e in os.scandir(path) if e.name.endswith((".deb", ".rpm")))
    return [Path(p) for p in named if os.path.isfile(p)]


def read_packages(path: str) -> list[Loose]:
    """The packages in the folder `path`, or the one file, in the order of file names.

    Raises:
        ArchiveError: a file that should be a package is none, or a damaged one.
    """
    return [read_package(file) for file in package_files(path)]


def candidates(found: Sequence[Loose]) -> Index:
    """An index of `found`, for `close`."""
    return Index.of(one.package for one in found)


def read_package(path: Path) -> Loose:
    """The package `path`; raises as `read_packages`."""
    try:
        with path.open("rb") as file:
            form = FORMS.get(kind(file.read(HEAD)), "")
        if form == "deb":
            package = _deb(path)
        elif form == "rpm":
            package = _rpm(path)
        else:
            raise damaged(path.name, "it is not a package")
    except OSError as error:
        raise ArchiveError(
            f"{visible(str(path), 200)} cannot be read ({error.strerror})"
        ) from error
    return Loose(path, form, path.stat().st_size, package, release_of(package))


def libc_needs(paths: Iterable[Path]) -> Iterator[tuple[str, Group]]:
    """What those of the packages that are Debian's need of the C library, with their names.

    Raises as `read_package`.
    """
    for path in paths:
        package = read_package(path).package
        yield from ((package.name, g) for g in package.needs() if g[0].name in LIBC)


def _deb(path: Path) -> Package:
    try:
        return parse_package(control(path).replace("\r\n", "\n").strip())
    except RepositoryError as error:
        raise damaged(path.name, "it does not say what package it is") from error


def _rpm(path: Path) -> Package:
    with path.open("rb") as file:
        rpm = read_rpm(file, path.name)
    name, version, architecture = rpm.identity
    return Package(name, version, architecture, installed_size=rpm.installed_size)


def release_of(package: Package) -> Version | None:
    """The release that one of AMD's packages is of, by name and version; None for others.

    >>> str(release_of(Package("hipcc", "1.1.1.60300-39~22.04", "amd64")))
    '6.3.0'
    """
    if package.name.startswith("amdrocm"):
        return release_in(package.version)
    if match := _SUFFIX.search(package.name):
        with suppress(InvalidVersionError):
            return Version.parse(match[1])
    match = _PACKED.search(package.version)
    if match is None:
        return None
    packed = int(match[1])
    return Version((packed // 10000, packed // 100 % 100, packed % 100, 0))
