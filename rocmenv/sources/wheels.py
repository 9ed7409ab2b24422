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
from packaging.version import Version as Number

from rocmenv.errors import ArchiveError, RepositoryError, ResolveError, visible
from rocmenv.fetch.connection import shown, without_account
from rocmenv.fetch.transfer import NotThereError
from rocmenv.model.receipt import Item
from rocmenv.model.release import Artifact
from rocmenv.sources.base import Built, Part
from rocmenv.sources.remembered import Remembered
from rocmenv.sources.therock import check_host
from rocmenv.sources.wheel_fill import fill
from rocmenv.sources.wheel_index import META, Pick, WheelIndex

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.model.version import Version
    from rocmenv.sources.base import Request, Work
    from rocmenv.sources.catalog import Catalog, Place

_CORE, _LIBRARIES, _DEVICE = f"{META}-sdk-core", f"{META}-sdk-libraries", f"{META}-sdk-device-"
_DEVEL, _PROFILER = f"{META}-sdk-devel", f"{META}-profiler"
PROFILES: dict[str, tuple[str, ...]] = {
    "runtime": (),
    # The tree of development files is made of links into the libraries: it comes with them.
    "hip": (_LIBRARIES, _DEVEL),
    "libraries": (_LIBRARIES, _DEVEL),
    "sdk": (_LIBRARIES, _DEVEL),
    "ml": (_LIBRARIES, _DEVEL),
    "profilers": (_LIBRARIES, _DEVEL, _PROFILER),
    "full": (_LIBRARIES, _DEVEL, _PROFILER),
}
"""The wheels of each profile, besides the core and the code for the GPUs."""
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
            for need in () if pick.is_sources else _needs(path, file.name):
                name = canonicalize_name(need.name)
                if name not in have:
                    have[name] = self._needed(pick, need)
                    waiting.append(have[name])
                elif not need.specifier.contains(have[name].version, prereleases=True):
                    msg = f"`{file.name}` needs {need}, and the release has {have[name].version}"
                    raise RepositoryError(msg, hint="`--channel tarball` needs no packages")

    def _needed(self, pick: Pick, need: Requirement) -> Pick:
        found = self.index.find(
            canonicalize_name(need.name),
            lambda version: need.specifier.contains(version, prereleases=True),
        )
        if found is None:
            msg = (
                f"`{pick.file.name}` needs {need}, which {shown(self.index.url)} does not have; "
                "no other index is asked"
            )
            raise RepositoryError(msg, hint="`--mirror URL` names an index that has it")
        return found


def plan(
    data: Catalog, release: Version, version: Version, request: Request, downloads: Downloads
) -> WheelsPlan:
    """The plan to install `release` as `version`. Reads the index; changes nothing."""
    check_host(release)
    if request.profile not in PROFILES:
        names = ", ".join(f"`{name}`" for name in PROFILES)
        msg = f"{visible(request.profile)} is not a profile of the wheels channel"
        raise ResolveError(msg, hint=f"profiles are {names}; `--with PACKAGE` adds one package")
    place = data.place(release)
    remembered = Remembered(downloads)
    known = data.release(release)
    groups = known.groups.get("linux", ()) if known else ()
    families = _families(request, groups)
    texts = [known.text] if known and known.text else []
    texts.append(str(release if place.line in ("dev", "bkc") else release.without_local))
    index, meta = _open(place, families, texts, release, request, remembered)
    choice = _Choice(index, meta, release, request, families)
    picks, notes = choice.picks()
    yanked = [f"`{p.file.name}` was taken back by its maker" for p in picks if p.file.yanked]
    return WheelsPlan(
        version=version,
        index=index,
        picks=tuple(_with_size(pick, downloads) for pick in picks),
        remembered=remembered,
        request=request,
        notes=(*notes, *yanked),
    )


def _families(request: Request, groups: Sequence[str]) -> list[str]:
    """The GPU families that have all targets, the smallest first, the release's own before others.

    A target is a family of its own. Without targets there are none.
    """
    wanted = set(request.targets)
    if not wanted:
        return []
    members = {**{target: (target,) for target in wanted}, **request.families}
    fitting = [name for name, targets in members.items() if wanted <= set(targets)]
    return sorted(fitting, key=lambda name: (name not in groups, len(members[name]), name))


