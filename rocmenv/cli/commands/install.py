"""`rocmenv install`: a release into the root."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from rocmenv.cli.completion import complete_profile, complete_release
from rocmenv.cli.output import amount, say, say_json, tell
from rocmenv.cli.program import Context
from rocmenv.cli.progress import reporter
from rocmenv.cli.releases import list_releases
from rocmenv.errors import UsageError
from rocmenv.ops import install as ops
from rocmenv.ops.listing import Wanted
from rocmenv.ops.plan import AUTO, Wish, make_plan, release_of
from rocmenv.settings import CHANNELS, Settings
from rocmenv.sources.base import Request
from rocmenv.store.lock import must_be_writable

if TYPE_CHECKING:
    from rocmenv.sources.base import Plan
    from rocmenv.store.registry import Installed


@click.command("install")
@click.argument("spec", metavar="[VERSION]", required=False, shell_complete=complete_release)
@click.option("--channel", type=click.Choice(CHANNELS), help="Where to take it from.")
@click.option(
    "--from",
    "source",
    metavar="FILE|DIR|URL",
    help="A tarball, installer (.run), package or folder in place of a channel.",
)
@click.option(
    "--profile",
    help="Set of packages: runtime, hip, sdk or full.",
    shell_complete=complete_profile,
)
@click.option("--with", "extra", metavar="PACKAGE", multiple=True, help="A further package.")
@click.option("--as", "name", metavar="VERSION", help="Name to install it as, such as 6.3.0+test.")
@click.option("--suite", help="The repository's suite, such as jammy.")
@click.option("--mirror", metavar="URL", help="Base address in place of AMD's.")
@click.option("--keyring", metavar="FILE|URL", help="Signing keys in place of the channel's.")
@click.option("--fingerprint", metavar="HEX", help="The key that must have signed.")
@click.option("-j", "--jobs", type=click.IntRange(1, 64), help="Packages at once.")
@click.option("-n", "--dry-run", is_flag=True, help="Show the plan with sizes; change nothing.")
@click.option("--reinstall", is_flag=True, help="Replace the version if it is there.")
@click.option("--keep-downloads", is_flag=True, help="Leave the packages in the cache.")
@click.option("--offline", is_flag=True, help="Open no connection; use the cache.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, no notes.")
@click.option(
    "-l", "--list", "listing", is_flag=True, help="List the known releases; VERSION filters."
)
@click.option("--online", is_flag=True, help="With --list: read the channel's own index.")
@click.option("--pre", is_flag=True, help="With --list: previews and candidates too.")
@click.option("--all", "everything", is_flag=True, help="With --list: unlisted ones too.")
@click.option("--json", "as_json", is_flag=True, help="Plan or list as JSON.")
@click.pass_obj
def command(ctx: Context, /, spec: str | None, **given: object) -> None:
    """Install VERSION: whole, or not at all.

    The newest fitting release is taken for `6.3`, `latest` or a range. With --from the
    version may be left out, where the file says which one it is.
    """
    if given["listing"]:
        list_releases(
            ctx,
            spec,
            Wanted(
                channel=_text(given["channel"]) or AUTO,
                pre=bool(given["pre"]),
                unlisted=bool(given["everything"]),
            ),
            online=bool(given["online"]),
            mirror=_text(given["mirror"]),
            as_json=bool(given["as_json"]),
        )
        return
    _install(ctx, spec or _told(ctx, given), given)


def _told(ctx: Context, given: dict[str, object]) -> str:
    """The version that the file of `--from` says it is."""
    source = _text(given["source"])
    if source is None:
        msg = "a version is missing"
        raise UsageError(msg, hint="`rocmenv install latest`, or `rocmenv install --list`")
    version, by = release_of(ctx.process, source)
    if not given["quiet"] and not given["as_json"]:
        tell(f"rocmenv: it is {version}, says {by}")
    return version


def _install(ctx: Context, spec: str, given: dict[str, object]) -> None:
    settings = Settings(ctx.process, ctx.root)
    report = reporter(quiet=bool(given["quiet"]) or bool(given["as_json"]))
    downloads = ops.downloads_for(
        ctx.root, offline=bool(given["offline"]) or bool(settings["offline"])
    )
    wish = _wish(spec, given, settings)
    if not given["dry_run"]:
        named = None if given["reinstall"] else ops.already(ctx.process, ctx.root, wish)
        if named is not None:
            _tell_done(named, given, "is installed already")
            if not given["quiet"]:
                _tell_unused(named, ctx.process.args, given)
            return
        must_be_writable(ctx.root)
        settings.value("search")  # which the shims will need: a bad one is told before the download
    plan = make_plan(ctx.process, ctx.root, settings, wish, downloads, report)
    if given["dry_run"]:
        _show(plan, as_json=bool(given["as_json"]))
        return
    jobs = given["jobs"] if isinstance(given["jobs"], int) else None
    how = ops.options(
        settings, jobs, keep=bool(given["keep_downloads"]), reinstall=bool(given["reinstall"])
    )
    item = ops.install(ctx.process, ctx.root, plan, downloads, how, report)
    _tell_result(item.receipt.host, item.receipt.unrelocated, quiet=bool(given["quiet"]))
    _tell_done(item, given, f"({amount(item.receipt.size)}) is installed")


def _wish(spec: str, given: dict[str, object], settings: Settings) -> Wish:
    return Wish(
        spec=spec,
        channel=_text(given["channel"]) or settings["channel"],
        source=_text(given["source"]),
        name=_text(given["name"]),
        request=Request(
            profile=_text(given["profile"]) or settings["profile"],
            extra=tuple(given["extra"]) if isinstance(given["extra"], tuple) else (),
            suite=_text(given["suite"]),
            mirror=_text(given["mirror"]),
            keyring=_text(given["keyring"]),
            fingerprint=_text(given["fingerprint"]),
        ),
        is_part=bool(given["profile"] or given["extra"]),
    )


def _tell_done(item: Installed, given: dict[str, object], words: str) -> None:
    if given["as_json"]:
        say_json({"version": str(item.version), "prefix": item.prefix})
    elif not given["quiet"]:
        tell(f"rocmenv: {item.version} {words}: {item.prefix}")


def _tell_unused(item: Installed, words: tuple[str, ...], given: dict[str, object]) -> None:
    """A note about options for the packages of an install that is there already."""
    suffixes = ("", str(item.version.without_local))  # legacy's packages end in their release
    have = {part.name for part in item.receipt.items}
    extra = given["extra"] if isinstance(given["extra"], tuple) else ()
    lacks = any({f"{name}{s}" for s in suffixes}.isdisjoint(have) for name in extra)
    options = (("--with", lacks), ("--profile", given["profile"]))
    unused = [f"`{option}`" for option, is_unused in options if is_unused]
    if not unused:
        return
    again = f"it is linked to {item.prefix}, which stays as it is"
    if not item.receipt.is_link:
        at = words.index("install") + 1
        command = shlex.join(("rocmenv", *words[:at], "--reinstall", *words[at:]))
        again = f"to make it anew: `{command}`"
    tell(f"note: {' and '.join(unused)} had no effect; {again}")


def _tell_result(host: tuple[str, ...], unrelocated: tuple[str, ...], *, quiet: bool) -> None:
    if host:
        tell(f"warning: the machine lacks packages that this release needs: {', '.join(host)}")
        tell(f"hint: sudo apt-get install {' '.join(name.split()[0] for name in host)}")
    if unrelocated and not quiet:
        shown = ", ".join(unrelocated[:3]) + (" ..." if unrelocated[3:] else "")
        tell(f"note: {len(unrelocated)} files still name the place they were built for: {shown}")


def _show(plan: Plan, *, as_json: bool) -> None:
    if as_json:
        parts = [{"name": p.name, "version": p.version, "size": p.size} for p in plan.parts]
        say_json(
            {
                "version": str(plan.version),
                "channel": plan.channel,
                "origin": plan.origin,
                "download": plan.download,
                "installed": plan.installed,
                "host": list(plan.host),
                "notes": list(plan.notes),
                "parts": parts,
            }
        )
        return
    for part in plan.parts:
        size = "" if part.size is None else amount(part.size)
        say(f"{size:>9}  {part.name} {part.version}".rstrip())
    total = amount(plan.download) if plan.download is not None else "unknown"
    disk = amount(plan.installed) if plan.installed is not None else "unknown"
    say(f"{plan.version} from {plan.channel} ({plan.origin}): {total} to download, {disk} on disk")
    for note in plan.notes:
        tell(f"note: {note}")
    if plan.host:
        tell(f"warning: the machine lacks: {', '.join(plan.host)}")


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
