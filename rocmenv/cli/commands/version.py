"""`rocmenv version`: which version holds here, and who decided."""

from __future__ import annotations

import click

from rocmenv.cli.output import say, say_json
from rocmenv.cli.program import Context
from rocmenv.launch import describe
from rocmenv.ops import current


@click.command("version")
@click.option("--bare", is_flag=True, help="The version alone.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def command(ctx: Context, *, bare: bool, as_json: bool) -> None:
    """Show the version that is selected here, and what selects it."""
    if not bare and not as_json:
        say(describe(ctx.process, ctx.root_option, ctx.plus))
        return
    selection = current.selected(ctx.process, ctx.root, ctx.plus)
    item = current.installed_for(ctx.process, ctx.root, selection)
    version = str(item.version) if item else "system"
    if bare:
        say(version)
        return
    origin = {"source": selection.origin.source.value, "place": selection.origin.place}
    say_json(
        {
            "version": version,
            "spec": str(selection.spec),
            "origin": origin,
            "prefix": item.prefix if item else None,
        }
    )
