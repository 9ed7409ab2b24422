"""`rocmenv projects`: the pins and locks that rocmenv knows of."""

from __future__ import annotations

import click

from rocmenv.cli.output import say, say_json, tell
from rocmenv.cli.program import Context
from rocmenv.ops.pinned import known_pins


@click.command("projects")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def command(ctx: Context, *, as_json: bool) -> None:
    """List the pins and locks that rocmenv has seen, and the installed versions that they mean."""
    known = known_pins(ctx.process, ctx.root)
    if as_json:
        rows = [
            {
                "path": pin.path,
                "spec": str(pin.spec) if pin.spec else None,
                "version": str(pin.version) if pin.version else None,
                "problem": pin.problem or None,
            }
            for pin in known
        ]
        say_json({"projects": rows})
        return
    for pin in known:
        if pin.spec is None:
            continue
        missing = "" if pin.spec.is_system else " (not installed)"
        means = f" -> {pin.version}" if pin.version else missing
        say(f"{pin.path}: {pin.spec}{means}")
    for pin in known:
        if pin.problem:
            tell(f"rocmenv: {pin.problem}")
