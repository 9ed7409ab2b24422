"""`rocmenv du`: what versions take on the disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rocmenv.cli.completion import complete_installed
from rocmenv.cli.output import amount, say, say_json, tell
from rocmenv.cli.program import Context
from rocmenv.ops import usage as ops

if TYPE_CHECKING:
    from rocmenv.ops.usage import Report, Row
    from rocmenv.store.usage import Usage


@click.command("du")
@click.argument("versions", metavar="[VERSION]...", nargs=-1, shell_complete=complete_installed)
@click.option("--linked", is_flag=True, help="Measure linked versions too.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, in bytes.")
@click.pass_obj
def command(ctx: Context, versions: tuple[str, ...], *, linked: bool, as_json: bool) -> None:
    """Show what VERSIONs take on the disk; without one, all of them and the rest of the root.

    SIZE is the sum of the files' sizes, DISK what their blocks take, FREES what removing this
    version alone would give back: the rest of DISK is shared with others.
    """
    report = ops.measure(ctx.process, ctx.root, versions, linked=linked)
    if as_json:
        say_json(_json(report))
        return
    say(f"{'SIZE':>9} {'DISK':>9} {'FREES':>9}")
    for row in report.rows:
        say(f"{_numbers(row.usage)}  {row.name}{_place(row)}")
    for name, usage in _rest(report).items():
        say(f"{_numbers(usage)}  {name}")
    say(f"{'':>9} {amount(report.total):>9} {'':>9}  total")
    for row in report.rows:
        if row.problem:
            tell(f"rocmenv: not an install: {row.prefix}: {row.problem}")
    unread = sum(u.unread for u in (*(r.usage for r in report.rows), *_rest(report).values()) if u)
    if unread:
        tell(f"rocmenv: {unread} folders or files could not be looked at, and are not counted")


def _place(row: Row) -> str:
    return f" -> {row.prefix}" if row.is_link else ""


def _numbers(usage: Usage | None) -> str:
    if usage is None:
        return f"{'-':>9} {'-':>9} {'-':>9}"
    return " ".join(f"{amount(n):>9}" for n in (usage.logical, usage.physical, usage.frees))


def _rest(report: Report) -> dict[str, Usage]:
    found = {"cache": report.cache, "staging": report.staging, "trash": report.trash}
    return {name: usage for name, usage in found.items() if usage is not None}


def _json(report: Report) -> dict[str, Any]:
    rows = [
        {
            "version": None if row.problem else row.name,
            "path": row.prefix,
            "linked": row.is_link,
            "problem": row.problem or None,
            "usage": _bytes(row.usage),
        }
        for row in report.rows
    ]
    rest = {name: _bytes(usage) for name, usage in _rest(report).items()}
    return {"versions": rows, **rest, "total": report.total}


def _bytes(usage: Usage | None) -> dict[str, int] | None:
    if usage is None:
        return None
    return {
        "files": usage.files,
        "logical": usage.logical,
        "physical": usage.physical,
        "shared": usage.shared,
        "frees": usage.frees,
        "unread": usage.unread,
    }
