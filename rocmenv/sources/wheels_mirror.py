"""What of AMD's wheels goes into a static mirror, and the pages that list them (PEP 503)."""

from __future__ import annotations

import html
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import quote

from rocmenv.errors import RepositoryError, ResolveError, UsageError
from rocmenv.fetch.connection import shown, without_account
from rocmenv.model.release import Artifact
from rocmenv.sources.base import Further, MirrorFile, MirrorPlan
from rocmenv.sources.catalog import checked_mirror
from rocmenv.sources.mirror_page import INDEX, Text, foreign, is_ours
from rocmenv.sources.remembered import Remembered
from rocmenv.sources.simple_index import Offered, read_project
from rocmenv.sources.wheel_choice import choose
from rocmenv.sources.wheel_needs import needed_by, read_metadata
from rocmenv.sources.wheels import with_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.model.version import Version
    from rocmenv.sources.base import Extent, Kept, Request
    from rocmenv.sources.catalog import Catalog, Place
    from rocmenv.sources.wheel_choice import Chosen
    from rocmenv.sources.wheel_index import Pick, WheelIndex


@dataclass(frozen=True, slots=True)
class ProjectPage:
    """The page of one project in the folder `folder`, with digests; `files` are those to add."""

    folder: str
    files: tuple[Offered, ...]

    @property
    def path(self) -> str:
        """The page's file."""
        return f"{self.folder}/index.html"

    def known(self, before: bytes) -> dict[str, str]:
        """The digests that the page has."""
        rows = self._rows(before)
        return {f"{self.folder}/{row.name}": row.sha256 for row in rows if row.sha256}

    def render(
        self, before: bytes, have: Mapping[str, Kept], is_there: Callable[[str], bool]
    ) -> bytes:
        """The page, sorted by name."""
        rows = {r.name: r for r in self._rows(before) if is_there(f"{self.folder}/{r.name}")}
        for file in self.files:
            if kept := have.get(f"{self.folder}/{file.name}"):
                rows[file.name] = replace(file, sha256=kept.sha256)
        title = html.escape(f"Links for {self.folder.rpartition('/')[2]}")
        links = "".join(_link(rows[name]) for name in sorted(rows))
        return (
            f"<!doctype html>\n{INDEX}\n<meta charset=utf-8>\n<title>{title}</title>\n"
            f"<h1>{title}</h1>\n{links}"
        ).encode()

    def _rows(self, before: bytes) -> tuple[Offered, ...]:
        if not before.strip():
            return ()
        if not is_ours(before):
            raise foreign(self.path)
        try:
            return read_project(Text(before), f"file:///{quote(self.folder)}", "")
        except RepositoryError:
            return ()  # a page without links


def _link(file: Offered) -> str:
    target = f"{quote(file.name, safe='~')}#sha256={file.sha256}" if file.sha256 else ""
    words = [f'href="{target or quote(file.name, safe="~")}"']
    if file.python:
        words.append(f'data-requires-python="{html.escape(file.python)}"')
    if file.yanked:
        words.append('data-yanked=""')
    return f"<a {' '.join(words)}>{html.escape(file.name)}</a><br>\n"


def plan(
    data: Catalog, release: Version, request: Request, downloads: Downloads, extent: Extent
) -> MirrorPlan:
    """The mirror of one release, as `ops.mirror` asks for it. Reads the indexes.

    The wheels are those for this Python on this machine, for the request's targets. What
    they need besides is known once they are there, and comes from the same index.

    Raises `ResolveError` for what is not there, `UsageError` for a whole index, and what
    reading raises.
    """
    if extent.whole:
        msg = "`--whole` is not for wheels: an index has those of every release"
        raise UsageError(msg, hint="name what is wanted: `--profile full --all-gpus`")
    remembered = Remembered(downloads)
    place = data.place(release)
    base = checked_mirror(request.mirror) or place.mirror
    copies: dict[str, _Copy] = {}
    notes: dict[str, None] = {}
    for one, found in _chosen(data, release, request, extent, remembered):
        folder = _folder(place, base, found.index, release)
        copy = copies.setdefault(folder, _Copy(folder, found.index, downloads))
        copy.targets += one.targets
        copy.add(found.picks)
        notes.update(dict.fromkeys(found.notes))

    def follow(file: MirrorFile, path: Path) -> Further:
        owner = next(copy for copy in copies.values() if file.path in copy.picks)
        return owner.follow(file, path)

    return MirrorPlan(
        version=release,
        channel="wheels",
        origin=", ".join(without_account(copy.index.url) for copy in copies.values()),
        files=tuple(file for copy in copies.values() for file in copy.files(copy.picks)),
        notes=tuple(notes),
        pages=tuple(page for copy in copies.values() for page in copy.pages(copy.picks)),
        follow=follow,
        installs=tuple(copy.options(alone=len(copies) == 1) for copy in copies.values()),
    )


