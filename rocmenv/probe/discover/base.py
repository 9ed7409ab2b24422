"""What every kind of place shares: the host that is looked at, clues, and careful reading."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from rocmenv.errors import InvalidVersionError, visible
from rocmenv.model.version import Version

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MOST_NAMES = 100_000
"""The names that are read of one folder: a tenth of a second."""
MOST_BYTES = 1 << 20


class How(str, Enum):
    """By what a ROCm was found."""

    NAMED = "named"
    LINK = "link"
    FOLDER = "folder"
    ALTERNATIVE = "alternative"
    VARIABLE = "variable"
    MODULE = "module"
    SYSTEM = "system"
    WHEEL = "wheel"
    ROCM_CLI = "rocm-cli"
    SPACK = "spack"
    EASYBUILD = "easybuild"
    HIP_SDK = "hip-sdk"


@dataclass(frozen=True, slots=True)
class Clue:
    """Somebody says that a ROCm is at `path` (absolute, as it was written).

    `told` is the variable, file or folder that says so. `sure` clues are reported also when
    nothing is there; the others come from a name alone. `version` is what `told` says of
    it, for a prefix that does not say it itself. `partial` tells why the folder is not a
    whole ROCm; `remark` is worth knowing.
    """

    path: str
    how: How
    told: str
    sure: bool = True
    version: Version | None = None
    partial: str = ""
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Places:
    """The fixed places of a host; tests name their own."""

    usual: tuple[str, ...] = ("/opt", "/usr/local")
    alternatives: tuple[str, ...] = ("/etc/alternatives",)
    registers: tuple[str, ...] = ("/var/lib/dpkg/alternatives", "/var/lib/alternatives")
    usr: str = "/usr"
    dpkg: str = "/var/lib/dpkg/info"
    pacman: str = "/var/lib/pacman/local"
    modules: tuple[str, ...] = (
        "/usr/share/modules/modulefiles",
        "/usr/local/Modules/modulefiles",
        "/usr/share/Modules/modulefiles",
    )
    spack: tuple[str, ...] = ("/opt/spack",)
    easybuild: tuple[str, ...] = ("/apps", "/opt/apps", "/opt/easybuild")
    program_files: tuple[str, ...] = (
        "C:\\Program Files\\AMD\\ROCm",
        "C:\\Program Files\\ROCm",
    )


@dataclass(frozen=True, slots=True)
class Host:
    """The machine to look at: environment, home, folders to search, and the fixed places.

    `search` are folders in which AMD's packages install; `inside` are folders that a
    person named, to be walked; `own` is a folder whose contents are rocmenv's.
    """

    environ: Mapping[str, str]
    home: str
    search: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    own: str = ""
    windows: bool = False
    places: Places = field(default_factory=Places)


class Look:
    """Reading of one host: each trouble is noted once, and never ends the search."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        """Note a trouble, once."""
        if text not in self.notes:
            self.notes.append(text)

    def names(self, folder: str, limit: int = MOST_NAMES) -> list[str]:
        """The names in a folder, sorted; none where it is absent or may not be read."""
        found: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if len(found) == limit:
                        self.note(f"{shown(folder)} has more than {limit} names; not all were read")
                        break
                    found.append(entry.name)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            self.note(f"{shown(folder)} cannot be read ({words_for(error)})")
        return sorted(found)

    def text(self, path: str, limit: int = MOST_BYTES) -> str | None:
        """The text of a regular file; None where there is none, or it is too long to be one."""
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would keep us waiting
                return None
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read(limit + 1)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self.note(f"{shown(path)} cannot be read ({words_for(error)})")
            return None
        if len(text) > limit:
            self.note(f"{shown(path)} has more than {limit} characters; it was not read")
            return None
        return text

    def json(self, path: str, limit: int = MOST_BYTES) -> object:
        """The value in a JSON file, None where there is none; what is no JSON is noted."""
        import json  # noqa: PLC0415 - most hosts have no such file

        text = self.text(path, limit)
        if text is None:
            return None
        try:
            value: object = json.loads(text)
        except (ValueError, RecursionError):
            self.note(f"{shown(path)} is not JSON")
            return None
        return value


def shown(path: str) -> str:
    """A path for people: as it is where it prints, else escaped in backticks."""
    return path if path.isprintable() else visible(path, 200)


def words_for(error: OSError) -> str:
    """What went wrong with a path, in words that name a loop as one."""
    if error.errno == errno.ELOOP:
        return "its links lead in a circle"
    return error.strerror or error.__class__.__name__


def version_in(text: object) -> Version | None:
    """The version that a text is, None when it is none."""
    try:
        return Version.parse_release(text) if isinstance(text, str) else None
    except InvalidVersionError:
        return None


def first_version(texts: Iterable[object]) -> Version | None:
    """The first version among `texts`."""
    return next((v for v in map(version_in, texts) if v is not None), None)
