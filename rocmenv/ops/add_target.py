"""Further GPUs for an install that was made for some."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmenv.errors import StoreError
from rocmenv.model.target import split
from rocmenv.ops.plan import Wish, make_plan
from rocmenv.ops.targets import check
from rocmenv.sources import gpus
from rocmenv.sources.base import Request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.ops.report import Reporter
    from rocmenv.process import Process
    from rocmenv.settings import Settings
    from rocmenv.sources.base import Plan
    from rocmenv.store.paths import Root
    from rocmenv.store.registry import Installed


def missing(item: Installed, words: Sequence[str]) -> tuple[str, ...]:
    """The targets of `words` that an install was not made for, in the words' order.

    Raises `InvalidTargetError` for words that name none, and `StoreError` for a version that
    is linked, or of which nobody knows what it was made for.
    """
    receipt = item.receipt
    if receipt.is_link or receipt.source == "local":
        made = f"is linked to {item.prefix}" if receipt.is_link else "was made from a file"
        msg = f"version {item.version} {made}, which has the GPUs that it has"
        raise StoreError(msg, hint="install one: `rocmenv install VERSION --gpu TARGET`")
    if not receipt.targets:
        return ()
    tables = gpus.load()
    wanted = [
        str(target.base)
        for word in check([w for text in words for w in split(text)])
        for target in tables.expand(word)
    ]
    return tuple(dict.fromkeys(t for t in wanted if t not in receipt.targets))


def plan(
    process: Process,
    root: Root,
    settings: Settings,
    item: Installed,
    fresh: Sequence[str],
    downloads: Downloads,
    report: Reporter,
) -> Plan:
    """The plan for the same version with `fresh` targets besides its own."""
    receipt = item.receipt
    request = Request(
        profile=receipt.profile or settings["profile"],
        extra=receipt.extra,
        suite=receipt.suite or None,
        prune=receipt.pruned is not None,
    )
    release = item.version.without_local
    wish = Wish(
        spec=str(release),
        channel=receipt.source,
        name=str(item.version) if item.version.local else None,
        gpus=(*receipt.targets, *fresh),
        request=request,
    )
    return make_plan(process, root, settings, wish, downloads, report)
