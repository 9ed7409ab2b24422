"""What the host has of what packages ask for: by rpm's database, libraries and files.

A host without rpm can still be asked for libraries, by the loader's cache and the names of
versions in the library itself, and for files. It cannot be asked for packages by name.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rocmenv.errors import RepositoryError
from rocmenv.sources.rpm.relation import Relation
from rocmenv.sources.rpm.version import parse_evr

if TYPE_CHECKING:
    from collections.abc import Iterable

_TIMEOUT = 60
_LARGEST_LIBRARY = 64 << 20
_FORMAT = "[%{PROVIDES}\\t%{PROVIDEFLAGS:depflags}\\t%{PROVIDEVERSION}\\n]"
# `libstdc++.so.6(GLIBCXX_3.4.29)(64bit)`; the version's name is empty for the library itself.
_LIBRARY = re.compile(r"([^()/\s]+\.so[^()/\s]*)\(([^()]*)\)\((64bit)\)\Z")
_CACHED = re.compile(r"\s*(\S+) \(([^)]*)\) => (/.*)")
# Where a program that is not for everybody may be; PATH often lacks it.
_SYSTEM = "/usr/sbin:/sbin:/usr/bin:/bin"
_OF_LOADER = "rtld(GNU_HASH)"


@dataclass(frozen=True, slots=True)
class Host:
    """A host. `provided` maps a capability to what is provided; None without a database.

    `libraries` maps a library's name to its paths, 64-bit ones only; None where the loader's
    cache cannot be read.
    """

    provided: dict[str, tuple[Relation, ...]] | None = None
    libraries: dict[str, tuple[str, ...]] | None = None
    root: str = "/"
    _versions: dict[tuple[str, str], bool] = field(default_factory=dict)

    def meets(self, relation: Relation) -> bool | None:
        """Whether the host has what `relation` asks for; None when that is not known."""
        if self.provided is not None and any(
            relation.accepts(offer) for offer in self.provided.get(relation.name, ())
        ):
            return True
        if relation.is_file:
            return os.path.exists(os.path.join(self.root, relation.name.lstrip("/")))
        library = _LIBRARY.match(relation.name)
        if library is not None and self.libraries is not None:
            paths = self.libraries.get(library[1], ())
            return any(self._has_version(path, library[2]) for path in paths)
        if relation.name == _OF_LOADER and self.libraries is not None:
            return True
        return None if self.provided is None else False

    def _has_version(self, path: str, version: str) -> bool:
        """Whether the library at `path` defines the symbol version, or may."""
        if not version:
            return True
        if (path, version) not in self._versions:
            try:
                with open(path, "rb") as file:
                    content = file.read(_LARGEST_LIBRARY)
            except OSError:
                return False
            self._versions[path, version] = b"\0" + version.encode() + b"\0" in content
        return self._versions[path, version]


def read_host() -> Host:
    """This host, asked by the programs `rpm` and `ldconfig`, where they are."""
    return Host(_provided(), _libraries())


def parse_provides(lines: Iterable[str]) -> dict[str, tuple[Relation, ...]]:
    """What packages provide, from `rpm`'s answer: name, operator and version by tabulators."""
    found: dict[str, list[Relation]] = {}
    for line in lines:
        name, _, rest = line.partition("\t")
        operator, _, version = rest.partition("\t")
        mark = operator.strip()
        with contextlib.suppress(RepositoryError):
            evr = parse_evr(version.strip()) if mark and version.strip() else None
            found.setdefault(name, []).append(Relation(name, mark if evr else "", evr))
    return {name: tuple(offers) for name, offers in found.items()}


def parse_cache(text: str) -> dict[str, tuple[str, ...]]:
    """The 64-bit libraries of what `ldconfig -p` prints, by name."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        match = _CACHED.match(line)
        if match is not None and "x86-64" in match[2]:
            found.setdefault(match[1], []).append(match[3])
    return {name: tuple(paths) for name, paths in found.items()}


def _provided() -> dict[str, tuple[Relation, ...]] | None:
    text = _output("rpm", "-qa", "--qf", _FORMAT)
    # On other systems the program may be there, with a database that nothing is in.
    return parse_provides(text.splitlines()) if text and text.strip() else None


def _libraries() -> dict[str, tuple[str, ...]] | None:
    text = _output("ldconfig", "-p")
    return parse_cache(text) if text else None


def _output(name: str, *words: str) -> str | None:
    """What the program `name` prints, None where it is not there or fails."""
    import subprocess  # noqa: PLC0415 - only where an RPM repository is planned from

    program = shutil.which(name) or shutil.which(name, path=_SYSTEM)
    if program is None:
        return None
    try:
        run = subprocess.run([program, *words], capture_output=True, timeout=_TIMEOUT, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    return run.stdout.decode("utf-8", "replace") if run.returncode == 0 else None
