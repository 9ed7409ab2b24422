"""What is known of one archive while its members are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmenv.errors import ArchiveError
from rocmenv.fetch.links import Link, meant
from rocmenv.fetch.members import Entry, clean

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from pathlib import Path

    from rocmenv.fetch.settle import Placed
    from rocmenv.fetch.wrapping import Wrapping


class Archive:
    """One archive, called `owner`; the members of a `rooted` one are named from `/`.

    `mapping` and `keep` are those of `Tree.add_deb`, `wrapping` what may have to be taken off
    paths before `keep` is asked.
    """

    def __init__(
        self,
        owner: str,
        mapping: Callable[[str], str | None],
        cancel: threading.Event | None,
        *,
        rooted: bool,
        keep: Callable[[str], bool] | None = None,
        wrapping: Wrapping | None = None,
    ) -> None:
        self.owner = owner
        self.cancel = cancel
        self.rooted = rooted
        self.taken = 0
        # What a hard link to a member repeats: a link's text, a file on disk, or, of a file
        # that was left out, its number in the archive.
        self.seen: dict[str, str | int | tuple[Path, Placed]] = {}
        # Hard links to files that were left out, by their place in the tree.
        self.waiting: dict[str, tuple[Entry, int]] = {}
        self._mapping = mapping
        self._keep = keep
        self._wrapping = wrapping

    def wants(self, placed: str) -> bool:
        """Whether the file or link at `placed` is kept; its place may be in what wraps all."""
        if self._keep is None:
            return True
        return self._keep(self._wrapping.inner(placed) if self._wrapping else placed)

    def place(self, member: str) -> str | None:
        """Where `member` belongs below the root, or None."""
        placed = self._mapping(member)
        return None if placed is None else clean(placed, self.owner)

    def link(self, entry: Entry, own_prefix: tuple[str, ...]) -> Link:
        """The link `entry`; a package's members are named from `/`, and so are its targets."""
        found = meant(entry.target, None if self.rooted else own_prefix)
        from_top, parts = found or (True, ("..",))
        return Link(self.owner, entry.name, entry.target, parts, from_top, self._inside)

    def _inside(self, member: str) -> str | None:
        try:
            return self.place(member)
        except ArchiveError:
            return None
