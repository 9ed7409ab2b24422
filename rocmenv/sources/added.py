"""An install with what it lacks for further GPUs; the rest of it is what is there already.

The new tree is whole in the stage before it takes the old one's place: what is there gets a
second name in it, and only the packages that own what lacks are fetched.
"""

from __future__ import annotations

import os
import shlex
import stat
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from rocmenv.errors import StoreError
from rocmenv.fetch.archive import LeftOut, Tree
from rocmenv.fetch.disk import NO_ROOM
from rocmenv.fetch.inventory import Inventory, Known, stamp, walk
from rocmenv.fetch.members import clean
from rocmenv.fetch.settle import Placed
from rocmenv.model.manifest import FILE, FOLDER, LINK
from rocmenv.model.receipt import Receipt
from rocmenv.sources.base import Built
from rocmenv.sources.packages import Finished, PackagePlan, name_again
from rocmenv.sources.tarball import TarballPlan
from rocmenv.store.paths import RECEIPT, RECEIPT_FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from rocmenv.fetch.settle import Settled
    from rocmenv.model.manifest import Entry, Lacking
    from rocmenv.model.receipt import Item
    from rocmenv.model.version import Version
    from rocmenv.sources.base import Part, Plan, Request, Work


@dataclass(frozen=True, slots=True)
class There:
    """An install as it is: its folder, receipt, manifest, and what it lacks on purpose."""

    folder: Path
    receipt: Receipt
    entries: Sequence[Entry]
    lacking: Sequence[Lacking]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedPlan:
    """What `whole` promises, made of what is there and of the packages `names`; a `base.Plan`.

    `lacking` are the files that the install lacks, with their paths, `wanted` the paths of
    those that the new one has.
    """

    whole: PackagePlan | TarballPlan
    there: There
    names: frozenset[str]
    lacking: Sequence[tuple[str, Lacking]]
    wanted: frozenset[str]

    @property
    def version(self) -> Version:
        """The version, as it is called already."""
        return self.whole.version

    @property
    def channel(self) -> str:
        """Its channel."""
        return self.whole.channel

    @property
    def origin(self) -> str:
        """Where the whole comes from."""
        return self.whole.origin

    @property
    def request(self) -> Request:
        """What the whole is for."""
        return self.whole.request

    @property
    def notes(self) -> Sequence[str]:
        """The whole's."""
        return self.whole.notes

    @property
    def host(self) -> Sequence[str]:
        """The whole's."""
        return self.whole.host

    @property
    def items(self) -> Sequence[Item]:
        """All files of the whole."""
        return self.whole.items

    @property
    def parts(self) -> Sequence[Part]:
        """The files to fetch, largest first."""
        return [part for part in self.whole.parts if part.name in self.names]

    @property
    def download(self) -> int | None:
        """The sum of their sizes, None where nobody told one."""
        sizes = [part.size for part in self.parts]
        return None if None in sizes else sum(size or 0 for size in sizes)

    @property
    def installed(self) -> int:
        """What comes to what is there: the files that lacked, and new packages."""
        sizes = {path: row.size for path, row in self.lacking}
        added = sum(sizes[path] for path in self.wanted)
        if isinstance(self.whole, PackagePlan):
            here = {item.name for item in self.there.receipt.items}
            added += sum(p.installed_size or 0 for p in self.whole.packages if p.name not in here)
        return added

    def build(self, work: Work) -> Built:
        """Name what is there, and fetch and unpack the rest.

        `StoreError` when the install is not any more what the plan was made for.
        """
        self._must_be_the_same()
        recipe = self.whole.recipe if isinstance(self.whole, PackagePlan) else None
        own_prefix = recipe.own_prefix if recipe else ()
        tree = Tree(work.tree, own_prefix=own_prefix, cancel=work.downloads.cancel)
        taken = self._take(tree)
        kept = {work.downloads.kept(item.sha256) for item in self.items}
        cached = self.whole.fetch_into(tree, self.names, work, self._keep()) if self.names else ()
        settled = tree.settle()
        fresh = [path for path in settled.paths if path not in taken]
        done = recipe.finish(work, fresh) if recipe else Finished()
        return Built(
            tuple(self.items),
            settled.files,
            settled.size,
            self._inventory(work.tree, settled, {*fresh, *taken.difference(settled.paths)}),
            self._all_notes(settled, done),
            tuple(sorted({*self.there.receipt.unrelocated, *done.unrelocated})),
            tuple(path for path in cached if path not in kept),  # what was kept stays
            pruned=self._pruned(settled),
            shared=self.there.receipt.shared,
        )

    def _must_be_the_same(self) -> None:
        """Another process may have changed the version since the plan was made."""
        path = self.there.folder / RECEIPT
        try:
            is_same = Receipt.parse(path.read_text(encoding="utf-8"), str(path)) == (
                self.there.receipt
            )
        except OSError:
            is_same = False
        if not is_same:
            msg = f"version {self.version} was changed meanwhile"
            raise StoreError(msg, hint="run the command again")

    def _take(self, tree: Tree) -> frozenset[str]:
        """Give `tree` the packages' files and links that are there; their paths."""
        taken = []
        for entry in self.there.entries:
            place = self.there.folder / entry.path
            if entry.kind == FOLDER:
                tree.add_folder(entry.path)
                continue
            if not entry.owner:
                continue  # the recipe makes it again
            if entry.kind == LINK:
                tree.add_link(entry.path, entry.target, owner=entry.owner)
            elif not _is_file(place):
                continue  # it is damaged, and stays so
            else:
                is_program = bool(entry.mode & stat.S_IXUSR)
                file = Placed(entry.owner, entry.size, is_program, entry.sha256)
                tree.add_file(entry.path, place, file)
            taken.append(entry.path)
        return frozenset(taken)

    def _keep(self) -> Callable[[str], bool]:
        """Which paths of the packages are unpacked: what lacks, and what only new ones have."""
        keep = self.whole.request.keep()
        known = {entry.path for entry in self.there.entries if entry.kind != FOLDER}
        top = os.path.realpath(self.there.folder)

        @cache
        def really(folder: str) -> str:
            found = os.path.relpath(os.path.realpath(os.path.join(top, folder)), top)
            return "" if found == "." else f"{found}/"

        def wants(path: str) -> bool:
            if path in self.wanted:
                return True
            if keep is not None and not keep(path):
                return False
            folder, _, name = path.rpartition("/")
            return f"{really(folder)}{name}" not in known

        return wants

    def _inventory(self, new: Path, settled: Settled, others: Collection[str]) -> Inventory:
        """What the new tree has, once what no package has is carried over to it, too.

        `others` are the paths of files that have come, or have moved below a link.
        """
        files = dict(settled.inventory.files)
        carried = {}
        for entry in self.there.entries:
            if entry.kind != FILE or entry.path in others:
                continue
            place = new / entry.path
            if not entry.owner and not os.path.lexists(place):
                # What an older recipe made, and this one does not.
                name_again(self.there.folder / entry.path, place)
                if place.exists():
                    files[entry.path] = Known("", entry.sha256, stamp(place.lstat()))
            if entry.owner or entry.path in files:
                carried[entry.path] = entry
        foreign = self._carry_foreign(new)
        return replace(settled.inventory, files=files, carried=carried, foreign=foreign)

    def _carry_foreign(self, new: Path) -> frozenset[str]:
        """Carry over what people have put into the install; its paths."""
        old = str(self.there.folder)
        known = {entry.path for entry in self.there.entries}
        foreign = []
        try:
            for path, status in walk(old, (RECEIPT_FOLDER,)):
                place = new / path
                if path in known or os.path.lexists(place) or not place.parent.is_dir():
                    continue
                if stat.S_ISDIR(status.st_mode):
                    place.mkdir()
                    place.chmod(stat.S_IMODE(status.st_mode))
                else:
                    name_again(self.there.folder / path, place)
                foreign.append(path)
        except OSError as error:
            if error.errno in NO_ROOM:
                raise
            name = str(error.filename)
            msg = f"{name} cannot be carried over ({error.strerror})"
            raise StoreError(msg, hint=f"see whose it is: `ls -ld {shlex.quote(name)}`") from error
        return frozenset(foreign)

    def _all_notes(self, settled: Settled, done: Finished) -> tuple[str, ...]:
        """The notes of the install and of what came to it, without the plan's own."""
        here = {item.name for item in self.there.receipt.items}
        odd = [
            f"left out {left.member}: {left.reason}"
            for left in settled.left_out
            if left.owner not in here and not self._is_expected(left.member)
        ]
        notes = (*self.there.receipt.notes, *settled.notes, *done.notes, *odd)
        return tuple(note for note in dict.fromkeys(notes) if note not in self.notes)

    def _is_expected(self, member: str) -> bool:
        return isinstance(self.whole, PackagePlan) and self.whole.recipe.is_expected(member)

    def _pruned(self, settled: Settled) -> tuple[LeftOut, ...]:
        """What is left out now: what lacked and lacks, and what new packages have for others."""
        here = {item.name for item in self.there.receipt.items}
        lacks = [row for path, row in self.lacking if path not in self.wanted]
        old = [LeftOut(row.owner, row.member, "not wanted", row.size) for row in lacks]
        new = [left for left in settled.pruned if left.owner not in here]
        return tuple(sorted([*old, *new], key=lambda left: (left.owner, left.member)))


