"""Shims and activations that match what is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmenv.settings import Settings
from rocmenv.store import activations, registry, shims, transaction
from rocmenv.store.lock import WRITERS, locked, not_writable, ready_to_write

if TYPE_CHECKING:
    from rocmenv.process import Process
    from rocmenv.store.paths import Root


def rehash(process: Process, root: Root) -> list[str]:
    """Make `shims/` and `activations/` fit; the commands that get no shim on purpose."""
    settings = Settings(process, root)
    with locked(root, WRITERS, "rehash"):
        installed = registry.load(root).installed
        try:
            activations.render(root, installed, settings.aliases(), settings["search"])
            return shims.rehash(root, process.launcher, installed.values())
        except OSError as error:
            path = error.filename2 or error.filename
            raise not_writable(root, str(path), error) from error


def tidy(process: Process, root: Root) -> list[str]:
    """Finish what interrupted processes left undone; the versions that they were about.

    Every change of the root begins with it. Where nothing is left over, nothing is done.
    """
    ready_to_write(root)
    stopped = transaction.recover(root)
    if stopped:
        rehash(process, root)
    return stopped
