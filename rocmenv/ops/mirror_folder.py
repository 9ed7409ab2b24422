"""The folder of a static mirror: one writer, whole files, pages with links."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import html
import json
import os
import shutil
import threading
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from rocmenv.errors import LockedError, RepositoryError, SpaceError, StoreError, visible
from rocmenv.fetch.digest import sha256_of
from rocmenv.fetch.stop import Interrupted
from rocmenv.sources.base import Kept
from rocmenv.sources.incomplete import FILES
from rocmenv.sources.mirror_page import INDEX, LINKS
from rocmenv.sources.remembered import replace_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Future

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.sources.base import MirrorFile

PARTS = ".rocmenv-parts"
"""Unfinished downloads, in the mirror's folder so that the last step is one rename."""
_LOCK = ".rocmenv-lock"
_PAGE = "index.html"


def safe(path: str) -> str:
    """`path`, if a file in a mirror may have it, else `RepositoryError`."""
    parts = path.split("/")
    if not all(parts) or {".", ".."} & set(parts) or parts[0] in (PARTS, _LOCK) or "\0" in path:
        raise RepositoryError(f"{visible(path, 200)} cannot be the name of a file in a mirror")
    return path


def fetch_all(
    packages: Sequence[MirrorFile],
    folder: Path,
    known: Mapping[str, str],
    downloads: Downloads,
    on_bytes: Callable[[int], None],
) -> tuple[dict[str, Kept], int]:
    """Fetch what is missing, several at once; all of the files, and how many came.

    `known` are digests of files that have no published one, by their paths.
    """
    stop = threading.Event()
    store = downloads.into(folder / PARTS).with_cancel(stop)
    with ThreadPoolExecutor(downloads.network.connections) as pool:
        try:
            futures = {
                file.path: pool.submit(_fetch, file, folder, known, store, on_bytes)
                for file in packages
            }
            done, _ = wait(futures.values(), return_when=FIRST_EXCEPTION)
            _raise_first(done)
            kept = {path: future.result() for path, future in futures.items()}
            have = {path: one for path, (one, _) in kept.items()}
            return have, sum(is_new for _, is_new in kept.values())
        except BaseException:  # an interrupt, too: the other threads must end
            stop.set()
            raise


def _raise_first(done: set[Future[tuple[Kept, bool]]]) -> None:
    errors = [error for future in done if (error := future.exception()) is not None]
    for error in sorted(errors, key=lambda error: isinstance(error, Interrupted)):
        raise error


def _fetch(
    file: MirrorFile,
    folder: Path,
    known: Mapping[str, str],
    store: Downloads,
    on_bytes: Callable[[int], None],
) -> tuple[Kept, bool]:
    """A package in its place, and whether it had to be fetched."""
    place, artifact = folder / file.path, file.artifact
    if artifact is None:
        raise AssertionError
    digest = artifact.sha256 or known.get(file.path)
    with contextlib.suppress(OSError):
        size = place.stat().st_size
        is_whole = digest is not None and artifact.size in (None, size)
        if is_whole and sha256_of(place, store.cancel).hexdigest() == digest:
            on_bytes(size)
            return Kept(size, digest or ""), False
    while True:
        found = store.fetch(artifact, on_bytes)
        with contextlib.suppress(FileNotFoundError):  # it went to a file of the same content
            return _settle(found, place), True


def _settle(found: Path, place: Path) -> Kept:
    """Give a download its place in the mirror, by a second name where there can be one."""
    with found.open("rb") as whole:
        os.fsync(whole.fileno())  # or a power cut could leave a name without its content
        size = os.fstat(whole.fileno()).st_size
    place.parent.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(os.fsencode(place)).hexdigest()
    second = found.with_name(f"{name}-{found.name}")
    try:
        second.unlink(missing_ok=True)
        os.link(found, second)
    except FileNotFoundError:
        raise
    except OSError:
        second = found  # a stick, a share: the file itself moves
    os.replace(second, place)
    return Kept(size, found.name)  # the cache names files by their SHA-256


def put(place: Path, content: bytes) -> bool:
    """Whether a small file had to be written."""
    with contextlib.suppress(OSError):
        if place.read_bytes() == content:
            return False
    replace_file(place, content)
    return True


def check_space(folder: Path, packages: Sequence[MirrorFile]) -> None:
    """`SpaceError` when what is missing has no room."""
    needed = sum(file.size for file in packages if not (folder / file.path).exists())
    needed -= sum(path.stat().st_size for path in (folder / PARTS).rglob("*.part"))
    free = shutil.disk_usage(folder).free
    if needed > free:
        msg = (
            f"the mirror needs {needed / 1e9:.1f} GB more, and the file system of {folder} has "
            f"{free / 1e9:.1f} GB free"
        )
        raise SpaceError(msg, hint="make room, name another folder, or a smaller `--profile`")


def link_pages(folder: Path) -> list[str]:
    """A page with links in each folder, for servers that list nothing; those of others stay."""
    notes = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        shown = [f"{name}/" for name in folders]
        shown += sorted(name for name in names if name != _PAGE and not name.startswith("."))
        page = Path(parent, _PAGE)
        has = page.read_text("utf-8", "replace") if page.is_file() else LINKS
        if INDEX in has:
            continue
        if LINKS not in has:
            notes.append(f"left `{page}` as it is: rocmenv did not make it")
            continue
        place = "/" + os.path.relpath(parent, folder).removeprefix(".")
        put(page, "".join(_page(place, shown)).encode("utf-8", "surrogateescape"))
    return notes


def list_files(folder: Path) -> None:
    """Write the list of the files, by which an install sees beforehand what is not there."""
    found = sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.name not in (_PAGE, FILES) and path.is_file()
    )
    shown = [path for path in found if not path.startswith(".")]
    put(folder / FILES, f"{json.dumps(shown, indent=0)}\n".encode())


def _page(place: str, names: Sequence[str]) -> Iterator[str]:
    title = html.escape(f"Index of {place}")
    yield f"<!doctype html>\n{LINKS}\n<meta charset=utf-8>\n<title>{title}</title>\n"
    yield f"<h1>{title}</h1>\n<pre>\n"
    for name in names:
        target = quote(name.encode("utf-8", "surrogateescape"), safe="/~")
        yield f'<a href="{target}">{html.escape(name)}</a>\n'
    yield "</pre>\n"


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
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
def writing(folder: Path) -> Iterator[None]:
    """Turn what the file system refuses into `StoreError`, or `SpaceError` when it is full."""
    try:
        yield
    except OSError as error:
        where = error.filename2 or error.filename or folder
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            msg = f"there is no space left for the mirror in {folder}"
            raise SpaceError(msg, hint="make room, or name another folder: `--to DIR`") from error
        msg = f"the mirror cannot be written: {where}: {(error.strerror or str(error)).lower()}"
        raise StoreError(msg, hint="name a folder that is yours: `--to DIR`") from error
