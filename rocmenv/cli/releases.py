"""The list of known releases, for `install --list` and `list-remote`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmenv.cli.output import say, say_json, tell
from rocmenv.model.version import LATEST, Spec
from rocmenv.ops import listing as releases
from rocmenv.ops.connect import downloads_for
from rocmenv.settings import Settings
from rocmenv.store import registry

if TYPE_CHECKING:
    from rocmenv.cli.program import Context


def list_releases(
    ctx: Context,
    pattern: str | None,
    *,
    online: bool,
    everything: bool,
    mirror: str | None,
    offline: bool,
    as_json: bool,
) -> None:
    """Print them, oldest first, with date and a mark for what is installed."""
    rows = _rows(ctx, online=online, everything=everything, mirror=mirror, offline=offline)
    if pattern is not None:
        spec = Spec.parse(pattern)
        newest = max((r.version for r in rows), default=None)
        is_latest = spec.name == LATEST
        rows = [r for r in rows if (r.version == newest if is_latest else spec.fits(r.version))]
    here = set(registry.versions(ctx.root))
    if as_json:
        say_json(
            {
                "releases": [
                    {
                        "version": str(r.version),
                        "date": r.date,
                        "status": r.status,
                        "installed": r.version in here,
                    }
                    for r in rows
                ]
            }
        )
        return
    for row in rows:
        mark = "*" if row.version in here else " "
        status = "" if row.status == "released" else f" ({row.status})"
        say(f"{mark} {row.version!s:<9} {row.date}{status}".rstrip())
    if not rows:
        tell("rocmenv: no known release fits; `rocmenv install --list` shows them all")


def _rows(
    ctx: Context, *, online: bool, everything: bool, mirror: str | None, offline: bool
) -> list[releases.Row]:
    if not online:
        return releases.known(unlisted=everything)
    settings = Settings(ctx.process, ctx.root)
    downloads = downloads_for(ctx.process, ctx.root, settings, offline=offline)
    return releases.online(downloads, mirror or settings["legacy.mirror"], unlisted=everything)
