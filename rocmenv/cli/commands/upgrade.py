"""`rocmenv upgrade`: the newest release of a series in the place of an older one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from rocmenv.cli.completion import complete_install
from rocmenv.cli.output import amount, say, say_json, tell
from rocmenv.cli.program import Context
from rocmenv.cli.progress import reporter
from rocmenv.errors import RocmenvError, UsageError
from rocmenv.ops import install as installing
from rocmenv.ops import outdated
from rocmenv.ops import upgrade as ops
from rocmenv.ops.connect import downloads_for
from rocmenv.ops.listing import servers
from rocmenv.settings import Settings
from rocmenv.sources.catalog_file import load
from rocmenv.store.lock import must_be_writable

if TYPE_CHECKING:
    from rocmenv.fetch.transfer import Downloads
    from rocmenv.ops.report import Reporter
    from rocmenv.ops.upgrade import Result, Step


@dataclass(frozen=True, slots=True)
class _How:
    """The options of a call."""

    downloads: Downloads
    report: Reporter
    options: installing.Options
    dry_run: bool
    keep_old: bool
    pins: bool
    as_json: bool


@click.command("upgrade")
@click.argument("versions", metavar="[VERSION]...", nargs=-1, shell_complete=complete_install)
@click.option("--all", "everything", is_flag=True, help="The newest install of each series.")
@click.option("-n", "--dry-run", is_flag=True, help="Only show what would be installed.")
@click.option("--keep-old", is_flag=True, help="Leave the old version there.")
@click.option("--pins", is_flag=True, help="Let known pins of the old version name the new one.")
@click.option("--online", is_flag=True, help="Ask the channels' own indexes what is out.")
@click.option("--offline", is_flag=True, help="Open no connection; use the cache.")
@click.option("-j", "--jobs", type=click.IntRange(1, 64), help="Packages at once.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, no notes.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def command(ctx: Context, /, versions: tuple[str, ...], **given: Any) -> int:  # noqa: ANN401 - each is of its option's type
    """Install the newest release of VERSION's series, then remove VERSION.

    It comes from the same channel with the same profile and packages. VERSION is an installed
    version, or a series such as 6.3. The default moves along. A pin that names the old version in
    full keeps it, unless `--pins` is given.
    """
    if bool(versions) == bool(given["everything"]):
        msg = "name versions, or give `--all`; not both"
        raise UsageError(msg, hint="`rocmenv outdated` shows what could be newer")
    settings = Settings(ctx.process, ctx.root)
    how = _How(
        downloads_for(ctx.process, ctx.root, settings, offline=bool(given["offline"])),
        reporter(quiet=bool(given["quiet"]) or bool(given["as_json"])),
        installing.options(settings, given["jobs"], keep=False, reinstall=False),
        bool(given["dry_run"]),
        bool(given["keep_old"]),
        bool(given["pins"]),
        bool(given["as_json"]),
    )
    if not how.dry_run:
        must_be_writable(ctx.root)
    items = ops.chosen(ctx.process, ctx.root, versions, everything=bool(given["everything"]))
    channels = sorted({i.receipt.source for i in items})
    # The distribution's releases are nowhere but in its indexes.
    out = outdated.known(
        load(ctx.root.catalog),
        channels,
        how.downloads,
        online=bool(given["online"]),
        with_distro=True,
        at=servers(settings),
        tell=how.report.note,
    )
    todo, done = ops.steps(ctx.process, ctx.root, items, out)
    if not how.as_json:
        for item in done:
            tell(f"rocmenv: {item.version} is the newest of {item.version.xy}")
        if not items:
            tell("rocmenv: nothing is installed that a channel could make newer")
    rows = [_one(ctx, step, how) for step in todo]
    if how.as_json:
        say_json({"upgrades": rows, "newest": [str(i.version) for i in done]})
    return 1 if any(row["error"] for row in rows) else 0


def _one(ctx: Context, step: Step, how: _How) -> dict[str, Any]:
    """Carry out one upgrade; what went wrong with it leaves the others."""
    row = {"from": str(step.old.version), "to": str(step.new), "error": None}
    try:
        for note in step.notes:
            how.report.note(note)
        if how.dry_run:
            return row | _shown(ctx, step, how)
        if not step.is_there:
            made = ops.plan(ctx.process, ctx.root, step, how.downloads, how.report)
            installing.install(ctx.process, ctx.root, made, how.downloads, how.options, how.report)
        result = ops.settle(
            ctx.process,
            ctx.root,
            step,
            edit_pins=how.pins or _may_edit(ctx, step, how),
            keep_old=how.keep_old,
        )
    except RocmenvError as error:
        if not how.as_json:
            tell(f"rocmenv: {step.old.version}: {error.message}")
            if error.hint:
                tell(f"hint: {error.hint}")
        return row | {"error": {"code": error.code, "message": error.message}}
    if not how.as_json:
        _tell(step, result)
    return row | {"default": bool(result.default), "pins": result.pins, "kept": result.kept}


def _may_edit(ctx: Context, step: Step, how: _How) -> bool:
    found = ops.pins_of(ctx.process, ctx.root, step.old.version)
    if not found or how.as_json or not ctx.process.interactive:
        return False
    for pin in found:
        tell(f"rocmenv: {pin.path} names {step.old.version}")
    return click.confirm(f"Let them name {step.new}?", err=True)


def _shown(ctx: Context, step: Step, how: _How) -> dict[str, Any]:
    made = (
        None if step.is_there else ops.plan(ctx.process, ctx.root, step, how.downloads, how.report)
    )
    download = made.download if made else 0
    installed = made.installed if made else 0
    request = step.wish.request
    if not how.as_json:
        packages = "".join(f", {name}" for name in request.extra)
        sizes = f"{amount(download or 0)} to download, {amount(installed or 0)} on disk"
        what = "is installed already" if step.is_there else sizes
        from_ = f"{step.wish.channel}, {request.profile}{packages}"
        say(f"{step.old.version} -> {step.new} ({from_}): {what}")
    return {
        "channel": step.wish.channel,
        "profile": request.profile,
        "extra": list(request.extra),
        "download": download,
        "installed": installed,
    }


def _tell(step: Step, result: Result) -> None:
    if result.default:
        tell(f"rocmenv: {result.default} now says {step.new}")
    for path in result.pins:
        tell(f"rocmenv: {path} now says {step.new}")
    old = step.old.version
    if result.kept:
        tell(f"rocmenv: {step.new} is installed; {old} stays: {'; '.join(result.kept)}")
    else:
        tell(f"rocmenv: {step.new} is installed in place of {old}")
