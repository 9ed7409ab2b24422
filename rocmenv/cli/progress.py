"""Progress and words of long operations: a bar on a terminal, plain lines in a log."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from rocmenv.cli.output import amount, tell

if TYPE_CHECKING:
    from rocmenv.ops.report import Reporter

_EVERY = 5.0
"""Seconds between two lines of progress in a log."""


def reporter(*, quiet: bool) -> Reporter:
    """The reporter for this process's stderr."""
    if quiet:
        return Lines(progress=False, steps=False)
    return Bar() if sys.stderr.isatty() else Lines()


class Lines:
    """Plain lines, one for each stage and one every few seconds."""

    def __init__(self, *, progress: bool = True, steps: bool = True) -> None:
        self._lock = threading.Lock()
        self._progress, self._steps = progress, steps
        self._text, self._total, self._done, self._last = "", 0, 0, 0.0
        self._started = 0.0

    def step(self, text: str) -> None:
        """A line."""
        if self._steps:
            tell(f"rocmenv: {text}")

    def note(self, text: str) -> None:
        """A line, unless quiet."""
        if self._steps:
            tell(f"note: {text}")

    def warn(self, text: str) -> None:
        """A line, also when quiet."""
        tell(f"warning: {text}")

    def start(self, text: str, total: int, what: str = "to download") -> None:
        """The first line."""
        self._text, self._total, self._done = text, total, 0
        self._started = self._last = time.monotonic()
        if self._steps:
            tell(f"rocmenv: {text}" + (f" ({amount(total)} {what})" if total else ""))

    def advance(self, count: int) -> None:
        """Perhaps a line."""
        with self._lock:
            self._done += count
            now = time.monotonic()
            if not self._progress or now - self._last < _EVERY:
                return
            self._last = now
            rate = self._done / max(now - self._started, 0.001)
            of = f" of {amount(self._total)}" if self._total else ""
            tell(f"rocmenv: {self._text}: {amount(self._done)}{of}, {amount(rate)}/s")

    def finish(self) -> None:
        """Nothing more."""


class Bar(Lines):
    """A bar with amount, rate and time left."""

    def __init__(self) -> None:
        super().__init__(progress=False)
        self._bar: Any = None
        self._task: Any = None

    def start(self, text: str, total: int, what: str = "to download") -> None:
        """Show the bar."""
        del what
        from rich.console import Console  # noqa: PLC0415 - on terminals, for installs alone
        from rich.progress import (  # noqa: PLC0415 - on terminals, for installs alone
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(text, total=total or None)
        self._bar.start()

    def advance(self, count: int) -> None:
        """Move the bar."""
        if self._bar is not None:
            self._bar.advance(self._task, count)

    def finish(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
