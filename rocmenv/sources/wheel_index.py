"""One index of wheels, and nothing beside it: which file of a project is the one to take.

Everything of a release comes from the index that has its `rocm`, by exact version, and from
the server that this index is on. The public index has other packages under these names.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from packaging import tags
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidSdistFilename, InvalidWheelFilename
from packaging.utils import parse_sdist_filename as parse_sources
from packaging.utils import parse_wheel_filename as parse_wheel
from packaging.version import InvalidVersion, Version

from rocmenv.errors import ArchiveError, HostError, RepositoryError, visible
from rocmenv.fetch.connection import shown
from rocmenv.fetch.transfer import NotThereError
from rocmenv.sources.simple_index import is_same_place, read_names, read_project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rocmenv.sources.base import Reader
    from rocmenv.sources.simple_index import Offered

META = "rocm"
"""The project that stands for a release; it comes as sources."""
_HERE = ".".join(map(str, sys.version_info[:3]))
LOCK_ANEW = "lock anew: `rocmenv lock`"
_NO_NAME = (InvalidSdistFilename, InvalidWheelFilename, InvalidVersion)


@dataclass(frozen=True, slots=True)
class Pick:
    """The file to take of a project."""

    project: str
    version: Version
    file: Offered

    @property
    def is_sources(self) -> bool:
        """Whether it is a source distribution."""
        return not self.file.name.endswith(".whl")


@dataclass(frozen=True, slots=True)
class WheelIndex:
    """The index at the address `url`; `family` are the GPUs that it is for, empty for all."""

    url: str
    reader: Reader
    family: str = ""

    def releases(self) -> list[Pick]:
        """The releases that it has, as their `rocm`; `NotThereError` when it is none of ROCm's."""
        return [pick for pick in self._picks(META) if pick.is_sources]

    def find(self, project: str, fits: Callable[[Version], bool]) -> Pick | None:
        """The newest wheel of `project` that `fits` and this machine can use; None for none.

        What was taken back and what comes before a release is taken where there is nothing
        else. Raises `HostError` when all are for another Python, `RepositoryError` when the
        file is on another server.
        """
        try:
            picks = self._picks(project)
        except NotThereError:
            return None
        ranked = [
            (rank, pick)
            for pick in picks
            if not pick.is_sources and fits(pick.version)
            for rank in [_rank(pick)]
            if rank is not None
        ]
        return self.checked(max(ranked, key=lambda r: r[0])[1]) if ranked else None

    def devices(self) -> list[str]:
        """The projects of device code that it lists."""
        start = f"{META}-sdk-device-"
        return sorted(name for name in read_names(self.reader, self.url) if name.startswith(start))

    def checked(self, pick: Pick) -> Pick:
        """`pick`, if it may be taken."""
        if not is_same_place(pick.file.url, self.url):
            msg = (
                f"the index {shown(self.url)} sends to another server for `{pick.file.name}`: "
                f"{shown(pick.file.url)}"
            )
            hint = "name the index that has the files itself: `--mirror URL`"
            raise RepositoryError(msg, hint=hint)
        check_python(pick.file.python, pick.file.name)
        return pick

    def _picks(self, project: str) -> list[Pick]:
        files = read_project(self.reader, self.url, project)
        return list(_picks(project, files))


def check_python(wanted: str, name: str) -> None:
    """`HostError` when `name` is for a range of Python releases without the one that runs this."""
    if not _fits(wanted):
        msg = f"`{name}` needs Python {visible(wanted)}, and rocmenv runs on {_HERE}"
        hint = "run rocmenv with another Python, or `--channel tarball`"
        raise HostError(msg, hint=hint)


def check_machine(name: str) -> None:
    """`HostError` when this Python on this machine cannot use the wheel `name`.

    `ArchiveError` when that is not the name of a wheel or of sources.
    """
    read_name(name)
    if name.endswith(".whl") and _order().keys().isdisjoint(parse_wheel(name)[3]):
        here = next(iter(_order()))
        msg = f"`{name}` is not for the Python that rocmenv runs on, which is {here}"
        raise HostError(msg, hint=LOCK_ANEW)


def read_name(name: str) -> tuple[str, Version]:
    """The project and version of a wheel or of sources, by the file's name.

    `ArchiveError` for a name of another form.
    """
    try:
        return parse_wheel(name)[:2] if name.endswith(".whl") else parse_sources(name)
    except _NO_NAME as error:
        msg = f"{visible(name, 200)} is not the name of a wheel"
        raise ArchiveError(msg, hint=LOCK_ANEW) from error


def _picks(project: str, files: Iterable[Offered]) -> Iterable[Pick]:
    for file in files:
        try:
            name, version = read_name(file.name)
        except ArchiveError:
            continue  # signatures, metadata, and other things beside the files
        if name == project:
            yield Pick(project, version, file)


def _rank(pick: Pick) -> tuple[Any, ...] | None:
    """How a wheel compares with others of its project; None for one that cannot be used."""
    _, version, build, its_tags = parse_wheel(pick.file.name)
    order = _order()
    tag = min((order[t] for t in its_tags if t in order), default=None)
    if tag is None:
        return None
    file = pick.file
    last = (-tag, build, file.name)
    return (_fits(file.python), not file.yanked, not version.is_prerelease, version, *last)


def _fits(wanted: str) -> bool:
    """Whether a range of Python releases has the one that runs this."""
    try:
        return SpecifierSet(wanted).contains(_HERE, prereleases=True)
    except InvalidSpecifier:
        return True  # as installers do with a range that nobody can read


@cache
def _order() -> dict[tags.Tag, int]:
    """What this Python on this machine can use, the best first."""
    return {tag: number for number, tag in enumerate(tags.sys_tags())}
