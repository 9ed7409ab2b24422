"""`rocmenv whence`: the versions that have a command."""

from __future__ import annotations

import click

from rocmenv.cli.completion import complete_command
from rocmenv.cli.output import say, say_json
from rocmenv.cli.program import Context
from rocmenv.errors import CommandNotFoundError, visible
from rocmenv.ops.activate import find_command, having


@click.command("whence")
@click.argument("name", metavar="COMMAND", shell_complete=complete_command)
@click.option("--path", is_flag=True, help="Paths in place of versions.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def command(ctx: Context, name: str, *, path: bool, as_json: bool) -> None:
    """List the installed versions that have COMMAND."""
    items = having(ctx.root, name)
    if as_json:
        say_json(
            {"command": name, "versions": {str(i.version): find_command(i, name) for i in items}}
        )
        return
    if not items:
        msg = f"no installed version has a command {visible(name)}"
        raise CommandNotFoundError(msg, hint="`rocmenv versions` shows what is installed")
    for item in items:
        say((find_command(item, name) or "") if path else str(item.version))
