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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

# As many as Linux follows (path_resolution(7)); more is a circle.
_MOST_LINKS = 40


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

    def physical(self, path: str) -> str | None:
        """`path` with all its links followed, or None when they lead round in a circle or out."""
        done: list[str] = []
        todo = path.split("/")[::-1] if path else []
        followed = 0
        while todo:
            done.append(todo.pop())
            link = self.table.get("/".join(done))
            if link is None:
                continue
            followed += 1
            if followed > _MOST_LINKS or link.inside is None:
                return None
            todo.extend(link.inside.split("/")[::-1] if link.inside else [])
            done.clear()
        return "/".join(done)

    def resolve(self, offered: Iterable[Link]) -> tuple[list[tuple[str, Link]], list[Link]]:
        """Fill the table; returns all links with their paths, and those that lead nowhere.

        Where a link stands, and what it means, depends on other links, so this is repeated
        until nothing changes. Of several links for one path, the first owner's is followed.

        Raises:
            ArchiveError: there is no end to the changes.
        """
        left = sorted(offered, key=_name)
        refused: list[Link] = []
        for _ in range(2 * _MOST_LINKS):
            found = self._found(left)
            table: dict[str, Link] = {}
            for home, link in found:
                if home:
                    table.setdefault(home, link)
            if table != self.table:
                self.table = table
                continue
            wrong = self._wrong(found)
            if not wrong:
                return found, refused
            refused += wrong
            names = set(map(_name, wrong))
            left = [link for link in left if _name(link) not in names]
        raise ArchiveError("the links of the packages lead through one another without end")

    def _found(self, links: Sequence[Link]) -> list[tuple[str, Link]]:
        """Links with their paths (empty: outside) and meanings, by the table as it is."""
        found: list[tuple[str, Link]] = []
        folders: dict[tuple[object, str], list[str] | None] = {}  # most links share theirs
        for link in links:
            folder, _, name = link.member.rpartition("/")
            key = (link.place, folder)
            if key not in folders:
                folders[key] = self._folder(link)
            at = folders[key]
            if at is None:
                found.append(("", link))
            else:
                home = link.place("/".join([*at, name])) or ""
                found.append((home, replace(link, inside=self._inside(link, at))))
        return found

    def _wrong(self, found: list[tuple[str, Link]]) -> list[Link]:
        """The links to be refused next: what stands below them may then be right."""
        out = [link for home, link in found if home and link.inside is None]
        return (
            out
            or [link for home, link in found if home and self.physical(home) is None]
            or [link for home, link in found if not home]
        )

    def _folder(self, link: Link) -> list[str] | None:
        """The folder in which `link` really stands, as a path in its archive."""
        return self._walked(link.place, [], link.member.split("/")[:-1])

    def _inside(self, link: Link, at: list[str]) -> str | None:
        """The path that `link`, which stands in the folder `at`, means."""
        ups = _ups(link)
        start = self._walked(link.place, [] if link.from_top else at, link.parts[:ups])
        return None if start is None else link.place("/".join([*start, *link.parts[ups:]]))

    def _walked(
        self,
        place: Callable[[str], str | None],
        start: list[str],
        parts: Sequence[str],
        is_folder: Callable[[str | None], bool] | None = None,
    ) -> list[str] | None:
        """What is reached from `start` by `parts`; None outside, or in a circle.

        With `is_folder`, also None when `..` follows on what is not a folder of the tree.
        """
        done = list(start)
        todo = list(reversed(parts))
        followed = 0
        is_down = False
        while todo:
            part = todo.pop()
            if part == "..":
                is_lost = is_down and is_folder and not is_folder(place("/".join(done)))
                if not done or is_lost:
                    return None
                done.pop()
                is_down = False
                continue
            done.append(part)
            is_down = True
            link = self.table.get(place("/".join(done)) or "")
            if link is not None:
                followed += 1
                if followed > _MOST_LINKS:
                    return None
                del done[0 if link.from_top else -1 :]
                todo.extend(reversed(link.parts))
        return done

    def drop_strays(self, is_folder: Callable[[str | None], bool]) -> list[Link]:
        """Take out links that step up from what is no folder: the kernel would not."""
        strays: list[Link] = []
        while True:
            found = [home for home, link in self.table.items() if self._strays(link, is_folder)]
            if not found:
                return strays
            strays += [self.table.pop(home) for home in found]

    def _strays(self, link: Link, is_folder: Callable[[str | None], bool]) -> bool:
        downs = [part != ".." for part in link.parts[: _ups(link)]]
        if not any(downs):
            return False
        at = [] if link.from_top else self._folder(link)
        parts = link.parts[: len(downs)]
        return at is None or self._walked(link.place, at, parts, is_folder) is None


def _name(link: Link) -> tuple[str, str]:
    return link.owner, link.member


def _ups(link: Link) -> int:
    """How many of the link's parts there are up to the last `..`."""
    return max((n for n, part in enumerate(link.parts, start=1) if part == ".."), default=0)
