"""From what a person wishes to the plan of one source."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rocmenv.errors import RocmenvError, UsageError
from rocmenv.model.version import Spec, Version
from rocmenv.ops.report import Silent
from rocmenv.sources import catalog
from rocmenv.sources.base import Request
from rocmenv.sources.catalog_file import load

if TYPE_CHECKING:
    from rocmenv.fetch.transfer import Downloads
    from rocmenv.ops.report import Reporter
    from rocmenv.process import Process
    from rocmenv.settings import Settings
    from rocmenv.sources.base import Plan
    from rocmenv.sources.catalog import Catalog
    from rocmenv.sources.packages import PackagePlan
    from rocmenv.store.paths import Root

AUTO = "auto"
"""The channel that stands for the release's own one."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What to install: the request as typed, the channel, or a file in its place.

    `name` is the version to install it as, where that differs from its own; `gpus` are the
    words of `--gpu`. `is_part` says that a profile or packages were asked for on the command
    line.
    """

    spec: str
    channel: str
    source: str | None = None
    name: str | None = None
    gpus: tuple[str, ...] = ()
    request: Request = field(default_factory=Request)
    is_part: bool = False


def target(root: Root, wish: Wish) -> Version | None:
    """The version that a wish will be installed as, None when its source decides.

    `UsageError` for a name that stands for another release than the request.
    """
    spec = Spec.parse(wish.spec)
    if wish.source:
        if spec.exact is None and len(spec.prefix) != 2:  # noqa: PLR2004 - X.Y is a release's name
            msg = f"`--from` needs the version in full, not `{wish.spec}`"
            raise UsageError(msg, hint="`rocmenv install 6.3.0 --from FILE`")
        release: Version | None = Version.parse_release(str(spec))
    elif wish.channel == "distro":
        release = spec.exact
    else:
        release = _pick(load(root.catalog), spec, wish.channel)
    if not wish.name:
        return None if wish.channel == "distro" and not wish.source else release
    name = Version.parse(wish.name)
    if release is not None and release.release != name.release:
        msg = f"`--as {wish.name}` names another release than {release}"
        hint = f"name it after its release: `--as {release.without_local}+NAME`"
        raise UsageError(msg, hint=hint)
    return name


def release_of(process: Process, source: str) -> tuple[str, str]:
    """The release that a file, folder or address says it is, and what of it says so.

    Raises what `sources.local.told` raises. Opens no connection.
    """
    from rocmenv.fetch.connection import shown  # noqa: PLC0415 - only for `--from`
    from rocmenv.sources import local  # noqa: PLC0415 - as above

    version, by = local.told(source, process.cwd)
    return str(version), f"{by} of {shown(source)}"


def make_plan(
    process: Process,
    root: Root,
    settings: Settings,
    wish: Wish,
    downloads: Downloads,
    report: Reporter,
) -> Plan:
    """The plan for a wish. Reads indexes; changes nothing."""
    version = target(root, wish)
    if wish.source:
        if version is None:  # `target` answers for every source
            raise AssertionError
        return _at_hand(process, settings, wish, wish.source, version, report)
    if wish.channel == "distro":
        return _distro(process, settings, wish, version, downloads, report)
    data = load(root.catalog)
    release = _pick(data, Spec.parse(wish.spec), wish.channel)
    channel = channel_of(data, release, wish.channel)
    request = completed(wish.request, settings, is_legacy=catalog.is_legacy(data, release))
    request, notes, against = for_gpus(process, settings, wish.gpus, request, release)
    for note in notes:
        report.note(note)
    for warning in against if data.release(release) else ():  # tables know no others
        report.warn(warning)
    report.step(f"reading the index of {release}")
    if channel == "tarball":
        from rocmenv.sources import tarball  # noqa: PLC0415 - as above

        return tarball.plan(data, release, version or release, request, downloads)
    if channel == "wheels":
        from rocmenv.sources import wheels  # noqa: PLC0415 - as above

        return wheels.plan(data, release, version or release, request, downloads)
    made = _packages(channel, data, release, version or release, request, downloads)
    made.refuse_incomplete(downloads)
    return made


def _distro(
    process: Process,
    settings: Settings,
    wish: Wish,
    version: Version | None,
    downloads: Downloads,
    report: Reporter,
) -> Plan:
    from rocmenv.sources import distro  # noqa: PLC0415 - one channel a call

    report.step("reading the machine's package sources")
    found = distro.plan(Spec.parse(wish.spec), version, wish.request, downloads)
    # Of AMD's tables of support nothing counts here: a distribution builds for more GPUs.
    release = found.version.without_local
    request, notes, _ = for_gpus(process, settings, wish.gpus, found.request, release)
    for note in notes:
        report.note(note)
    return replace(found, request=request)


def _at_hand(
    process: Process,
    settings: Settings,
    wish: Wish,
    source: str,
    version: Version,
    report: Reporter,
) -> Plan:
    from rocmenv.fetch.connection import shown  # noqa: PLC0415 - only for `--from`
    from rocmenv.sources import local  # noqa: PLC0415 - as above

    request, notes, against = for_gpus(
        process, settings, wish.gpus, wish.request, version.without_local
    )
    request, asked = replace(request, bare=False), request.words
    if source.endswith(".run"):  # some have to be decompressed for that
        report.step(f"looking through {shown(source)}")
    plan = local.plan(version, source, process.cwd, request, whole=not wish.is_part)
    if plan.request.targets:
        for note in notes:
            report.note(note)
        for warning in against:
            report.warn(warning)
    elif wish.gpus and asked:
        report.note("`--gpu` has no effect: nothing in it is chosen by GPU")
    return plan


def _packages(
    channel: str,
    data: Catalog,
    release: Version,
    name: Version,
    request: Request,
    downloads: Downloads,
) -> PackagePlan:
    if channel == "rpm":
        from rocmenv.sources import rpm_channel, rpm_release  # noqa: PLC0415 - as above

        place = rpm_release.place(data, release, request)
        return rpm_channel.plan(place, release, name, request, downloads)
    if channel == "native":
        from rocmenv.sources import native  # noqa: PLC0415 - as above

        return native.plan(data, release, name, request, downloads)
    from rocmenv.sources import legacy  # noqa: PLC0415 - as above

    return legacy.plan(data, release, name, request, downloads)


def completed(request: Request, settings: Settings, *, is_legacy: bool) -> Request:
    """`request` with the settings of the release's servers for what it leaves open."""
    group = "legacy" if is_legacy else "therock"
    return replace(
        request,
        mirror=request.mirror or settings[f"{group}.mirror"],
        keyring=request.keyring or settings[f"{group}.keyring"],
        fingerprint=request.fingerprint or settings[f"{group}.fingerprint"],
    )