def plan(whole: Plan, there: There) -> AddedPlan | None:
    """The plan to make `whole` of what is `there`; None where it has to be made anew.

    That is so when the packages are not those of the install and more, and for wheels.
    """
    if not isinstance(whole, (PackagePlan, TarballPlan)):
        return None
    old = {item.name: item for item in there.receipt.items}
    new = {item.name: item for item in whole.items}
    if not old or not all(name in new and _is_same(item, new[name]) for name, item in old.items()):
        return None
    if isinstance(whole, TarballPlan):
        whole = whole.pinned(*old.values())
    keep = whole.request.keep()
    lacking = [(path, row) for row in there.lacking if (path := _place(whole, row)) is not None]
    owners: dict[str, str] = {}
    for path, row in sorted(lacking, key=lambda pair: pair[1].owner):
        if keep is None or keep(path):
            owners.setdefault(path, row.owner)  # of several packages that have it, one will do
    return AddedPlan(
        whole=whole,
        there=there,
        names=frozenset(owners.values()) | (new.keys() - old.keys()),
        lacking=lacking,
        wanted=frozenset(owners),
    )


def _place(whole: PackagePlan | TarballPlan, row: Lacking) -> str | None:
    """The path of what an install lacks."""
    if isinstance(whole, TarballPlan):
        return clean(row.member, row.owner)
    package = next((p for p in whole.packages if p.name == row.owner), None)
    placed = whole.recipe.mapping(package)(row.member) if package else None
    return None if placed is None else clean(placed, row.owner)


def _is_same(old: Item, new: Item) -> bool:
    """Whether an item of a plan is the file of a receipt, as far as an index tells."""
    told = (new.sha256 or old.sha256, new.size or old.size)
    return (old.sha256, old.size, old.version) == (*told, new.version)


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()
