"""What AMD's installers hold: packages that were unpacked, as they are or in inner archives.

Source: the scripts that build them (ROCm/rocm-installer-runfile) and packagers who take them
apart (docs/sources.md, "Installers"). Member names by release:

    6.4 to 7.2    component-rocm/PACKAGE/content/rocm-X.Y.Z/..., .../content-etc/...
    7.12          components.tar.xz, with component-rocm/TAG/PACKAGE/content/rocm/core-X.Y/...
    from 7.13 on  component-rocm/content-TAG.tar.xz, with TAG/PACKAGE/rocm/core-X.Y/...
    uncompressed  component-rocm/content/TAG/PACKAGE/rocm/core-X.Y/...

A TAG is `base`, a GPU (`gfx1100`) or a family (`gfx110x`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from rocmenv.fetch.decode import Stream
from rocmenv.fetch.members import content, entries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import BinaryIO

    from rocmenv.fetch.makeself import Makeself
    from rocmenv.fetch.members import Entry

BASE = "base"
"""The tag of what every GPU needs."""
_TAG = r"(?P<tag>base|gfx[0-9a-z]+)"
_PLACES = tuple(
    map(
        re.compile,
        (
            rf"component-rocm/content/{_TAG}/(?P<package>[^/]+)/(?P<rest>.+)",
            rf"component-rocm/{_TAG}/(?P<package>[^/]+)/content/(?P<rest>.+)",
            r"component-rocm/(?P<package>[^/]+)/content/(?P<rest>.+)",
            r"component-rocm/(?P<package>[^/]+)/content-(?P<rest>etc/.+)",
            rf"{_TAG}/(?P<package>[^/]+)/(?P<rest>.+)",
        ),
    )
)
_ARCHIVE = re.compile(rf"(?:component-rocm/content-{_TAG}|components)\.tar\.(?:xz|gz|zst|bz2)")
_NEEDS = re.compile(r"component-rocm/([^/]+)/deps/(?:deps|predeps)\.txt")
_PACKAGE = re.compile(r"component-rocm/([^/]+)/(?:content|content-etc|deps|scriptlets)(?:/|$)")
_PREFIX = re.compile(r"opt/(rocm-\d+\.\d+\.\d+|rocm/core-\d+\.\d+)(?:/|$)")
_GFX_LISTS = "component-rocm/.gfx-lists"
_TEXTS = ("VERSION", _GFX_LISTS)
_LONGEST_TEXT = 1 << 20
_FAMILIES = re.compile(r"GFX_FINE_TO_COARSE=\((.*?)^\s*\)", re.DOTALL | re.MULTILINE)
_FAMILY = re.compile(r"""\["?(gfx[0-9a-z]+)"?\]="?(gfx[0-9a-z]+)"?""")


class Located(NamedTuple):
    """A member: the tag and package it is of, and its path from `/` without the first `/`."""

    tag: str
    package: str
    path: str


@dataclass(frozen=True, slots=True)
class Inner:
    """An archive that is a member; `tag` is empty for one of all tags.

    `section` is the number of the installer's archive that has it, `position` where it
    starts in that one's unpacked bytes; `size` is in bytes, as it is packed.
    """

    name: str
    tag: str
    section: int
    position: int
    size: int

    def open(self, made: Makeself, file: BinaryIO, threads: int = 1) -> Stream:
        """The unpacked inner archive."""
        outer = made.open(file, self.section)
        outer.skip_to(self.position)
        return Stream(_Part(outer, self.size), self.name, threads=threads)


@dataclass(slots=True)
class Contents:
    """The members of an installer.

    `packages` are the bytes of those that lie in it unpacked, by tag and name; `names` those
    of all packages, also of such without content. `needs` are their dependencies, a line
    each. `prefixes` are the places that unpacked ones are for (`opt/rocm-6.4.0`).
    `families` is the family of each GPU that the installer names.
    """

    packages: dict[tuple[str, str], int] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    archives: list[Inner] = field(default_factory=list)
    needs: dict[str, list[str]] = field(default_factory=dict)
    prefixes: set[str] = field(default_factory=set)
    texts: dict[str, str] = field(default_factory=dict)

    @property
    def families(self) -> dict[str, str]:
        """The family of each GPU, as the installer's own list has it."""
        match = _FAMILIES.search(self.texts.get(_GFX_LISTS, ""))
        return dict(_FAMILY.findall(match[1])) if match else {}

    @property
    def tags(self) -> set[str]:
        """The tags that there are, but for `base`."""
        found = {tag for tag, _ in self.packages} | {a.tag for a in self.archives}
        return found - {BASE, ""}

    def covers(self, tag: str, target: str) -> bool:
        """Whether what has `tag` is for the GPU `target`, or for its family."""
        if tag in (target, self.families.get(target)):
            return True
        return tag.endswith("x") and len(tag) == len(target) and target.startswith(tag[:-1])

    def is_wanted(self, tag: str, targets: Iterable[str]) -> bool:
        """Whether what has `tag` is needed for `targets`; without any, all is."""
        targets = tuple(targets)
        return tag in (BASE, "") or not targets or any(self.covers(tag, t) for t in targets)


