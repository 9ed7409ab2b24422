"""AMD's Python wheels of releases from 7.9 on, in a virtual environment of their own.

Source: the templates of the wheels in TheRock, and its `RELEASES.md` (docs/sources.md, "The
wheels channel"). Wheels are not signed, and the index seldom tells digests: what is recorded
is the SHA-256 of each download.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rocmenv.errors import ArchiveError
from rocmenv.fetch.connection import without_account
from rocmenv.fetch.parts import NoPartsError
from rocmenv.model.receipt import Item
from rocmenv.model.release import Artifact
from rocmenv.sources.base import Built, Part
from rocmenv.sources.remembered import Remembered
from rocmenv.sources.therock import check_host
from rocmenv.sources.wheel_choice import choose
from rocmenv.sources.wheel_fill import fill
from rocmenv.sources.wheel_needs import needed_by, read_metadata

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.model.version import Version
    from rocmenv.sources.base import Request, Work
    from rocmenv.sources.catalog import Catalog
    from rocmenv.sources.wheel_index import Pick, WheelIndex

# Times the packed size that wheels take on disk, with what the development files unpack to.
_UNPACKED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelsPlan:
    """The wheels of one release, ready to be installed; a `base.Plan`."""

    version: Version
    index: WheelIndex
    picks: tuple[Pick, ...]
    remembered: Remembered
    request: Request
    notes: tuple[str, ...] = ()
    host: tuple[str, ...] = ()
    channel: str = "wheels"

    @property
    def origin(self) -> str:
        """The address of the index."""
        return without_account(self.index.url)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The files, largest first."""
        picks = sorted(self.picks, key=lambda p: (-(p.file.size or 0), p.project))
        return tuple(Part(p.project, str(p.version), p.file.size) for p in picks)

    @property
    def download(self) -> int | None:
        """The sum of the sizes, where the server told all of them."""
        sizes = [p.file.size for p in self.picks]
        return None if None in sizes else sum(size or 0 for size in sizes)

    @property
    def installed(self) -> int | None:
        """A guess by the size of the files."""
        return None if self.download is None else self.download * _UNPACKED

    @property
    def items(self) -> tuple[Item, ...]:
        """The files that were chosen; what these need besides is known once they are there."""
        return tuple(
            Item(
                p.project,
                without_account(p.file.url),
                p.file.size or 0,
                p.file.sha256 or "",
                str(p.version),
            )
            for p in self.picks
        )

    def build(self, work: Work) -> Built:
        """Download the wheels, and fill an environment with them and nothing else."""
        self.remembered.keep()
        fetched = list(self._fetch(work))
        return fill([(_item(pick, path), path) for pick, path in fetched], work)

    def locked(
        self, known: Mapping[str, Item], on_bytes: Callable[[int], None]
    ) -> tuple[Item, ...]:
        """All files that an install would take, what the wheels need included, with digests.

        Those that the index tells count, then those of the `known` files by address. Only a
        file without any, or whose needs cannot be read from afar, is downloaded.
        """
        have = {pick.project: pick for pick in self.picks}
        waiting, items = list(self.picks), []
        for pick in waiting:
            item, text = _looked_up(pick, self.remembered, known, on_bytes)
            items.append(item)
            if not pick.is_sources:
                waiting.extend(needed_by(pick, text, self.index, have))
        return tuple(items)

    def _fetch(self, work: Work) -> Iterator[tuple[Pick, Path]]:
        """Each file of the plan, and what these need besides, from the same index."""
        waiting = list(self.picks)
        have = {pick.project: pick for pick in waiting}
        for pick in waiting:
            file = pick.file
            artifact = Artifact(file.url, file.name, file.size, file.sha256)
            path = work.downloads.fetch(artifact, work.on_bytes)
            yield pick, path
            if not pick.is_sources:
                text = read_metadata(path, file.name)
                waiting.extend(needed_by(pick, text, self.index, have))


def plan(
    data: Catalog, release: Version, version: Version, request: Request, downloads: Downloads
) -> WheelsPlan:
    """The plan to install `release` as `version`. Reads the index; changes nothing."""
    check_host(release)
    remembered = Remembered(downloads)
    chosen = choose(data, release, request, remembered)
    return WheelsPlan(
        version=version,
        index=chosen.index,
        picks=tuple(with_size(pick, downloads) for pick in chosen.picks),
        remembered=remembered,
        request=request,
        notes=chosen.notes,
    )


def with_size(pick: Pick, downloads: Downloads) -> Pick:
    """The pick with the size of its file as the server tells it, where it does."""
    if pick.file.size is not None:
        return pick
    return replace(pick, file=replace(pick.file, size=downloads.size(pick.file.url)))


def _looked_up(
    pick: Pick, remembered: Remembered, known: Mapping[str, Item], on_bytes: Callable[[int], None]
) -> tuple[Item, str]:
    """One file for a lock, and the metadata of a wheel."""
    file, downloads = pick.file, remembered.downloads
    url = without_account(file.url)
    if file.sha256 is None and url in known:
        file = replace(file, sha256=known[url].sha256, size=known[url].size)
    artifact = Artifact(file.url, file.name, file.size, file.sha256)
    if file.sha256 is not None and downloads.cached(artifact) is None:
        # The whole one tells what is wrong with it.
        with suppress(NoPartsError, ArchiveError, ValueError):
            size, text = _seen_afar(pick, remembered)
            item = Item(pick.project, url, file.size or size, file.sha256, str(pick.version))
            return item, text
    path = downloads.fetch(artifact, on_bytes)
    return _item(pick, path), "" if pick.is_sources else read_metadata(path, file.name)


def _seen_afar(pick: Pick, remembered: Remembered) -> tuple[int, str]:
    """The size and metadata of a file that stays on the server.

    Nobody vouches for what a server sends of it: an install from the lock reads it again, of
    the whole file with the right digest.
    """
    url, name = pick.file.url, pick.file.name

    def read() -> bytes:
        with remembered.downloads.parts(url) as file:
            size = file.seek(0, os.SEEK_END)
            text = "" if pick.is_sources else read_metadata(file, name)
        return f"{size}\n{text}".encode()

    size, _, text = remembered.once(f"{url}#metadata", read).decode().partition("\n")
    return int(size), text


def _item(pick: Pick, path: Path) -> Item:
    # A file in the cache has its digest for a name, which was checked when it was fetched.
    url, size = without_account(pick.file.url), path.stat().st_size
    return Item(pick.project, url, size, path.name, str(pick.version))
