"""Further GPUs for an install that was made for some."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmenv.errors import StoreError, UsageError
from rocmenv.model.manifest import parse_lacking
from rocmenv.model.target import ALL, NONE, split
from rocmenv.ops.plan import Wish, make_plan
from rocmenv.ops.targets import check
from rocmenv.ops.verify import read_manifest
from rocmenv.sources import added, gpus
from rocmenv.sources.added import There
from rocmenv.sources.base import Request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.model.manifest import Lacking
    from rocmenv.ops.report import Reporter
    from rocmenv.process import Process
    from rocmenv.settings import Settings
    from rocmenv.sources.base import Plan
    from rocmenv.store.paths import Root
    from rocmenv.store.registry import Installed


def missing(item: Installed, words: Sequence[str]) -> tuple[str, ...]:
    """The targets of `words` that an install was not made for, in the words' order; or `all`.

    Raises `InvalidTargetError` for words that name none, and `StoreError` for a version that
    is linked, or of which nobody knows what it was made for.
    """
    receipt = item.receipt
    if receipt.is_link or receipt.source == "local":
        made = f"is linked to {item.prefix}" if receipt.is_link else "was made from a file"
        msg = f"version {item.version} {made}, which has the GPUs that it has"
        raise StoreError(msg, hint="install one: `rocmenv install VERSION --gpu TARGET`")
    named = check([w for text in words for w in split(text)])
    if [word.lower() for word in named] == [NONE]:
        msg = "`none` is no GPU to add"
        raise UsageError(msg, hint="name targets, or `all`: `rocmenv add-target gfx90a`")
    if [word.lower() for word in named] == [ALL]:
        return (ALL,) if receipt.targets else ()
    if not receipt.targets:
        return ()
    tables = gpus.load()
    wanted = [str(target.base) for word in named for target in tables.expand(word)]
    return tuple(dict.fromkeys(t for t in wanted if t not in receipt.targets))


def plan(
    process: Process,
    root: Root,
    settings: Settings,
    item: Installed,
    fresh: tuple[str, ...],
    downloads: Downloads,
    report: Reporter,
) -> Plan:
    """The plan for the same version with `fresh` targets besides its own.

    It fetches only what the version lacks, where its packages stay the same and are known.
    """
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
        gpus=fresh if ALL in fresh or receipt.targets == (NONE,) else (*receipt.targets, *fresh),
        request=request,
    )
    whole = make_plan(process, root, settings, wish, downloads, report)
    there = _there(root, item)
    made = added.plan(whole, there) if there else None
    if made is None:
        report.note(f"all of {item.version} is fetched: what is there cannot be added to")
    return made or whole


def _there(root: Root, item: Installed) -> There | None:
    """What is there, None where nobody knows it well enough to add to it."""
    receipt, path = item.receipt, root.left_out(item.version)
    if receipt.inner:
        return None
    try:
        entries = read_manifest(root, item)
        lacking: list[Lacking] = []
        if receipt.pruned is not None:
            # As the manifest: names may have all characters but a line feed.
            with path.open(encoding="utf-8", errors="surrogateescape", newline="\n") as file:
                lacking = parse_lacking(file, str(path))
    except (OSError, StoreError):
        return None  # damaged, or of an older rocmenv
    return There(root.version(item.version), receipt, entries, lacking)
