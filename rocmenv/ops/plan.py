"""From what a person wishes to the plan of one source."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rocmenv.errors import UsageError
from rocmenv.model.version import Spec, Version
from rocmenv.sources import catalog, local
from rocmenv.sources.base import Request

if TYPE_CHECKING:
    from rocmenv.fetch.transfer import Downloads
    from rocmenv.ops.report import Reporter
    from rocmenv.process import Process
    from rocmenv.sources.base import Plan


@dataclass(frozen=True, slots=True)
class Wish:
    """What to install: the request as typed, the channel, or a file in its place.

    `name` is the version to install it as, where that differs from its own.
    """

    spec: str
    channel: str
    source: str | None = None
    name: str | None = None
    request: Request = field(default_factory=Request)


def target(wish: Wish) -> Version | None:
    """The version that a wish will be installed as, None when its source decides.

    `UsageError` for a name that stands for another release than the request.
    """
    spec = Spec.parse(wish.spec)
    if wish.source:
        if spec.exact is None and len(spec.prefix) != 2:  # noqa: PLR2004 - X.Y is a release's name
            msg = f"`--from` needs the version in full, not `{wish.spec}`"
            raise UsageError(msg, hint="`rocmenv install 6.3.0 --from FILE`")
        release: Version | None = Version.parse_release(str(spec))
    else:
        release = catalog.pick(catalog.load(), spec) if wish.channel == "legacy" else spec.exact
    if not wish.name:
        return release if wish.source or wish.channel == "legacy" else None
    name = Version.parse(wish.name)
    if release is not None and release.release != name.release:
        msg = f"`--as {wish.name}` names another release than {release}"
        hint = f"name it after its release: `--as {release.without_local}+NAME`"
        raise UsageError(msg, hint=hint)
    return name


def make_plan(process: Process, wish: Wish, downloads: Downloads, report: Reporter) -> Plan:
    """The plan for a wish. Reads indexes; changes nothing."""
    version = target(wish)
    if wish.source:
        if version is None:  # `target` answers for every source
            raise AssertionError
        return local.plan(version, wish.source, process.cwd)
    if wish.channel == "distro":
        from rocmenv.sources import distro  # noqa: PLC0415 - one channel a call

        report.step("reading the machine's package sources")
        return distro.plan(Spec.parse(wish.spec), version, wish.request, downloads)
    from rocmenv.sources import legacy  # noqa: PLC0415 - as above

    data = catalog.load()
    release = catalog.pick(data, Spec.parse(wish.spec))
    report.step(f"reading the index of {release}")
    return legacy.plan(data, release, version or release, wish.request, downloads)
