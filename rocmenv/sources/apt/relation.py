"""Version order and dependency fields of Debian packages.

The comparison and the parser are `debian-inspector`'s (Apache-2.0), loaded on first use.
Its `Version.from_string` is not used: it refuses versions that end in `~` or `+`, which
1 342 of the 38 493 version texts in Debian 12's index do (`libc6 (>= 2.36~)`). Its
comparison orders them as dpkg does, so only the cut into epoch, upstream and revision is
made here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cmp_to_key, lru_cache
from typing import Any

from rocmenv.errors import RepositoryError, visible

_ACCEPTED = {
    "<<": (-1,),
    "<": (-1, 0),  # an old spelling of `<=`, as dpkg reads it
    "<=": (-1, 0),
    "=": (0,),
    ">=": (0, 1),
    ">": (0, 1),  # an old spelling of `>=`
    ">>": (1,),
}
_VERSION = re.compile(r"(?:(\d+):)?([A-Za-z0-9.+~-]+)\Z", re.ASCII)
_LONGEST = 1000  # no version has a tenth of it, and Python refuses to read endless numbers


@dataclass(frozen=True, slots=True)
class Relation:
    """One package that a field names; `operator` and `version` are empty when any will do.

    `architectures` are those to which it applies (`amd64`, or `!i386` for all but one);
    none means all.
    """

    name: str
    operator: str = ""
    version: str = ""
    architectures: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name} ({self.operator} {self.version})" if self.operator else self.name

    def accepts(self, version: str) -> bool:
        """Whether a package of `version` is enough; raises `RepositoryError` as `compare`."""
        return not self.operator or compare(version, self.version) in _ACCEPTED[self.operator]

    def accepts_offer(self, version: str) -> bool:
        """Whether a package that provides the name is enough; no version is an empty text.

        Debian Policy 7.5: who provides no version meets only relations without one.
        """
        return self.accepts(version) if version else not self.operator

    def applies(self, architecture: str) -> bool:
        """Whether this counts on `architecture`."""
        if not self.architectures:
            return True
        if self.architectures[0].startswith("!"):
            return f"!{architecture}" not in self.architectures
        return architecture in self.architectures


Group = tuple[Relation, ...]
"""Alternatives (`a | b`), the preferred one first."""


def group_text(group: Group) -> str:
    """A group as a field has it."""
    return " | ".join(map(str, group))


def compare(one: str, other: str) -> int:
    """-1, 0 or 1, as dpkg orders the versions `one` and `other`.

    Raises:
        RepositoryError: a text that is not a version.
    """
    from debian_inspector.version import compare_versions  # noqa: PLC0415 - only when an index is read

    return int(compare_versions(_version(one), _version(other)))


by_version = cmp_to_key(compare)
"""A key to sort versions by."""


def upstream(version: str) -> str:
    """The upstream part of a package's version; raises `RepositoryError` as `compare`.

    >>> upstream("1:15.0.6-4+b1"), upstream("2.36-9+deb12u14"), upstream("2.38")
    ('15.0.6', '2.36', '2.38')
    """
    return _cut(version)[1]


def _cut(text: str) -> tuple[str, str, str]:
    """Epoch, upstream part and revision."""
    match = _VERSION.match(text.strip())
    if match is None or len(text) > _LONGEST:
        raise RepositoryError(f"{visible(text)} is not a package version")
    before, hyphen, revision = match[2].rpartition("-")
    return (match[1] or "0", before, revision) if hyphen else (match[1] or "0", revision, "0")


@lru_cache(maxsize=4096)
def _version(text: str) -> Any:  # noqa: ANN401 - debian-inspector has no types
    from debian_inspector.version import Version  # noqa: PLC0415 - only when an index is read

    epoch, before, revision = _cut(text)
    return Version(epoch=int(epoch), upstream=before, revision=revision)


def parse_relations(text: str) -> tuple[Group, ...]:
    """The groups of alternatives in a field such as `Depends`.

    Architecture qualifiers (`python3:any`) and build profiles (`<!nocheck>`) are dropped.

    Raises:
        RepositoryError: an expression that is not one.
    """
    groups = (part.strip() for part in text.split(","))
    return tuple(tuple(_relation(one) for one in group.split("|")) for group in groups if group)


def _relation(text: str) -> Relation:
    from debian_inspector.deps import parse_relationship  # noqa: PLC0415 - only when an index is read

    expression = text.strip()
    if not expression or expression[0] in "([":
        raise RepositoryError(f"{visible(text)} is not a package relation")
    try:
        found = parse_relationship(expression)
    except (ValueError, AttributeError) as error:
        raise RepositoryError(f"{visible(text)} is not a package relation") from error
    operator = getattr(found, "operator", "")
    if operator and operator not in _ACCEPTED:
        raise RepositoryError(f"{visible(text)} is not a package relation")
    name = found.name.partition(":")[0]
    return Relation(name, operator, getattr(found, "version", ""), tuple(found.architectures))
