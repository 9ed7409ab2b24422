"""Questions before a version goes that something still asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rocmenv.cli.output import tell
from rocmenv.ops.uninstall import reasons_to_keep

if TYPE_CHECKING:
    from rocmenv.cli.program import Context
    from rocmenv.model.version import Version


def may_go(ctx: Context, version: Version, command: str, *, yes: bool) -> None:
    """Return when nothing asks for `version`, or the person agrees; else the refusal is raised."""
    reasons = reasons_to_keep(ctx.process, ctx.root, version)
    if not reasons or yes:
        return
    refusal = reasons[0].refusal(version, command)
    if not ctx.process.interactive:
        raise refusal
    for reason in reasons:
        tell(f"rocmenv: {version} is {reason}")
    if not click.confirm(f"{command.capitalize()} {version} all the same?", err=True):
        raise refusal
