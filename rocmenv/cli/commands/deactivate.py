"""`rocmenv deactivate`: this shell as it was before."""

from __future__ import annotations

import click

from rocmenv.cli.program import Context
from rocmenv.ops.choose import needs_function


@click.command("deactivate")
@click.pass_obj
def command(ctx: Context) -> None:
    """Take back everything in this shell, until the next `rocmenv use`."""
    raise needs_function(ctx.process, "deactivate", None)
