"""A static mirror: files in a folder that any web server, or none, hands on to other machines."""

from __future__ import annotations

import contextlib
import os
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rocmenv.errors import RepositoryError, UsageError, visible
from rocmenv.model.version import Spec
from rocmenv.ops.mirror_folder import (
    PARTS,
    alone,
    check_space,
    fetch_all,
    link_pages,
    list_files,
    put,
    safe,
    writing,
)
from rocmenv.ops.mirror_lines import check_lines, note_lines
from rocmenv.ops.plan import AUTO, channel_of, completed, for_gpus
from rocmenv.sources import catalog
from rocmenv.sources.base import Extent, Further, Request

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.model.lock import Lock
    from rocmenv.model.version import Version
    from rocmenv.ops.report import Reporter
    from rocmenv.process import Process
    from rocmenv.settings import Settings
    from rocmenv.sources.base import Kept, MirrorFile, MirrorPage, MirrorPlan
    from rocmenv.sources.catalog import Catalog

CHANNELS = ("legacy", "rpm", "tarball", "native", "wheels")
"""The channels that can be mirrored: those that have a server of AMD's."""


class Mirrors(Protocol):
    """What a channel has to offer to be mirrored: a function from a release to a plan."""

    def __call__(
        self,
        data: Catalog,
        release: Version,
        request: Request,
        downloads: Downloads,
        extent: Extent,
    ) -> MirrorPlan:
        """Read and verify the channel's indexes; changes nothing."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What of each release to mirror: the channel, the words of `--gpu`, and how much."""

    channel: str = AUTO
    gpus: tuple[str, ...] = ()
    request: Request = field(default_factory=Request)
    extent: Extent = field(default_factory=Extent)


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
    process: Process,
    settings: Settings,
    data: Catalog,
    specs: Sequence[str],
    wanted: Wanted,
    downloads: Downloads,
    report: Reporter,
) -> list[MirrorPlan]:
    """The plans for some releases, each once. Reads indexes; changes nothing."""
    found: dict[Version, MirrorPlan] = {}
    wished = "" if wanted.channel == AUTO else wanted.channel
    for text in specs:
        release = catalog.pick(data, Spec.parse(text), wished)
        if release in found:
            continue
        channel = channel_of(data, release, wanted.channel)
        is_legacy = catalog.is_legacy(data, release)
        request = completed(wanted.request, settings, is_legacy=is_legacy)
        if not is_legacy:
            words = ("all",) if wanted.extent.all_gpus else wanted.gpus
            request, notes, _ = for_gpus(process, settings, words, request, release)
            if request.bare:
                notes += ("a mirror is for installs that have a GPU: `none` is taken for all",)
                request = replace(request, bare=False)
            for note in notes:
                report.note(note)
        report.step(f"reading the index of {release}")
        found[release] = _maker(channel)(data, release, request, downloads, wanted.extent)
    return list(found.values())


def locked_plans(lock: Lock, source: str | None) -> list[MirrorPlan]:
    """The plans for the files of a lock, of all its platforms; reads nothing.

    `source` is the base address to take them from, None for where they were locked from.
    `ResolveError` for files that a mirror cannot stand in for.
    """
    from rocmenv.sources import locked_mirror  # noqa: PLC0415 - where there is a lock

    return [locked_mirror.plan(entry, source) for entry in lock.platforms]


