"""AMD's packages of releases from 7.9 on: `amdrocm-*`, made for `/opt/rocm/core-X.Y`.

Source: the names, places and dependencies in TheRock's packaging and AMD's install page
(docs/sources.md, "The native channel"). The packages of two releases of one X.Y have the
same names; the version decides.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from rocmenv.errors import HostError, RepositoryError, ResolveError
from rocmenv.fetch.connection import shown
from rocmenv.fetch.transfer import NotThereError
from rocmenv.model.version import Version
from rocmenv.probe.host import debian_architecture, glibc, system_profile
from rocmenv.sources import amdrocm
from rocmenv.sources.amd import ARCHITECTURE, LIBC, on_host
from rocmenv.sources.apt.closure import close
from rocmenv.sources.apt.dpkg import STATUS, read_host
from rocmenv.sources.apt.index import Index
from rocmenv.sources.apt.relation import by_version
from rocmenv.sources.apt.repository import LoadedRepository, Repository
from rocmenv.sources.catalog import native_prefix
from rocmenv.sources.keyring import read_keyring
from rocmenv.sources.legacy_rules import Prefixed
from rocmenv.sources.packages import Chosen, PackagePlan
from rocmenv.sources.remembered import Remembered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.sources.apt.closure import Need
    from rocmenv.sources.apt.index import Package
    from rocmenv.sources.base import Request
    from rocmenv.sources.catalog import Catalog, Place
    from rocmenv.sources.packages import Recipe

# Up to here the names have GPU families (`gfx110x`), after it exact targets.
_BY_FAMILY = (7, 14, 0, 0)
_SUITE, _COMPONENT = "stable", "main"


def recipe(release: Version) -> Recipe:
    """How packages of `release` become a prefix."""
    return Prefixed(native_prefix(release))


def plan(
    data: Catalog, release: Version, version: Version, request: Request, downloads: Downloads
) -> PackagePlan:
    """The plan to install `release` as `version`. Reads the index; changes nothing."""
    remembered = Remembered(downloads)
    repository = _open(data, release, request, remembered)
    host = read_host(Path(STATUS))
    index = index_of(repository.index, release)
    closure = close(
        roots(index, release, request),
        index,
        architecture=debian_architecture(),
        on_host=lambda relation: on_host(index, host, relation),
    )
    _refuse_newer_libc(data, closure.unmet, release, repository.repository.base_url)
    return PackagePlan(
        version=version,
        channel="native",
        chosen=tuple(Chosen(package, repository) for package in closure.packages),
        recipe=recipe(release),
        notes=repository.notes,
        host=tuple(str(need) for need in closure.unmet if need.is_known),
        remembered=remembered,
        request=request,
    )


def profiles(data: Catalog, own: str | None, host: tuple[int, ...] | None) -> list[str]:
    """The systems whose packages to try on a host: its `own`, then those with older glibcs.

    `HostError` on a host without glibc, or with one older than all of theirs.
    """
    if host is None:
        msg = "AMD's packages need glibc, and this host has none"
        raise HostError(msg, hint="use a container with Debian or Ubuntu")
    fitting = sorted(
        (n for n, needs in data.profiles.items() if needs <= host),
        key=lambda n: data.profiles[n],
        reverse=True,
    )
    if own in fitting:
        fitting.remove(own)
        fitting.insert(0, own)
    if not fitting:
        needs = ".".join(map(str, min(data.profiles.values())))
        msg = f"AMD's packages need glibc {needs} or newer"
        raise HostError(msg, hint="the archives need less: `--channel tarball`")
    return fitting


def _open(
    data: Catalog, release: Version, request: Request, reader: Remembered
) -> LoadedRepository:
    names = [request.suite] if request.suite else host_profiles(data)
    place = data.place(release)
    absent = NotThereError(place.mirror)
    for repository in repositories(place, names, request, reader):
        try:
            return repository.load(reader)
        except NotThereError as error:
            absent = error
    reader.refuse_if_offline(absent)
    raise no_packages(data, release, names, request) from absent


def host_profiles(data: Catalog) -> list[str]:
    """The systems whose packages to try on this machine; raises as `profiles`."""
    return profiles(data, system_profile(), glibc())


def repositories(
    place: Place, names: Sequence[str], request: Request, reader: Remembered
) -> list[Repository]:
    """The repositories of the systems `names`, with their key; `RepositoryError` if none signs."""
    bases = [place.packages_base(name, request.mirror) for name in names]
    if None in bases or not place.fingerprint:
        msg = f"AMD does not sign the packages of the line `{place.line}`"
        raise RepositoryError(msg, hint="take the archive: `--channel tarball`")
    keyring = read_keyring(request.keyring or place.key_address(request.mirror), reader)
    fingerprints = frozenset({request.fingerprint or place.fingerprint})
    return [
        Repository(base or "", _SUITE, (_COMPONENT,), ARCHITECTURE, keyring, fingerprints)
        for base in bases
    ]


def no_packages(
    data: Catalog, release: Version, names: Sequence[str], request: Request
) -> RepositoryError:
    """The error for a server that has packages for none of the systems `names`."""
    tried = " or ".join(f"`{name}`" for name in names)
    at = shown(request.mirror or data.place(release).mirror)
    msg = f"{at} has no packages of {release} for {tried}"
    others = ", ".join(f"`{name}`" for name in data.profiles if name not in names)
    hint = f"others may be there ({others}): `--suite NAME`; or take `--channel tarball`"
    return RepositoryError(msg, hint=hint)


def index_of(index: Index, release: Version) -> Index:
    """The packages of a repository that are of `release`."""
    return Index.of(amdrocm.of_release(index, release))


def roots(index: Index, release: Version, request: Request) -> list[str]:
    """The packages to begin with, as relations; `ResolveError` when there are none.

    `index` has those of `release` alone.
    """

    def present(templates: tuple[str, ...]) -> list[str]:
        names = (n for t in templates for n in _names(index, t, release, request))
        return [f"{n} (= {found.version})" for n in names if (found := _newest(index, n))]

    own, besides = amdrocm.profile(request.profile)
    wanted = present(own)
    if not wanted:
        msg = f"the repository has none of the packages of {release} for `{request.profile}`"
        hint = "`rocmenv install --list --online --channel native` shows what there is"
        raise ResolveError(msg, hint=hint)
    wanted = [*present(besides), *wanted]
    for extra in request.extra:
        for name in _meant(index, extra, release, request):
            found = _newest(index, name)
            wanted.append(f"{name} (= {found.version})" if found else name)
    return list(dict.fromkeys(wanted))


def _meant(index: Index, name: str, release: Version, request: Request) -> list[str]:
    """The packages that `name` means: those of the release and the GPUs before one of that name.

    AMD has each package a third time, without X.Y: it needs those of X.Y for all GPUs.
    """
    names = _for_gpus(index, f"{name}{release.xy}", release, request)
    return names if any(map(index.named, names)) or not index.named(name) else [name]


def _names(index: Index, template: str, release: Version, request: Request) -> list[str]:
    bare = template.format(xy=release.xy, gfx="")
    return _for_gpus(index, bare, release, request) if "{gfx}" in template else [bare]


def _for_gpus(index: Index, bare: str, release: Version, request: Request) -> list[str]:
    """The packages called `bare` for the wanted GPUs, or the one for all of them.

    Without any GPU the one for some GPU, which has what all of them need.
    """
    if request.bare:
        of_gpus = (name for name in index.names() if name.startswith(f"{bare}-gfx"))
        return [min(of_gpus, default=bare)]
    names = []
    for target in request.targets:
        tries = [f"{bare}-{suffix}" for suffix in suffixes(target, release, request)]
        found = next((name for name in tries if index.named(name)), None)
        if found is None and not any(n.startswith(f"{bare}-gfx") for n in index.names()):
            return [bare]  # the part has nothing of its own for each GPU
        if found is None:
            msg = f"the repository has no {tries[0]}: {release} is not built for {target}"
            hint = "without `--gpu` it comes for all GPUs that it knows: `--gpu all`"
            raise ResolveError(msg, hint=hint)
        names.append(found)
    return names or [bare]


def suffixes(target: str, release: Version, request: Request) -> list[str]:
    """How packages name a target: by itself, or by its family in lower case (`gfx110x`)."""
    families = [
        name.partition("-")[0].lower()
        for name, members in request.families.items()
        if target in members and re.match(r"gfx\d+X(-|$)", name)
    ]
    both = [target, *dict.fromkeys(families)]
    return both if release.release >= _BY_FAMILY else both[::-1]


def _newest(index: Index, name: str) -> Package | None:
    return max(index.named(name), key=lambda p: by_version(p.version), default=None)


def _refuse_newer_libc(data: Catalog, unmet: Sequence[Need], release: Version, base: str) -> None:
    for need in unmet:
        if need.is_known and need.group[0].name in LIBC:
            msg = (
                f"the packages of {release} need {need}, and this machine's is older "
                f"({' -> '.join(need.chain)})"
            )
            oldest = min(data.profiles, key=lambda name: data.profiles[name])
            hint = f"name the oldest system: `--suite {oldest}`"
            if oldest in base.split("/"):
                hint = "the archives need less: `--channel tarball`"
            raise HostError(msg, hint=hint)
