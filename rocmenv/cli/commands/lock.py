"""`rocmenv lock`: which files exactly a project's version is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rocmenv.cli.completion import complete_profile, complete_release, complete_target
from rocmenv.cli.output import amount, say_json, tell
from rocmenv.cli.program import Context
from rocmenv.cli.progress import reporter
from rocmenv.cli.releases import meant
from rocmenv.ops import lock as ops
from rocmenv.ops.choose import remember_project
from rocmenv.ops.connect import downloads_for
from rocmenv.ops.plan import Wish
from rocmenv.settings import CHANNELS, PROFILE_NAMES, Settings
from rocmenv.sources.base import Request

if TYPE_CHECKING:
    from pathlib import Path

    from rocmenv.model.lock import Locked


@click.command("lock")
@click.argument("spec", metavar="[VERSION]", required=False, shell_complete=complete_release)
@click.option("--channel", type=click.Choice(CHANNELS), help="Where to take it from.")
@click.option(
    "--profile",
    help=f"Set of packages: {', '.join(PROFILE_NAMES)}.",
    shell_complete=complete_profile,
)
@click.option("--with", "extra", metavar="PACKAGE", multiple=True, help="A further package.")
@click.option(
    "--gpu",
    "gpus",
    metavar="TARGET",
    multiple=True,
    help="A GPU to lock for, a family, `all` or `none`; else those found.",
    shell_complete=complete_target,
)
@click.option(
    "--prune-targets/--no-prune-targets",
    "prune",
    default=None,
    help="Leave out the files that only other GPUs use.",
)
@click.option("--suite", help="The repository's suite, such as jammy.")
@click.option("--mirror", metavar="URL", help="Base address in place of AMD's.")
@click.option("--keyring", metavar="FILE|URL", help="Signing keys in place of the channel's.")
@click.option("--fingerprint", metavar="HEX", help="The key that must have signed.")
@click.option("--offline", is_flag=True, help="Open no connection; use the cache.")
@click.option("-n", "--dry-run", "--check", is_flag=True, help="Exit status 1 if it would change.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, no notes.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def command(ctx: Context, /, spec: str | None, **given: Any) -> int:  # noqa: ANN401 - each is of its option's type
    """Write `rocm.lock`: the files that VERSION, or the pin here, means on this platform.

    Channel, profile, packages, GPUs and mirror stay those of the lock that is there, if no
    option says otherwise. Entries of other platforms stay. `rocmenv install --locked`
    installs exactly these files.
    """
    settings = Settings(ctx.process, ctx.root)
    report = reporter(quiet=given["quiet"] or given["as_json"])
    wanted = meant(ctx, spec) if spec else str(ops.pinned(ctx.process, ctx.root))
    path = ops.place_of(ctx.process)
    wish = _wish(wanted, given, ops.choices(ctx.root, settings, path, wanted))
    downloads = downloads_for(ctx.process, ctx.root, settings, offline=given["offline"])
    locked = ops.make(ctx.process, ctx.root, settings, wish, downloads, report)
    act = ops.would_change if given["dry_run"] else ops.write
    is_changed = act(path, locked)
    if not given["dry_run"]:
        remember_project(ctx.process, ctx.root)
    if given["as_json"]:
        say_json(_json(path, locked, is_changed=is_changed))
    elif not given["quiet"]:
        size = amount(sum(item.size for item in locked.items))
        what = f"{locked.version} on {locked.platform}: {len(locked.items)} files, {size}"
        verb = "would have" if is_changed and given["dry_run"] else "has"
        tell(f"rocmenv: {path} {verb} {what}{'' if is_changed else ' already'}")
    return 1 if given["dry_run"] and is_changed else 0


def _wish(spec: str, given: dict[str, Any], else_: ops.Choices) -> Wish:
    request = Request(
        profile=given["profile"] or else_.profile,
        extra=given["extra"] or else_.extra,
        suite=given["suite"],
        mirror=given["mirror"] or else_.mirror,
        keyring=given["keyring"],
        fingerprint=given["fingerprint"],
        prune=else_.prune if given["prune"] is None else given["prune"],
    )
    return Wish(
        spec=spec,
        channel=given["channel"] or else_.channel,
        gpus=given["gpus"] or else_.gpus,
        request=request,
    )


def _json(path: Path, locked: Locked, *, is_changed: bool) -> dict[str, object]:
    return {
        "path": str(path),
        "platform": locked.platform,
        "version": str(locked.version),
        "channel": locked.channel,
        "changed": is_changed,
        "files": [
            {"name": i.name, "version": i.version, "url": i.url, "size": i.size, "sha256": i.sha256}
            for i in locked.items
        ],
    }
