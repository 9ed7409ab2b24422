"""AMD's archives of releases from 7.9 on: one file for a group of GPUs, no package manager.

Source: the index pages and file names of TheRock's releases (docs/sources.md, "Archives").
No digest or signature is published beside them: what is recorded here is the SHA-256 of the
download, and a lock holds later ones to it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rocmenv.errors import RepositoryError, ResolveError, visible
from rocmenv.fetch.archive import Tree
from rocmenv.fetch.connection import shown, without_account
from rocmenv.fetch.streaming import download_and_unpack_tar
from rocmenv.fetch.transfer import NotThereError
from rocmenv.model.receipt import Item
from rocmenv.model.release import Artifact
from rocmenv.model.version import Version
from rocmenv.sources.archive_groups import ALL, choose_group, smallest_group
from rocmenv.sources.base import Built, Part
from rocmenv.sources.catalog import address, checked_mirror, tarball_name
from rocmenv.sources.index_page import read_page
from rocmenv.sources.legacy_rules import PROFILES
from rocmenv.sources.remembered import Remembered
from rocmenv.sources.therock import check_host

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.sources.base import Request, Work
    from rocmenv.sources.catalog import Catalog, Place
    from rocmenv.sources.index_page import Listed

_NAME = re.compile(
    r"therock-dist-(linux|windows)-([0-9A-Za-z_-]{1,40}?)-"
    r"(\d{1,4}\.\d{1,4}\.\d{1,4}(?:(?:a|rc)\d{1,12}|\.dev0\+[0-9a-f]{1,40})?)\.tar\.gz",
    re.ASCII,
)
# Archives of tests and sanitizer builds lie beside the others.
_NOT_FOR_USE = ("-tests", "-asan", "-tsan")
# Times the packed size that an archive takes on disk (3.5 to 5 in those that were measured).
_UNPACKED = 5


@dataclass(frozen=True, slots=True)
class Archive:
    """One archive of an index: system, GPU group, version as written, and what was told of it."""

    name: str
    system: str
    group: str
    text: str
    index: str
    time: float | None = None
    size: int | None = None
    sha256: str | None = None

    @property
    def url(self) -> str:
        """Where it is."""
        return address(self.index, self.name)

    @property
    def version(self) -> Version:
        """Its version."""
        return Version.parse(self.text)


def archives(files: Iterable[Listed], index: str) -> list[Archive]:
    """The archives of releases among the files of a page; `index` is the page's address."""
    found = []
    for file in files:
        match = _NAME.fullmatch(file.name)
        if match and not match[2].endswith(_NOT_FOR_USE):
            told = (file.time, file.size, file.sha256)
            found.append(Archive(file.name, match[1], match[2], match[3], index, *told))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class TarballPlan:
    """One archive, ready to be installed; a `base.Plan`."""

    version: Version
    archive: Archive
    sha256: str | None
    remembered: Remembered
    request: Request
    notes: tuple[str, ...] = ()
    host: tuple[str, ...] = ()
    channel: str = "tarball"

    @property
    def origin(self) -> str:
        """The archive's address."""
        return without_account(self.archive.url)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The one file."""
        return (Part(self.archive.name, self.archive.text, self.archive.size),)

    @property
    def download(self) -> int | None:
        """The archive's size, where the server told it."""
        return self.archive.size

    @property
    def installed(self) -> int | None:
        """A guess by the archive's size."""
        return None if self.archive.size is None else self.archive.size * _UNPACKED

    @property
    def items(self) -> tuple[Item, ...]:
        """The one file."""
        archive = self.archive
        return (
            Item(archive.name, self.origin, archive.size or 0, self.sha256 or "", archive.text),
        )

    def build(self, work: Work) -> Built:
        """Download and unpack the archive."""
        self.remembered.keep()
        tree = Tree(work.tree, cancel=work.downloads.cancel)
        path, digest = self._unpack(tree, work, self.request.keep())
        settled = tree.settle()
        item = replace(self.items[0], size=path.stat().st_size, sha256=digest)
        return Built(
            (item,),
            settled.files,
            settled.size,
            settled.inventory,
            settled.notes,
            cached=(path,),
            pruned=settled.pruned,
        )

    def pinned(self, item: Item) -> TarballPlan:
        """The same plan for exactly the file `item`, which it was made from before."""
        archive = replace(self.archive, size=item.size, sha256=item.sha256)
        return replace(self, archive=archive, sha256=item.sha256)

    def fetch_into(
        self,
        tree: Tree,
        names: Collection[str],  # noqa: ARG002 - it is one file, and its caller wants it
        work: Work,
        keep: Callable[[str], bool] | None,
    ) -> tuple[Path, ...]:
        """Fetch and unpack the archive into `tree`, but for what `keep` denies.

        Its file in the cache.
        """
        self.remembered.keep()
        return self._unpack(tree, work, keep)[:1]

    def _unpack(
        self, tree: Tree, work: Work, keep: Callable[[str], bool] | None
    ) -> tuple[Path, str]:
        """Fetch and unpack the archive; its file in the cache, and its SHA-256."""
        artifact = Artifact(self.archive.url, self.archive.name, self.archive.size, self.sha256)
        return download_and_unpack_tar(
            artifact,
            work.downloads,
            tree,
            owner=self.archive.name,
            keep=keep,
            on_bytes=work.on_bytes,
        )


