"""`rocmenv uninstall`: remove a version."""

from __future__ import annotations

import click

from rocmenv.cli.ask import may_go
from rocmenv.cli.completion import complete_install
from rocmenv.cli.output import tell
from rocmenv.cli.program import Context
from rocmenv.ops.link import is_link
from rocmenv.ops.uninstall import removable, uninstall


@click.command("uninstall")
@click.argument("version", shell_complete=complete_install)
@click.option(
    "-y", "--yes", is_flag=True, help="Also when it is active, in use, pinned or the default."
)
@click.pass_obj
def command(ctx: Context, version: str, *, yes: bool) -> None:
    """Remove VERSION from the root.

    One that is linked is only forgotten: its files stay where they are.
    """
    item = removable(ctx.process, ctx.root, version)
    linked = is_link(ctx.root, item)
    may_go(ctx, item, "uninstall", yes=yes)
    uninstall(ctx.process, ctx.root, item)
    tell(f"rocmenv: {item} is no longer registered" if linked else f"rocmenv: removed {item}")
