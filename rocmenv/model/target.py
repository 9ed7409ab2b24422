"""GPU targets: what device code is built for, as LLVM names it.

A *target* is one GPU architecture, `gfx1100`: major in decimal, minor and stepping one hex digit
each (source: the kernel driver's interface and rocm_agent_enumerator, docs/gpus.md). Features may
follow, `gfx90a:sramecc+:xnack-`. A *generic* name, `gfx11-generic`, is that of code which runs on
several targets. Names of families, `gfx110X-all`, are in `rocmenv.model.gpus`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmenv.errors import InvalidTargetError, visible

if TYPE_CHECKING:
    from collections.abc import Iterable

FEATURES = ("sramecc", "xnack")
NAME = r"gfx(?:[6-9]|1[0-9])[0-9a-f]{2}"
"""A target without features, as a regular expression without groups."""
GENERIC = r"gfx(?:[6-9]|1[0-9])(?:-[0-9a-f])?-generic"
"""A generic name, in the same way."""

ALL = "all"
"""The word for every target: nothing is left out of an install."""
NONE = "none"
"""The word for no target: what all of them need is installed, and no kernels."""

_MAJORS = range(6, 20)
"""LLVM has no gfx5 and no gfx20. A wider range would take `gfx9010` for a target (case R19)."""
_HEX_DIGIT = 16
_LONGEST = 60
_TARGET = re.compile(rf"({NAME})((?::[a-z]+[+-])*)", re.ASCII)
_GENERIC = re.compile(r"gfx(\d+)(?:-([0-9a-f]))?-generic", re.ASCII)
# A colon separates targets, unless a feature follows.
_SEPARATOR = re.compile(rf"[,\s]+|:(?!(?:{'|'.join(FEATURES)})[+-])", re.IGNORECASE)
# Revision 10 written in decimal, as a tool once did (case R19).
_DECIMAL = re.compile(r"gfx([6-9]|1[0-9])([0-9])(1[0-5])", re.ASCII)
_FORM = "a target is written like `gfx1100` or `gfx90a:xnack-`; `rocmenv gpu` shows this machine's"


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """One GPU architecture, ordered by its numbers: `gfx906` before `gfx90a` before `gfx1030`.

    `features` are those that are on or off, by name; one that is not named is left open.
    """

    major: int
    minor: int
    stepping: int
    features: tuple[tuple[str, bool], ...] = ()

    @classmethod
    def parse(cls, text: str, known: Iterable[str] = ()) -> Target:
        """The target that `text` names, in any case; else `InvalidTargetError`.

        Its form alone is looked at: a GPU may be newer than this rocmenv. `known` are names to
        suggest where the form is wrong.

        >>> str(Target.parse("GFX90A:XNACK-:SRAMECC+"))
        'gfx90a:sramecc+:xnack-'
        """
        match = _TARGET.fullmatch(text.lower()) if len(text) <= _LONGEST else None
        if match is None:
            msg = f"{visible(text)} is not a GPU target"
            raise InvalidTargetError(msg, hint=_suggestion(text, known) or _FORM)
        name, tail = match.groups()
        return cls(int(name[3:-2]), int(name[-2], 16), int(name[-1], 16), _features(tail, text))

    @classmethod
    def from_number(cls, number: int) -> Target | None:
        """The target of the kernel's `gfx_target_version`, None for what is none.

        >>> str(Target.from_number(90010)), Target.from_number(0), Target.from_number(91600)
        ('gfx90a', None, None)
        """
        major, minor, stepping = number // 10000, number // 100 % 100, number % 100
        if major not in _MAJORS or minor >= _HEX_DIGIT or stepping >= _HEX_DIGIT:
            return None
        return cls(major, minor, stepping)

    @property
    def number(self) -> int:
        """The kernel's `gfx_target_version`."""
        return self.major * 10000 + self.minor * 100 + self.stepping

    @property
    def base(self) -> Target:
        """The same without features."""
        return Target(self.major, self.minor, self.stepping)

    @property
    def feature_words(self) -> list[str]:
        """The features as they are written: `xnack-`."""
        return [f"{name}{'+' if is_on else '-'}" for name, is_on in self.features]

    def __str__(self) -> str:
        name = f"gfx{self.major}{self.minor:x}{self.stepping:x}"
        return ":".join((name, *self.feature_words))


@dataclass(frozen=True, slots=True, order=True)
class Generic:
    """Code for several targets: `gfx11-generic`, or with a minor number `gfx10-3-generic`."""

    major: int
    minor: int | None = None

    @classmethod
    def parse(cls, text: str) -> Generic | None:
        """The generic name that `text` is, in any case; None when it is none."""
        match = _GENERIC.fullmatch(text.lower())
        if match is None or int(match[1]) not in _MAJORS:
            return None
        return cls(int(match[1]), int(match[2], 16) if match[2] else None)

    def may_serve(self, target: Target) -> bool:
        """Whether such code may run on `target`; in doubt it may.

        Only the major number is compared. Most memberships are confirmed by no primary source,
        and `gfx9-4-generic` serves gfx950 too.
        """
        return self.major == target.major

    def __str__(self) -> str:
        minor = "" if self.minor is None else f"-{self.minor:x}"
        return f"gfx{self.major}{minor}-generic"


def split(text: str) -> list[str]:
    """The words of a list of targets, separated by commas, colons or blanks.

    >>> split("gfx90a:xnack-:gfx1100, gfx110X-all")
    ['gfx90a:xnack-', 'gfx1100', 'gfx110X-all']
    """
    return [word for word in _SEPARATOR.split(text) if word]


def _features(text: str, typed: str) -> tuple[tuple[str, bool], ...]:
    found: dict[str, bool] = {}
    for word in text.split(":")[1:]:
        name, is_on = word[:-1], word[-1] == "+"
        if name not in FEATURES or found.get(name, is_on) is not is_on:
            wrong = "is on and off" if name in FEATURES else "is not a feature"
            msg = f"`{name}` in {visible(typed)} {wrong}"
            raise InvalidTargetError(msg, hint=f"the features are {' and '.join(FEATURES)}")
        found[name] = is_on
    return tuple(sorted(found.items()))


def _suggestion(text: str, known: Iterable[str]) -> str | None:
    import difflib  # noqa: PLC0415 - only for messages

    word = text.lower()
    if match := _DECIMAL.fullmatch(word):
        near = [f"gfx{match[1]}{match[2]}{int(match[3]):x}"]
    else:
        names = {name.lower(): name for name in known}
        begins = [lowered for lowered in names if word and lowered.startswith(f"{word}-")]
        close = begins or difflib.get_close_matches(word, names, n=1, cutoff=0.7)
        near = [names[lowered] for lowered in close]
    return f"did you mean `{near[0]}`?" if near else None
