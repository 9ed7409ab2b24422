"""Where symbolic links lead: what the kernel would find, and never out of the tree.

`..` in a link's text goes up from the folder that was really reached, which is another one
than the text shows when a link was on the way (path_resolution(7)). So texts are kept as they
came, and followed once all links are known. They are followed along the names that members
have in their archive (`usr/lib/a`); the table of links has the tree's names (`lib/a`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rocmenv.errors import ArchiveError
from rocmenv.fetch.members import LONGEST_PATH

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

# As many as Linux follows (path_resolution(7)); more is a circle.
_MOST_LINKS = 40
# Parts of names and texts that may be gone through for all links of a tree, and more for each
# of them: many times what a ROCm needs, and seconds when hostile links use it up.
_STEPS = 1 << 20
_STEPS_EACH = 1 << 9
_ENDLESS = "the links of the packages lead through one another without end"


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link to be made.

    `parts` are those of its target, from the archive's top if `from_top`, else from the
    link's folder. `place` turns a member's name into the path in the tree, None for outside.
    `inside` is the path in the tree that the link means, without `..`; None while that is
    not known, and for a link that leads out.
    """

    owner: str
    member: str
    target: str
    parts: tuple[str, ...]
    from_top: bool
    place: Callable[[str], str | None]
    inside: str | None = None


def meant(target: str, prefixes: Iterable[str] | None) -> tuple[bool, tuple[str, ...]] | None:
    """`from_top` and `parts` of a link's text, or None for an absolute one that leads elsewhere.

    `prefixes` are absolute folders, without their first `/`, that stand for the archive's
    top; None where every absolute text counts from there.
    """
    parts = tuple(part for part in target.split("/") if part not in ("", "."))
    if not target.startswith("/"):
        return False, parts
    for prefix in ("",) if prefixes is None else prefixes:
        start = tuple(part for part in prefix.split("/") if part)
        if parts[: len(start)] == start:
            return True, parts[len(start) :]
    return None


