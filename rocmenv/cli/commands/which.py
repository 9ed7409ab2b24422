"""`rocmenv which`: the real program behind a command."""

from __future__ import annotations

import click

from rocmenv.cli.completion import complete_command
from rocmenv.cli.output import say
from rocmenv.cli.program import Context
from rocmenv.ops import current
from rocmenv.ops.activate import find_program


@click.command("which")
@click.argument("name", metavar="COMMAND", shell_complete=complete_command)
@click.pass_obj
def command(ctx: Context, name: str) -> None:
    """Show the path of the program that COMMAND runs here."""
    selection = current.selected(ctx.process, ctx.root, ctx.plus)
    say(find_program(ctx.process, ctx.root, selection, name))
