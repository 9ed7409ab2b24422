"""A private virtual environment, filled with wheels without pip or any index.

Wheels are unpacked by `installer`, into an environment that has no pip: nothing in it could
ask an index for a package. AMD's `rocm` comes as sources whose only build step is to choose
packages by the GPU; its modules are taken as they are, and none of its code runs for that.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import hashlib
import io
import os
import stat
import sys
import warnings
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from installer import install
from installer.destinations import SchemeDictionaryDestination
from installer.records import Hash, RecordEntry
from installer.sources import WheelFile, WheelSource

from rocmenv.errors import ArchiveError, HostError, RocmenvError, SpaceError
from rocmenv.fetch.decode import Stream
from rocmenv.fetch.members import clean, content, entries
from rocmenv.fetch.stop import check
from rocmenv.sources.relocate import relocate

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator

    from installer.utils import Scheme

_PIECE = 1 << 20
# The sources of `rocm` are some 30 files of Python text.
_LARGEST_SOURCES = 64 << 20
_METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
_WHEEL = "Wheel-Version: 1.0\nGenerator: rocmenv\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@dataclass(frozen=True, slots=True)
class Venv:
    """The virtual environment in the folder `tree`, which will be at the path `prefix`."""

    tree: Path
    prefix: str
    cancel: threading.Event

    @classmethod
    def make(cls, tree: Path, prefix: str, cancel: threading.Event) -> Venv:
        """An empty environment for the Python that runs rocmenv, in the empty folder `tree`.

        `HostError` when that Python cannot make one, `SpaceError` on a full file system.
        """
        try:
            import venv  # noqa: PLC0415 - some distributions leave it out

            with _told("the virtual environment"):
                venv.EnvBuilder(symlinks=True, with_pip=False).create(tree)
        except ImportError as error:
            msg = f"Python {sys.version.split()[0]} has no module venv ({error})"
            hint = "install it (`sudo apt-get install python3-venv`), or `--channel tarball`"
            raise HostError(msg, hint=hint) from error
        made = cls(tree, prefix, cancel)
        made._let_name_the_prefix()
        return made

    @property
    def python(self) -> Path:
        """The interpreter."""
        return self.tree / "bin" / "python"

    @property
    def site(self) -> Path:
        """The folder of its packages."""
        major, minor = sys.version_info[:2]
        return self.tree / "lib" / f"python{major}.{minor}" / "site-packages"

    def add_wheel(self, path: Path, name: str) -> None:
        """Unpack the wheel at `path`, whose file name is `name`.

        Raises:
            ArchiveError: it is damaged or unsafe, or has a file of another wheel with other
                content.
            SpaceError: the file system is full.
        """
        with _told(name), zipfile.ZipFile(path) as archive:
            archive.filename = name  # in the cache it has another one
            self._install(WheelFile(archive), name)

    def add_sources(self, path: Path, name: str, version: str) -> None:
        """Install the Python modules of the source distribution at `path`; as `add_wheel`.

        It must have them below `src/`, as that of `rocm` has.
        """
        with _told(name):
            project = name.partition("-")[0]
            self._install(_Sources(project, version, _read_sources(path, name)), name)

    def _install(self, source: WheelSource, name: str) -> None:
        site = str(self.site)
        places = {
            "purelib": site,
            "platlib": site,
            "scripts": str(self.tree / "bin"),
            "headers": str(self.tree / "include" / "site"),
            "data": str(self.tree),
        }
        target = _Destination(
            places, interpreter=f"{self.prefix}/bin/python", script_kind="posix", destdir=None
        )
        target.name, target.cancel = name, self.cancel
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # compiled modules are left out
            install(source, target, {"INSTALLER": b"rocmenv\n"})

    def _let_name_the_prefix(self) -> None:
        paths = [
            os.path.relpath(os.path.join(folder, name), self.tree)
            for folder, _, names in os.walk(self.tree)
            for name in names
        ]
        relocate(self.tree, str(self.tree), self.prefix, paths)


class _Destination(SchemeDictionaryDestination):
    """Writes new files only, with our own rules for names; equal ones may come twice.

    A wheel with device code brings the `__init__.py` of the package that it belongs to.
    """

    name = ""
    cancel: threading.Event | None = None

    def write_to_fs(
        self,
        scheme: Scheme,
        path: str,
        stream: BinaryIO,
        is_executable: bool,  # noqa: FBT001 - the library's signature
    ) -> RecordEntry:
        """Write one file."""
        target = Path(self.scheme_dict[scheme], clean(path, self.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        digest, size = hashlib.sha256(), 0
        with _opened(target, self.name) as (file, is_new):
            while piece := stream.read(_PIECE):
                check(self.cancel)
                digest.update(piece)
                size += len(piece)
                if is_new:
                    file.write(piece)
                elif file.read(len(piece)) != piece:
                    raise _two(target.name, self.name)
            if not is_new and file.read(1):
                raise _two(target.name, self.name)
            if is_new:
                os.fchmod(file.fileno(), 0o755 if is_executable else 0o644)
        text = base64.urlsafe_b64encode(digest.digest()).rstrip(b"=").decode("ascii")
        return RecordEntry(path, Hash("sha256", text), size)


@contextlib.contextmanager
def _opened(path: Path, owner: str) -> Iterator[tuple[BinaryIO, bool]]:
    """The new file `path`, else the one that is there, for comparing; which of the two."""
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
    except FileExistsError:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise _two(path.name, owner) from None
        with path.open("rb") as file:
            yield file, False
    else:
        with os.fdopen(descriptor, "wb") as file:
            yield file, True


class _Sources(WheelSource):
    """A source distribution of plain Python modules, as if it were a wheel."""

    def __init__(self, distribution: str, version: str, files: dict[str, bytes]) -> None:
        super().__init__(distribution, version)
        self._files = {
            f"{self.dist_info_dir}/METADATA": _METADATA.format(
                name=distribution, version=version
            ).encode(),
            **_placed(files, self.dist_info_dir),
            f"{self.dist_info_dir}/WHEEL": _WHEEL.encode(),
        }

    @property
    def dist_info_filenames(self) -> list[str]:
        """The names of the files in the folder of metadata."""
        start = f"{self.dist_info_dir}/"
        return [path.removeprefix(start) for path in self._files if path.startswith(start)]

    def read_dist_info(self, filename: str) -> str:
        """The text of one of them."""
        return self._files[f"{self.dist_info_dir}/{filename}"].decode("utf-8")

    def get_contents(self) -> Iterator[tuple[tuple[str, str, str], BinaryIO, bool]]:
        """All files."""
        for path, data in self._files.items():
            yield (path, "", ""), io.BytesIO(data), False


def _placed(files: dict[str, bytes], metadata: str) -> dict[str, bytes]:
    """Files of the sources by their place among the installed packages.

    Below `src/` are the packages, and what setuptools wrote of them when it packed them:
    their commands are in its `entry_points.txt`.
    """
    placed = {}
    for path, data in files.items():
        parts = path.split("/")
        if parts == ["PKG-INFO"]:
            placed[f"{metadata}/METADATA"] = data
        elif parts[0] != "src" or len(parts) == 1:
            continue
        elif not parts[1].endswith(".egg-info"):
            placed["/".join(parts[1:])] = data
        elif parts[2:] == ["entry_points.txt"]:
            placed[f"{metadata}/entry_points.txt"] = data
    return placed


def _read_sources(path: Path, name: str) -> dict[str, bytes]:
    """The files of a source distribution, by their path below its one folder."""
    files: dict[str, bytes] = {}
    total = 0
    with path.open("rb") as file:
        stream = Stream(file, name)
        for entry in entries(stream):
            total += entry.size
            if total > _LARGEST_SOURCES:
                msg = f"the archive `{name}` is refused: it has more than {_LARGEST_SOURCES} bytes"
                raise ArchiveError(msg)
            _, _, below = entry.name.partition("/")
            if entry.kind == "file" and below:
                files[below] = b"".join(bytes(piece) for _, piece in content(stream, entry))
    if not any(placed.endswith(".py") for placed in _placed(files, "")):
        msg = f"the archive `{name}` has no Python modules in `src`"
        raise ArchiveError(msg, hint="`--channel tarball` takes the archive of the release")
    return files


def _two(name: str, owner: str) -> ArchiveError:
    return ArchiveError(f"the wheel `{owner}` has a file `{name}` that is there with other content")


@contextlib.contextmanager
def _told(name: str) -> Iterator[None]:
    """Say which wheel it is about when it, or the system, refuses something."""
    try:
        yield
    except RocmenvError:
        raise
    except OSError as error:
        words = (error.strerror or str(error)).lower()
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            msg = f"no space is left while unpacking `{name}`"
            raise SpaceError(msg, hint="free space on the file system of the root") from error
        raise ArchiveError(f"`{name}` cannot be unpacked: {words}") from error
    except Exception as error:
        # The libraries have no word of their own for most of what can be wrong with a file.
        msg = f"`{name}` is not a whole wheel ({error.__class__.__name__}: {error})"
        raise ArchiveError(
            msg, hint="another place may have a whole one: `--mirror URL`"
        ) from error
