"""Decompressing in a thread of its own, a bounded number of pieces ahead of the reader."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING

from rocmenv.fetch.decode import Stream

if TYPE_CHECKING:
    from rocmenv.fetch.decode import Source

_PIECES = 8
"""Of at most 1 MiB each: what waits between the two threads."""
_POLL = 0.05


class Ahead(Stream):
    """A `Stream` that is decoded while what came out of it is being used.

    The source is read in that thread. `close` stops it, wherever the reader has got to.
    """

    def __init__(self, source: Source, name: str) -> None:
        super().__init__(source, name)
        self._pieces: queue.Queue[bytes | BaseException] = queue.Queue(_PIECES)
        self._closed = threading.Event()
        self._has_ended = False
        # A daemon: one that waits for the network must not keep the program alive.
        threading.Thread(target=self._work, daemon=True).start()

    def close(self) -> None:
        """Let the thread end; it may be in the middle of a read of the source."""
        self._closed.set()

    def _work(self) -> None:
        piece: bytes | BaseException = b"-"
        while piece and not isinstance(piece, BaseException):
            try:
                piece = super()._more()
            except BaseException as error:  # noqa: BLE001 - raised again where it is read
                piece = error
            while not self._closed.is_set():
                try:
                    self._pieces.put(piece, timeout=_POLL)
                    break
                except queue.Full:
                    continue
            if self._closed.is_set():
                return

    def _more(self) -> bytes:
        if self._has_ended:
            return b""
        piece = self._pieces.get()
        if isinstance(piece, BaseException):
            self._has_ended = True
            raise piece
        self._has_ended = not piece
        return piece
