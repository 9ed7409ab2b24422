"""`rocmenv prefix`: the folder of a version."""

from __future__ import annotations

import click

from rocmenv.cli.completion import complete_installed
from rocmenv.cli.output import say
from rocmenv.cli.program import Context
from rocmenv.errors import NotInstalledError
from rocmenv.ops import current


@click.command("prefix")
@click.argument("spec", metavar="[VERSION]", required=False, shell_complete=complete_installed)
@click.pass_obj
def command(ctx: Context, spec: str | None) -> None:
    """Show the prefix of VERSION, or of the version selected here."""
    selection = current.selected(ctx.process, ctx.root, spec or ctx.plus)
    item = current.installed_for(ctx.process, ctx.root, selection)
    if item is None:
        msg = f"the system's ROCm has no prefix of ours ({selection.origin})"
        raise NotInstalledError(msg, hint="name a version: `rocmenv prefix latest`")
    say(item.prefix)
