"""`rocmenv init`: the set-up of a shell."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from rocmenv.cli.output import raw, tell
from rocmenv.cli.params import SHELL, detected_shell
from rocmenv.cli.program import Context
from rocmenv.errors import UsageError
from rocmenv.ops import rcfile
from rocmenv.ops.setup import setup_text

if TYPE_CHECKING:
    from rocmenv.ops.rcfile import Edited


@click.command("init")
@click.argument("shell_name", metavar="[SHELL]", type=SHELL, required=False)
@click.option("--install", "to_install", is_flag=True, help="Put the line into SHELL's start file.")
@click.option("--uninstall", "to_remove", is_flag=True, help="Take it out again.")
@click.pass_obj
def command(ctx: Context, *, shell_name: str | None, to_install: bool, to_remove: bool) -> None:
    """Print the set-up of SHELL, for its start file.

    \b
    bash, zsh, sh:  eval "$(rocmenv init bash)"
    fish:           rocmenv init fish | source

    With --install it is put there, in a marked block, and nothing else of the file is changed.
    """  # noqa: D301 - \b is click's mark for lines kept as they are
    if to_install and to_remove:
        msg = "`--install` and `--uninstall` exclude each other"
        raise UsageError(msg, hint="give one of them")
    name = shell_name or detected_shell()
    if to_install:
        path = rcfile.start_file(ctx.process, name)
        block = rcfile.block(ctx.process, name, ctx.root_option)
        _tell_installed(rcfile.install(path, block))
    elif to_remove:
        _tell_removed(rcfile.uninstall(rcfile.start_file(ctx.process, name)))
    else:
        raw(setup_text(ctx.process, ctx.root, name))


def _tell_installed(edited: Edited) -> None:
    if edited.line:
        tell(f"rocmenv: {edited.path} sets rocmenv up in line {edited.line}: nothing was changed")
    elif edited.is_changed:
        tell(f"rocmenv: {edited.path} sets rocmenv up from now on, in every new shell")
        tell(f"hint: for this one: `. {shlex.quote(str(edited.path))}`")
    else:
        tell(f"rocmenv: {edited.path} sets rocmenv up already")


def _tell_removed(edited: Edited) -> None:
    if edited.is_changed:
        tell(f"rocmenv: {edited.path} sets rocmenv up no longer; shells that run keep it")
    else:
        tell(f"rocmenv: {edited.path} has no block of rocmenv's")
    if edited.line:
        tell(f"note: its line {edited.line} sets rocmenv up; it is not ours to remove")
