"""Which of a release's archives to take: each is for a group of GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

ALL = "multiarch"
"""The group of archives that hold the code for every GPU."""


def choose_group(
    groups: Collection[str], targets: Collection[str], families: Mapping[str, Collection[str]]
) -> str | None:
    """The smallest of `groups` that has code for all `targets`; None when there is none.

    A group is a family of `families` or one target's own name. Without targets only the
    group for every GPU will do.
    """

    def members(group: str) -> Collection[str]:
        return families.get(group, (group,))

    if targets:
        fitting = [g for g in groups if g != ALL and set(targets) <= set(members(g))]
        if fitting:
            return min(fitting, key=lambda g: (len(members(g)), g))
    return ALL if ALL in groups else None


def smallest_group(
    groups: Collection[str], _targets: Collection[str], families: Mapping[str, Collection[str]]
) -> str | None:
    """The group of the fewest GPUs, for a machine that has none; as `choose_group`."""
    return min(groups, key=lambda g: (g == ALL, len(families.get(g, (g,))), g), default=None)
