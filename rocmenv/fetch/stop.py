"""How a running fetch or unpack is told to end early."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import threading


class Interrupted(KeyboardInterrupt):
    """The cancel event was set: work stopped half-way, on purpose.

    It is a `KeyboardInterrupt`, so that no `except Exception` on the way up takes it for
    a failure of the download.
    """


def check(cancel: threading.Event | None) -> None:
    """Raise `Interrupted` when `cancel` is set."""
    if cancel is not None and cancel.is_set():
        raise Interrupted
