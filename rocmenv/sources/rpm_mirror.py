"""What of AMD's RPM repositories goes into a static mirror, in their own layout."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rocmenv.errors import ResolveError
from rocmenv.fetch.transfer import NotThereError
from rocmenv.sources import rpm_release
from rocmenv.sources.base import MirrorFile, MirrorPlan, largest_first
from rocmenv.sources.catalog import checked_mirror, is_legacy
from rocmenv.sources.remembered import Remembered
from rocmenv.sources.rpm.closure import close
from rocmenv.sources.rpm.mirror import copy
from rocmenv.sources.rpm_channel import index_of, no_repository, repositories, roots_of
from rocmenv.sources.rpm_places import every_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.model.version import Version
    from rocmenv.sources.base import Extent, Request
    from rocmenv.sources.catalog import Catalog
    from rocmenv.sources.rpm.index import Index, Package
    from rocmenv.sources.rpm.mirror import Copied
    from rocmenv.sources.rpm_channel import RpmPlace


def plan(
    data: Catalog, release: Version, request: Request, downloads: Downloads, extent: Extent
) -> MirrorPlan:
    """The mirror of one release, as `ops.mirror` asks for it. Reads and verifies the indexes.

    The suites of `extent` are folders (`el9`, `rhel9`). The packages are those that installs
    for the request's targets would fetch on any machine; with all GPUs, those for each.

    Raises:
        ResolveError: no such profile, package or GPU.
        RepositoryError, SignatureError, TransferError: as installing does.
        HostError: no build fits this machine, and none was named.
    """
    remembered = Remembered(downloads)
    legacy = is_legacy(data, release)
    server = data.channels["rpm"].mirror if legacy else data.place(release).mirror
    base = checked_mirror(request.mirror) or server
    packages: list[MirrorFile] = []
    signed: dict[str, MirrorFile] = {}
    copies: list[Copied] = []
    absent: list[RpmPlace] = []
    for folder in _folders(data, release, extent, legacy=legacy):
        here = replace(request, suite=folder)
        place = rpm_release.place(data, release, here)
        one = _copy(place, request, remembered)
        if one is None:
            absent.append(place)
            continue
        copies.append(one)
        repository = one.loaded.repository
        below = repository.base_url.removeprefix(base).strip("/")
        found = _packages(data, one, release, here, extent)
        packages += [one.loaded.mirrored(package, below) for package in found]
        key = place.keys[0].removeprefix(base).strip("/")
        signed[key] = MirrorFile(key, content=repository.keyring)
        signed.update((file.path, file) for file in one.mirrored(below))
    if absent and not (copies and extent.all_suites):
        raise no_repository(absent[0], release)
    return MirrorPlan(
        version=release,
        channel=rpm_release.CHANNEL,
        origin=", ".join(one.loaded.origin for one in copies),
        files=(*largest_first(packages), *signed.values()),
        notes=tuple(dict.fromkeys(note for one in copies for note in one.loaded.notes)),
        installs=(extent.install_options(request, by_gpu=not legacy),),
        line="" if legacy else data.place(release).line,
    )


def _folders(
    data: Catalog, release: Version, extent: Extent, *, legacy: bool
) -> Sequence[str | None]:
    """The folders to copy; None for the one that this machine takes."""
    if extent.suites:
        return extent.suites
    if not extent.all_suites:
        return (None,)
    known = data.release(release)
    named = known.rpm if known and legacy else ()
    return named or every_folder(release, is_legacy=legacy)


def _copy(place: RpmPlace, request: Request, remembered: Remembered) -> Copied | None:
    """The first repository of a place that is there."""
    for repository in repositories(place, request, remembered):
        try:
            return copy(repository, remembered)
        except NotThereError as error:
            remembered.refuse_if_offline(error)
    return None


def _packages(
    data: Catalog, copied: Copied, release: Version, request: Request, extent: Extent
) -> Iterator[Package]:
    whole = copied.loaded.index
    if extent.whole:
        yield from whole
        return
    for one in extent.requests(request):
        place = rpm_release.place(data, release, one)
        index = index_of(copied.loaded, place, release)
        try:
            wanted = roots_of(index, place, release, one)
        except ResolveError:
            if extent.all_gpus and one.targets:
                continue  # the release is not built for this one of all GPUs
            raise
        yield from _closure(wanted, index)


def _closure(wanted: Sequence[str], index: Index) -> Sequence[Package]:
    """The packages that `wanted` need, of which the host has none."""
    return close(
        wanted, index, on_host=lambda relation: not index.providing(relation.name)
    ).packages
