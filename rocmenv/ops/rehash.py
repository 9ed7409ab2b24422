"""Shims and activations that match what is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmenv.probe.fingerprint import change_of
from rocmenv.probe.prefix import info_line
from rocmenv.settings import Settings
from rocmenv.store import activations, registry, shims, transaction
from rocmenv.store.lock import WRITERS, locked, not_writable, ready_to_write

if TYPE_CHECKING:
    from rocmenv.process import Process
    from rocmenv.store.paths import Root
    from rocmenv.store.registry import Installed


def rehash(process: Process, root: Root) -> list[str]:
    """Make `shims/` and `activations/` fit; the commands that get no shim on purpose."""
    settings = Settings(process, root)
    with locked(root, WRITERS, "rehash"):
        installed = registry.load(root).installed
        try:
            said = {v: _said(item) for v, item in installed.items() if item.receipt.is_link}
            activations.render(root, installed, settings.aliases(), settings["search"], said)
            return shims.rehash(root, process.launcher, installed.values())
        except OSError as error:
            path = error.filename2 or error.filename
            raise not_writable(root, str(path), error) from error


def _said(item: Installed) -> str | None:
    """What a link's prefix says of itself now; None when it is another release than it was.

    Without a rendered activation hooks and shims ask the program for it, which refuses.
    """
    change = change_of(item.receipt)
    return None if change is not None and change.is_release else info_line(item.prefix)


def tidy_if_stopped(process: Process, root: Root) -> None:
    """As `tidy`, and nothing at all where no note of a change lies: also for who only looks."""
    if root.journal.is_dir() and any(root.journal.iterdir()):
        tidy(process, root)


def tidy(process: Process, root: Root) -> list[str]:
    """Finish what interrupted processes left undone; the versions that they were about.

    Every change of the root begins with it. Where nothing is left over, nothing is done.
    """
    ready_to_write(root)
    stopped = transaction.recover(root)
    if stopped:
        rehash(process, root)
    return stopped