def _open(
    place: Place,
    families: Sequence[str],
    texts: Sequence[str],
    release: Version,
    request: Request,
    reader: Remembered,
) -> tuple[WheelIndex, Pick]:
    """The index that has the release, and the release's own file in it."""
    offered: set[Number] = set()
    indexes = list(_indexes(place, families, request.mirror, reader))
    absent = NotThereError(place.mirror)
    for index in indexes:
        try:
            picks = index.releases()
        except NotThereError as error:
            absent = error
            continue
        for text in texts:
            found = next((p for p in picks if p.version == Number(text)), None)
            if found is not None:
                return index, index.checked(found)
        offered |= {pick.version for pick in picks}
    if not offered:
        reader.refuse_if_offline(absent)
    if not families and any("{family}" in template for template in place.wheels):
        msg = f"which GPU is {release} for? None was found here, and its wheels are by GPU"
        raise ResolveError(msg, hint=f"name it: `rocmenv install {release} --gpu gfx1100`")
    newest = f"the newest there is {max(offered)}; " if offered else ""
    tried = ", ".join(shown(index.url) for index in indexes) or shown(place.mirror)
    msg = f"there are no wheels of {release} at {tried}"
    raise ResolveError(msg, hint=f"{newest}`--mirror URL` names another index")


def _indexes(
    place: Place, families: Sequence[str], mirror: str | None, reader: Remembered
) -> Iterator[WheelIndex]:
    """The places to look at, in order; a mirror may be an index itself."""
    for number, template in enumerate(place.wheels):
        by_family = "{family}" in template
        for family in families if by_family else ("",):
            yield WheelIndex(place.wheel_indexes(family, mirror)[number], reader, family)
    if mirror is not None:
        yield WheelIndex(f"{mirror.rstrip('/')}/", reader)


@dataclass(frozen=True, slots=True)
class _Choice:
    """What to take of an index for a request."""

    index: WheelIndex
    meta: Pick
    release: Version
    request: Request
    families: Sequence[str]

    def picks(self) -> tuple[list[Pick], list[str]]:
        """The files, and what there is to say."""
        chosen = [self.meta, self._one(_CORE)]
        notes: list[str] = []
        wanted = PROFILES[self.request.profile]
        if _LIBRARIES in wanted:
            chosen.append(self._libraries())
            if chosen[-1].project == _LIBRARIES:  # one for all GPUs, without code for them
                devices, notes = self._devices()
                chosen += devices
        if _DEVEL in wanted:
            chosen.append(self._one(_DEVEL))
        if _PROFILER in wanted:
            found = self._find(_PROFILER)
            chosen += [found] if found else []
            notes += [] if found else [f"{self.release} has no `{_PROFILER}`: it is left out"]
        chosen += [self._extra(name) for name in self.request.extra]
        return list({pick.project: pick for pick in chosen}.values()), notes

    def _find(self, project: str) -> Pick | None:
        # Not `==` of a specifier: that takes `10.0.0+site` for 10.0.0.
        return self.index.find(project, lambda version: version == self.meta.version)

    def _one(self, project: str) -> Pick:
        found = self._find(project)
        if found is None:
            msg = f"{shown(self.index.url)} has no `{project}` {self.meta.version} for this machine"
            raise ResolveError(msg, hint="`--channel tarball` takes the archive of the release")
        return found

    def _libraries(self) -> Pick:
        families = [self.index.family] if self.index.family else self.families
        names = [_LIBRARIES, *(canonicalize_name(f"{_LIBRARIES}-{f}") for f in families)]
        found = next((pick for name in names if (pick := self._find(name))), None)
        return found or self._one(names[-1])

    def _devices(self) -> tuple[list[Pick], list[str]]:
        """The wheels with code for the targets; without targets those for all GPUs."""
        if self.request.targets:
            return [self._device(target) for target in self.request.targets], []
        try:
            names = self.index.devices()
        except (NotThereError, RepositoryError) as error:
            msg = f"which GPU is {self.release} for? {error.message}"
            hint = f"name it: `rocmenv install {self.release} --gpu gfx1100`"
            raise ResolveError(msg, hint=hint) from error
        found = [pick for name in names if (pick := self._find(name))]
        return found, [f"no GPU is named: the code for all {len(found)} kinds is taken"]

    def _device(self, target: str) -> Pick:
        found = self._find(canonicalize_name(f"{_DEVICE}{target}"))
        if found is None:
            msg = f"{shown(self.index.url)} has no wheels of {self.release} for {target}"
            raise ResolveError(msg, hint="without a GPU named they come for all: `--gpu all`")
        return found

    def _extra(self, name: str) -> Pick:
        """A package by its name, with or without `rocm-` in front."""
        plain = canonicalize_name(name)
        found = self._find(plain) or self._find(f"{META}-{plain}")
        return found or self._one(plain)


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


def _with_size(pick: Pick, downloads: Downloads) -> Pick:
    """The pick with the size of its file as the server tells it, where it does."""
    if pick.file.size is not None:
        return pick
    return replace(pick, file=replace(pick.file, size=downloads.size(pick.file.url)))


def _item(pick: Pick, path: Path) -> Item:
    # A file in the cache has its digest for a name, which was checked when it was fetched.
    url, size = without_account(pick.file.url), path.stat().st_size
    return Item(pick.project, url, size, path.name, str(pick.version))
