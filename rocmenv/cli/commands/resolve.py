"""`rocmenv resolve`: the installed version that a request stands for. For hooks."""

from __future__ import annotations

import click

from rocmenv.cli.output import say
from rocmenv.cli.program import Context
from rocmenv.ops import current


@click.command("resolve", hidden=True)
@click.argument("spec", required=False)
@click.option("--one-line", is_flag=True, help="Errors in one line.")
@click.pass_obj
def command(ctx: Context, spec: str | None, *, one_line: bool) -> None:
    """Print the installed version that SPEC, or the selection here, stands for."""
    del one_line
    selection = current.selected(ctx.process, ctx.root, spec or ctx.plus)
    say(str(current.version_for(ctx.process, ctx.root, selection) or "system"))
