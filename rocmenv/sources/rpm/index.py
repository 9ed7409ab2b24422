"""A repository's `primary` index: which packages it has, and what they need and provide.

The index is read in one pass. Relations and texts that repeat are kept once, because a
large repository has 50 000 packages with two million relations, most of them the same.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from rocmenv.errors import RepositoryError, visible
from rocmenv.fetch.numbers import whole
from rocmenv.sources.rpm.relation import CONDITIONAL, OPERATORS, Need, Relation, Rich, parse_need
from rocmenv.sources.rpm.version import Evr
from rocmenv.sources.rpm.xml import read_xml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
# What rpm itself has to be able to do; the ways in which packages are built are in `fetch`.
_OF_RPM = "rpmlib("
_OF_RELATION = ("name", "flags", "epoch", "ver", "rel")


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One package.

    `href` is relative to the repository's base; `size` and `installed_size` are in bytes.
    `digest_kind` is the name of the digest that the index gives; `sha256` is lower-case
    hex, None for any other kind. `files` are those that the index lists, which are the ones
    that other packages ask for.
    """

    name: str
    evr: Evr
    architecture: str
    href: str
    size: int | None
    installed_size: int | None
    digest_kind: str
    sha256: str | None
    requires: tuple[Relation, ...] = ()
    provides: tuple[Relation, ...] = ()
    conflicts: tuple[Relation, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """Its whole version: `1:6.3.0-39.el9`."""
        return str(self.evr)

    @property
    def identity(self) -> tuple[str, str, str]:
        """What its own header has to say: name, version, architecture."""
        return self.name, self.version, self.architecture

    def needs(self) -> list[Need]:
        """What it asks for; raises `RepositoryError` for a relation that is none."""
        return [_need(relation) for relation in self.requires]

    def excludes(self) -> list[Need]:
        """What it conflicts with; raises `RepositoryError` for a relation that is none."""
        return [_need(relation) for relation in self.conflicts]

    def meets(self, need: Need) -> bool:
        """Whether this package alone is enough for `need`."""
        if isinstance(need, Rich):
            if need.word in CONDITIONAL:  # they ask for two packages
                return False
            first, *others = (self.meets(part) for part in need.parts)
            if need.word in ("with", "and"):
                return first and all(others)
            return first or any(others) if need.word == "or" else first and not others[0]
        if need.is_file and need.name in self.files:
            return True
        return any(need.accepts(offer) for offer in self.provides)


def _need(relation: Relation) -> Need:
    return parse_need(relation.name) if relation.name.startswith("(") else relation


class Index:
    """The packages of a repository, by name and by what they provide."""

    def __init__(self, packages: Iterable[Package]) -> None:
        self._named: dict[str, list[Package]] = {}
        self._providers: dict[str, list[Package]] = {}
        for package in packages:
            self._named.setdefault(package.name, []).append(package)
            offered = {offer.name: None for offer in package.provides}
            for name in (*offered, *package.files):
                self._providers.setdefault(name, []).append(package)

    def __len__(self) -> int:
        return sum(map(len, self._named.values()))

    def __iter__(self) -> Iterator[Package]:
        """All packages, in the order of the names' first appearance."""
        return chain.from_iterable(self._named.values())

    def names(self) -> tuple[str, ...]:
        """The names of all packages, each once, in the index's order."""
        return tuple(self._named)

    def named(self, name: str) -> tuple[Package, ...]:
        """The packages called `name`, in the index's order."""
        return tuple(self._named.get(name, ()))

    def providing(self, name: str) -> tuple[Package, ...]:
        """The packages that provide `name`, a capability or a file, in the index's order."""
        return tuple(self._providers.get(name, ()))


def parse_primary(
    pieces: Iterable[bytes], where: str, architectures: frozenset[str]
) -> list[Package]:
    """The packages for `architectures` of the `primary` index in `pieces`.

    Raises:
        RepositoryError: it is none, or has a package without name, version or file.
    """
    reading = _Primary(architectures)
    read_xml(pieces, reading, where)
    if not reading.is_metadata:
        raise RepositoryError(f"`{where}` is XML, but not the index of an RPM repository")
    return reading.packages


class _Primary:
    """The elements of `primary.xml`, as createrepo_c writes them."""

    texts = frozenset({"name", "arch", "checksum", "file"})

    def __init__(self, architectures: frozenset[str]) -> None:
        self.packages: list[Package] = []
        self.is_metadata = False
        self._architectures = architectures
        self._same: dict[tuple[str | None, ...], Relation] = {}
        self._evrs: dict[Evr, Evr] = {}
        self._clear()

    def _clear(self) -> None:
        self._text: dict[str, str] = {}
        self._attributes: dict[str, dict[str, str]] = {}
        self._section = ""
        self._lists: dict[str, list[Relation]] = {}
        self._files: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "entry":  # nine of ten elements
            self._take(attributes)
        elif name == "metadata":
            self.is_metadata = True
        elif name == "package":
            self._clear()
        elif name in ("version", "size", "location", "checksum"):
            self._attributes[name] = attributes
        elif name in ("requires", "provides", "conflicts"):
            self._section = name

    def end(self, name: str, text: str) -> None:
        if name == "entry":
            return
        if name == "file":
            self._files.append(text)
        elif name in self.texts:
            self._text[name] = text
        elif name == self._section:
            self._section = ""
        elif name == "package" and self._text.get("arch") in self._architectures:
            self.packages.append(self._package())

    def _take(self, attributes: dict[str, str]) -> None:
        if not self._section:
            return
        key = tuple(map(attributes.get, _OF_RELATION))
        relation = self._same.get(key)
        if relation is None:
            relation = self._same[key] = self._relation(attributes)
        if not relation.name.startswith(_OF_RPM):
            self._lists.setdefault(self._section, []).append(relation)

    def _relation(self, attributes: dict[str, str]) -> Relation:
        name = attributes.get("name", "")
        flags = attributes.get("flags", "")
        if not name or flags not in OPERATORS:
            words = visible(f"{name} {flags}")
            raise RepositoryError(
                f"the index has {words} as relation of `{self._text.get('name')}`"
            )
        evr = self._evr(attributes) if flags else None
        return Relation(sys.intern(name), OPERATORS[flags], evr)

    def _evr(self, attributes: dict[str, str]) -> Evr:
        text = attributes.get("epoch") or "0"
        epoch = whole(text)
        if epoch is None:
            raise RepositoryError(f"the index has {visible(text)} as epoch of a version")
        evr = Evr(epoch, attributes.get("ver", ""), attributes.get("rel", ""))
        return self._evrs.setdefault(evr, evr)

    def _package(self) -> Package:
        name = self._text.get("name", "")
        evr = self._evr(self._attributes.get("version", {}))
        location = self._attributes.get("location", {})
        if not name or not evr.version or not location.get("href"):
            msg = f"the index has a package without name, version or file: {visible(name)}"
            raise RepositoryError(msg)
        if any(key.rpartition(" ")[2] == "base" for key in location):
            msg = f"the index keeps the package `{name}` at another address, which is not followed"
            raise RepositoryError(msg, hint="use the repository itself, or a plain mirror of it")
        sizes = self._attributes.get("size", {})
        kind = self._attributes.get("checksum", {}).get("type", "")
        digest = self._text.get("checksum", "").lower() if kind == "sha256" else None
        if digest is not None and not _SHA256.match(digest):
            raise RepositoryError(f"the index has {visible(digest)} as SHA-256 of `{name}`")
        return Package(
            name=sys.intern(name),
            evr=evr,
            architecture=sys.intern(self._text["arch"]),
            href=location["href"],
            size=_number(sizes, "package", name),
            installed_size=_number(sizes, "installed", name),
            digest_kind=kind,
            sha256=digest,
            requires=tuple(dict.fromkeys(self._lists.get("requires", ()))),
            provides=tuple(self._lists.get("provides", ())),
            conflicts=tuple(self._lists.get("conflicts", ())),
            files=tuple(self._files),
        )


def _number(sizes: dict[str, str], field: str, name: str) -> int | None:
    text = sizes.get(field)
    if text is None:
        return None
    number = whole(text)
    if number is None:
        raise RepositoryError(f"the index has {visible(text)} as size of `{name}`")
    return number