@dataclass(slots=True)
class Links:
    """The links of a tree by the path where they stand, with no link above it."""

    table: dict[str, Link] = field(default_factory=dict)
    # Where the links of a table that has no circles lead in the end.
    _ends: dict[str, str] = field(default_factory=dict)
    _steps: int = 0

    def physical(self, path: str) -> str | None:
        """`path` with all its links followed; None when they lead out, or on without end."""
        done = ""
        todo = path.split("/")[::-1] if path else []
        followed = 0
        while todo:
            done = _below(done, todo.pop())
            end = self._ends.get(done)
            if end is not None:
                done = end
                continue
            if len(done) > LONGEST_PATH:
                return None
            link = self.table.get(done)
            if link is None:
                continue
            followed += 1
            if link.inside is None or followed > _MOST_LINKS:
                return None
            parts = link.inside.split("/") if link.inside else []
            self._spend(len(parts))
            todo.extend(reversed(parts))
            done = ""
        return done

    def resolve(
        self, offered: Iterable[Link], folders: Collection[str]
    ) -> tuple[list[tuple[str, Link]], list[Link]]:
        """Fill the table; returns all links with their paths, and those that lead nowhere.

        Where a link stands, and what it means, depends on other links, so this is repeated
        until nothing changes. Of several links for one path, the first owner's is followed.
        `folders` are the tree's real ones, some of which stand where links will.

        Raises:
            ArchiveError: there is no end to the changes, or to the links on the way.
        """
        left = sorted(offered, key=_name)
        refused: list[Link] = []
        self._steps = _STEPS + _STEPS_EACH * len(left)
        for _ in range(2 * _MOST_LINKS):
            found = self._found(left)
            table: dict[str, Link] = {}
            for home, link in found:
                if home:
                    table.setdefault(home, link)
            if table != self.table:
                self.table = table
                self._ends = {}
                continue
            wrong = self._wrong(found, folders)
            if not wrong:
                return found, refused
            refused += wrong
            names = set(map(_name, wrong))
            left = [link for link in left if _name(link) not in names]
        raise ArchiveError(_ENDLESS)

    def _spend(self, steps: int) -> None:
        """Count the steps of all ways, which hostile links make very long together."""
        self._steps -= steps
        if self._steps < 0:
            raise ArchiveError(_ENDLESS)

    def _found(self, links: Sequence[Link]) -> list[tuple[str, Link]]:
        """Links with their paths (empty: outside) and meanings, by the table as it is."""
        found: list[tuple[str, Link]] = []
        folders: dict[tuple[object, str], str | None] = {}  # most links share theirs
        for link in links:
            folder, _, name = link.member.rpartition("/")
            key = (link.place, folder)
            if key not in folders:
                folders[key] = self._folder(link)
            at = folders[key]
            if at is None:
                found.append(("", link))
            else:
                home = link.place(_below(at, name)) or ""
                found.append((home, replace(link, inside=self._inside(link, at))))
        return found

    def _wrong(self, found: list[tuple[str, Link]], folders: Collection[str]) -> list[Link]:
        """The links to be refused next: what stands below them may then be right."""
        out = [link for home, link in found if home and link.inside is None]
        if out:
            return out
        ends = {home: self.physical(home) for home in self.table}
        circles = [link for home, link in found if home and ends[home] is None]
        if circles:
            return circles
        self._ends = {home: end for home, end in ends.items() if end is not None}
        return [link for home, link in found if not home] or self._strays(found, folders)

    def _folder(self, link: Link) -> str | None:
        """The folder in which `link` really stands, as a path in its archive."""
        return self._walked(link.place, "", link.member.split("/")[:-1])

    def _inside(self, link: Link, at: str) -> str | None:
        """The path that `link`, which stands in the folder `at`, means."""
        ups = _ups(link)
        start = self._walked(link.place, "" if link.from_top else at, link.parts[:ups])
        return None if start is None else link.place(_below(start, "/".join(link.parts[ups:])))

    def _walked(
        self,
        place: Callable[[str], str | None],
        start: str,
        parts: Sequence[str],
        there: Collection[str | None] | None = None,
    ) -> str | None:
        """What is reached from `start` by `parts`; None outside, or in a circle.

        With `there`, also None when `..` follows on what is not among these folders.
        """
        done = start
        todo = list(reversed(parts))
        followed = 0
        is_down = False
        self._spend(len(todo))
        while todo:
            part = todo.pop()
            if part == "..":
                is_lost = is_down and there is not None and place(done) not in there
                if not done or is_lost:
                    return None
                done = done.rpartition("/")[0]
                is_down = False
                continue
            done = _below(done, part)
            is_down = True
            link = self.table.get(place(done) or "")
            if link is not None:
                followed += 1
                if followed > _MOST_LINKS:
                    return None
                done = "" if link.from_top else done.rpartition("/")[0]
                self._spend(len(link.parts))
                todo.extend(reversed(link.parts))
            elif len(done) > LONGEST_PATH:
                return None
        return done

    def _strays(self, found: list[tuple[str, Link]], folders: Collection[str]) -> list[Link]:
        """Links that step up from what is no folder: the kernel would not."""
        stepping = [link for _, link in found if _is_stepping(link)]
        if not stepping:
            return []
        # What will be there once links are made and what lies under them has moved.
        there: set[str | None] = {""}
        for path in [*map(self.physical, folders), *(home.rpartition("/")[0] for home, _ in found)]:
            above = path
            while above and above not in there:
                there.add(above)
                above = above.rpartition("/")[0]
        return [replace(link, inside=None) for link in stepping if self._is_stray(link, there)]

    def _is_stray(self, link: Link, there: Collection[str | None]) -> bool:
        at = "" if link.from_top else self._folder(link)
        parts = link.parts[: _ups(link)]
        return at is None or self._walked(link.place, at, parts, there) is None


def _name(link: Link) -> tuple[str, str]:
    return link.owner, link.member


def _ups(link: Link) -> int:
    """How many of the link's parts there are up to the last `..`."""
    return max((n for n, part in enumerate(link.parts, start=1) if part == ".."), default=0)


def _is_stepping(link: Link) -> bool:
    """Whether a `..` of its text comes after a name."""
    return any(part != ".." for part in link.parts[: _ups(link)])


def _below(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder and name else folder or name
