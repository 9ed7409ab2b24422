"""`rocmenv completion`: a shell's completion script."""

from __future__ import annotations

import click

from rocmenv.cli.output import raw
from rocmenv.cli.params import detected_shell
from rocmenv.resources import completion_text

FILES = {"bash": "rocmenv.bash", "zsh": "_rocmenv", "fish": "rocmenv.fish"}


@click.command("completion")
@click.argument("shell_name", metavar="[SHELL]", type=click.Choice(list(FILES)), required=False)
def command(shell_name: str | None) -> None:
    """Print the completion script of SHELL; `rocmenv init` has it already."""
    raw(completion_text(FILES[shell_name or detected_shell(tuple(FILES))]))