def channel_of(data: Catalog, release: Version, wished: str) -> str:
    """The channel to take `release` from: the wished one, or for `auto` the release's own."""
    if wished != AUTO:
        return wished
    if not catalog.is_legacy(data, release):
        return "tarball"
    from rocmenv.sources.rpm_release import is_native  # noqa: PLC0415 - installs alone ask

    return "rpm" if is_native(release) else "legacy"


def for_every_gpu(
    process: Process,
    root: Root,
    settings: Settings,
    wish: Wish,
    made: Plan,
    downloads: Downloads,
) -> Plan | None:
    """The plan that `wish` would have without a choice of GPUs; None where that is `made`.

    None also where there is no such plan, as for a release that has an archive for each GPU.
    """
    if not made.request.words:
        return None
    every = replace(wish, gpus=("all",), request=replace(wish.request, prune=False))
    try:
        whole = make_plan(process, root, settings, every, downloads, Silent())
    except RocmenvError:
        return None
    is_same = (whole.download, whole.installed) == (made.download, made.installed)
    return None if is_same and made.request.keep() is None else whole


def for_gpus(
    process: Process, settings: Settings, words: tuple[str, ...], request: Request, release: Version
) -> tuple[Request, tuple[str, ...], tuple[str, ...]]:
    """`request` with the GPUs to install for, notes on them, and what is known against them.

    The GPUs are looked for unless a person names them in `words` or a setting. Nothing is
    refused here: tables are older than machines.
    """
    from rocmenv.model.advice import advise  # noqa: PLC0415 - most commands need no tables
    from rocmenv.ops.targets import wanted  # noqa: PLC0415 - as above
    from rocmenv.probe.gpu import look  # noqa: PLC0415 - as above
    from rocmenv.sources import gpus  # noqa: PLC0415 - as above

    tables, machine = gpus.load(), look(process)
    found = wanted(process, settings, words, look=lambda: machine)
    families = {
        family.name: tuple(str(t.base) for t in family.targets)
        for family in (*tables.families, *tables.groups)
        if family.holds_in(release)
    }
    targets = tuple(dict.fromkeys(str(t.base) for t in found.kept(release) or ()))
    driver = None if words else machine.driver
    is_none = found.targets == ()
    prune = request.prune
    if prune is None:  # `none` means little else
        prune = settings["prune_targets"] or is_none
    against = advise(tables, release, found.targets or (), driver, wsl=machine.is_wsl)
    return (
        replace(request, targets=targets, families=families, bare=is_none and prune, prune=prune),
        found.notes,
        tuple(f"{a.text}{f' ({a.hint})' if a.hint else ''}; source: {a.source}" for a in against),
    )


def _pick(data: Catalog, spec: Spec, channel: str) -> Version:
    return catalog.pick(data, spec, "" if channel == AUTO else channel)