def _maker(channel: str) -> Mirrors:
    if channel == "tarball":
        from rocmenv.sources import tarball_mirror  # noqa: PLC0415 - one channel a call

        return tarball_mirror.plan
    if channel == "native":
        from rocmenv.sources import native_mirror  # noqa: PLC0415 - as above

        return native_mirror.plan
    if channel == "wheels":
        from rocmenv.sources import wheels_mirror  # noqa: PLC0415 - as above

        return wheels_mirror.plan
    if channel == "rpm":
        from rocmenv.sources import rpm_mirror  # noqa: PLC0415 - as above

        return rpm_mirror.plan
    from rocmenv.sources import legacy_mirror  # noqa: PLC0415 - as above

    return legacy_mirror.plan


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
        RepositoryError: an index has an unsafe name, or would take the place of another
            line's, or a page there is somebody else's.
        StoreError: the folder cannot be written.
    """
    files: dict[str, MirrorFile] = {}
    _add(files, (file for plan in wanted for file in plan.files))
    with writing(folder), alone(folder):
        check_lines(folder, wanted)
        filling = _Filling(folder, downloads, report)
        pages = [page for plan in wanted for page in plan.pages]
        title = ", ".join(dict.fromkeys(str(plan.version) for plan in wanted))
        filling.fetch(f"mirroring {title}", list(files.values()), pages)
        for plan in wanted:
            pages += filling.follow(plan, files)
        small = [file for file in files.values() if file.artifact is None]
        note_lines(folder, wanted)  # before the indexes: the next run may not take their place
        fetched = filling.fetched + sum(put(folder / file.path, file.content) for file in small)
        for page in pages:
            content = page.render(_content(folder, page), filling.have, filling.is_there)
            put(folder / page.path, content)
        list_files(folder)
        notes = link_pages(folder)
        shutil.rmtree(folder / PARTS, ignore_errors=True)
    return Made(
        folder=folder,
        versions=tuple(dict.fromkeys(plan.version for plan in wanted)),
        files=len(files),
        fetched=fetched,
        size=sum(file.size for file in small) + sum(one.size for one in filling.have.values()),
        notes=(*(note for plan in wanted for note in plan.notes), *notes),
    )


class _Filling:
    """Packages on their way into a folder: `have` are those that are there and right."""

    def __init__(self, folder: Path, downloads: Downloads, report: Reporter) -> None:
        self.folder = folder
        self.downloads = downloads
        self.report = report
        self.have: dict[str, Kept] = {}
        self.fetched = 0

    def is_there(self, path: str) -> bool:
        """Whether the folder has a file."""
        return (self.folder / path).is_file()

    def fetch(self, title: str, files: Sequence[MirrorFile], pages: Sequence[MirrorPage]) -> None:
        """Fetch those of `files` that are packages; `pages` have recorded digests of some."""
        packages = [file for file in files if file.artifact is not None]
        known: dict[str, str] = {}
        for page in pages:
            known.update(page.known(_content(self.folder, page)))
        check_space(self.folder, packages)
        self.report.start(title, sum(file.size for file in packages))
        try:
            have, fetched = fetch_all(
                packages, self.folder, known, self.downloads, self.report.advance
            )
        finally:
            self.report.finish()
        self.have.update(have)
        self.fetched += fetched

    def follow(self, plan: MirrorPlan, files: dict[str, MirrorFile]) -> list[MirrorPage]:
        """Fetch what the packages of a plan turn out to need; the pages that name it."""
        waiting = list(plan.files) if plan.follow else []
        pages: list[MirrorPage] = []
        while waiting:
            found = [
                plan.follow(file, self.folder / file.path) if plan.follow else Further()
                for file in waiting
                if file.artifact is not None
            ]
            fresh = [page for further in found for page in further.pages]
            waiting = _add(files, (file for further in found for file in further.files))
            if waiting:
                self.fetch("mirroring what these need", waiting, fresh)
            pages += fresh
        return pages


def _add(files: dict[str, MirrorFile], more: Iterator[MirrorFile]) -> list[MirrorFile]:
    """Add files; those that were not there. Two of one name must be the same."""
    fresh = []
    for file in more:
        have = files.setdefault(safe(file.path), file)
        if have is file:
            fresh.append(file)
        elif not _is_same(have, file):
            msg = f"two different files are to be {visible(file.path, 200)} of the mirror"
            raise RepositoryError(msg, hint="make a mirror for each release: `--to OTHER`")
    return fresh


def _is_same(one: MirrorFile, other: MirrorFile) -> bool:
    if one.artifact is None or other.artifact is None:
        return one.artifact is other.artifact and one.content == other.content
    return one.artifact.sha256 == other.artifact.sha256


def _content(folder: Path, page: MirrorPage) -> bytes:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        return (folder / page.path).read_bytes()
    return b""
