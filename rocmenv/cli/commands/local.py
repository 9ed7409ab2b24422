"""`rocmenv local`: the project's version."""

from __future__ import annotations

import click

from rocmenv.cli.completion import complete_installed
from rocmenv.cli.output import say, tell
from rocmenv.cli.params import takes_no_version
from rocmenv.cli.program import Context
from rocmenv.errors import NotInstalledError
from rocmenv.ops.choose import set_pin, unset_pin
from rocmenv.store import pins


@click.command("local")
@click.argument("spec", metavar="[VERSION]", required=False, shell_complete=complete_installed)
@click.option("--unset", is_flag=True, help="Remove .rocm-version from this folder.")
@click.option("--force", is_flag=True, help="Also when VERSION is not installed yet.")
@click.pass_obj
def command(ctx: Context, spec: str | None, *, unset: bool, force: bool) -> None:
    """Write VERSION into .rocm-version in this folder; without VERSION, show what holds."""
    if unset:
        takes_no_version("--unset", spec)
        tell(f"rocmenv: removed {unset_pin(ctx.process)}")
    elif spec is not None:
        path, written = set_pin(ctx.process, ctx.root, spec, force=force)
        tell(f"rocmenv: {path} now says {written}")
    else:
        found = pins.nearest(ctx.process.cwd)
        if found is None:
            msg = f"no .rocm-version in {ctx.process.cwd} or above"
            raise NotInstalledError(msg, hint="make one: `rocmenv local VERSION`")
        say(str(found[1]))
