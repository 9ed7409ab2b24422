"""From what a person wishes to the plan of one source."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rocmenv.errors import UsageError
from rocmenv.model.version import Spec, Version
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
    from rocmenv.store.paths import Root

AUTO = "auto"
"""The channel that stands for the release's own one."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What to install: the request as typed, the channel, or a file in its place.

    `name` is the version to install it as, where that differs from its own. `is_part` says
    that a profile or packages were asked for on the command line.
    """

    spec: str
    channel: str
    source: str | None = None
    name: str | None = None
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
        from rocmenv.fetch.connection import shown  # noqa: PLC0415 - one channel a call
        from rocmenv.sources import local  # noqa: PLC0415 - as above

        if wish.source.endswith(".run"):  # some have to be decompressed for that
            report.step(f"looking through {shown(wish.source)}")
        return local.plan(version, wish.source, process.cwd, wish.request, whole=not wish.is_part)
    if wish.channel == "distro":
        from rocmenv.sources import distro  # noqa: PLC0415 - one channel a call

        report.step("reading the machine's package sources")
        return distro.plan(Spec.parse(wish.spec), version, wish.request, downloads)
    data = load(root.catalog)
    release = _pick(data, Spec.parse(wish.spec), wish.channel)
    channel = channel_of(data, release, wish.channel)
    request = completed(wish.request, settings, channel)
    report.step(f"reading the index of {release}")
    if channel == "tarball":
        from rocmenv.sources import tarball  # noqa: PLC0415 - as above

        return tarball.plan(data, release, version or release, request, downloads)
    if channel == "native":
        from rocmenv.sources import native  # noqa: PLC0415 - as above

        return native.plan(data, release, version or release, request, downloads)
    from rocmenv.sources import legacy  # noqa: PLC0415 - as above

    return legacy.plan(data, release, version or release, request, downloads)


def completed(request: Request, settings: Settings, channel: str) -> Request:
    """`request` with the settings of the channel's servers for what it leaves open."""
    group = "legacy" if channel in ("legacy", "rpm") else "therock"
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
    return "legacy" if catalog.is_legacy(data, release) else "tarball"


def _pick(data: Catalog, spec: Spec, channel: str) -> Version:
    return catalog.pick(data, spec, "" if channel == AUTO else channel)
