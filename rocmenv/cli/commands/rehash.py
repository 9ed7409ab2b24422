"""`rocmenv rehash`: shims and activations anew."""

from __future__ import annotations

import click

from rocmenv.cli.output import tell
from rocmenv.cli.program import Context
from rocmenv.ops.rehash import rehash


@click.command("rehash")
@click.option("--quiet", is_flag=True, help="No note about commands that get no shim.")
@click.pass_obj
def command(ctx: Context, *, quiet: bool) -> None:
    """Make the shims fit what is installed; only needed after changes by hand."""
    left_out = rehash(ctx.process, ctx.root)
    if left_out and not quiet:
        tell(f"note: no shims for {', '.join(left_out)}: they would hide the system's own")
