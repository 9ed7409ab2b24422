"""`rocmenv link`: register a ROCm that is already there."""

from __future__ import annotations

import click

from rocmenv.cli.completion import complete_link
from rocmenv.cli.output import tell
from rocmenv.cli.program import Context
from rocmenv.errors import UsageError
from rocmenv.ops.link import link, linked, refresh
from rocmenv.ops.uninstall import reasons_to_keep


@click.command("link")
@click.argument("prefix", required=False, metavar="PREFIX", type=click.Path(file_okay=False))
@click.argument("version", required=False)
@click.option(
    "--refresh",
    "old",
    metavar="VERSION",
    help="Register the linked VERSION anew, as what its prefix is now.",
    shell_complete=complete_link,
)
@click.pass_obj
def command(ctx: Context, prefix: str | None, version: str | None, old: str | None) -> None:
    """Register the ROCm at PREFIX, as VERSION; nothing in it is ever changed.

    The version comes from its `.info/version` or header when VERSION is not given.
    """
    if old is not None:
        if prefix is not None:
            msg = "`--refresh` takes a version alone"
            raise UsageError(msg, hint=f"run `rocmenv link --refresh {old}`")
        _refresh(ctx, old)
        return
    if prefix is None:
        msg = "a prefix is missing"
        raise UsageError(msg, hint="`rocmenv discover` shows what there is to link")
    item = link(ctx.process, ctx.root, prefix, version)
    tell(f"rocmenv: {item.version} is {item.prefix}")


def _refresh(ctx: Context, text: str) -> None:
    before = linked(ctx.process, ctx.root, text)
    asked = reasons_to_keep(ctx.process, ctx.root, before)
    item = refresh(ctx.process, ctx.root, before)
    tell(f"rocmenv: {item.version} is {item.prefix}")
    if item.version != before:
        tell(f"rocmenv: {before} is no longer registered")
        for reason in asked:
            tell(f"note: {before} was {reason}; {reason.cure}")
