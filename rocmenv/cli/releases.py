"""The list of releases: `rocmenv install --list`."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from rocmenv.cli.output import say, say_json, tell
from rocmenv.errors import NotInstalledError, UsageError
from rocmenv.model.version import LATEST, Spec
from rocmenv.ops import current
from rocmenv.ops import listing as releases
from rocmenv.ops.connect import downloads_for
from rocmenv.settings import Settings
from rocmenv.sources.catalog_file import load
from rocmenv.store import registry

if TYPE_CHECKING:
    from rocmenv.cli.program import Context
    from rocmenv.ops.listing import Wanted
    from rocmenv.sources.base import Request


_OUT = ("released", "new", "unlisted")
"""The statuses of what `latest` may be."""


def meant(ctx: Context, text: str) -> str:
    """A request that was typed, with what an alias stands for in its place."""
    selection = current.asked(text)
    if not selection.spec.is_alias:
        return text
    return str(current.without_alias(ctx.process, ctx.root, selection))


def list_releases(
    ctx: Context,
    pattern: str | None,
    wanted: Wanted,
    *,
    online: bool,
    asked: Request,
    offline: bool,
    as_json: bool,
) -> None:
    """Print them, oldest first, with date and a mark for what is installed.

    Of `asked`, mirror, suite and keys count. `UsageError` for a server that would not be read.
    """
    said = [f"`{option}`" for option, value in _of_servers(asked) if value]
    if said and not online:
        options = " and ".join(said)
        msg = f"{options}: with `--online` only, as the list of known releases needs no server"
        raise UsageError(msg, hint="add `--online`: `rocmenv install --list --online`")
    rows = _rows(ctx, wanted, online=online, asked=asked, offline=offline)
    if pattern is not None:
        spec = Spec.parse(pattern)
        with suppress(NotInstalledError):  # then it is no alias, and fits nothing
            spec = Spec.parse(meant(ctx, pattern))
        out = (r.version for r in rows if r.version.is_final and r.status in _OUT)
        newest = max(out, default=None)
        is_latest = spec.name == LATEST
        rows = [r for r in rows if (r.version == newest if is_latest else spec.fits(r.version))]
    here = set(registry.versions(ctx.root))
    if as_json:
        say_json({"releases": [{**_json(r), "installed": r.version in here} for r in rows]})
        return
    width = max((len(str(r.version)) for r in rows), default=0)
    for row in rows:
        mark = "*" if row.version in here else " "
        status = "" if row.status == "released" else f" ({row.status})"
        date = row.date or "-"
        say(f"{mark} {row.version!s:<{width}}  {date:<10}  {' '.join(row.channels)}{status}")
    if not rows and wanted.channel == "distro" and not online:
        tell("rocmenv: what the distribution has is in its package sources alone: add `--online`")
    elif not rows:
        tell("rocmenv: no known release fits; `rocmenv install --list` shows them all")


def _of_servers(asked: Request) -> tuple[tuple[str, str | None], ...]:
    return (
        ("--mirror", asked.mirror),
        ("--suite", asked.suite),
        ("--keyring", asked.keyring),
        ("--fingerprint", asked.fingerprint),
    )


def _json(row: releases.Row) -> dict[str, object]:
    return {
        "version": str(row.version),
        "date": row.date,
        "status": row.status,
        "channels": list(row.channels),
        "groups": list(row.groups),
    }


def _rows(
    ctx: Context, wanted: Wanted, *, online: bool, asked: Request, offline: bool
) -> list[releases.Row]:
    data = load(ctx.root.catalog)
    if not online:
        return releases.known(data, wanted)
    settings = Settings(ctx.process, ctx.root)
    downloads = downloads_for(ctx.process, ctx.root, settings, offline=offline)
    at = releases.servers(settings, asked)
    return releases.online(data, downloads, at, wanted, lambda text: tell(f"note: {text}"))
