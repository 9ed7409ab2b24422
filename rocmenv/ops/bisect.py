"""The versions from a good one to a bad one, and having them there to be tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmenv.errors import NotInstalledError, UsageError
from rocmenv.ops import current
from rocmenv.ops import install as installing
from rocmenv.ops.matrix import meant
from rocmenv.ops.plan import AUTO, Wish, make_plan
from rocmenv.settings import Settings
from rocmenv.sources import catalog
from rocmenv.sources.base import Request
from rocmenv.sources.catalog_file import load
from rocmenv.store import registry

if TYPE_CHECKING:
    from rocmenv.fetch.transfer import Downloads
    from rocmenv.model.version import Version
    from rocmenv.ops.install import Options
    from rocmenv.ops.report import Reporter
    from rocmenv.process import Process
    from rocmenv.store.paths import Root


def line(process: Process, root: Root, good: str, bad: str, *, with_known: bool) -> list[Version]:
    """The versions from what `good` means to what `bad` means, these among them, in order.

    They are the installed ones; `with_known` adds the releases of the catalogue that the
    channel of the settings has. Variants and pre-releases only take part as ends. Raises
    `NotInstalledError` or `ResolveError` for an end that is not there.
    """
    first, last = (_end(process, root, text, with_known=with_known) for text in (good, bad))
    if first == last:
        msg = f"`{good}` and `{bad}` are the same version, {first}"
        raise UsageError(msg, hint="name one that works and one that does not")
    low, high = sorted((first, last))
    found = {v for v in registry.load(root).installed if v.is_final and not v.local}
    if with_known:
        channel = Settings(process, root)["channel"]
        offered = load(root.catalog).offered()
        found |= {r.version for r in offered if channel == AUTO or channel in r.channels}
    between = sorted(version for version in found if low < version < high)
    ordered = [low, *between, high]
    return ordered if first == low else ordered[::-1]


def _end(process: Process, root: Root, text: str, *, with_known: bool) -> Version:
    selection = current.asked(text)
    try:
        return meant(process, root, selection)
    except NotInstalledError as error:
        if not with_known:
            hint = f"{error.hint}; `--install` installs what is tried"
            raise NotInstalledError(error.message, hint=hint) from error
        channel = Settings(process, root)["channel"]
        return catalog.pick(load(root.catalog), selection.spec, "" if channel == AUTO else channel)


def install(
    process: Process,
    root: Root,
    version: Version,
    downloads: Downloads,
    how: Options,
    report: Reporter,
) -> None:
    """Install a release as the settings say. Raises as planning and installing do."""
    settings = Settings(process, root)
    request = Request(profile=settings["profile"])
    wish = Wish(spec=str(version), channel=settings["channel"], request=request)
    plan = make_plan(process, root, settings, wish, downloads, report)
    installing.install(process, root, plan, downloads, how, report)
