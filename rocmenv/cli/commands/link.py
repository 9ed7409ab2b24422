"""`rocmenv link`: register a ROCm that is already there."""

from __future__ import annotations

import click

from rocmenv.cli.output import tell
from rocmenv.cli.program import Context
from rocmenv.ops.link import link


@click.command("link")
@click.argument("prefix", type=click.Path(file_okay=False))
@click.argument("version", required=False)
@click.pass_obj
def command(ctx: Context, prefix: str, version: str | None) -> None:
    """Register the ROCm at PREFIX, as VERSION; nothing in it is ever changed.

    The version comes from its `.info/version` or header when VERSION is not given.
    """
    item = link(ctx.process, ctx.root, prefix, version)
    tell(f"rocmenv: {item.version} is {item.prefix}")
