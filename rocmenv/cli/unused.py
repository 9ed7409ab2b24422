"""Which options of an `install` come too late, as the version is there already."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmenv.ops.plan import AUTO
from rocmenv.ops.targets import wanted
from rocmenv.probe.gpu import look
from rocmenv.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rocmenv.cli.program import Context
    from rocmenv.model.receipt import Receipt
    from rocmenv.store.registry import Installed


def unused(ctx: Context, item: Installed, given: Mapping[str, object]) -> list[str]:
    """The options among `given`, by name, that `item` was not installed with.

    Raises what a word that is no GPU target raises.
    """
    extra, gpus = _words(given["extra"]), _words(given["gpus"])
    options = (
        ("--with", not _has_packages(item, extra)),
        ("--profile", bool(given["profile"])),
        ("--channel", given["channel"] not in (None, AUTO, item.receipt.source)),
        ("--gpu", not _is_for(ctx, item.receipt, gpus)),
        ("--from", not _is_from(ctx, item.receipt, given["source"])),
    )
    return [option for option, is_unused in options if is_unused]


def _has_packages(item: Installed, names: tuple[str, ...]) -> bool:
    suffixes = ("", str(item.version.without_local))  # legacy's packages end in their release
    have = {part.name for part in item.receipt.items}
    tries = {  # and a wheel may be named without what is in front, as extras are
        name: {*(f"{name}{s}" for s in suffixes), f"rocm-{name}", f"rocm-sdk-{name}"}
        for name in names
    }
    return all(not found.isdisjoint(have) for found in tries.values())


def _is_from(ctx: Context, receipt: Receipt, source: object) -> bool:
    if not isinstance(source, str):
        return True
    from rocmenv.sources.local import origin_of  # noqa: PLC0415 - only for `--from`

    return receipt.origin == origin_of(source, ctx.process.cwd)


def _is_for(ctx: Context, receipt: Receipt, gpus: tuple[str, ...]) -> bool:
    """Whether an install has what `gpus` need; one without targets is for all of them."""
    if not gpus:
        return True
    settings = Settings(ctx.process, ctx.root)
    found = wanted(ctx.process, settings, gpus, look=lambda: look(ctx.process)).targets
    if not receipt.targets:
        return True
    return found is not None and {str(t.base) for t in found} <= set(receipt.targets)


def _words(value: object) -> tuple[str, ...]:
    return tuple(value) if isinstance(value, tuple) else ()
