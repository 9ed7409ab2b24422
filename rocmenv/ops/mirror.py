"""A static mirror: files in a folder that any web server, or none, hands on to other machines."""

from __future__ import annotations

import contextlib
import html
import os
import shutil
import threading
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote

from rocmenv.errors import LockedError, RepositoryError, SpaceError, StoreError, UsageError, visible
from rocmenv.fetch.digest import sha256_of
from rocmenv.fetch.stop import Interrupted
from rocmenv.model.version import Spec
from rocmenv.sources import legacy_mirror
from rocmenv.sources.remembered import replace_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Future

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.model.version import Version
    from rocmenv.ops.report import Reporter
    from rocmenv.sources.base import Extent, MirrorFile, MirrorPlan, Request
    from rocmenv.sources.catalog import Catalog


class Mirrors(Protocol):
    """What a channel has to offer to be mirrored: a function from a wish to a plan."""

    def __call__(
        self, data: Catalog, spec: Spec, request: Request, downloads: Downloads, extent: Extent
    ) -> MirrorPlan:
        """Read and verify the channel's indexes; changes nothing."""


CHANNELS: Mapping[str, Mirrors] = {"legacy": legacy_mirror.plan}
"""The channels that can be mirrored."""
_PARTS = ".rocmenv-parts"
"""Unfinished downloads, in the mirror's folder so that the last step is one rename."""
_LOCK = ".rocmenv-lock"
_PAGE = "index.html"
_MARK = "<!-- made by rocmenv mirror -->"


@dataclass(frozen=True, slots=True)
class Made:
    """What a mirror has now: its folder, releases, and files: all, fetched now, their bytes."""

    folder: Path
    versions: tuple[Version, ...]
    files: int
    fetched: int
    size: int
    notes: tuple[str, ...]


def plans(
    data: Catalog,
    channel: str,
    specs: Sequence[str],
    request: Request,
    downloads: Downloads,
    extent: Extent,
) -> list[MirrorPlan]:
    """The plans for some releases of a channel, each once. Reads indexes; changes nothing."""
    found: dict[Version, MirrorPlan] = {}
    for text in specs:
        plan = CHANNELS[channel](data, Spec.parse(text), request, downloads, extent)
        found.setdefault(plan.version, plan)
    return list(found.values())


def mirror_folder(text: str, cwd: str) -> Path:
    """The folder that `--to` names; `UsageError` for what cannot be one."""
    path = Path(os.path.normpath(os.path.join(cwd, os.path.expanduser(text))))
    if path.exists() and not path.is_dir():
        msg = f"{visible(str(path), 200)} is not a folder"
        raise UsageError(msg, hint="name a folder for the mirror: `--to DIR`")
    return path


def mirror(
    wanted: Sequence[MirrorPlan], folder: Path, downloads: Downloads, report: Reporter
) -> Made:
    """Bring `folder` to what the plans say; what is there and right stays.

    Each file appears under its name when it is complete and its digest is right: packages
    first, then what names them, then pages for people and listings. After any failure the
    folder is a mirror of what it has; the next run goes on where this one ended.

    Raises:
        TransferError, SpaceError: a package could not be fetched, or has no room.
        RepositoryError: an index has an unsafe name.
        StoreError: the folder cannot be written.
    """
    files: dict[str, MirrorFile] = {}
    for plan in wanted:
        for file in plan.files:
            files.setdefault(_safe(file.path), file)
    packages = [file for file in files.values() if file.artifact is not None]
    small = [file for file in files.values() if file.artifact is None]
    with _writing(folder), _alone(folder):
        _check_space(folder, packages)
        title = ", ".join(str(plan.version) for plan in wanted)
        report.start(f"mirroring {title}", sum(file.size for file in packages))
        try:
            fetched = _fetch_all(packages, folder, downloads, report)
        finally:
            report.finish()
        fetched += sum(_put(folder / file.path, file.content) for file in small)
        notes = _pages(folder)
        shutil.rmtree(folder / _PARTS, ignore_errors=True)
    return Made(
        folder=folder,
        versions=tuple(plan.version for plan in wanted),
        files=len(files),
        fetched=fetched,
        size=sum(file.size for file in files.values()),
        notes=(*(note for plan in wanted for note in plan.notes), *notes),
    )


