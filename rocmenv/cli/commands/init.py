"""`rocmenv init`: the set-up of a shell."""

from __future__ import annotations

import click

from rocmenv.cli.output import raw
from rocmenv.cli.params import SHELL, detected_shell
from rocmenv.cli.program import Context
from rocmenv.ops.setup import setup_text


@click.command("init")
@click.argument("shell_name", metavar="[SHELL]", type=SHELL, required=False)
@click.pass_obj
def command(ctx: Context, shell_name: str | None) -> None:
    """Print the set-up of SHELL, for its start file.

    \b
    bash, zsh, sh:  eval "$(rocmenv init bash)"
    fish:           rocmenv init fish | source
    """  # noqa: D301 - \b is click's mark for lines kept as they are
    raw(setup_text(ctx.process, ctx.root, shell_name or detected_shell()))
