"""`rocmenv env`: a version's environment as text."""

from __future__ import annotations

import click

from rocmenv.cli.completion import complete_installed
from rocmenv.cli.output import raw, say, say_json, tell
from rocmenv.cli.params import SHELL, detected_shell, takes_no_version
from rocmenv.cli.program import Context
from rocmenv.env.activation import Switch, leave
from rocmenv.errors import RocmenvError
from rocmenv.ops import current
from rocmenv.ops.activate import switch_to
from rocmenv.shells.choose import shell_named


@click.command("env")
@click.argument("spec", metavar="[VERSION]", required=False, shell_complete=complete_installed)
@click.option("--shell", "shell_name", type=SHELL, help="Shell to print for.")
@click.option("--undo", is_flag=True, help="Print the way back to before the activation.")
@click.option("--json", "as_json", is_flag=True, help="As JSON: name to text, or null for unset.")
@click.pass_obj
def command(
    ctx: Context, spec: str | None, shell_name: str | None, *, undo: bool, as_json: bool
) -> None:
    """Print shell code that selects VERSION, or the version selected here."""
    if undo:
        takes_no_version("--undo", spec)
    name = "" if as_json else shell_name or detected_shell()
    if undo:
        change = leave(ctx.process.environ)
        if change.left is None:
            tell("rocmenv: nothing is recorded in this shell, so there is nothing to undo")
    else:
        change = _change(ctx, spec, is_code=bool(name))
    if change.kept:
        tell(f"rocmenv: kept {', '.join(change.kept)}, changed by hand")
    if as_json:
        say_json({"variables": dict(sorted(change.texts.items())), "kept": list(change.kept)})
    else:
        raw(shell_named(name).render(change.texts))


def _change(ctx: Context, spec: str | None, *, is_code: bool) -> Switch:
    try:
        selection = current.selected(ctx.process, ctx.root, spec or ctx.plus)
        item = current.installed_for(ctx.process, ctx.root, selection)
        return switch_to(ctx.process, ctx.root, item)
    except RocmenvError:
        if is_code:  # `eval "$(rocmenv env ...)"` sees this and not our exit status
            say("false")
        raise
