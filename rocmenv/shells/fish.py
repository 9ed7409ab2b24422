"""fish: lists instead of colons, and quotes in which the backslash is an escape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmenv.env.family import NAMES, PATH_LISTS, Role

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rocmenv.env.activation import Step
    from rocmenv.shells.base import Activation, Setup

_CALLS = {Role.LIST: "_rocmenv_put", Role.LIST_IF_SET: "_rocmenv_put_if_set"}


class FishShell:
    """fish 3.4 and newer."""

    name = "fish"
    suffix = "fish"

    def quote(self, text: str) -> str:
        r"""`text` as one word: single quotes, in which only `\\` and `\'` are escapes.

        >>> print(FishShell().quote("it's"))
        'it\'s'
        """
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def render(self, texts: Mapping[str, str | None]) -> str:
        """One line for each name, in order.

        fish splits a value at colons where the name ends in PATH, also ROCM_PATH, and
        joins it again for child processes (checked with 3.6), so a list needs no form of
        its own.
        """
        lines = [
            f"set -eg {name}; set -qx {name}; and set -gx {name}; or true"
            if text is None
            else f"set -gx {name} {self.quote(text)}"
            for name, text in sorted(texts.items())
        ]
        return "".join(f"{line}\n" for line in lines)

    def activation(self, activation: Activation) -> str:
        """A file for the hook, which defines the functions it calls."""
        home = f'"$_rocmenv_r"/versions/{self.quote(activation.version)}'
        inner = f"/{self.quote(activation.inner)}" if activation.inner else ""
        prefix = f"{home}{inner}" if activation.prefix is None else self.quote(activation.prefix)
        bare = [s.name for s in activation.steps if _is_cleared(s)]
        calls = [self._call(step) for step in activation.steps if not _is_cleared(step)]
        lines = (
            f"# Activation of {activation.version}, rendered by `rocmenv rehash`.",
            f"set -g _rocmenv_p {prefix}",
            *self._owns(activation),
            *_read_said(activation),
            f'if test -f {home}/.rocmenv/receipt.json -a -d "$_rocmenv_p"{self._said(activation)}',
            f"_rocmenv_begin {self.quote(activation.version)}",
            "_rocmenv_clear " + " ".join(bare),
            *calls,
            "_rocmenv_end",
            "end",
        )
        return "".join(f"{line}\n" for line in lines)

    def setup(self, setup: Setup) -> str:
        """The functions with the root and launcher filled in."""
        return (
            setup.script.replace("@LAUNCHER@", " ".join(map(self.quote, setup.launcher)))
            .replace("@NAMES@", " ".join(sorted(PATH_LISTS)))
            .replace("@FAMILY@", " ".join(sorted(NAMES)))
            .replace("@ROOT@", self.quote(setup.root))
        )

    def _said(self, activation: Activation) -> str:
        said = self.quote(activation.said)
        return f'; and test "$_rocmenv_said" = {said}' if activation.said else ""

    def _place(self, place: str) -> str:
        return f'"$_rocmenv_p"/{self.quote(place)}' if place else '"$_rocmenv_p"'

    def _call(self, step: Step) -> str:
        if step.role is Role.DROP:
            return f"_rocmenv_drop {step.name}"
        if step.role in _CALLS:
            return " ".join([_CALLS[step.role], step.name, *map(self._place, step.places)])
        value = self._place(step.places[0]) if step.places else self.quote(step.text or "")
        return f"_rocmenv_set {step.name} {value}"

    def _owns(self, activation: Activation) -> tuple[str, ...]:
        whole = map(self.quote, (*activation.linked, *(f"{f}/rocm" for f in activation.search)))
        starts = " ".join(self.quote(f"{folder}/rocm-") for folder in activation.search)
        return (
            f'set -g _rocmenv_whole "$_rocmenv_p" {" ".join(whole)}',
            f"set -g _rocmenv_numbered {starts}",
        )


def _read_said(activation: Activation) -> tuple[str, ...]:
    """What reads the first line of the prefix's `.info/version`, where that is compared."""
    if not activation.said:
        return ()
    file = '"$_rocmenv_p/.info/version"'
    read = f"read -g _rocmenv_said <{file}"
    return ("set -g _rocmenv_said", f"test -f {file} -a -r {file}; and {read}")


def _is_cleared(step: Step) -> bool:
    scalar = step.role in (Role.SELECT, Role.CLEAR)
    return scalar and not step.places and step.text is None
