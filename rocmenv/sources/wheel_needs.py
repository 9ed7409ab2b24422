"""What wheels need besides themselves, by their own words."""

from __future__ import annotations

import zipfile
from email.parser import HeaderParser
from typing import TYPE_CHECKING

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rocmenv.errors import ArchiveError, RepositoryError, ResolveError, RocmenvError, visible
from rocmenv.fetch.connection import shown
from rocmenv.sources.wheel_index import LOCK_ANEW, check_python, read_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from rocmenv.sources.wheel_index import Pick, WheelIndex

_LONGEST_METADATA = 4 << 20


def read_metadata(file: Path | BinaryIO, name: str) -> str:
    """The metadata of the wheel `file`, called `name`; `ArchiveError` when it has none."""
    try:
        with zipfile.ZipFile(file) as archive:
            inside = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
            with archive.open(min(inside, key=len)) as member:
                return member.read(_LONGEST_METADATA).decode("utf-8")
    except RocmenvError:
        raise
    except Exception as error:
        raise _unread(name, error) from error


def needs(metadata: str, name: str) -> list[Requirement]:
    """What the wheel `name` with this metadata needs on this machine, extras apart.

    `HostError` when it needs another Python.
    """
    said = HeaderParser().parsestr(metadata)
    check_python(said.get("Requires-Python", ""), name)
    try:
        found = [Requirement(text) for text in said.get_all("Requires-Dist", [])]
        return [n for n in found if n.marker is None or n.marker.evaluate({"extra": ""})]
    except Exception as error:
        raise _unread(name, error) from error


def must_be_whole(fetched: Sequence[tuple[str, Path]]) -> None:
    """Refuse wheels, by name and place, that need what is not among them.

    `HostError` when one is for another Python, `ResolveError` for what is missing,
    `ArchiveError` for what is no wheel.
    """
    have = {}
    for name, _ in fetched:
        project, version = read_name(name)
        have[project] = version
    for name, path in fetched:
        for need in needs(read_metadata(path, name), name) if name.endswith(".whl") else ():
            found = have.get(canonicalize_name(need.name))
            if found is None or not need.specifier.contains(found, prereleases=True):
                there = "which is not among the files" if found is None else f"and there is {found}"
                raise ResolveError(f"`{name}` needs {_shown(need)}, {there}", hint=LOCK_ANEW)


def needed_by(
    pick: Pick, metadata: str, index: WheelIndex, have: dict[str, Pick]
) -> Iterator[Pick]:
    """What the wheel `pick` needs besides `have`, which gets it; from its index.

    `RepositoryError` for what the index lacks, and for what is there in another version.
    """
    for need in needs(metadata, pick.file.name):
        name = canonicalize_name(need.name)
        if name not in have:
            have[name] = _needed(pick, need, index)
            yield have[name]
        elif not need.specifier.contains(have[name].version, prereleases=True):
            msg = (
                f"`{pick.file.name}` needs {_shown(need)}, and the release has {have[name].version}"
            )
            raise RepositoryError(msg, hint="`--channel tarball` needs no packages")


def _needed(pick: Pick, need: Requirement, index: WheelIndex) -> Pick:
    found = index.find(
        canonicalize_name(need.name),
        lambda version: need.specifier.contains(version, prereleases=True),
    )
    if found is None:
        msg = (
            f"`{pick.file.name}` needs {_shown(need)}, which {shown(index.url)} does not have; "
            "no other index is asked"
        )
        raise RepositoryError(msg, hint="`--mirror URL` names an index that has it")
    return found


def _shown(need: Requirement) -> str:
    return visible(str(need), 120)


def _unread(name: str, error: Exception) -> ArchiveError:
    # zipfile has no word of its own for most of what can be wrong with a file.
    msg = f"`{name}` is not a wheel whose needs can be read ({visible(str(error), 120)})"
    return ArchiveError(msg, hint="another place may have a whole one: `--mirror URL`")
