"""`rocmenv versions`: what is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rocmenv.cli.output import say, say_json, tell
from rocmenv.cli.program import Context
from rocmenv.errors import RocmenvError
from rocmenv.ops import current
from rocmenv.probe.fingerprint import change_of
from rocmenv.store import registry

if TYPE_CHECKING:
    from rocmenv.model.version import Version
    from rocmenv.store.registry import Installed


@click.command("versions")
@click.option("--bare", is_flag=True, help="The versions alone.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def command(ctx: Context, *, bare: bool, as_json: bool) -> None:
    """List the installed versions, oldest first; `*` marks the one selected here."""
    listing = registry.load(ctx.root)
    chosen, origin, problem = None, "", None
    try:
        selection = current.selected(ctx.process, ctx.root, ctx.plus)
        origin = str(selection.origin)
        chosen = current.version_for(ctx.process, ctx.root, selection, list(listing.installed))
    except RocmenvError as error:
        problem = error
    if as_json:
        rows = [_row(item, chosen) for item in listing.installed.values()]
        broken = [{"path": b.path, "reason": b.reason} for b in listing.broken]
        say_json({"versions": rows, "broken": broken})
        return
    for item in listing.installed.values():
        mark = "*" if item.version == chosen else " "
        place = f" -> {item.prefix}" if item.receipt.is_link else ""
        note = f" ({origin})" if item.version == chosen else ""
        say(str(item.version) if bare else f"{mark} {item.version}{place}{note}")
    if not listing.installed and not bare:
        tell("rocmenv: nothing is installed; `rocmenv install latest` gets the newest release")
    for item in () if bare else listing.installed.values():
        if change := change_of(item.receipt):
            refresh = f"run `rocmenv link --refresh {item.version}`"
            tell(f"rocmenv: {item.version} (linked to {item.prefix}) {change}; {refresh}")
    for entry in listing.broken:
        tell(f"rocmenv: not an install: {entry.path}: {entry.reason}")
    if problem is not None and not bare:
        tell(f"rocmenv: {problem.message}")


def _row(item: Installed, chosen: Version | None) -> dict[str, Any]:
    change = change_of(item.receipt)
    return {
        "version": str(item.version),
        "prefix": item.prefix,
        "source": item.receipt.source,
        "selected": item.version == chosen,
        "size": item.receipt.size,
        "changed": {"was": change.was, "is": change.now} if change else None,
    }
