"""The host's own apt sources: `sources.list`, `*.list` and `*.sources` files.

Source: sources.list(5).
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmenv.errors import visible
from rocmenv.fetch.connection import without_account
from rocmenv.sources.apt.stanza import commented, fields

if TYPE_CHECKING:
    from pathlib import Path

_ADDRESS = re.compile(r"\w+://\S*")
_OPTION = re.compile(r"([a-zA-Z-]+)([+-]?=)(\S+)")
_FINGERPRINT = re.compile(r"(?:[0-9A-Fa-f]{40}|[0-9A-Fa-f]{64})!?\Z")
_SCHEMES = ("http://", "https://", "file:")
_YES = ("yes", "true", "1", "on")
_NO = ("no", "false", "0", "off")


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """One repository of binary packages that the host uses.

    `uri` is its base. `suite` ends in `/` for a flat repository, which has no components.
    `architectures` is empty for the host's own. Of `keyrings` (paths), `key_block`
    (armoured keys in the entry) and `fingerprints` any may be empty; all empty means the
    host's trusted keys. `is_trusted` is apt's `trusted=yes`, "do not check". `origin` says
    where this stands: `PATH:LINE`.
    """

    uri: str
    suite: str
    components: tuple[str, ...]
    origin: str
    architectures: tuple[str, ...] = ()
    keyrings: tuple[str, ...] = ()
    key_block: str = ""
    fingerprints: frozenset[str] = frozenset()
    is_trusted: bool = False


@dataclass(frozen=True, slots=True)
class SourceList:
    """The entries in the order of the files, and notes on what could not be read."""

    entries: tuple[SourceEntry, ...]
    notes: tuple[str, ...]


def read_sources(etc: Path) -> SourceList:
    """The sources below `etc` (`/etc/apt`): the list file, then the folder in name order."""
    folder = etc / "sources.list.d"
    paths = [etc / "sources.list"]
    with contextlib.suppress(OSError):
        paths += sorted(p for p in folder.iterdir() if p.suffix in (".list", ".sources"))
    entries: list[SourceEntry] = []
    notes: list[str] = []
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            continue
        except OSError as error:
            notes.append(f"`{path}` cannot be read: {(error.strerror or str(error)).lower()}")
            continue
        parse = parse_deb822 if path.suffix == ".sources" else parse_list
        found = parse(text, str(path))
        entries += found.entries
        notes += found.notes
    return SourceList(tuple(entries), tuple(notes))


def parse_list(text: str, path: str) -> SourceList:
    """The one-line entries (`deb [options] URI SUITE COMPONENT…`) of `text`; never raises."""
    entries: list[SourceEntry] = []
    notes: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.partition("#")[0].strip()
        if not bare:
            continue
        origin = f"{path}:{number}"
        entry = _line(bare, origin)
        if isinstance(entry, SourceEntry):
            entries.append(entry)
        elif entry:
            # Wherever the addresses stand: the line is not one that we understand.
            plain = _ADDRESS.sub(lambda match: without_account(match[0]), bare)
            notes.append(f"{origin}: {entry}: {visible(plain, 120)}")
    return SourceList(tuple(entries), tuple(notes))


def _line(line: str, origin: str) -> SourceEntry | str:
    """The entry; else what is wrong, empty for a line of another kind."""
    kind, _, rest = line.replace("\t", " ").partition(" ")
    if kind == "deb-src":
        return ""
    if kind != "deb":
        return "it starts with neither `deb` nor `deb-src`"
    options: dict[str, str] = {}
    rest = rest.strip()
    if rest.startswith("["):
        inside, closing, rest = rest[1:].partition("]")
        if not closing:
            return "its `[` is not closed"
        for name, sign, value in _OPTION.findall(inside):
            if sign == "=":
                options[name.lower()] = value.replace(",", " ")
    uri, *words = rest.split() or [""]
    return _entry(uri, words[:1], words[1:], options, origin)


def _entry(
    uri: str, suites: list[str], components: list[str], options: dict[str, str], origin: str
) -> SourceEntry | str:
    suite = suites[0] if suites else ""
    problem = _problem(uri, suite, components)
    if problem:
        return problem
    signed_by = options.get("signed-by", "").strip()
    is_block = "-----BEGIN" in signed_by
    words = [] if is_block else signed_by.split()
    return SourceEntry(
        uri=uri.rstrip("/") + "/",
        suite=suite,
        components=tuple(components),
        origin=origin,
        architectures=tuple(options.get("arch", "").split()),
        keyrings=tuple(word for word in words if word.startswith("/")),
        key_block=signed_by if is_block else "",
        fingerprints=frozenset(w.upper() for w in words if _FINGERPRINT.match(w)),
        is_trusted=options.get("trusted", "").lower() in _YES,
    )


def _problem(uri: str, suite: str, components: list[str]) -> str:
    if not uri.lower().startswith(_SCHEMES):
        return "its address is not http, https or file"
    if not suite:
        return "it names no suite"
    if suite.endswith("/") and components:
        return "a suite that ends in `/` has no components"
    if not suite.endswith("/") and not components:
        return "it names no component"
    return ""


def parse_deb822(text: str, path: str) -> SourceList:
    """The paragraphs of a `.sources` file; one entry for each URI and suite; never raises."""
    entries: list[SourceEntry] = []
    notes: list[str] = []
    for line, stanza in commented(text.replace("\r\n", "\n")):
        found = fields(stanza)
        if not found or found.get("enabled", "yes").lower() in _NO:
            continue
        origin = f"{path}:{line}"
        for entry in _paragraph(found, origin):
            if isinstance(entry, SourceEntry):
                entries.append(entry)
            else:
                notes.append(f"{origin}: {entry}")
    return SourceList(tuple(entries), tuple(notes))


def _paragraph(found: dict[str, str], origin: str) -> list[SourceEntry | str]:
    types = found.get("types", "").split()
    if not types:
        return ["the paragraph has no `Types`"]
    if "deb" not in types:
        return [] if "deb-src" in types else [f"the type {visible(types[0])} is not known"]
    missing = [name for name in ("URIs", "Suites") if not found.get(name.lower(), "").split()]
    if missing:
        return [f"the paragraph has no `{missing[0]}`"]
    options = {
        "arch": found.get("architectures", "").replace(",", " "),
        "signed-by": found.get("signed-by", ""),
        "trusted": found.get("trusted", ""),
    }
    components = found.get("components", "").split()
    return [
        _entry(uri, [suite], components, options, origin)
        for uri in found["uris"].split()
        for suite in found["suites"].split()
    ]
