"""`rocmenv root`: where everything is kept."""

from __future__ import annotations

import click

from rocmenv.cli.output import say
from rocmenv.cli.program import Context


@click.command("root")
@click.pass_obj
def command(ctx: Context) -> None:
    """Show the root: the folder with all installed versions."""
    say(str(ctx.root.path))
