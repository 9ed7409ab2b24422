"""`rocmenv install`: a release into the root."""

from __future__ import annotations

import shlex
import shutil
from typing import TYPE_CHECKING

import click

from rocmenv.cli.completion import complete_profile, complete_release, complete_target
from rocmenv.cli.output import amount, say_json, tell
from rocmenv.cli.plans import show
from rocmenv.cli.program import Context
from rocmenv.cli.progress import reporter
from rocmenv.cli.releases import list_releases, meant
from rocmenv.cli.unused import unused
from rocmenv.errors import NotInstalledError, StoreError, UsageError
from rocmenv.model.selection import Origin, Selection, Source
from rocmenv.ops import current
from rocmenv.ops import install as ops
from rocmenv.ops import lock as locks
from rocmenv.ops.choose import remember_project
from rocmenv.ops.connect import downloads_for
from rocmenv.ops.listing import Wanted
from rocmenv.ops.plan import AUTO, Wish, for_every_gpu, make_plan, release_of
from rocmenv.settings import CHANNELS, PROFILE_NAMES, Settings
from rocmenv.sources.base import Request
from rocmenv.sources.catalog_file import load
from rocmenv.store import pins, registry
from rocmenv.store.lock import must_be_writable
from rocmenv.store.locks import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.model.receipt import Receipt
    from rocmenv.ops.report import Reporter
    from rocmenv.sources.base import Plan
    from rocmenv.store.registry import Installed


