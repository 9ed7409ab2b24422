"""Which wheels a release is made of: the one index that has it, and the files to take there.

Source: the projects and extras of `rocm` in TheRock (docs/sources.md, "The wheels channel").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name
from packaging.version import Version as Number

from rocmenv.errors import RepositoryError, ResolveError, visible
from rocmenv.fetch.connection import shown
from rocmenv.fetch.transfer import NotThereError
from rocmenv.sources.wheel_index import META, Pick, WheelIndex

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rocmenv.model.version import Version
    from rocmenv.sources.base import Request
    from rocmenv.sources.catalog import Catalog, Place
    from rocmenv.sources.remembered import Remembered

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
_TOGETHER = (_LIBRARIES, _DEVEL)
_EXTRAS = {"libraries": _LIBRARIES, "devel": _DEVEL}
"""What `rocm[libraries,devel]` means."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The index, the files to take from it, and what there is to say."""

    index: WheelIndex
    picks: tuple[Pick, ...]
    notes: tuple[str, ...]


def choose(data: Catalog, release: Version, request: Request, remembered: Remembered) -> Chosen:
    """What to install of `release`; `ResolveError` when there is no such thing."""
    if request.profile not in PROFILES:
        names = ", ".join(f"`{name}`" for name in PROFILES)
        msg = f"{visible(request.profile)} is not a profile of the wheels channel"
        raise ResolveError(msg, hint=f"profiles are {names}; `--with PACKAGE` adds one package")
    place = data.place(release)
    known = data.release(release)
    families = _families(request, known.groups.get("linux", ()) if known else ())
    texts = [known.text] if known and known.text else []
    texts.append(str(release if place.line in ("dev", "bkc") else release.without_local))
    index, meta = _open(place, families, texts, release, request, remembered)
    picks, notes = _Choice(index, meta, release, request, families, remembered).picks()
    yanked = [f"`{p.file.name}` was taken back by its maker" for p in picks if p.file.yanked]
    return Chosen(index, tuple(picks), (*notes, *yanked))


def _families(request: Request, groups: Sequence[str]) -> list[str]:
    """The GPU families that have all targets, the smallest first, the release's own before others.

    A target is a family of its own. Without targets there are none.
    """
    wanted = set(request.targets)
    if request.bare:  # each has what all need
        return sorted(groups)
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
    remembered: Remembered

    def picks(self) -> tuple[list[Pick], list[str]]:
        """The files, and what there is to say."""
        chosen = [self.meta, self._one(_CORE)]
        notes: list[str] = []
        extras = [_EXTRAS.get(n, n) for n in map(canonicalize_name, self.request.extra)]
        wanted = {*PROFILES[self.request.profile], *(n for n in extras if n in _TOGETHER)}
        if not wanted.isdisjoint(_TOGETHER):
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
        chosen += [self._extra(name) for name in extras if name not in _TOGETHER]
        return list({pick.project: pick for pick in chosen}.values()), notes

    def _find(self, project: str) -> Pick | None:
        # Not `==` of a specifier: that takes `10.0.0+site` for 10.0.0.
        return self.index.find(project, lambda version: version == self.meta.version)

    def _one(self, project: str) -> Pick:
        found = self._find(project)
        if found is None:
            msg = f"{shown(self.index.url)} has no `{project}` {self.meta.version} for this machine"
            raise self._absent(msg, "`--channel tarball` takes the archive of the release")
        return found

    def _absent(self, msg: str, hint: str) -> ResolveError:
        """The refusal for what the index lacks; offline nobody knows whether it does."""
        once = "run the command once without `--offline`"
        self.remembered.refuse_if_offline(NotThereError(f"{msg}: this run is offline", hint=once))
        return ResolveError(msg, hint=hint)

    def _libraries(self) -> Pick:
        families = [self.index.family] if self.index.family else self.families
        names = [_LIBRARIES, *(canonicalize_name(f"{_LIBRARIES}-{f}") for f in families)]
        found = next((pick for name in names if (pick := self._find(name))), None)
        return found or self._one(names[-1])

    def _devices(self) -> tuple[list[Pick], list[str]]:
        """The wheels with code for the targets; without targets those for all GPUs."""
        if self.request.bare:
            return [], []
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
            raise self._absent(msg, "without a GPU named they come for all: `--gpu all`")
        return found

    def _extra(self, name: str) -> Pick:
        """A package by its name, with or without `rocm-` or `rocm-sdk-` in front."""
        tries = (name, f"{META}-{name}", f"{META}-sdk-{name}")
        return next((pick for t in tries if (pick := self._find(t))), None) or self._one(name)
