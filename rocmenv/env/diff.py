"""The change that an activation makes to an environment, as a value.

A diff holds, for each variable that changed, its text before and after, each of them
possibly unset (None): unset is not empty. It travels in one variable, `ROCMENV_DIFF`, so
that undoing needs no file and works in child shells. The shells' own code reads and writes
the same form (shims/init.sh, shims/init.fish):

    1|6.3.0|NAME|before|after|NAME|before|after...

`-` is unset and `+text` a text, in which `%`, `|` and line feed are `%25`, `%7C` and `%0A`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmenv.env import pathlist
from rocmenv.env.family import NAMES, PATH_LISTS

if TYPE_CHECKING:
    from collections.abc import Mapping

_FORMAT = "1"
_ESCAPES = (("%", "%25"), ("|", "%7C"), ("\n", "%0A"))


@dataclass(frozen=True, slots=True)
class Change:
    """One variable: its text before and after, None for unset."""

    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class EnvDiff:
    """What activating `version` changed; `changes` hold each name once."""

    version: str
    changes: tuple[Change, ...] = ()

    @classmethod
    def between(
        cls, version: str, before: Mapping[str, str], after: Mapping[str, str | None]
    ) -> EnvDiff:
        """The diff that gives `before` the texts in `after` (None: unset)."""
        changes = (Change(name, before.get(name), text) for name, text in after.items())
        return cls(version, tuple(c for c in changes if c.before != c.after))

    def undo(self, environ: Mapping[str, str]) -> tuple[dict[str, str | None], list[str]]:
        """The texts to give to `environ` to take this diff back, and what is kept.

        The second part names the variables that were changed after activation and
        therefore keep their value (case R11).
        """
        texts: dict[str, str | None] = {}
        kept: list[str] = []
        for change in self.changes:
            now = environ.get(change.name)
            if change.name in PATH_LISTS:
                texts[change.name] = pathlist.undo(now, change.before, change.after)
            elif now == change.after:
                texts[change.name] = change.before
            else:
                kept.append(change.name)
        return texts, kept

    def encode(self) -> str:
        """The diff as one line of text."""
        fields = [_FORMAT, _escape(self.version)]
        for change in self.changes:
            fields += [change.name, _field(change.before), _field(change.after)]
        return "|".join(fields)

    @classmethod
    def decode(cls, text: str) -> EnvDiff:
        """The diff that `encode` wrote; ValueError when the text is not one.

        The text comes from the environment, so names are checked: only those of the table
        are ever set, as a shell would run code for some others.
        """
        form, *fields = text.split("|")
        if form != _FORMAT or len(fields) % 3 != 1:
            msg = "not a record of an activation"
            raise ValueError(msg)
        changes = tuple(
            Change(_name(fields[i]), _text(fields[i + 1]), _text(fields[i + 2]))
            for i in range(1, len(fields), 3)
        )
        return cls(_unescape(fields[0]), changes)


def patched(environ: Mapping[str, str], texts: Mapping[str, str | None]) -> dict[str, str]:
    """`environ` with each name in `texts` set to its text, or removed for None."""
    out = dict(environ)
    for name, text in texts.items():
        if text is None:
            out.pop(name, None)
        else:
            out[name] = text
    return out


def _escape(text: str) -> str:
    for char, code in _ESCAPES:
        text = text.replace(char, code)
    return text


def _unescape(text: str) -> str:
    for char, code in reversed(_ESCAPES):
        text = text.replace(code, char)
    return text


def _field(text: str | None) -> str:
    return "-" if text is None else "+" + _escape(text)


def _text(field: str) -> str | None:
    if field == "-":
        return None
    if not field.startswith("+"):
        msg = "not a record of an activation"
        raise ValueError(msg)
    return _unescape(field[1:])


def _name(field: str) -> str:
    if field not in NAMES:
        msg = f"{field!r} is no name of a variable that an activation changes"
        raise ValueError(msg)
    return field
