"""`rocmenv unlink`: forget a registered ROCm."""

from __future__ import annotations

import click

from rocmenv.cli.ask import may_go
from rocmenv.cli.completion import complete_link
from rocmenv.cli.output import tell
from rocmenv.cli.program import Context
from rocmenv.ops.link import linked, unlink


@click.command("unlink")
@click.argument("version", shell_complete=complete_link)
@click.option("-y", "--yes", is_flag=True, help="Also when it is active, pinned or the default.")
@click.pass_obj
def command(ctx: Context, version: str, *, yes: bool) -> None:
    """Forget the linked VERSION; its files stay where they are."""
    item = linked(ctx.process, ctx.root, version)
    may_go(ctx, item, "unlink", yes=yes)
    unlink(ctx.process, ctx.root, item)
    tell(f"rocmenv: {item} is no longer registered")
