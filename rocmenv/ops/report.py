"""How operations tell what they are doing: they never print."""

from __future__ import annotations

from typing import Protocol


class Reporter(Protocol):
    """A place for words and progress; the command line has one for terminals and one for logs."""

    def step(self, text: str) -> None:
        """A stage begins."""

    def note(self, text: str) -> None:
        """Something worth knowing that is not an error."""

    def warn(self, text: str) -> None:
        """Something that may surprise later."""

    def start(self, text: str, total: int, what: str = "to download") -> None:
        """Progress towards `total` bytes begins; `what` says what is done with them."""

    def advance(self, count: int) -> None:
        """`count` more bytes are done. Called from several threads."""

    def finish(self) -> None:
        """Progress ends, reached or not."""
