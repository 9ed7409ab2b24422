"""What of AMD's newer Debian packages goes into a static mirror, in their own layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmenv.errors import HostError, ResolveError
from rocmenv.fetch.transfer import NotThereError
from rocmenv.sources.amd import ARCHITECTURE
from rocmenv.sources.apt.closure import close
from rocmenv.sources.apt.mirror import copy
from rocmenv.sources.base import MirrorFile, MirrorPlan, largest_first
from rocmenv.sources.native import host_profiles, index_of, no_packages, repositories, roots
from rocmenv.sources.remembered import Remembered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.model.version import Version
    from rocmenv.sources.apt.index import Index, Package
    from rocmenv.sources.apt.mirror import Copied
    from rocmenv.sources.base import Extent, Request
    from rocmenv.sources.catalog import Catalog


def plan(
    data: Catalog, release: Version, request: Request, downloads: Downloads, extent: Extent
) -> MirrorPlan:
    """The mirror of one release, as `ops.mirror` asks for it. Reads and verifies the indexes.

    The suites of `extent` are systems (`ubuntu2404`). The packages are those that installs
    for the request's targets would fetch on any machine; with all GPUs, those for each.

    Raises:
        ResolveError: no such profile, package or GPU.
        RepositoryError, SignatureError, TransferError: as installing does.
        HostError: no system's packages fit this machine, and none was named.
    """
    place = data.place(release)
    remembered = Remembered(downloads)
    names = _systems(data, extent)
    found = repositories(place, names, request, remembered)
    key = found[0].keyring
    copies: dict[str, Copied] = {}
    for name, repository in zip(names, found, strict=True):
        try:
            copies[name] = copy(repository, remembered)
        except NotThereError as error:
            remembered.refuse_if_offline(error)
            if extent.suites:
                raise no_packages(data, release, [name], request) from error
        if copies and not (extent.suites or extent.all_suites):
            break
    if not copies:
        raise no_packages(data, release, names, request)
    below = {n: (place.packages or "").format(mirror="", profile=n).strip("/") for n in copies}
    packages = [
        one.loaded.mirrored(package, below[name])
        for name, one in copies.items()
        for package in _packages(one.loaded.index, release, request, extent)
    ]
    return MirrorPlan(
        version=release,
        channel="native",
        origin=", ".join(one.loaded.origin for one in copies.values()),
        files=(
            *largest_first(packages),
            MirrorFile(place.key.format(mirror="").strip("/"), content=key),
            *(file for name, one in copies.items() for file in one.mirrored(below[name])),
        ),
        notes=tuple(note for one in copies.values() for note in one.loaded.notes),
        installs=(extent.install_options(request, by_gpu=True),),
        line=place.line,
    )


def _systems(data: Catalog, extent: Extent) -> Sequence[str]:
    if extent.suites:
        return extent.suites
    if extent.all_suites:
        return tuple(data.profiles)
    try:
        return host_profiles(data)
    except HostError as error:  # a mirror may be for other machines
        hint = "say for which machines: `--suite ubuntu2404`, or `--all-suites`"
        raise HostError(error.message, hint=hint) from error


def _packages(
    index: Index, release: Version, request: Request, extent: Extent
) -> Iterable[Package]:
    if extent.whole:
        return index
    index = index_of(index, release)
    wanted = _roots(index, release, request, extent)
    return (
        package
        for names in wanted
        for package in close(
            names,
            index,
            architecture=ARCHITECTURE,
            on_host=lambda relation: not index.named(relation.name),
        ).packages
    )


def _roots(
    index: Index, release: Version, request: Request, extent: Extent
) -> Iterator[Sequence[str]]:
    for one in extent.requests(request):
        try:
            yield roots(index, release, one)
        except ResolveError:
            if not (extent.all_gpus and one.targets):
                raise
            # The release is not built for this one of all GPUs.
