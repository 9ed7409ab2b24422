"""AMD's Python wheels of releases from 7.9 on, in a virtual environment of their own.

Source: the templates of the wheels in TheRock, and its `RELEASES.md` (docs/sources.md, "The
wheels channel"). Wheels are not signed, and the index seldom tells digests: what is recorded
is the SHA-256 of each download.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from rocmenv.errors import ArchiveError
from rocmenv.fetch.connection import without_account
from rocmenv.fetch.parts import NoPartsError
from rocmenv.fetch.pipeline import download
from rocmenv.model.receipt import Item
from rocmenv.model.release import Artifact
from rocmenv.sources.base import Built, Part
from rocmenv.sources.remembered import Remembered
from rocmenv.sources.therock import check_host
from rocmenv.sources.wheel_choice import choose
from rocmenv.sources.wheel_fill import fill
from rocmenv.sources.wheel_needs import needed_by, read_metadata

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.model.version import Version
    from rocmenv.sources.base import Request, Work
    from rocmenv.sources.catalog import Catalog
    from rocmenv.sources.wheel_index import Pick, WheelIndex

T = TypeVar("T")
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

        def fetched(picks: Sequence[Pick]) -> list[tuple[tuple[Item, Path], str]]:
            paths = download(list(map(_artifact, picks)), work.downloads, work.on_bytes)
            pairs = zip(picks, paths, strict=True)
            return [((_item(pick, path), path), _metadata(pick, path)) for pick, path in pairs]

        return fill(list(_with_needs(self.picks, self.index, fetched)), work)

    def locked(
        self, known: Mapping[str, Item], on_bytes: Callable[[int], None]
    ) -> tuple[Item, ...]:
        """All files that an install would take, what the wheels need included, with digests.

        Those that the index tells count, then those of the `known` files by address. Only a
        file without any, or whose needs cannot be read from afar, is downloaded.
        """

        def looked_up(picks: Sequence[Pick]) -> list[tuple[Item, str]]:
            picks = [_as_known(pick, known) for pick in picks]
            found = {pick.project: _seen_afar(pick, self.remembered) for pick in picks}
            rest = [pick for pick in picks if not found[pick.project]]
            paths = download(list(map(_artifact, rest)), self.remembered.downloads, on_bytes)
            for pick, path in zip(rest, paths, strict=True):
                found[pick.project] = (_item(pick, path), _metadata(pick, path))
            return [pair for pair in found.values() if pair]

        return tuple(_with_needs(self.picks, self.index, looked_up))


def _with_needs(
    picks: Sequence[Pick],
    index: WheelIndex,
    get: Callable[[Sequence[Pick]], Sequence[tuple[T, str]]],
) -> Iterator[T]:
    """What `get` has of each file, and of what these need besides, from the same index.

    `get` has the metadata of wheels, too; it is asked for all that is known, then for the rest.
    """
    have = {pick.project: pick for pick in picks}
    while picks:
        further: list[Pick] = []
        for pick, (found, text) in zip(picks, get(picks), strict=True):
            yield found
            if not pick.is_sources:
                further.extend(needed_by(pick, text, index, have))
        picks = further


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


def _as_known(pick: Pick, known: Mapping[str, Item]) -> Pick:
    """The pick with the digest of an install, where the index tells none."""
    item = known.get(without_account(pick.file.url))
    if pick.file.sha256 is not None or item is None:
        return pick
    return replace(pick, file=replace(pick.file, sha256=item.sha256, size=item.size))


def _seen_afar(pick: Pick, remembered: Remembered) -> tuple[Item, str] | None:
    """What a lock says of a file that stays on the server, and its metadata.

    None where that needs the whole file: then that is there already, nobody told its digest,
    or it cannot be read here and there. Nobody vouches for what a server sends of it: an
    install from the lock reads it again, of the whole file with the right digest.
    """
    file, downloads = pick.file, remembered.downloads
    if file.sha256 is None or downloads.cached(_artifact(pick)) is not None:
        return None

    def read() -> bytes:
        with downloads.parts(file.url) as remote:
            size = remote.seek(0, os.SEEK_END)
            text = "" if pick.is_sources else read_metadata(remote, file.name)
        return f"{size}\n{text}".encode()

    with suppress(NoPartsError, ArchiveError, ValueError):  # the whole one tells what is wrong
        size, _, text = remembered.once(f"{file.url}#metadata", read).decode().partition("\n")
        url, known = without_account(file.url), file.size or int(size)
        return Item(pick.project, url, known, file.sha256, str(pick.version)), text
    return None


def _artifact(pick: Pick) -> Artifact:
    file = pick.file
    return Artifact(file.url, file.name, file.size, file.sha256)


def _metadata(pick: Pick, path: Path) -> str:
    return "" if pick.is_sources else read_metadata(path, pick.file.name)


def _item(pick: Pick, path: Path) -> Item:
    # A file in the cache has its digest for a name, which was checked when it was fetched.
    url, size = without_account(pick.file.url), path.stat().st_size
    return Item(pick.project, url, size, path.name, str(pick.version))