def _chosen(
    data: Catalog, release: Version, request: Request, extent: Extent, remembered: Remembered
) -> Iterator[tuple[Request, Chosen]]:
    """What each install takes; for all GPUs that of every one with wheels."""
    refused: ResolveError | None = None
    count = 0
    for one in extent.requests(request):
        try:
            found = choose(data, release, one, remembered)
        except ResolveError as error:
            if not extent.all_gpus:
                raise
            refused = refused or error  # early releases have an index for each family only
            continue
        count += 1
        yield one, found
        if extent.all_gpus and not one.targets:
            return  # the code for each of them is in it
    if refused is not None and not count:
        raise refused


def _folder(place: Place, base: str, index: WheelIndex, release: Version) -> str:
    """Where an index is in AMD's layout; the mirror may be an index itself."""
    below = index.url.removeprefix(base).strip("/")
    if below:
        return below
    for template in place.wheels:
        if "{family}" not in template:
            return template.format(mirror="").strip("/")
    msg = f"{shown(index.url)} is an index of wheels, and AMD's of {release} are by GPU family"
    raise ResolveError(msg, hint="name the base that has AMD's layout: `--mirror URL`")


@dataclass(slots=True)
class _Copy:
    """An index to copy into `folder`: `picks` are its files by their paths in the mirror."""

    folder: str
    index: WheelIndex
    downloads: Downloads
    picks: dict[str, Pick] = field(default_factory=dict)
    targets: tuple[str, ...] = ()

    def add(self, picks: Iterable[Pick]) -> list[str]:
        """Take further files; the paths of those that are new."""
        fresh = []
        for pick in picks:
            path = f"{self.folder}/{pick.project}/{pick.file.name}"
            if path not in self.picks:
                self.picks[path] = with_size(pick, self.downloads)
                fresh.append(path)
        return fresh

    def files(self, paths: Iterable[str]) -> list[MirrorFile]:
        files = [(path, self.picks[path].file) for path in paths]
        return [MirrorFile(p, Artifact(f.url, f.name, f.size, f.sha256)) for p, f in files]

    def pages(self, paths: Iterable[str]) -> list[ProjectPage]:
        found: dict[str, list[Offered]] = {}
        for path in paths:
            found.setdefault(path.rpartition("/")[0], []).append(self.picks[path].file)
        return [ProjectPage(folder, tuple(files)) for folder, files in found.items()]

    def follow(self, file: MirrorFile, path: Path) -> Further:
        """What a wheel that is there needs besides."""
        have = {pick.project: pick for pick in self.picks.values()}
        pick = self.picks[file.path]
        if pick.is_sources:
            return Further()
        text = read_metadata(path, pick.file.name)
        fresh = self.add(list(needed_by(pick, text, self.index, have)))
        return Further(tuple(self.files(fresh)), tuple(self.pages(fresh)))

    def options(self, *, alone: bool) -> tuple[str, ...]:
        """Of an install: where GPU families have indexes of their own, for one of them."""
        targets = self.targets if alone else self.targets[:1]
        words: tuple[str, ...] = ()
        for target in targets or ("all",):
            words += ("--gpu", target)
        return words
