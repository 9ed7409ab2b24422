"""Dependencies of RPM packages: `hip >= 6.3`, and rich ones as `(a if b else c)`.

Source: rpm's documentation of dependencies and of boolean dependencies. Where rpm and the
programs people use differ (a provide without a version), this follows libsolv, which dnf
and zypper resolve with.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rocmenv.errors import RepositoryError, visible
from rocmenv.sources.rpm.version import Evr, compare, parse_evr

if TYPE_CHECKING:
    from collections.abc import Iterable

OPERATORS = {"": "", "EQ": "=", "LT": "<", "GT": ">", "LE": "<=", "GE": ">="}
"""What an index calls the operators."""
CONDITIONAL = ("if", "unless")
"""The words of rich dependencies that ask for something when something else is there."""
_WORDS = ("and", "or", "if", "unless", "with", "without")
_CHAINS = ("and", "or", "with")
_MOST_NESTED = 20
_OPERATOR = re.compile(r"\s*(<=|>=|=|<|>)\s*")
_BLANKS = re.compile(r"\s*")


class Relation(NamedTuple):
    """A name, with a bound on its version or none; also what a package provides."""

    name: str
    operator: str = ""
    evr: Evr | None = None

    def __str__(self) -> str:
        return f"{self.name} {self.operator} {self.evr}" if self.operator else self.name

    @property
    def is_file(self) -> bool:
        """Whether it asks for a file."""
        return self.name.startswith("/")

    def accepts(self, offer: Relation) -> bool:
        """Whether the provide `offer` is enough: the two ranges have a version in common."""
        if self.name != offer.name:
            return False
        if self.evr is None:
            return True
        if offer.evr is None:
            return False
        order = compare(offer.evr, self.evr)
        if order == 0:
            return any(mark in self.operator and mark in offer.operator for mark in "<=>")
        newer, older = (
            (offer.operator, self.operator) if order > 0 else (self.operator, offer.operator)
        )
        return "<" in newer or ">" in older


@dataclass(frozen=True, slots=True)
class Rich:
    """A rich dependency: `word` between its `parts`.

    `if` and `unless` have what is needed, the condition, and what is needed otherwise,
    where that is given.
    """

    word: str
    parts: tuple[Need, ...]

    def __str__(self) -> str:
        texts = list(map(str, self.parts))
        if self.word in _CHAINS or len(texts) == 2:  # noqa: PLR2004 - no `else`
            return f"({f' {self.word} '.join(texts)})"
        return f"({texts[0]} {self.word} {texts[1]} else {texts[2]})"

    @property
    def is_conditional(self) -> bool:
        """Whether what it asks for depends on what else is there."""
        nested = (part.is_conditional for part in self.parts if isinstance(part, Rich))
        return self.word in CONDITIONAL or any(nested)

    def relations(self) -> Iterable[Relation]:
        """All relations in it."""
        for part in self.parts:
            yield from part.relations() if isinstance(part, Rich) else (part,)


Need = Relation | Rich
"""What a package asks for."""


def parse_need(text: str) -> Need:
    """The need that `text` is, as people and rich dependencies write it.

    Raises:
        RepositoryError: it is none.
    """
    need, end = _operand(text, 0, 0)
    if text[end:].strip():
        raise _odd(text)
    return need


def _operand(text: str, at: int, depth: int) -> tuple[Need, int]:
    at = _after_blanks(text, at)
    if text.startswith("(", at):
        return _rich(text, at + 1, depth + 1)
    name, at = _word(text, at)
    match = _OPERATOR.match(text, at)
    if not name or match is None:
        if not name:
            raise _odd(text)
        return Relation(name), at
    version, at = _word(text, match.end())
    if not version:
        raise _odd(text)
    return Relation(name, match[1], parse_evr(version)), at


def _rich(text: str, at: int, depth: int) -> tuple[Need, int]:
    if depth > _MOST_NESTED:
        raise _odd(text)
    first, at = _operand(text, at, depth)
    parts = [first]
    word = ""
    while not text.startswith(")", at := _after_blanks(text, at)):
        this, at = _word(text, at)
        is_else = this == "else" and word in CONDITIONAL and len(parts) == 2  # noqa: PLR2004 - `A if B`
        is_more = this in _WORDS and (not word or (this == word and word in _CHAINS))
        if not (is_else or is_more):
            raise _odd(text)
        word = word or this
        part, at = _operand(text, at, depth)
        parts.append(part)
    return (Rich(word, tuple(parts)) if word else first), at + 1


def _word(text: str, at: int) -> tuple[str, int]:
    """The text up to a blank, an operator, or a bracket that was opened before it."""
    start, opened = at, 0
    while at < len(text) and not text[at].isspace():
        if text[at] == ")":
            if not opened:
                break
            opened -= 1
        elif text[at] == "(":
            opened += 1
        elif text[at] in "<>=" and not opened:
            break
        at += 1
    return text[start:at], at


def _after_blanks(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    end = match.end() if match else at
    if end == len(text):
        raise _odd(text)
    return end


def _odd(text: str) -> RepositoryError:
    return RepositoryError(f"{visible(text, 200)} is not a package relation")
