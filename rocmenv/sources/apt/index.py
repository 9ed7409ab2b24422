"""A repository's Packages file: which packages it has.

A large index has 60 000 entries, of which an install touches a hundred. So the text is cut
into entries once, by C code, and an entry is read when somebody asks for its name.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from rocmenv.errors import RepositoryError, visible
from rocmenv.fetch.numbers import whole
from rocmenv.sources.apt.relation import parse_relations
from rocmenv.sources.apt.stanza import fields, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rocmenv.sources.apt.relation import Group

    _Span = tuple[int, int, int]  # the file's number, and where the entry begins and ends

_KIB = 1024
_WANTED = frozenset(
    {"package", "version", "architecture", "filename", "size", "sha256", "installed-size"}
    | {"depends", "pre-depends", "provides", "conflicts", "breaks"}
)
_FIRST = b"Package: "
_NAME = re.compile(rb"^package:[ \t]*(\S+)", re.MULTILINE | re.IGNORECASE)
_PROVIDES = re.compile(rb"^provides:(.*(?:\n[ \t].*)*)", re.MULTILINE | re.IGNORECASE)
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")


@dataclass(frozen=True, slots=True)
class Package:
    """One package of an index.

    `filename` is relative to the repository's base; `size` and `installed_size` are in
    bytes, `sha256` is lower-case hex, each None where the index does not say. The relation
    fields are the index's text on one line.
    """

    name: str
    version: str
    architecture: str
    filename: str = ""
    size: int | None = None
    sha256: str | None = None
    installed_size: int | None = None
    depends: str = ""
    pre_depends: str = ""
    provides: str = ""
    conflicts: str = ""
    breaks: str = ""

    def needs(self) -> tuple[Group, ...]:
        """The groups of `Pre-Depends` and `Depends`; raises `RepositoryError`."""
        return (*parse_relations(self.pre_depends), *parse_relations(self.depends))

    def offers(self) -> list[tuple[str, str]]:
        """Names that it provides, with the version or an empty text; raises `RepositoryError`."""
        return [(r.name, r.version) for group in parse_relations(self.provides) for r in group]


class Index:
    """The packages of one or more Packages files; entries are read when asked for.

    The files stay as bytes, and an entry is its place in one of them: as texts, 50 000
    entries would take five times the memory.
    """

    def __init__(self, *texts: str | bytes) -> None:
        self._files: list[bytes] = []
        self._named: dict[str, list[_Span | Package]] = {}
        self._providers: dict[str, list[str]] | None = None
        for text in texts:
            self._take(text.encode("utf-8", "replace") if isinstance(text, str) else text)

    @classmethod
    def of(cls, packages: Iterable[Package]) -> Index:
        """The index of packages that were read elsewhere."""
        index = cls()
        for package in packages:
            index._named.setdefault(package.name, []).append(package)
        return index

    def _take(self, text: bytes) -> None:
        number, data = len(self._files), plain(text)
        self._files.append(data)
        named = self._named
        start = 0
        while start < len(data):
            end = data.find(b"\n\n", start)
            if end < 0:
                end = len(data)
            # Nearly every index has this field first.
            if data.startswith(_FIRST, start):
                stop = data.find(b"\n", start, end)
                name = data[start + len(_FIRST) : stop if stop >= 0 else end].strip()
            else:
                match = _NAME.search(data[start:end])
                name = match[1] if match else b""
            if name:
                named.setdefault(name.decode("utf-8", "replace"), []).append((number, start, end))
            start = end + 2

    def __len__(self) -> int:
        return sum(map(len, self._named.values()))

    def __iter__(self) -> Iterator[Package]:
        """All packages, in the order of the names' first appearance."""
        for name in self._named:
            yield from self.named(name)

    def names(self) -> tuple[str, ...]:
        """The names of all packages, each once, in the index's order."""
        return tuple(self._named)

    def named(self, name: str) -> tuple[Package, ...]:
        """The packages called `name`, in the index's order; raises `RepositoryError`."""
        found = self._named.get(name)
        if found is None:
            return ()
        packages = tuple(
            p
            if isinstance(p, Package)
            else parse_package(self._entry(p).decode("utf-8", "replace"))
            for p in found
        )
        self._named[name] = list(packages)
        return packages

    def providing(self, name: str) -> tuple[Package, ...]:
        """The packages whose `Provides` has `name`, in the index's order."""
        if self._providers is None:
            self._providers = self._find_providers()
        owners = self._providers.get(name, ())
        return tuple(p for owner in owners for p in self.named(owner) if p.provides)

    def _entry(self, span: _Span) -> bytes:
        number, start, end = span
        return self._files[number][start:end]

    def _find_providers(self) -> dict[str, list[str]]:
        providers: dict[str, list[str]] = {}
        for owner, entries in self._named.items():
            for entry in entries:
                for name in self._provided(entry):
                    owners = providers.setdefault(name, [])
                    if owner not in owners:
                        owners.append(owner)
        return providers

    def _provided(self, entry: _Span | Package) -> list[str]:
        if isinstance(entry, Package):
            text = entry.provides
        else:
            number, start, end = entry
            if self._files[number].find(b"rovides:", start, end) < 0:
                return []
            match = _PROVIDES.search(self._entry(entry))
            text = match[1].decode("utf-8", "replace") if match else ""
        return [
            part.split("(")[0].split(":")[0].strip() for part in text.split(",") if part.strip()
        ]


def parse_package(stanza: str) -> Package:
    """The package of one entry.

    A missing `Version` is taken from the file's name, which has no epoch.

    Raises:
        RepositoryError: no name or version, or a size or digest that is not one.
    """
    found = fields(stanza, _WANTED)
    name = found.get("package", "")
    filename = found.get("filename", "")
    version = found.get("version") or _version_of(filename)
    if not name or not version:
        raise RepositoryError(f"the index has an entry without name or version: {visible(stanza)}")
    digest = found.get("sha256", "").lower() or None
    if digest is not None and not _SHA256.match(digest):
        raise RepositoryError(f"the index has {visible(digest)} as SHA-256 of `{name}`")
    installed = _number(found.get("installed-size"), "Installed-Size", name)
    return Package(
        name=name,
        version=version,
        architecture=found.get("architecture", ""),
        filename=filename.removeprefix("./"),
        size=_number(found.get("size"), "Size", name),
        sha256=digest,
        installed_size=None if installed is None else installed * _KIB,
        depends=_joined(found.get("depends")),
        pre_depends=_joined(found.get("pre-depends")),
        provides=_joined(found.get("provides")),
        conflicts=_joined(found.get("conflicts")),
        breaks=_joined(found.get("breaks")),
    )


def _joined(text: str | None) -> str:
    return " ".join(text.split()) if text else ""


def _number(text: str | None, field: str, name: str) -> int | None:
    if text is None:
        return None
    number = whole(text)
    if number is None:
        raise RepositoryError(f"the index has {field} {visible(text)} for `{name}`")
    return number


def _version_of(filename: str) -> str:
    """The version in `NAME_VERSION_ARCH.deb`, or nothing."""
    parts = unquote(posixpath.basename(filename)).removesuffix(".deb").split("_")
    return parts[1] if len(parts) == 3 else ""  # noqa: PLR2004 - the fields of a line
