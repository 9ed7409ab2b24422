"""`rocmenv catalog`: the known releases and where they are published."""

from __future__ import annotations

import json

import click

from rocmenv.cli.output import say, say_json, tell
from rocmenv.cli.program import Context, Group
from rocmenv.ops.catalog import Change, update_from_file, update_from_pages
from rocmenv.ops.connect import downloads_for
from rocmenv.ops.listing import servers
from rocmenv.settings import Settings
from rocmenv.sources.base import Request
from rocmenv.sources.catalog_file import whole
from rocmenv.store.lock import must_be_writable


@click.group("catalog", cls=Group)
def command() -> None:
    """Show and update the known releases and the places that publish them."""


@command.command("update")
@click.option("--from", "source", metavar="FILE|URL", help="A catalogue in place of the pages.")
@click.option("--mirror", metavar="URL", help="Base address in place of AMD's.")
@click.option("-n", "--dry-run", is_flag=True, help="Show what is new; change nothing.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def update(
    ctx: Context, source: str | None, mirror: str | None, *, dry_run: bool, as_json: bool
) -> None:
    """Learn of new releases from the servers' index pages, or from a mirror's catalogue.

    What is learnt goes into `catalog.json` in the root. Signing keys are never taken.
    """
    settings = Settings(ctx.process, ctx.root)
    if not dry_run:
        must_be_writable(ctx.root)
    downloads = downloads_for(ctx.process, ctx.root, settings)
    if source:
        change = update_from_file(ctx.root, downloads, source, ctx.process.cwd, write=not dry_run)
    else:
        at = servers(settings, Request(mirror=mirror))
        change = update_from_pages(
            ctx.root, downloads, at, lambda text: tell(f"note: {text}"), write=not dry_run
        )
    if as_json:
        say_json({"releases": list(change.releases), "addresses": list(change.addresses)})
        return
    _say(ctx, change, dry_run=dry_run)


@command.command("show")
@click.pass_obj
def show(ctx: Context) -> None:
    """Print the whole catalogue as JSON, with the additions of `catalog.json` in the root."""
    say(json.dumps(whole(ctx.root.catalog), indent=1))


def _say(ctx: Context, change: Change, *, dry_run: bool) -> None:
    for version in change.releases:
        say(version)
    for name in change.addresses:
        tell(f"note: the addresses of `{name}` are others now")
    if not change.releases:
        tell("rocmenv: no new releases")
    elif not dry_run:
        tell(f"rocmenv: {len(change.releases)} new, written to {ctx.root.catalog}")