def _safe(path: str) -> str:
    parts = path.split("/")
    if not all(parts) or {".", ".."} & set(parts) or parts[0] in (_PARTS, _LOCK) or "\0" in path:
        raise RepositoryError(f"{visible(path, 200)} cannot be the name of a file in a mirror")
    return path


def _fetch_all(
    packages: Sequence[MirrorFile], folder: Path, downloads: Downloads, report: Reporter
) -> int:
    """Fetch what is missing, several at once; the number of files that came."""
    stop = threading.Event()
    store = downloads.into(folder / _PARTS).with_cancel(stop)
    with ThreadPoolExecutor(downloads.network.connections) as pool:
        try:
            futures = [
                pool.submit(_fetch, file, folder, store, report.advance) for file in packages
            ]
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            _raise_first(done)
            return sum(future.result() for future in futures)
        except BaseException:  # an interrupt, too: the other threads must end
            stop.set()
            raise


def _raise_first(done: set[Future[bool]]) -> None:
    errors = [error for future in done if (error := future.exception()) is not None]
    for error in sorted(errors, key=lambda error: isinstance(error, Interrupted)):
        raise error


def _fetch(
    file: MirrorFile, folder: Path, store: Downloads, on_bytes: Callable[[int], None]
) -> bool:
    """Whether a package had to be fetched."""
    place, artifact = folder / file.path, file.artifact
    if artifact is None:
        raise AssertionError
    with contextlib.suppress(OSError):
        is_whole = place.stat().st_size == artifact.size
        if is_whole and sha256_of(place, store.cancel).hexdigest() == artifact.sha256:
            on_bytes(file.size)
            return False
    found = store.fetch(artifact, on_bytes)
    with found.open("rb") as whole:
        os.fsync(whole.fileno())  # or a power cut could leave a name without its content
    place.parent.mkdir(parents=True, exist_ok=True)
    os.replace(found, place)
    return True


def _put(place: Path, content: bytes) -> bool:
    """Whether a small file had to be written."""
    with contextlib.suppress(OSError):
        if place.read_bytes() == content:
            return False
    replace_file(place, content)
    return True


def _check_space(folder: Path, packages: Sequence[MirrorFile]) -> None:
    needed = sum(file.size for file in packages if not (folder / file.path).exists())
    needed -= sum(path.stat().st_size for path in (folder / _PARTS).rglob("*.part"))
    free = shutil.disk_usage(folder).free
    if needed > free:
        msg = (
            f"the mirror needs {needed / 1e9:.1f} GB more, and the file system of {folder} has "
            f"{free / 1e9:.1f} GB free"
        )
        raise SpaceError(msg, hint="make room, name another folder, or a smaller `--profile`")


def _pages(folder: Path) -> list[str]:
    """A page with links in each folder, for servers that list nothing; those of others stay."""
    notes = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        shown = [f"{name}/" for name in folders]
        shown += sorted(name for name in names if name != _PAGE and not name.startswith("."))
        page = Path(parent, _PAGE)
        if page.is_file() and _MARK not in page.read_text("utf-8", "replace"):
            notes.append(f"left `{page}` as it is: rocmenv did not make it")
            continue
        place = "/" + os.path.relpath(parent, folder).removeprefix(".")
        _put(page, "".join(_page(place, shown)).encode("utf-8", "surrogateescape"))
    return notes


def _page(place: str, names: Sequence[str]) -> Iterator[str]:
    title = html.escape(f"Index of {place}")
    yield f"<!doctype html>\n{_MARK}\n<meta charset=utf-8>\n<title>{title}</title>\n"
    yield f"<h1>{title}</h1>\n<pre>\n"
    for name in names:
        target = quote(name.encode("utf-8", "surrogateescape"), safe="/~")
        yield f'<a href="{target}">{html.escape(name)}</a>\n'
    yield "</pre>\n"


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Make the folder, and keep other rocmenv out of it; without locks, all are on their own."""
    from filelock import FileLock, Timeout  # noqa: PLC0415 - for those who write alone

    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(FileLock(folder / _LOCK, timeout=0))
        except Timeout as error:
            msg = f"another rocmenv is writing the mirror in {folder}"
            raise LockedError(msg, hint="wait until it is done, then do it again") from error
        except NotImplementedError:
            pass
        yield


@contextlib.contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = error.filename or folder
        msg = f"the mirror cannot be written: {where}: {(error.strerror or str(error)).lower()}"
        raise StoreError(msg, hint="name a folder that is yours: `--to DIR`") from error
