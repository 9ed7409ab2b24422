"""What sh, dash, ksh, bash and zsh share: nearly everything."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rocmenv.env.activation import Step
from rocmenv.env.family import NAMES, PATH_LISTS, Role

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rocmenv.shells.base import Activation, Setup

_MAY_HOLD_OTHERS = (Role.LIST, Role.LIST_IF_SET, Role.DROP)
_PLAIN = re.compile(r"[A-Za-z0-9_./+:=@%^-]+", re.ASCII)


def quote(text: str) -> str:
    r"""`text` as one word of a POSIX shell.

    >>> print(quote("it's"), quote("/opt/rocm"), quote(""))
    'it'\''s' /opt/rocm ''
    """
    return text if _PLAIN.fullmatch(text) else "'" + text.replace("'", "'\\''") + "'"


class PosixShell:
    """A shell of the POSIX family; the set-up ends with the part of `shims/` that is its own."""

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
        prefix = _prefix(activation)
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
                *_read_said(activation),
                f'if [ -f {receipt} ] && [ -d "$_rocmenv_p" ]{_is_said(activation)}; then',
                *body,
                "fi",
            )
        )

    def launch(self, activation: Activation) -> str:
        """A file for the shim: the whole environment, as straight as it can be.

        One test tells whether any list has an entry of another ROCm, or a variable names
        one; only then the functions of `activation` are read and called.
        """
        home = f'"$_rocmenv_r"/versions/{quote(activation.version)}'
        prefix = _prefix(activation)
        bins = next(step for step in activation.steps if step.name == "PATH").places
        looked_at = [s.name for s in activation.steps if s.role in _MAY_HOLD_OTHERS]
        others = "".join(f"${{{name}-}}:" for name in looked_at)
        lines = (
            f"# What a shim takes on for {activation.version}, rendered by `rocmenv rehash`.",
            f"_rocmenv_p={prefix}",
            *_read_said(activation),
            f"if [ -f {home}/.rocmenv/receipt.json ]{_is_said(activation)}; then",
            f"_rocmenv_v={quote(activation.version)}",
            f"_rocmenv_in {' '.join(map(_place, bins))}",
            f'case "${{ROCM_PATH:+|}}${{HIP_PATH:+|}}:{others}" in',
            f"'|'* | {' | '.join(_others(activation, named=False))})",
            '. "$_rocmenv_r"/shims/.lists',
            f'. "$_rocmenv_r"/activations/{quote(activation.version)}.sh',
            ";;",
            "*)",
            "unset " + " ".join(s.name for s in activation.steps if _is_cleared(s)),
            "export " + " ".join(word for step in activation.steps if (word := _assignment(step))),
            *(line for step in activation.steps if (line := _assignment_if_set(step))),
            "esac",
            "fi",
        )
        return "".join(f"{line}\n" for line in lines)

    def setup(self, setup: Setup) -> str:
        """The shared functions with the root and launcher filled in, then the tail."""
        return fill(setup.script, setup)


def fill(script: str, setup: Setup) -> str:
    """`script` with its placeholders filled: a line or a word each, quoted once, here."""
    for name, text in setup.parts.items():
        script = script.replace(f"# @{name}@", text.rstrip("\n"))
    return (
        script.replace("@LAUNCHER@", " ".join(map(quote, setup.launcher)))
        .replace("@PROGRAM@", quote(setup.launcher[0]))
        .replace("@NAMES@", " | ".join(sorted(PATH_LISTS)))
        .replace("@FAMILY@", " | ".join(sorted(NAMES)))
        .replace("@ROOT@", quote(setup.root))
    )


def _read_said(activation: Activation) -> tuple[str, ...]:
    """What reads the first line of the prefix's `.info/version`, where that is compared."""
    if not activation.said:
        return ()
    file = '"$_rocmenv_p"/.info/version'
    read = f"IFS='' read -r _rocmenv_x <{file} || :"
    return ("_rocmenv_x=''", f"[ ! -f {file} ] || [ ! -r {file} ] || {read}")


