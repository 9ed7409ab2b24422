"""`rocmenv unlink`: forget a registered ROCm."""

from __future__ import annotations

import click

from rocmenv.cli.completion import complete_installed
from rocmenv.cli.output import tell
from rocmenv.cli.program import Context
from rocmenv.ops.link import unlink


@click.command("unlink")
@click.argument("version", shell_complete=complete_installed)
@click.pass_obj
def command(ctx: Context, version: str) -> None:
    """Forget the linked VERSION; its files stay where they are."""
    item = unlink(ctx.process, ctx.root, version)
    tell(f"rocmenv: {item} is no longer registered")