_RPM_TOOLS = ("dnf", "yum", "zypper", "tdnf")
_OF_LISTS = (("--online", "online"), ("--pre", "pre"), ("--all", "everything"))
# What decides which files an install has, and a lock has decided.
_CHOICES = (
    ("--channel", "channel"),
    ("--profile", "profile"),
    ("--with", "extra"),
    ("--gpu", "gpus"),
    ("--as", "name"),
    ("--suite", "suite"),
    ("--keyring", "keyring"),
    ("--fingerprint", "fingerprint"),
)


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
    help=f"Set of packages: {', '.join(PROFILE_NAMES)}.",
    shell_complete=complete_profile,
)
@click.option("--with", "extra", metavar="PACKAGE", multiple=True, help="A further package.")
@click.option("--as", "name", metavar="VERSION", help="Name to install it as, such as 6.3.0+test.")
@click.option(
    "--gpu",
    "gpus",
    metavar="TARGET",
    multiple=True,
    help="A GPU to install for, such as gfx1100, a family, `all` or `none`; else those found.",
    shell_complete=complete_target,
)
@click.option(
    "--prune-targets/--no-prune-targets",
    "prune",
    default=None,
    help="Leave out the files that only other GPUs use.",
)
@click.option("--locked", is_flag=True, help="Exactly what `rocm.lock` says, or nothing.")
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
    """Install VERSION, or what the project here asks for: whole, or not at all.

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
            asked=Request(
                suite=_text(given["suite"]),
                mirror=_text(given["mirror"]),
                keyring=_text(given["keyring"]),
                fingerprint=_text(given["fingerprint"]),
            ),
            offline=bool(given["offline"]),
            as_json=bool(given["as_json"]),
        )
        return
    stray = [f"`{option}`" for option, name in _OF_LISTS if given[name]]
    if stray:
        msg = f"{' and '.join(stray)} may be given with `--list` only"
        hint = (
            "`rocmenv install --list --online --pre` lists; to install a candidate, name it in full"
        )
        raise UsageError(msg, hint=hint)
    lock = _lock_here(ctx, spec, given)
    if lock is not None:
        _install_locked(ctx, lock, given)
    else:
        if spec and not given["source"]:  # a tree of one's own has a version, not an alias
            spec = meant(ctx, spec)
        spec = spec or _told(ctx, given) or _wanted_here(ctx, given)
        if spec is not None:
            _install(ctx, spec, given)
    if not given["dry_run"]:
        remember_project(ctx.process, ctx.root)


def _lock_here(ctx: Context, spec: str | None, given: dict[str, object]) -> Path | None:
    """The lock to install from: asked for, or there where nothing else is said."""
    if not given["locked"] and (spec is not None or given["source"]):
        return None
    if spec is not None or given["source"]:
        msg = "`--locked` installs what the lock says, not a version or file of its own"
        raise UsageError(msg, hint="`rocmenv install --locked`, or `rocmenv lock VERSION` first")
    found = nearest(ctx.process.cwd)
    if found is None and given["locked"]:
        msg = "there is no rocm.lock here"
        raise UsageError(msg, hint="make one: `rocmenv lock`")
    said = [f"`{option}`" for option, name in _CHOICES if given[name]] if found else []
    if said:
        msg = f"{' and '.join(said)} cannot change what {found} says"
        hint = "lock anew with it (`rocmenv lock --help`), or name a version: `rocmenv install 6.3`"
        raise UsageError(msg, hint=hint)
    return found


def _install_locked(ctx: Context, lock: Path, given: dict[str, object]) -> None:
    settings = Settings(ctx.process, ctx.root)
    locked = locks.wanted_at(lock)
    asked = _text(given["mirror"])
    locked = locked.at(locks.mirror_for(ctx.root, settings, locked, asked))
    report = reporter(quiet=bool(given["quiet"]) or bool(given["as_json"]))
    if ctx.root.receipt(locked.version).is_file() and not given["reinstall"]:
        item = registry.find(ctx.root, locked.version)
        other = locks.differs(item.receipt, locked)
        if other is not None:
            msg = f"{locked.version} is installed from other files than {lock} says ({other})"
            raise StoreError(msg, hint="replace it: `rocmenv install --locked --reinstall`")
        _tell_done(item, given, f"is installed already, as {lock} says")
        return
    downloads = downloads_for(ctx.process, ctx.root, settings, offline=bool(given["offline"]))
    if not given["quiet"]:
        tell(f"rocmenv: {locked.version} (set by {lock})")
    from rocmenv.sources import locked as source  # noqa: PLC0415 - where there is a lock

    if asked is not None:
        source.refuse_incomplete(locked, asked, downloads)
    plan = source.plan(load(ctx.root.catalog), locked, downloads)
    _carry_out(ctx, plan, downloads, given, report)


def _told(ctx: Context, given: dict[str, object]) -> str | None:
    """The version that the file of `--from` says it is; None without that option."""
    source = _text(given["source"])
    if source is None:
        return None
    version, by = release_of(ctx.process, source)
    if not given["quiet"] and not given["as_json"]:
        tell(f"rocmenv: it is {version}, says {by}")
    return version


def _wanted_here(ctx: Context, given: dict[str, object]) -> str | None:
    """What the pin here asks for; None when that is installed, which is told."""
    found = pins.nearest(ctx.process.cwd)
    selection = Selection(found[1], Origin(Source.PIN, found[0])) if found else None
    spec = current.without_alias(ctx.process, ctx.root, selection) if selection else None
    if selection is None or spec is None or spec.is_system:
        msg = "a version is missing"
        hint = "`rocmenv install latest`, or `rocmenv install --list`"
        raise UsageError(msg, hint=hint)
    try:
        item = current.installed_for(ctx.process, ctx.root, selection)
    except NotInstalledError:
        item = None
    if item is not None and not given["reinstall"]:
        _tell_done(item, given, f"is installed already ({selection.origin})")
        return None
    if not given["quiet"]:
        tell(f"rocmenv: {spec} ({selection.origin})")
    return str(item.version if item else spec)


def _install(ctx: Context, spec: str, given: dict[str, object]) -> None:
    settings = Settings(ctx.process, ctx.root)
    report = reporter(quiet=bool(given["quiet"]) or bool(given["as_json"]))
    downloads = downloads_for(ctx.process, ctx.root, settings, offline=bool(given["offline"]))
    wish = _wish(spec, given, settings)
    if not given["dry_run"]:
        named = None if given["reinstall"] else ops.already(ctx.process, ctx.root, wish)
        if named is not None:
            late = unused(ctx, named, given)
            _tell_done(named, given, "is installed already")
            if not given["quiet"]:
                _tell_unused(named, ctx.process.args, late)
            return
        must_be_writable(ctx.root)
        settings.value("search")  # which the shims will need: a bad one is told before the download
    plan = make_plan(ctx.process, ctx.root, settings, wish, downloads, report)
    if given["dry_run"]:
        whole = for_every_gpu(ctx.process, ctx.root, settings, wish, plan, downloads)
        show(plan, whole, as_json=bool(given["as_json"]))
        return
    _carry_out(ctx, plan, downloads, given, report)


def _carry_out(
    ctx: Context, plan: Plan, downloads: Downloads, given: dict[str, object], report: Reporter
) -> None:
    settings = Settings(ctx.process, ctx.root)
    if given["dry_run"]:
        show(plan, None, as_json=bool(given["as_json"]))
        return
    jobs = given["jobs"] if isinstance(given["jobs"], int) else None
    how = ops.options(
        settings, jobs, keep=bool(given["keep_downloads"]), reinstall=bool(given["reinstall"])
    )
    item = ops.install(ctx.process, ctx.root, plan, downloads, how, report)
    _tell_result(item.receipt, quiet=bool(given["quiet"]))
    _tell_done(item, given, f"({amount(item.receipt.size)}) is installed")


def _wish(spec: str, given: dict[str, object], settings: Settings) -> Wish:
    return Wish(
        spec=spec,
        channel=_text(given["channel"]) or settings["channel"],
        source=_text(given["source"]),
        name=_text(given["name"]),
        gpus=_words(given["gpus"]),
        request=Request(
            profile=_text(given["profile"]) or settings["profile"],
            extra=_words(given["extra"]),
            prune=None if given["prune"] is None else bool(given["prune"]),
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


def _tell_unused(item: Installed, words: tuple[str, ...], options: list[str]) -> None:
    """A note about options that an install that is there already was not made with."""
    if not options:
        return
    again = f"it is linked to {item.prefix}, which stays as it is"
    if not item.receipt.is_link:
        at = words.index("install") + 1
        command = shlex.join(("rocmenv", *words[:at], "--reinstall", *words[at:]))
        again = f"to make it anew: `{command}`"
    late = " and ".join(f"`{option}`" for option in options)
    tell(f"note: {late} had no effect; {again}")


def _tell_result(receipt: Receipt, *, quiet: bool) -> None:
    host, unrelocated = receipt.host, receipt.unrelocated
    if host:
        tell(f"warning: the machine lacks packages that this release needs: {', '.join(host)}")
        tell(f"hint: {_how_to_get(host, receipt.source)}")
    if unrelocated and not quiet:
        shown = ", ".join(unrelocated[:3]) + (" ..." if unrelocated[3:] else "")
        tell(f"note: {len(unrelocated)} files still name the place they were built for: {shown}")


def _how_to_get(host: Sequence[str], channel: str) -> str:
    """The command for what the machine lacks, as the channel's packages name it."""
    if channel != "rpm":
        return f"sudo apt-get install {' '.join(name.split()[0] for name in host)}"
    tool = next(filter(shutil.which, _RPM_TOOLS), None)
    if tool is None:
        return "these are RPM's names: install what has them with this system's own tool"
    return f"sudo {tool} install {shlex.join(host)}"  # files and choices are taken, too


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _words(value: object) -> tuple[str, ...]:
    return tuple(value) if isinstance(value, tuple) else ()
