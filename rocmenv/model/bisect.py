"""Between a version that is good and one that is bad: which one to try next. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocmenv.model.version import Version


@dataclass(slots=True)
class Search:
    """A search along `line`, whose first version is good and whose last one is bad.

    Somewhere in between good turns into bad, once. Versions of which nothing can be told are
    skipped, and then the answer may stay open between some of them.
    """

    line: Sequence[Version]
    skipped: set[Version] = field(default_factory=set)
    _good: int = 0
    _bad: int = -1

    def __post_init__(self) -> None:
        if not self.line[1:]:
            raise ValueError("a search needs two versions")
        self._bad = len(self.line) - 1

    @property
    def good(self) -> Version:
        """The last version that is known to be good."""
        return self.line[self._good]

    @property
    def bad(self) -> Version:
        """The first version that is known to be bad."""
        return self.line[self._bad]

    @property
    def between(self) -> list[Version]:
        """The versions of which nothing is known, in their order; at the end those skipped."""
        return list(self.line[self._good + 1 : self._bad])

    def next(self) -> Version | None:
        """The version to try: of those that are left the one nearest to the middle."""
        left = [v for v in self.between if v not in self.skipped]
        if not left:
            return None
        middle = (self._good + self._bad) / 2
        return min(left, key=lambda v: abs(self.line.index(v) - middle))

    def tell(self, version: Version, *, is_good: bool | None) -> None:
        """Take in what came of a version; None for one of which nothing can be told."""
        if is_good is None:
            self.skipped.add(version)
        elif is_good:
            self._good = max(self._good, self.line.index(version))
        else:
            self._bad = min(self._bad, self.line.index(version))
