"""What of AMD's repositories goes into a static mirror, in their own layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmenv.errors import HostError
from rocmenv.fetch.transfer import NotThereError
from rocmenv.probe.host import glibc
from rocmenv.sources.amd import ARCHITECTURE
from rocmenv.sources.apt.closure import close
from rocmenv.sources.apt.mirror import copy
from rocmenv.sources.apt.repository import Repository
from rocmenv.sources.base import MirrorFile, MirrorPlan, largest_first
from rocmenv.sources.keyring import read_keyring
from rocmenv.sources.legacy import (
    folder,
    named_suites,
    no_suite,
    roots_of,
    suites,
)
from rocmenv.sources.remembered import Remembered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.model.version import Version
    from rocmenv.sources.apt.index import Index, Package
    from rocmenv.sources.apt.mirror import Copied
    from rocmenv.sources.apt.relation import Relation
    from rocmenv.sources.base import Extent, Request
    from rocmenv.sources.catalog import Catalog


def plan(
    data: Catalog, release: Version, request: Request, downloads: Downloads, extent: Extent
) -> MirrorPlan:
    """The mirror of one release, as `ops.mirror` asks for it. Reads and verifies the indexes.

    The packages are those that an install would fetch on any machine: what this one has
    installed does not count.

    Raises:
        ResolveError: no such profile or package.
        RepositoryError, SignatureError, TransferError: as installing does.
        HostError: no suite fits this machine, and none was named.
    """
    channel = data.channels["legacy"]
    address = channel.at(request.mirror)
    base = channel.base.format(mirror=address, dir=folder(release))
    remembered = Remembered(downloads)
    key = read_keyring(request.keyring or channel.key.format(mirror=address), remembered)
    fingerprints = frozenset({request.fingerprint or channel.fingerprint})
    repositories = [
        Repository(base, name, ("main",), ARCHITECTURE, key, fingerprints)
        for name in _suites(data, release, extent)
    ]
    copies = _copies(repositories, remembered, release, extent)
    below = channel.base.format(mirror="", dir=folder(release)).strip("/")
    packages = [
        one.loaded.mirrored(package, below)
        for one in copies
        for package in _packages(one.loaded.index, ARCHITECTURE, release, request, extent)
    ]
    return MirrorPlan(
        version=release,
        channel="legacy",
        origin=", ".join(one.loaded.repository.origin for one in copies),
        files=(
            *largest_first(packages),
            MirrorFile(channel.key.format(mirror="").strip("/"), content=key),
            *(file for one in copies for file in one.mirrored(below)),
        ),
        notes=tuple(note for one in copies for note in one.loaded.notes),
        installs=(extent.install_options(request, by_gpu=False),),
    )


def _suites(data: Catalog, release: Version, extent: Extent) -> Sequence[str]:
    if extent.suites:
        return extent.suites
    if extent.all_suites:
        return named_suites(data, release)
    try:
        return suites(data, release, glibc())
    except HostError as error:  # a mirror may be for other machines
        hint = "say for which machines: `--suite NAME`, or `--all-suites`"
        raise HostError(error.message, hint=hint) from error


def _copies(
    repositories: Sequence[Repository], remembered: Remembered, release: Version, extent: Extent
) -> list[Copied]:
    """The suites that were asked for; without a word on them, the first that is there."""
    found: list[Copied] = []
    for repository in repositories:
        try:
            found.append(copy(repository, remembered))
        except NotThereError as error:
            remembered.refuse_if_offline(error)
            if extent.suites:
                raise no_suite(repository.base_url, [repository.suite], release) from error
        if found and not (extent.suites or extent.all_suites):
            break
    if not found:
        names = [repository.suite for repository in repositories]
        raise no_suite(repositories[0].base_url, names, release)
    return found


def _packages(
    index: Index, architecture: str, release: Version, request: Request, extent: Extent
) -> Sequence[Package]:
    def on_host(relation: Relation) -> bool:
        return not index.named(relation.name)

    if extent.whole:
        return tuple(index)
    roots = roots_of(index, release, request)
    return close(roots, index, architecture=architecture, on_host=on_host).packages
