"""`rocmenv add-target`: further GPUs for an installed version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rocmenv.cli.completion import complete_install, complete_target
from rocmenv.cli.output import amount, say_json, tell
from rocmenv.cli.program import Context
from rocmenv.cli.progress import reporter
from rocmenv.errors import UsageError
from rocmenv.ops import add_target as ops
from rocmenv.ops import current
from rocmenv.ops.connect import downloads_for
from rocmenv.ops.install import install, options
from rocmenv.ops.rehash import tidy_if_stopped
from rocmenv.settings import Settings
from rocmenv.store.lock import must_be_writable

if TYPE_CHECKING:
    from rocmenv.store.registry import Installed


@click.command("add-target")
@click.argument("targets", metavar="TARGET...", nargs=-1, shell_complete=complete_target)
@click.option(
    "--to", "word", metavar="VERSION", help="Which version.", shell_complete=complete_install
)
@click.option("-j", "--jobs", type=click.IntRange(1, 64), help="Packages at once.")
@click.option("-n", "--dry-run", is_flag=True, help="Show what would be fetched.")
@click.option("--offline", is_flag=True, help="Open no connection; use the cache.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, no notes.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def command(ctx: Context, /, targets: tuple[str, ...], word: str | None, **given: Any) -> None:  # noqa: ANN401 - each is of its option's type
    """Add GPUs to a version that was installed for others; the selected one without --to.

    Only the packages that have what was left out for them are fetched. The new version is
    made beside the old one, of the same files where it can, and takes its place when it is
    whole. TARGET is as in `--gpu`; `all` adds every GPU.
    """
    if not targets:
        msg = "name the GPUs to add"
        raise UsageError(msg, hint="`rocmenv add-target gfx90a`")
    selection = current.asked(word) if word else current.selected(ctx.process, ctx.root, ctx.plus)
    item = current.installed_for(ctx.process, ctx.root, selection)
    if item is None:
        msg = "the system's ROCm is not ours to change"
        raise UsageError(msg, hint="name an installed version: `--to VERSION`")
    fresh = ops.missing(item, targets)
    if not fresh:
        tidy_if_stopped(ctx.process, ctx.root)  # a call that was killed may have been the one
        if given["as_json"]:
            say_json({"version": str(item.version), "added": []})
        elif not given["quiet"]:
            tell(f"rocmenv: {item.version} has code for {' '.join(targets)} already")
        return
    _add(ctx, item, fresh, given)


def _add(ctx: Context, item: Installed, fresh: tuple[str, ...], given: dict[str, Any]) -> None:
    settings = Settings(ctx.process, ctx.root)
    report = reporter(quiet=given["quiet"] or given["as_json"])
    downloads = downloads_for(ctx.process, ctx.root, settings, offline=given["offline"])
    if not given["dry_run"]:
        must_be_writable(ctx.root)
    made = ops.plan(ctx.process, ctx.root, settings, item, fresh, downloads, report)
    size = amount(made.download) if made.download is not None else "an unknown size"
    if given["dry_run"]:
        if given["as_json"]:
            words = {"version": str(item.version), "added": list(fresh)}
            say_json({**words, "download": made.download})
        else:
            tell(f"rocmenv: {item.version} with {' '.join(fresh)}: {size} to download")
        return
    how = options(settings, given["jobs"], keep=False, reinstall=True)
    done = install(ctx.process, ctx.root, made, downloads, how, report)
    if given["as_json"]:
        say_json({"version": str(done.version), "added": list(fresh)})
    elif not given["quiet"]:
        targets = " ".join(done.receipt.targets) or "every GPU"
        tell(f"rocmenv: {done.version} has code for {targets} now")