def plan(
    data: Catalog, release: Version, version: Version, request: Request, downloads: Downloads
) -> TarballPlan:
    """The plan to install `release` as `version`. Reads the index; changes nothing.

    An archive is whole whatever the profile, but a profile that no channel has is refused.
    """
    check_host(release)
    _check_profile(request.profile)
    remembered = Remembered(downloads)
    found = offer(data, release, request, remembered)
    choose = smallest_group if request.bare else choose_group
    group = choose(found.archives, request.targets, request.families)
    if group is None:
        raise found.lacking(request)
    archive, notes = found.archives[group], found.notes
    if request.bare:
        notes = (*notes, f"there is no archive without code for GPUs; that for {group} is taken")
    if request.targets and group == ALL:
        notes = (*notes, f"the archive for every GPU is taken: {_why_all(found.archives, request)}")
    return TarballPlan(
        version=version,
        archive=with_size(archive, downloads, found.guessed),
        sha256=digest_of(data, archive),
        remembered=remembered,
        request=request,
        notes=notes,
    )


@dataclass(frozen=True, slots=True)
class Offer:
    """What a place has of one release for Linux: archives by group, and what there is to say.

    `base` is the address that the place's paths begin at. `listed` are all archives there.
    `guessed` says why the names are guesses, empty for those of a list.
    """

    release: Version
    base: str
    archives: Mapping[str, Archive]
    listed: tuple[Archive, ...]
    notes: tuple[str, ...]
    guessed: str = ""

    def lacking(self, request: Request) -> ResolveError:
        """The error for a request that none of the archives is for."""
        return _no_group(self.release, self.base, sorted(self.archives), request, self.listed)


def offer(data: Catalog, release: Version, request: Request, reader: Remembered) -> Offer:
    """The archives of `release`, by the pages of its place, or by the catalogue without any."""
    place = data.place(release)
    known = data.release(release)
    text = known.text if known and known.text else str(release.without_local)
    if place.line in ("dev", "bkc"):
        text = str(release)
    listed, notes, unread = _listed(place, request.mirror, reader)
    offered = {a.group: a for a in listed if a.system == "linux" and a.text == text}
    guessed = ""
    if not listed:
        offered = _guessed(data, place, release, text, request)
        guessed = f"no list to choose from: {unread.message}"
        if not offered:
            reader.refuse_if_offline(unread)
        notes.append(f"{guessed}; the archive's name is taken from rocmenv's own list")
    base = checked_mirror(request.mirror) or place.mirror
    return Offer(release, base, offered, tuple(listed), tuple(notes), guessed)


def digest_of(data: Catalog, archive: Archive) -> str | None:
    """The SHA-256 of an archive, where anybody has recorded one; the catalogue's counts first."""
    recorded = data.hashes.get((archive.text, archive.system, archive.group))
    return recorded or archive.sha256


def _check_profile(profile: str) -> None:
    if profile not in PROFILES:
        names = ", ".join(f"`{name}`" for name in PROFILES)
        msg = f"{visible(profile)} is not a profile"
        raise ResolveError(msg, hint=f"profiles are {names}; an archive has all of them")


def _listed(
    place: Place, mirror: str | None, reader: Remembered
) -> tuple[list[Archive], list[str], NotThereError]:
    """What the place's pages list, notes, and what the last one that cannot be had lacks."""
    found: list[Archive] = []
    notes: list[str] = []
    unread = NotThereError(f"{shown(mirror or place.mirror)} lists no archives")
    for index in place.tarball_indexes(mirror):
        try:
            page = read_page(reader, index)
        except NotThereError as error:
            unread = error
            continue
        except RepositoryError as error:
            unread = NotThereError(error.message, hint=error.hint)
            notes.append(error.message)
            continue
        found += archives(page.files, index)
        notes += page.notes
    return found, notes if found else [], unread


def _guessed(
    data: Catalog, place: Place, release: Version, text: str, request: Request
) -> dict[str, Archive]:
    """What the catalogue says the place has, for a page that cannot be read."""
    known = data.release(release)
    groups = known.groups.get("linux", ()) if known else ()
    index = place.tarball_indexes(request.mirror)[0]
    return {g: Archive(tarball_name("linux", g, text), "linux", g, text, index) for g in groups}


def _no_group(
    release: Version,
    base: str,
    groups: Sequence[str],
    request: Request,
    listed: Sequence[Archive],
) -> ResolveError:
    if not groups:
        texts = sorted({a.version for a in listed if a.system == "linux"})
        msg = f"there is no archive of {release} for Linux at {shown(base)}"
        newest = f"the newest there is {texts[-1]}; " if texts else ""
        pre = "" if release.is_final else " --pre"
        hint = f"{newest}`rocmenv install --list --online{pre}` shows them all"
        return ResolveError(msg, hint=hint)
    if not request.targets:
        msg = f"which GPU is {release} for? None was found here, and its archives are by GPU"
        hint = f"name it: `rocmenv install {release} --gpu {groups[0]}`; there are {_words(groups)}"
        return ResolveError(msg, hint=hint)
    targets = ", ".join(request.targets)
    msg = f"no archive of {release} has code for {targets}; there are {_words(groups)}"
    return ResolveError(msg, hint="`rocmenv install --list` shows other releases")


def _words(groups: Sequence[str]) -> str:
    return ", ".join(f"`{group}`" for group in groups)


def _why_all(offered: Collection[str], request: Request) -> str:
    if set(offered) == {ALL}:
        return "there is no other"
    return f"none of the others has code for {' and '.join(request.targets)}"


def with_size(archive: Archive, downloads: Downloads, guessed: str = "") -> Archive:
    """The archive with its size as the server tells it, where it does.

    `guessed` says why its name is a guess, which is told when there is no such archive.
    """
    if archive.size is not None:
        return archive
    try:
        return replace(archive, size=downloads.size(archive.url))
    except NotThereError as error:
        if not guessed:
            raise
        msg = f"{error.message}, and there is {guessed}"
        raise RepositoryError(
            msg, hint="check the mirror's address; `--mirror` names it"
        ) from error
