"""`rocmenv global`: the user's default version."""

from __future__ import annotations

import click

from rocmenv.cli.completion import complete_installed
from rocmenv.cli.output import say, tell
from rocmenv.cli.params import takes_no_version
from rocmenv.cli.program import Context
from rocmenv.ops.choose import default_spec, set_default, unset_default


@click.command("global")
@click.argument("spec", metavar="[VERSION]", required=False, shell_complete=complete_installed)
@click.option("--unset", is_flag=True, help="Have no default: the system's.")
@click.option("--force", is_flag=True, help="Also when VERSION is not installed yet.")
@click.pass_obj
def command(ctx: Context, spec: str | None, *, unset: bool, force: bool) -> None:
    """Make VERSION the default; without VERSION, show the default."""
    if unset:
        takes_no_version("--unset", spec)
        unset_default(ctx.root)
    elif spec is not None:
        path, written = set_default(ctx.process, ctx.root, spec, force=force)
        tell(f"rocmenv: {path} now says {written}")
    else:
        say(default_spec(ctx.root))
