"""`rocmenv list-remote`: the releases that can be installed."""

from __future__ import annotations

import click

from rocmenv.cli.completion import complete_release
from rocmenv.cli.program import Context
from rocmenv.cli.releases import list_releases
from rocmenv.ops.listing import Wanted
from rocmenv.ops.plan import AUTO
from rocmenv.settings import CHANNELS
from rocmenv.sources.base import Request


@click.command("list-remote")
@click.argument("spec", metavar="[PATTERN]", required=False, shell_complete=complete_release)
@click.option("--online", is_flag=True, help="Read the channel's own index.")
@click.option("--mirror", metavar="URL", help="Base address in place of AMD's.")
@click.option("--channel", type=click.Choice(CHANNELS), help="Only what this channel has.")
@click.option("--pre", is_flag=True, help="Previews and candidates too.")
@click.option("--all", "everything", is_flag=True, help="Unlisted ones too.")
@click.option("--offline", is_flag=True, help="Open no connection.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def command(
    ctx: Context,
    spec: str | None,
    *,
    online: bool,
    mirror: str | None,
    channel: str | None,
    pre: bool,
    everything: bool,
    offline: bool,
    as_json: bool,
) -> None:
    """List the known releases, oldest first; PATTERN is a version or a range."""
    wanted = Wanted(channel=channel or AUTO, pre=pre, unlisted=everything)
    asked = Request(mirror=mirror)
    list_releases(ctx, spec, wanted, online=online, asked=asked, offline=offline, as_json=as_json)
