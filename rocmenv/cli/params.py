"""Types of the command line's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rocmenv.errors import UsageError, visible
from rocmenv.shells.choose import SHELLS, shell_named

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    _Text = click.ParamType[str]
else:  # click 8.3 and older have no type argument
    _Text = click.ParamType


class _ShellName(_Text):
    name = "shell"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401 - click's signature
        del param, ctx
        return shell_named(str(value)).name

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only when completing

        del ctx, param
        return [CompletionItem(name) for name in SHELLS if name.startswith(incomplete)]


SHELL = _ShellName()


def takes_no_version(option: str, word: str | None) -> None:
    """`UsageError` for a version beside an option that would drop it without a word."""
    if word is not None:
        msg = f"`{option}` takes no version"
        raise UsageError(msg, hint=f"leave {visible(word)} out, or the option")


def detected_shell(known: tuple[str, ...] = tuple(SHELLS)) -> str:
    """The shell that called, by its process; a guess is never made (case R12)."""
    import shellingham  # noqa: PLC0415 - reads the process table

    try:
        name: str = shellingham.detect_shell()[0]
    except shellingham.ShellDetectionFailure:
        name = ""
    if name not in known:
        msg = f"cannot tell which shell this is{f': `{name}`' if name else ''}"
        raise UsageError(msg, hint=f"name it: one of {', '.join(known)}")
    return name
