"""`rocmenv mirror`: a static mirror of some releases."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from rocmenv.cli.completion import complete_profile, complete_release, complete_target
from rocmenv.cli.output import amount, say, say_json
from rocmenv.cli.program import Context
from rocmenv.cli.progress import reporter
from rocmenv.errors import UsageError
from rocmenv.ops import mirror as ops
from rocmenv.ops.connect import downloads_for
from rocmenv.ops.plan import AUTO
from rocmenv.settings import PROFILE_NAMES, Settings
from rocmenv.sources.base import Extent, MirrorPlan, Request
from rocmenv.sources.catalog_file import load
from rocmenv.store import locks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_PACKAGES = ("legacy", "rpm", "native", "wheels")
"""The channels that have profiles."""


@click.command("mirror")
@click.argument("specs", metavar="[VERSION]...", nargs=-1, shell_complete=complete_release)
@click.option("--to", "to", metavar="DIR", required=True, help="The mirror's folder.")
@click.option(
    "--channel",
    type=click.Choice((AUTO, *ops.CHANNELS)),
    default=AUTO,
    help="What to mirror; `auto` is what an install here would take.",
)
@click.option(
    "--gpu",
    "gpus",
    metavar="TARGET",
    multiple=True,
    help="A GPU that installs will be for, a family, or `all`; else those found.",
    shell_complete=complete_target,
)
@click.option("--all-gpus", is_flag=True, help="For installs for any GPU.")
@click.option(
    "--profile",
    help=f"Set of packages: {', '.join(PROFILE_NAMES)}.",
    shell_complete=complete_profile,
)
@click.option("--with", "extra", metavar="PACKAGE", multiple=True, help="A further package.")
@click.option("--whole", is_flag=True, help="All packages of the repository.")
@click.option("--locked", is_flag=True, help="The files of `rocm.lock`, for all its platforms.")
@click.option("--suite", "suites", metavar="NAME", multiple=True, help="A suite, such as jammy.")
@click.option("--all-suites", is_flag=True, help="All suites that the release has.")
@click.option("--mirror", "source", metavar="URL", help="Where to copy from, in place of AMD's.")
@click.option("--keyring", metavar="FILE|URL", help="Signing keys in place of the channel's.")
@click.option("--fingerprint", metavar="HEX", help="The key that must have signed.")
@click.option("-n", "--dry-run", is_flag=True, help="Show files and sizes; change nothing.")
@click.option("--offline", is_flag=True, help="Open no connection.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, no notes.")
@click.option("--json", "as_json", is_flag=True, help="The result as JSON.")
@click.pass_obj
def command(
    ctx: Context,
    /,
    specs: tuple[str, ...],
    to: str,
    **given: Any,  # noqa: ANN401 - each is of its option's type
) -> None:
    """Make a mirror of VERSIONs in a folder, from which other machines install.

    Signed indexes are copied as they are, with the packages of the profile; of archives the
    one for the GPU. Run it again to add releases, to go on after a stop, or to check what is
    there.
    """
    settings = Settings(ctx.process, ctx.root)
    report = reporter(quiet=given["quiet"] or given["as_json"])
    if given["gpus"] and given["all_gpus"]:
        msg = "`--gpu` and `--all-gpus` are both given"
        raise UsageError(msg, hint="leave one of them out")
    downloads = downloads_for(ctx.process, ctx.root, settings, offline=given["offline"])
    what = _wanted(settings, given)
    folder = ops.mirror_folder(to, ctx.process.cwd)
    if given["locked"]:
        wanted = ops.locked_plans(locks.read(_lock(ctx, specs)), given["source"])
    else:
        data = load(ctx.root.catalog)
        wanted = ops.plans(ctx.process, settings, data, _named(specs), what, downloads, report)
    if given["dry_run"]:
        _show(wanted, as_json=given["as_json"])
        return
    made = ops.mirror(wanted, folder, downloads, report)
    for note in made.notes:
        report.note(note)
    counts = {"files": made.files, "fetched": made.fetched, "size": made.size}
    versions = [str(version) for version in made.versions]
    if given["as_json"]:
        say_json({"folder": str(folder), "versions": versions, **counts})
        return
    size, new = amount(made.size), f"{made.fetched} of them new"
    report.step(f"{folder} has {', '.join(versions)}: {made.files} files ({size}), {new}")
    if given["locked"]:
        _say_commands(folder, ["rocmenv", "install", "--locked"])
        return
    for plan in wanted:
        for options in plan.installs:
            _say_commands(folder, [*_install_words(plan, what.request), *options])


def _named(specs: tuple[str, ...]) -> tuple[str, ...]:
    if not specs:
        msg = "a version is missing"
        raise UsageError(msg, hint="`rocmenv mirror latest --to DIR`, or `--locked` for rocm.lock")
    return specs


def _lock(ctx: Context, specs: tuple[str, ...]) -> Path:
    """The lock that counts here."""
    if specs:
        msg = "`--locked` mirrors what the lock says, not a version of its own"
        raise UsageError(msg, hint="`rocmenv mirror --locked --to DIR`")
    found = locks.nearest(ctx.process.cwd)
    if found is None:
        msg = "there is no rocm.lock here"
        raise UsageError(msg, hint="make one: `rocmenv lock`")
    return found


def _wanted(settings: Settings, given: Mapping[str, Any]) -> ops.Wanted:
    request = Request(
        profile=given["profile"] or settings["profile"],
        extra=given["extra"],
        mirror=given["source"],
        keyring=given["keyring"],
        fingerprint=given["fingerprint"],
    )
    extent = Extent(
        whole=given["whole"],
        suites=given["suites"],
        all_suites=given["all_suites"],
        all_gpus=given["all_gpus"],
    )
    return ops.Wanted(given["channel"], given["gpus"], request, extent)


def _install_words(plan: MirrorPlan, request: Request) -> list[str]:
    """The install that finds all it needs in the mirror, but for the plan's own options."""
    words = ["rocmenv", "install", str(plan.version), "--channel", plan.channel]
    if plan.channel in _PACKAGES:
        words += ["--profile", request.profile]
        for name in request.extra:
            words += ["--with", name]
    return words


def _say_commands(folder: Path, words: Sequence[str]) -> None:
    serve = ("python3", "-m", "http.server", "--directory", str(folder), "8000")
    say(shlex.join((*words, "--mirror", folder.as_uri())))
    say(f"{shlex.join((*words, '--mirror', 'http://HOST:8000'))}  # HOST runs: {shlex.join(serve)}")


def _show(wanted: Sequence[MirrorPlan], *, as_json: bool) -> None:
    files = {file.path: file.size for plan in wanted for file in plan.files}
    if as_json:
        versions = [str(plan.version) for plan in wanted]
        rows = [{"path": path, "size": size} for path, size in files.items()]
        say_json({"versions": versions, "size": sum(files.values()), "files": rows})
        return
    for path, size in files.items():
        say(f"{amount(size):>9}  {path}")
    for plan in wanted:
        say(f"{plan.version} from {plan.channel} ({plan.origin})")
    say(f"{len(files)} files, {amount(sum(files.values()))}")
