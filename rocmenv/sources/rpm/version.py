"""Version order of RPM packages.

Source: rpm's `rpmvercmp` and its documentation of versions ("Version" in the manual); the
tests hold this to the program `rpm`.
"""

from __future__ import annotations

import re
from functools import cmp_to_key, lru_cache
from typing import NamedTuple

from rocmenv.fetch.numbers import whole

# What a text is compared by: digits, letters, and the two marks; all else only separates.
_PARTS = re.compile(r"[0-9]+|[A-Za-z]+|~|\^")


class Evr(NamedTuple):
    """Epoch, version and release; an unknown release is an empty text."""

    epoch: int
    version: str
    release: str

    def __str__(self) -> str:
        text = f"{self.epoch}:{self.version}" if self.epoch else self.version
        return f"{text}-{self.release}" if self.release else text


def parse_evr(text: str) -> Evr:
    """`text` (`1:6.3.0-39.el9`) in its parts; an epoch that is no number counts as 0."""
    before, mark, rest = text.partition(":")
    epoch = whole(before) if mark else None
    if epoch is None:
        rest = rest if mark and not before else text
    version, mark, release = rest.rpartition("-")
    return Evr(epoch or 0, version, release) if mark else Evr(epoch or 0, rest, "")


def compare(one: Evr, other: Evr) -> int:
    """-1, 0 or 1. A release counts only where both have one, as in rpm's dependencies."""
    if one.epoch != other.epoch:
        return -1 if one.epoch < other.epoch else 1
    order = compare_texts(one.version, other.version)
    if order or not one.release or not other.release:
        return order
    return compare_texts(one.release, other.release)


by_evr = cmp_to_key(compare)
"""A key to sort versions by."""


def compare_texts(one: str, other: str) -> int:
    """-1, 0 or 1, as `rpmvercmp` orders two versions or two releases."""
    mine, theirs = _parts(one), _parts(other)
    for a, b in zip(mine, theirs, strict=False):
        if a != b:
            return _order(a, b)
    if len(mine) == len(theirs):
        return 0
    longer, sign = (mine, 1) if len(mine) > len(theirs) else (theirs, -1)
    # What follows is newer, but `~` marks what comes before a release.
    return -sign if longer[min(len(mine), len(theirs))] == "~" else sign


def _order(one: str, other: str) -> int:
    """The order of two parts that differ: `~` before all, `^` before any but the end."""
    for mark in "~^":
        if mark in (one, other):
            return -1 if one == mark else 1
    if one.isdigit() != other.isdigit():
        return 1 if one.isdigit() else -1
    if one.isdigit() and len(one) != len(other):
        return 1 if len(one) > len(other) else -1
    return 1 if one > other else -1


@lru_cache(maxsize=4096)
def _parts(text: str) -> tuple[str, ...]:
    return tuple(
        part.lstrip("0") or "0" if part[0].isdigit() else part for part in _PARTS.findall(text)
    )
