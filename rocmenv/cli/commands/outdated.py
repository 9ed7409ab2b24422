"""`rocmenv outdated`: installed versions that have a newer release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rocmenv.cli.output import say, say_json, tell
from rocmenv.cli.program import Context
from rocmenv.ops import outdated as ops
from rocmenv.ops.connect import downloads_for
from rocmenv.ops.listing import servers
from rocmenv.settings import Settings
from rocmenv.sources.catalog_file import load
from rocmenv.store import registry

if TYPE_CHECKING:
    from rocmenv.model.version import Version
    from rocmenv.ops.outdated import Row

_HEAD = ("VERSION", "SERIES", "NEWEST", "CHANNEL")


@click.command("outdated")
@click.option("--online", is_flag=True, help="Ask the channels' own indexes.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def command(ctx: Context, *, online: bool, as_json: bool) -> None:
    """Compare the installed versions with the releases that are out.

    SERIES is the newest with the same first two numbers, which `rocmenv upgrade` installs;
    NEWEST the newest of the version's channel. `-` means that nobody knows without --online.
    """
    settings = Settings(ctx.process, ctx.root)
    channels = {i.receipt.source for i in registry.load(ctx.root).installed.values()}
    out = ops.known(
        load(ctx.root.catalog),
        sorted(channels),
        downloads_for(ctx.process, ctx.root, settings),
        online=online,
        at=servers(settings),
        tell=lambda text: tell(f"note: {text}"),
    )
    rows = ops.rows(ctx.root, out)
    if as_json:
        say_json({"versions": [_json(row) for row in rows]})
        return
    table = [_HEAD, *(_cells(row) for row in rows)] if rows else []
    for cells in table:
        say("  ".join(f"{cell:<12}" for cell in cells).rstrip())
    for found in sorted({r.elsewhere for r in rows if r.elsewhere is not None}):
        whose = ", ".join(str(r.version) for r in rows if r.elsewhere == found)
        tell(f"note: {found} is out, from another channel than {whose}")
    for found in sorted({r.preview for r in rows if r.preview is not None}):
        tell(f"note: {found} is a pre-release")
    if not rows:
        tell("rocmenv: nothing is installed")


def _cells(row: Row) -> tuple[str, ...]:
    mark = " *" if row.is_outdated else ""
    return (str(row.version), f"{row.series or '-'}{mark}", str(row.newest or "-"), row.channel)


def _json(row: Row) -> dict[str, object]:
    def text(version: Version | None) -> str | None:
        return str(version) if version else None

    return {
        "version": str(row.version),
        "channel": row.channel,
        "outdated": row.is_outdated,
        "series": text(row.series),
        "newest": text(row.newest),
        "elsewhere": text(row.elsewhere),
        "preview": text(row.preview),
    }
