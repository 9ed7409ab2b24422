"""`rocmenv prune`: remove what nothing asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rocmenv.cli.output import amount, say, say_json, tell
from rocmenv.cli.program import Context
from rocmenv.ops import prune as ops
from rocmenv.store.lock import must_be_writable

if TYPE_CHECKING:
    from rocmenv.ops.prune import Look, Outcome


@click.command("prune")
@click.option(
    "--keep",
    type=click.IntRange(0, 1000),
    default=1,
    metavar="N",
    help="The N newest versions stay in any case (default 1).",
)
@click.option("--unused", is_flag=True, help="Only versions that nothing asks for.")
@click.option("--cache", is_flag=True, help="Only downloads that no version was made from.")
@click.option("--staging", is_flag=True, help="Only what stopped changes have left.")
@click.option("-n", "--dry-run", is_flag=True, help="Only show what would go.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def command(
    ctx: Context,
    keep: int,
    *,
    unused: bool,
    cache: bool,
    staging: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Remove versions that nothing asks for, downloads and leftovers.

    What would go is shown first; then a terminal is asked, and elsewhere nothing happens
    without --yes. A version stays that is active here, in use by a process, selected by
    ROCMENV_VERSION, the default, pinned or locked by a project that rocmenv has seen
    (`rocmenv projects`), meant by an alias, or linked.
    """
    whole = not (unused or cache or staging)
    choice = ops.Choice(whole or unused, whole or cache, whole or staging, keep)
    if yes and not dry_run:
        must_be_writable(ctx.root)
    found = ops.look(ctx.process, ctx.root, choice)
    if not as_json:
        _show(found)
    if dry_run or found.is_empty or not (yes or _agreed(ctx, as_json=as_json)):
        if as_json:
            say_json({**_json(found), "removed": None})
        elif not found.is_empty and not dry_run and not ctx.process.interactive:
            tell("rocmenv: nothing was removed; `--yes` removes it")
        return 0
    done = ops.carry_out(ctx.process, ctx.root, found, choice)
    if as_json:
        say_json({**_json(found), "removed": _done(done)})
    else:
        _tell(done)
    return 1 if done.failed else 0


def _agreed(ctx: Context, *, as_json: bool) -> bool:
    if as_json or not ctx.process.interactive:
        return False
    return click.confirm("Remove this?", err=True)


def _show(found: Look) -> None:
    for verdict in found.staying:
        say(f"stays  {verdict.version}: {'; '.join(verdict.reasons)}")
    for verdict in found.going:
        usage = verdict.usage
        size = f" ({amount(usage.frees)})" if usage else ""
        say(f"goes   {verdict.version}{size}: nothing asks for it")
    if found.downloads:
        size = amount(sum(e.size for e in found.downloads))
        say(f"goes   {len(found.downloads)} downloads ({size}): no version was made from them")
    for left in found.left:
        say(f"goes   {left.path} ({amount(left.size)}): left over")
    for note in found.notes:
        tell(f"note: {note}")
    if found.is_empty:
        tell("rocmenv: there is nothing to remove")
    else:
        tell(f"rocmenv: {amount(found.frees)} in all")


def _tell(done: Outcome) -> None:
    if done.versions:
        tell(f"rocmenv: removed {', '.join(map(str, done.versions))}")
    if done.downloads:
        tell(f"rocmenv: deleted {done.downloads} downloads")
    if done.left:
        tell(f"rocmenv: cleared away {done.left} leftovers")
    for name, error in done.failed:
        tell(f"rocmenv: {name} stays: {error.message}")


def _json(found: Look) -> dict[str, Any]:
    def rows(verdicts: tuple[ops.Verdict, ...]) -> list[dict[str, Any]]:
        return [
            {
                "version": str(v.version),
                "reasons": list(v.reasons),
                "size": v.usage.physical if v.usage else None,
                "frees": v.usage.frees if v.usage else None,
            }
            for v in verdicts
        ]

    return {
        "goes": rows(found.going),
        "stays": rows(found.staying),
        "downloads": [{"path": e.path, "size": e.size} for e in found.downloads],
        "leftovers": [{"path": one.path, "size": one.size} for one in found.left],
        "frees": found.frees,
        "notes": list(found.notes),
    }


def _done(done: Outcome) -> dict[str, Any]:
    return {
        "versions": [str(v) for v in done.versions],
        "downloads": done.downloads,
        "leftovers": done.left,
        "failed": [
            {"what": name, "code": error.code, "message": error.message}
            for name, error in done.failed
        ],
    }
