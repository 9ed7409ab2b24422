"""`rocmenv discover`: every ROCm of the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rocmenv.cli.output import say, say_json, tell
from rocmenv.cli.program import Context
from rocmenv.ops.discover import State, adopt, survey
from rocmenv.probe.discover.base import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rocmenv.ops.discover import Adoption, Row, Survey

_TITLES = ("VERSION", "PREFIX", "LAYOUT", "FOUND BY", "STATE")


@click.command("discover")
@click.argument("prefixes", metavar="[PREFIX]...", nargs=-1, type=click.Path(readable=False))
@click.option("--adopt", "adopting", is_flag=True, help="Register what can be, read-only.")
@click.option(
    "--in", "inside", metavar="DIR", multiple=True, help="Look into DIR too; may be repeated."
)
@click.option("--all", "everything", is_flag=True, help="Broken ones and every trace too.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def command(
    ctx: Context,
    prefixes: tuple[str, ...],
    *,
    adopting: bool,
    inside: tuple[str, ...],
    everything: bool,
    as_json: bool,
) -> int:
    """List every ROCm that the machine has already, or those at each PREFIX.

    With --adopt they are registered as `rocmenv link` does it: nothing in them is changed or
    ever removed. The name is the version where that is free, else `6.3.0+opt`, after the
    folder that holds the prefix. A link whose prefix was upgraded is renewed.
    The exit status is 1 when one that was asked for could not be registered.
    """
    if adopting:
        done = adopt(ctx.process, ctx.root, inside, prefixes)
        found = done.survey
    else:
        done, found = None, survey(ctx.process, ctx.root, inside, prefixes)
    if as_json:
        say_json(_json(found, done))
    else:
        _table(found, everything=everything or bool(prefixes))
        _words(found, done, everything=everything or bool(prefixes))
    return 1 if done is not None and done.refused else 0


def _table(found: Survey, *, everything: bool) -> None:
    rows = [row for row in found.rows if everything or not _is_hidden(row)]
    lines = [_TITLES, *map(_cells, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(_TITLES) - 1)]
    for number, line in enumerate(lines if rows else ()):
        padded = [cell.ljust(width) for cell, width in zip(line, widths, strict=False)]
        say("  ".join((*padded, line[-1])))
        if number and everything:
            for trace in rows[number - 1].finding.traces:
                say(f"    {trace.how.value}: {shown(trace.told)} -> {shown(trace.name)}")


def _is_hidden(row: Row) -> bool:
    """Whether a row is left out at first: it is no ROCm, and nobody has registered it."""
    return row.state is State.BROKEN and not row.links


def _cells(row: Row) -> tuple[str, ...]:
    finding = row.finding
    first, *others = finding.traces
    more = f" +{len(others)}" if others else ""
    return (
        str(finding.version or "-"),
        shown(finding.prefix),
        finding.kind.value if finding.kind else "-",
        shown(first.told) + more,
        "; ".join((_state(row), *finding.remarks)),
    )


def _state(row: Row) -> str:
    names = ", ".join(str(link.name) for link in row.links)
    if row.state is State.NEW:
        return "new" if row.name == row.finding.version else f"new, would be {row.name}"
    if row.state is State.LINKED:
        return f"linked as {names}"
    if row.state is State.CHANGED:
        return ", ".join(f"{link.name} {link.change}" for link in row.links if link.change)
    linked = f", linked as {names}" if names else ""
    return f"{row.state.value}{linked}: {row.reason}"


def _words(found: Survey, done: Adoption | None, *, everything: bool) -> None:
    """What people may want to know or do next, on stderr."""
    for note in found.notes:
        tell(f"note: {note}")
    hidden = sum(map(_is_hidden, found.rows))
    if hidden and not everything:
        tell(f"note: {hidden} broken; `rocmenv discover --all` shows what is wrong")
    if not found.rows:
        tell("rocmenv: no ROCm was found; `rocmenv discover --in DIR` looks into DIR")
    for line in _done(done) if done else _next(found):
        tell(f"rocmenv: {line}")
    for error in done.refused if done else ():
        tell(f"rocmenv: {error.message}")
        if error.hint:
            tell(f"hint: {error.hint}")


def _done(done: Adoption) -> Iterator[str]:
    new = {item.version for item in done.done}
    for row in done.survey.rows:
        for link in row.links if new else ():
            if link.name in new:
                asked = row.finding.version
                other = asked is not None and asked.local != link.name.local
                note = f" (there is another {asked})" if other and row.name != asked else ""
                yield f"{link.name} is {shown(row.finding.prefix)}{note}"
    if done.done:
        yield f"select one: `rocmenv use {done.done[-1].version}`"
    elif not done.refused:
        yield "there is nothing new to register"


def _next(found: Survey) -> Iterator[str]:
    for row in found.rows:
        for link in row.links if row.state is State.CHANGED else ():
            if link.change is not None:
                yield f"{link.name} {link.change}; run `rocmenv link --refresh {link.name}`"
        for link in row.links if row.state is State.BROKEN else ():
            yield f"{link.name} is broken; `rocmenv unlink --yes {link.name}` forgets it"
    new = sum(row.state is State.NEW for row in found.rows)
    if new:
        yield f"{new} new; `rocmenv discover --adopt` registers what is"


def _json(found: Survey, done: Adoption | None) -> dict[str, Any]:
    value: dict[str, Any] = {
        "found": [_json_row(row) for row in found.rows],
        "notes": list(found.notes),
    }
    if done is not None:
        value["adopted"] = [{"version": str(i.version), "prefix": i.prefix} for i in done.done]
        value["refused"] = [
            {"code": e.code, "message": e.message, "hint": e.hint} for e in done.refused
        ]
    return value


def _json_row(row: Row) -> dict[str, Any]:
    finding = row.finding
    return {
        "version": str(finding.version) if finding.version else None,
        "prefix": finding.prefix,
        "layout": finding.kind.value if finding.kind else None,
        "state": row.state.value,
        "reason": row.reason or None,
        "name": str(row.name) if row.name else None,
        "links": [
            {
                "version": str(link.name),
                "was": link.change.was if link.change else None,
                "is": link.change.now if link.change else None,
            }
            for link in row.links
        ],
        "names": list(finding.names),
        "traces": _json_traces(row),
        "remarks": list(finding.remarks),
    }


def _json_traces(row: Row) -> Sequence[dict[str, str]]:
    return [{"how": t.how.value, "told": t.told, "name": t.name} for t in row.finding.traces]
