"""`rocmenv exec`: one command in the selected version's environment."""

from __future__ import annotations

import click

from rocmenv.cli.completion import complete_command, complete_file, complete_installed
from rocmenv.cli.program import Context, empty_argument
from rocmenv.launch import execute


@click.command(
    "exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.option(
    "-V",
    "--version",
    "spec",
    metavar="VERSION",
    help="The version to run it with.",
    shell_complete=complete_installed,
)
@click.argument("command_name", metavar="COMMAND", shell_complete=complete_command)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, shell_complete=complete_file)
@click.pass_obj
def command(ctx: Context, spec: str | None, command_name: str, arguments: tuple[str, ...]) -> int:
    """Run COMMAND in the environment of the selected version, and become it."""
    if spec == "":
        raise empty_argument()
    return execute(
        ctx.process,
        spec or ctx.plus,
        command_name,
        list(arguments),
        shim=False,
        root_option=ctx.root_option,
    )
