"""AMD's Python wheels of releases from 7.9 on, in a virtual environment of their own.

Source: the templates of the wheels in TheRock, and its `RELEASES.md` (docs/sources.md, "The
wheels channel"). Wheels are not signed, and the index seldom tells digests: what is recorded
is the SHA-256 of each download.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, replace
from email.parser import HeaderParser
from typing import TYPE_CHECKING

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rocmenv.errors import ArchiveError, RepositoryError
from rocmenv.fetch.connection import shown, without_account
from rocmenv.model.receipt import Item
from rocmenv.model.release import Artifact
from rocmenv.sources.base import Built, Part
from rocmenv.sources.remembered import Remembered
from rocmenv.sources.therock import check_host
from rocmenv.sources.wheel_choice import choose
from rocmenv.sources.wheel_fill import fill

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.model.version import Version
    from rocmenv.sources.base import Request, Work
    from rocmenv.sources.catalog import Catalog
    from rocmenv.sources.wheel_index import Pick, WheelIndex

_LONGEST_METADATA = 4 << 20
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

    def _fetch(self, work: Work) -> Iterator[tuple[Pick, Path]]:
        """Each file of the plan, and what these need besides, from the same index."""
        waiting = list(self.picks)
        have = {pick.project: pick for pick in waiting}
        for pick in waiting:
            file = pick.file
            artifact = Artifact(file.url, file.name, file.size, file.sha256)
            path = work.downloads.fetch(artifact, work.on_bytes)
            yield pick, path
            waiting.extend(needed_by(pick, path, self.index, have))


def needed_by(pick: Pick, path: Path, index: WheelIndex, have: dict[str, Pick]) -> Iterator[Pick]:
    """What `pick`, whose file is `path`, needs besides `have`, which gets it; from its index.

    `RepositoryError` for what the index lacks, and for what is there in another version.
    """
    for need in () if pick.is_sources else _needs(path, pick.file.name):
        name = canonicalize_name(need.name)
        if name not in have:
            have[name] = _needed(pick, need, index)
            yield have[name]
        elif not need.specifier.contains(have[name].version, prereleases=True):
            msg = f"`{pick.file.name}` needs {need}, and the release has {have[name].version}"
            raise RepositoryError(msg, hint="`--channel tarball` needs no packages")


def _needed(pick: Pick, need: Requirement, index: WheelIndex) -> Pick:
    found = index.find(
        canonicalize_name(need.name),
        lambda version: need.specifier.contains(version, prereleases=True),
    )
    if found is None:
        msg = (
            f"`{pick.file.name}` needs {need}, which {shown(index.url)} does not have; "
            "no other index is asked"
        )
        raise RepositoryError(msg, hint="`--mirror URL` names an index that has it")
    return found


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


def _needs(path: Path, name: str) -> list[Requirement]:
    """What a wheel needs on this machine, extras apart."""
    try:
        with zipfile.ZipFile(path) as archive:
            inside = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
            with archive.open(min(inside, key=len)) as file:
                text = file.read(_LONGEST_METADATA).decode("utf-8")
        found = [Requirement(t) for t in HeaderParser().parsestr(text).get_all("Requires-Dist", [])]
    except Exception as error:
        # zipfile has no word of its own for most of what can be wrong with a file.
        msg = f"`{name}` is not a wheel whose needs can be read ({error})"
        raise ArchiveError(
            msg, hint="another place may have a whole one: `--mirror URL`"
        ) from error
    return [need for need in found if need.marker is None or need.marker.evaluate({"extra": ""})]


def with_size(pick: Pick, downloads: Downloads) -> Pick:
    """The pick with the size of its file as the server tells it, where it does."""
    if pick.file.size is not None:
        return pick
    return replace(pick, file=replace(pick.file, size=downloads.size(pick.file.url)))


def _item(pick: Pick, path: Path) -> Item:
    # A file in the cache has its digest for a name, which was checked when it was fetched.
    url, size = without_account(pick.file.url), path.stat().st_size
    return Item(pick.project, url, size, path.name, str(pick.version))
