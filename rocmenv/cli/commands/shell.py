"""`rocmenv shell`: the version of this shell alone."""

from __future__ import annotations

import click

from rocmenv.cli.completion import complete_installed
from rocmenv.cli.output import say
from rocmenv.cli.params import takes_no_version
from rocmenv.cli.program import Context
from rocmenv.errors import NotInstalledError
from rocmenv.ops.choose import needs_function


@click.command("shell")
@click.argument("spec", metavar="[VERSION]", required=False, shell_complete=complete_installed)
@click.option("--unset", is_flag=True, help="Go back to what the project or the default says.")
@click.pass_obj
def command(ctx: Context, spec: str | None, *, unset: bool) -> None:
    """Select VERSION in this shell alone; without VERSION, show that choice."""
    if unset:
        takes_no_version("--unset", spec)
    if spec is not None or unset:
        raise needs_function(ctx.process, "shell", spec)
    text = ctx.process.get("ROCMENV_VERSION")
    if text is None:
        msg = "this shell has no version of its own"
        raise NotInstalledError(msg, hint="`rocmenv version` shows what holds here")
    say(text)
