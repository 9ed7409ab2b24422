"""A limit of bytes per second for all threads of a run together."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from rocmenv.fetch.stop import Interrupted

if TYPE_CHECKING:
    from collections.abc import Callable

# Pieces for this part of a second: small enough that the rate is even, large enough that
# reading them costs nothing.
_SHARE = 20
_SMALLEST = 512


class Limit:
    """Makes those who `take` bytes wait until these fit into `rate` (bytes per second).

    With a rate of None nobody waits. Turns are given in the order of the calls: each call
    books the next free time, so that the sum of all threads keeps to the rate.
    """

    def __init__(self, rate: int | None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate = rate
        self._clock = clock
        self._free = 0.0
        self._guard = threading.Lock()

    def piece(self, most: int) -> int:
        """How many bytes to read at once, `most` at most."""
        return most if self.rate is None else min(most, max(_SMALLEST, self.rate // _SHARE))

    def take(self, count: int, cancel: threading.Event) -> None:
        """Wait for the turn of `count` bytes; raises `Interrupted` once `cancel` is set."""
        if self.rate is None:
            return
        with self._guard:
            now = self._clock()
            self._free = max(self._free, now) + count / self.rate
            wait = self._free - now
        if cancel.wait(wait):
            raise Interrupted
