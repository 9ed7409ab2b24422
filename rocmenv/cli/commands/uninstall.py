"""`rocmenv uninstall`: remove a version."""

from __future__ import annotations

import click

from rocmenv.cli.completion import complete_installed
from rocmenv.cli.output import tell
from rocmenv.cli.program import Context
from rocmenv.ops.uninstall import reasons_to_keep, removable, uninstall


@click.command("uninstall")
@click.argument("version", shell_complete=complete_installed)
@click.option("-y", "--yes", is_flag=True, help="Do not ask, also when it is in use.")
@click.pass_obj
def command(ctx: Context, version: str, *, yes: bool) -> None:
    """Remove VERSION from the root."""
    item = removable(ctx.process, ctx.root, version)
    reasons = reasons_to_keep(ctx.process, ctx.root, item.version)
    if reasons and not yes:
        if not ctx.process.interactive:
            raise reasons[0].refusal(item.version)
        for reason in reasons:
            tell(f"rocmenv: {item.version} is {reason}")
        if not click.confirm(f"Remove {item.version} all the same?", err=True):
            raise reasons[0].refusal(item.version)
    uninstall(ctx.process, ctx.root, item)
    tell(f"rocmenv: removed {item.version}")
