"""`rocmenv shell-spawn`: a shell below this one, with a version selected."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from rocmenv.cli.completion import complete_installed
from rocmenv.cli.output import tell
from rocmenv.cli.params import detected_shell
from rocmenv.cli.program import Context, empty_argument
from rocmenv.errors import UsageError
from rocmenv.launch import execute
from rocmenv.ops import current

if TYPE_CHECKING:
    from rocmenv.process import Process


@click.command("shell-spawn")
@click.argument("spec", metavar="[VERSION]", required=False, shell_complete=complete_installed)
@click.option("--shell", "program", metavar="PROGRAM", help="In place of the shell that calls.")
@click.option("-q", "--quiet", is_flag=True, help="Do not say which shell begins.")
@click.pass_obj
def command(ctx: Context, *, spec: str | None, program: str | None, quiet: bool) -> int:
    """Start a shell with VERSION, or what is selected here; leaving it changes nothing.

    It reads its own start files, and stays with VERSION in whatever folder. Needs no set-up.
    """
    if program == "":
        raise empty_argument()
    selection = current.selected(ctx.process, ctx.root, spec or ctx.plus)
    version = current.version_for(ctx.process, ctx.root, selection)
    name = str(version or "system")
    shell = program or _own_shell(ctx.process)
    if not quiet:
        tell(f"rocmenv: {os.path.basename(shell)} with {name}; `exit` ends it")
    # What a shell's own set-up looks at first: no pin may take it away from this version.
    process = replace(ctx.process, environ={**ctx.process.environ, current.VARIABLE: name})
    return execute(process, name, shell, [], shim=False, root_option=ctx.root_option)


def _own_shell(process: Process) -> str:
    """The shell that calls, where it can be told; else the user's."""
    users = process.get("SHELL") or "/bin/sh"
    try:
        name = detected_shell()
    except UsageError:
        return users
    return users if os.path.basename(users) == name else name
