"""Lists of folders in one variable, with `:` between them, kept exactly as they are.

Nothing is normalised: an empty entry means the current folder, a duplicate may be there on
purpose, and both belong to the user. An unset or empty variable holds no entries, so that
putting a folder in front of it adds no empty one (case R09).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SEPARATOR = ":"


def split(value: str | None) -> list[str]:
    """The entries of `value`, empty ones included.

    >>> split("/a::/b:"), split(""), split(None)
    (['/a', '', '/b', ''], [], [])
    """
    return value.split(SEPARATOR) if value else []


def join(entries: Iterable[str]) -> str | None:
    """The value with these entries, or None (unset) when there are none."""
    listed = list(entries)
    return SEPARATOR.join(listed) if listed else None


def put(value: str | None, entries: Iterable[str], foreign: Callable[[str], bool]) -> str | None:
    """`value` with `entries` in front and without every entry that is `foreign`.

    A value that neither gains nor loses an entry comes back as it is, empty or unset.
    """
    front, old = list(entries), split(value)
    kept = [entry for entry in old if not foreign(entry)]
    if not front and len(kept) == len(old):
        return value
    return join(front + kept)


def undo(now: str | None, before: str | None, after: str | None) -> str | None:
    """`now` with the step from `before` to `after` taken back.

    What the user has put in or taken out since stays so. An untouched value becomes
    `before` to the byte. Where the user only added at the ends, the part that was `after`
    becomes `before`. Otherwise each entry that the step added goes (one occurrence), and
    each that it removed comes back behind the entry that it stood behind.
    """
    if now == after:
        return before
    if now is None:
        return None
    if after:
        framed, inner = f":{now}:", f":{after}:"
        start = framed.find(inner)
        if start >= 0:
            head, tail = framed[1:start], framed[start + len(inner) : -1]
            has_head, has_tail = start > 0, start + len(inner) < len(framed)
            parts = [head] * has_head + ([before] if before else []) + [tail] * has_tail
            return join(parts)
    return _merge(split(now), split(before), split(after))


def _merge(now: list[str], before: list[str], after: list[str]) -> str | None:
    added, removed = list(after), []
    for entry in before:
        if entry in added:
            added.remove(entry)
            removed.append(False)
        else:
            removed.append(True)
    for entry in added:
        if entry in now:
            now.remove(entry)
    previous: str | None = None
    for entry, gone in zip(before, removed, strict=True):
        if gone:
            place = now.index(previous) + 1 if previous in now else 0
            now.insert(place, entry)
        previous = entry
    return join(now)
