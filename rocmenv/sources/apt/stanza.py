"""The `Name: value` paragraphs that Release, Packages, status and `.sources` files are made of.

Source: deb822(5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLANKS = frozenset({" ", "\t"})


def fields(stanza: str, wanted: frozenset[str] | None = None) -> dict[str, str]:
    """The fields of one paragraph, names in lower case, folded lines joined by newlines.

    With `wanted` (lower case) only those. A ` .` line becomes an empty one. The first of
    two fields of one name counts. Lines that are neither a field nor a continuation are
    skipped.
    """
    found: dict[str, str] = {}
    current = ""
    for line in stanza.split("\n"):
        if line[:1] in _BLANKS:
            if current:
                text = line.strip()
                found[current] += "\n" if text == "." else f"\n{text}"
            continue
        name, colon, value = line.partition(":")
        name = name.lower()
        current = ""
        if colon and (wanted is None or name in wanted) and name not in found:
            current = name
            found[name] = value.strip()
    return found


def plain(text: bytes) -> bytes:
    """`text` with line feeds alone at the ends of lines, and nothing else in blank lines."""
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n")
    if b"\n \n" in text or b"\n\t\n" in text:
        text = b"\n".join(line if line.strip() else b"" for line in text.split(b"\n"))
    return text


def stanzas(text: str) -> list[str]:
    """The paragraphs of `text`, none empty."""
    lines = plain(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
    return [part for part in lines.split("\n\n") if part and not part.isspace()]


def commented(text: str) -> Iterator[tuple[int, str]]:
    """The paragraphs of a file that may have comments, each with the line that it starts in.

    Lines count from 1. A line that starts with `#` is a comment, also between two lines of
    one field, and ends nothing. `.sources` files may have such lines (sources.list(5));
    Packages and Release files may not (Debian Policy 5.1), and apt takes none there.
    """
    start, lines = 0, list[str]()
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("#"):
            continue
        if line.strip():
            start = start or number
            lines.append(line)
        elif lines:
            yield start, "\n".join(lines)
            start, lines = 0, []
    if lines:
        yield start, "\n".join(lines)