class _Part:
    """A member of an outer archive, which is read up to it, as a source of its own."""

    def __init__(self, outer: Stream, size: int) -> None:
        self._outer = outer
        self._left = size

    def read(self, n: int = -1, /) -> bytes:
        """Up to `n` bytes; empty at the member's end."""
        piece = self._outer.read(min(n, self._left) if n >= 0 else self._left)
        self._left -= len(piece)
        return piece

    def skip(self, n: int) -> int:
        """Go over up to `n` bytes; how many there were."""
        start = self._outer.position
        self._outer.skip_to(start + min(n, self._left))
        gone = self._outer.position - start
        self._left -= gone
        return gone


def located(member: str) -> Located | None:
    """What the member of an installer, or of an inner archive, is; None for all else."""
    for pattern in _PLACES:
        match = pattern.fullmatch(member)
        if match is not None:
            found = match.groupdict()
            rest = found["rest"]
            path = f"opt/{rest}" if rest.startswith("rocm") else rest
            return Located(found.get("tag") or "", found["package"], path)
    return None


def scan(made: Makeself, file: BinaryIO) -> Contents:
    """Look through the headers of the installer open as `file`; nothing is unpacked.

    One that is compressed as a whole has to be decompressed for that.

    Raises:
        ArchiveError: it is damaged, or has a member with an unsafe name.
    """
    found = Contents()
    for section in range(len(made.sections)):
        stream = made.open(file, section)
        for entry in entries(stream):
            _note(found, stream, entry, section)
    return found


def _note(found: Contents, stream: Stream, entry: Entry, section: int) -> None:
    name = entry.name
    if match := _PACKAGE.match(name):
        found.names.add(match[1])
    if entry.kind != "file":
        return
    place = located(name)
    if place is not None:
        key = (place.tag, place.package)
        found.packages[key] = found.packages.get(key, 0) + entry.size
        if match := _PREFIX.match(place.path):
            found.prefixes.add(f"opt/{match[1]}")
    elif match := _NEEDS.fullmatch(name):
        lines = _text(stream, entry).splitlines()
        found.needs.setdefault(match[1], []).extend(line for line in lines if line.strip())
    elif (match := _ARCHIVE.fullmatch(name)) and entry.spans == ((0, entry.size),):
        tag = match["tag"] or ""
        found.archives.append(Inner(name, tag, section, stream.position, entry.size))
    elif name in _TEXTS:
        found.texts[name] = _text(stream, entry)


def _text(stream: Stream, entry: Entry) -> str:
    if entry.size > _LONGEST_TEXT:
        return ""
    return b"".join(bytes(piece) for _, piece in content(stream, entry)).decode("utf-8", "replace")


def renamed(stream: Stream, wanted: Callable[[Located], bool]) -> Iterator[Entry]:
    """The members of `stream` that are `wanted`, by their names from `/`."""
    for entry in entries(stream):
        place = located(entry.name)
        if place is None or not wanted(place):
            continue
        target = entry.target
        if entry.kind == "hard":
            other = located(target)
            target = other.path if other else target
        yield replace(entry, name=place.path, target=target)
