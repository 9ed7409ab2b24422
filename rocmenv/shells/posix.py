"""What sh, dash, ksh, bash and zsh share: nearly everything."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rocmenv.env.activation import Step
from rocmenv.env.family import PATH_LISTS, Role

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rocmenv.shells.base import Activation, Setup

_PLAIN = re.compile(r"[A-Za-z0-9_./+:=@%^-]+", re.ASCII)
_CALLS = {Role.LIST: "_rocmenv_put", Role.LIST_IF_SET: "_rocmenv_put_if_set"}


def quote(text: str) -> str:
    r"""`text` as one word of a POSIX shell.

    >>> print(quote("it's"), quote("/opt/rocm"), quote(""))
    'it'\''s' /opt/rocm ''
    """
    return text if _PLAIN.fullmatch(text) else "'" + text.replace("'", "'\\''") + "'"


class PosixShell:
    """A shell of the POSIX family; `tail` is the part of the set-up that is its own."""

    suffix = "sh"

    def __init__(self, name: str) -> None:
        self.name = name

    def quote(self, text: str) -> str:
        """`text` as one word."""
        return quote(text)

    def render(self, texts: Mapping[str, str | None]) -> str:
        """One line for each name, in order."""
        lines = [
            f"unset {name}" if text is None else f"export {name}={quote(text)}"
            for name, text in sorted(texts.items())
        ]
        return "".join(f"{line}\n" for line in lines)

    def activation(self, activation: Activation) -> str:
        """A file for the shim and the hooks, which define the functions it calls."""
        receipt = f'"$_rocmenv_r"/versions/{quote(activation.version)}/.rocmenv/receipt.json'
        prefix = (
            f'"$_rocmenv_r"/versions/{quote(activation.version)}'
            if activation.prefix is None
            else quote(activation.prefix)
        )
        body = [f"_rocmenv_begin {quote(activation.version)}"]
        bins = next(step for step in activation.steps if step.name == "PATH").places
        body.append("_rocmenv_in " + " ".join(map(_place, bins)))
        cleared = [s.name for s in activation.steps if _is_cleared(s)]
        body.append("_rocmenv_clear " + " ".join(cleared))
        body += [_call(step) for step in activation.steps if not _is_cleared(step)]
        body.append("_rocmenv_end")
        return "".join(
            f"{line}\n"
            for line in (
                f"# Activation of {activation.version}, rendered by `rocmenv rehash`.",
                f"_rocmenv_p={prefix}",
                _owns(activation),
                f'if [ -f {receipt} ] && [ -d "$_rocmenv_p" ]; then',
                *body,
                "fi",
            )
        )

    def setup(self, setup: Setup) -> str:
        """The shared functions with the root and launcher filled in, then the tail."""
        return fill(setup.script, setup)


def fill(script: str, setup: Setup) -> str:
    """`script` with its placeholders filled: a line or a word each, quoted once, here."""
    common = setup.common.rstrip("\n")
    return (
        script.replace("# @COMMON@", common)
        .replace("@LAUNCHER@", " ".join(map(quote, setup.launcher)))
        .replace("@PROGRAM@", quote(setup.launcher[0]))
        .replace("@LISTS@", " | ".join(sorted(PATH_LISTS)))
        .replace("@ROOT@", quote(setup.root))
    )


def _is_cleared(step: Step) -> bool:
    scalar = step.role in (Role.SELECT, Role.CLEAR)
    return scalar and not step.places and step.text is None


def _place(place: str) -> str:
    return f'"$_rocmenv_p"/{quote(place)}' if place else '"$_rocmenv_p"'


def _call(step: Step) -> str:
    if step.role is Role.DROP:
        return f"_rocmenv_drop {step.name}"
    if step.role in _CALLS:
        entries = ":".join(map(_place, step.places)) or "''"
        return f"{_CALLS[step.role]} {step.name} {entries}"
    value = _place(step.places[0]) if step.places else quote(step.text or "")
    return f"_rocmenv_set {step.name} {value}"


def _owns(activation: Activation) -> str:
    own = ['"$_rocmenv_r"/versions/*']
    for prefix in ('"$_rocmenv_p"', '"$_rocmenv_o"', '"$_rocmenv_h"'):
        own += [prefix, f"{prefix}/*"]
    for text in activation.linked:
        own += [quote(text), f"{quote(text)}/*"]
    for folder in activation.search:
        rocm = quote(f"{folder}/rocm")
        own += [rocm, f"{rocm}/*", f"{quote(f'{folder}/rocm-')}[0-9]*"]
    return f"_rocmenv_owns() {{ case $1 in {' | '.join(own)}) return 0 ;; esac; return 1; }}"