def _is_said(activation: Activation) -> str:
    return f' && [ "$_rocmenv_x" = {quote(activation.said)} ]' if activation.said else ""


def _prefix(activation: Activation) -> str:
    if activation.prefix is not None:
        return quote(activation.prefix)
    inner = f"/{quote(activation.inner)}" if activation.inner else ""
    return f'"$_rocmenv_r"/versions/{quote(activation.version)}{inner}'


def _is_cleared(step: Step) -> bool:
    scalar = step.role in (Role.SELECT, Role.CLEAR)
    return scalar and not step.places and step.text is None


def _place(place: str) -> str:
    return f'"$_rocmenv_p"/{quote(place)}' if place else '"$_rocmenv_p"'


def _call(step: Step) -> str:
    """One step; lists and others that are mostly unset cost a test when they are."""
    if step.role is Role.DROP:
        return f'[ -z "${{{step.name}-}}" ] || _rocmenv_drop {step.name} "${step.name}"'
    if step.role in (Role.LIST, Role.LIST_IF_SET):
        entries = ":".join(map(_place, step.places)) or "''"
        call = f'_rocmenv_put {step.name} {entries} "${{{step.name}-}}"'
        always = step.places and step.role is Role.LIST
        return call if always else f'[ -z "${{{step.name}-}}" ] || {call}'
    value = _place(step.places[0]) if step.places else quote(step.text or "")
    return f"_rocmenv_set {step.name} {value}"


def _owns(activation: Activation) -> str:
    """Two functions: whether an entry belongs to a ROCm, and whether any of `:a:b:` does."""
    starts, whole = _places_of_others(activation, named=True)
    one = [*starts, *(f"{path} | {path}/*" for path in whole)]
    some = _others(activation, named=True)
    return (
        f"_rocmenv_owns() {{ case $1 in {' | '.join(one)}) return 0 ;; esac; return 1; }}\n"
        f"_rocmenv_any() {{ case $1 in {' | '.join(some)}) return 0 ;; esac; return 1; }}"
    )


def _places_of_others(activation: Activation, *, named: bool) -> tuple[list[str], list[str]]:
    """Patterns of paths: beginnings, and prefixes that count with all below them."""
    whole = ['"$_rocmenv_p"', *map(quote, activation.linked)]
    whole += ['"$_rocmenv_o"', '"$_rocmenv_h"'] if named else []
    whole += [quote(f"{folder}/rocm") for folder in activation.search]
    starts = ['"$_rocmenv_r"/versions/*']
    starts += [f"{quote(f'{folder}/rocm-')}[0-9]*" for folder in activation.search]
    return starts, whole


def _others(activation: Activation, *, named: bool) -> list[str]:
    """Patterns of a framed list, `:a:b:`, that has an entry of some ROCm."""
    starts, whole = _places_of_others(activation, named=named)
    return [f"*:{s}" for s in starts] + [f"*:{path}:* | *:{path}/*" for path in whole]


def _assignment(step: Step) -> str:
    """The assignment of one step where no list has an entry of another ROCm, if there is one."""
    if _is_cleared(step) or step.role in (Role.DROP, Role.LIST_IF_SET):
        return ""
    if step.role is Role.LIST:
        entries = ":".join(map(_place, step.places))
        return f'{step.name}={entries}"${{{step.name}:+:${step.name}}}"' if entries else ""
    value = _place(step.places[0]) if step.places else quote(step.text or "")
    return f"{step.name}={value}"


def _assignment_if_set(step: Step) -> str:
    if step.role is not Role.LIST_IF_SET or not step.places:
        return ""
    entries = ":".join(map(_place, step.places))
    return f'[ -z "${{{step.name}-}}" ] || export {step.name}={entries}":${step.name}"'
