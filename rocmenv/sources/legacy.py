"""AMD's repositories for releases 5.0 to 7.2.4: packages for `/opt/rocm-X.Y.Z`.

Source: the repositories' layout and package names as AMD's installers use them
(docs/sources.md, "The legacy channel").
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rocmenv.errors import HostError, RepositoryError, ResolveError
from rocmenv.fetch.connection import shown
from rocmenv.fetch.transfer import NotThereError
from rocmenv.probe.host import debian_architecture, glibc
from rocmenv.sources.amd import ARCHITECTURE, LIBC, on_host
from rocmenv.sources.apt.closure import close
from rocmenv.sources.apt.dpkg import STATUS, read_host
from rocmenv.sources.apt.repository import LoadedRepository, Repository
from rocmenv.sources.keyring import read_keyring
from rocmenv.sources.legacy_rules import Legacy, bare_names
from rocmenv.sources.packages import Chosen, PackagePlan, Recipe
from rocmenv.sources.remembered import Remembered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.model.version import Version
    from rocmenv.sources.apt.closure import Need
    from rocmenv.sources.apt.index import Index
    from rocmenv.sources.base import Request
    from rocmenv.sources.catalog import Catalog, Channel


def plan(
    data: Catalog, release: Version, version: Version, request: Request, downloads: Downloads
) -> PackagePlan:
    """The plan to install `release` as `version`. Reads the index; changes nothing."""
    channel = data.channels["legacy"]
    remembered = Remembered(downloads)
    repository = _open(data, channel, release, request, remembered)
    architecture = debian_architecture()
    host = read_host(Path(STATUS))
    index = repository.index
    closure = close(
        roots_of(index, release, request),
        index,
        architecture=architecture,
        on_host=lambda relation: on_host(index, host, relation),
    )
    _refuse_newer_libc(closure.unmet, data, release, repository.repository.suite)
    return PackagePlan(
        version=version,
        channel="legacy",
        chosen=tuple(Chosen(package, repository) for package in closure.packages),
        recipe=recipe(data, release),
        notes=repository.notes,
        host=tuple(str(need) for need in closure.unmet if need.is_known),
        remembered=remembered,
        request=request,
    )


def recipe(data: Catalog, release: Version) -> Recipe:
    """How packages of `release` become a prefix."""
    return Legacy(data.channels["legacy"].prefix.format(xyz=release.xyz), release)


def folder(release: Version) -> str:
    """The repository's folder of a release: `6.3` for 6.3.0, else `6.3.1` (case R02)."""
    return release.xyz if release.release[2] else release.xy


def suites(data: Catalog, release: Version, host: tuple[int, ...] | None) -> list[str]:
    """The suites to try for a release on a host with this glibc, the best first.

    The newest build that the host can run comes first; a suite whose glibc nobody knows
    comes last. `HostError` when every suite needs a newer glibc than the host has.
    """
    names = named_suites(data, release)
    glibcs = {name: data.suites[name] for name in names if name in data.suites}
    if host is None:
        msg = "AMD's packages need glibc, and this host has none"
        raise HostError(msg, hint="use a container with Debian or Ubuntu")
    fitting = sorted(
        (n for n in glibcs if glibcs[n] <= host), key=lambda n: glibcs[n], reverse=True
    )
    unknown = [name for name in names if name not in data.suites]
    if not fitting and not unknown:
        needs = ".".join(map(str, min(glibcs.values())))
        has = ".".join(map(str, host))
        msg = f"release {release} needs glibc {needs} or newer, and this machine has {has}"
        raise HostError(msg, hint="an older release may fit: `rocmenv install --list`")
    return fitting + unknown


def named_suites(data: Catalog, release: Version) -> tuple[str, ...]:
    """The suites that a release has, as far as anybody knows, the best first."""
    known = data.release(release)
    return known.suites if known else _by_number(release)


def _by_number(release: Version) -> tuple[str, ...]:
    if release.release < (5, 3, 0, 0):
        return ("focal", "bionic", "ubuntu")
    return ("focal", "jammy") if release.release < (6, 2, 0, 0) else ("jammy", "noble")


def _open(
    data: Catalog, channel: Channel, release: Version, request: Request, downloads: Remembered
) -> LoadedRepository:
    mirror = channel.at(request.mirror)
    base = channel.base.format(mirror=mirror, dir=folder(release))
    keyring = read_keyring(request.keyring or channel.key.format(mirror=mirror), downloads)
    fingerprints = frozenset({request.fingerprint or channel.fingerprint})
    names = [request.suite] if request.suite else suites(data, release, glibc())
    absent = NotThereError(base)
    for name in names:
        repository = Repository(base, name, ("main",), ARCHITECTURE, keyring, fingerprints)
        try:
            return repository.load(downloads)
        except NotThereError as error:
            absent = error
    downloads.refuse_if_offline(absent)
    raise no_suite(base, names, release)


def no_suite(base: str, names: Sequence[str], release: Version) -> RepositoryError:
    """The error for a repository that has none of these suites."""
    tried = " or ".join(f"`{name}`" for name in names)
    msg = f"{shown(base)} has no suite {tried} for release {release}"
    hint = "`rocmenv install --list --online` shows what the server has; `--suite` picks one"
    return RepositoryError(msg, hint=hint)


def roots_of(index: Index, release: Version, request: Request) -> list[str]:
    """The packages that a profile begins with, as far as the release has them."""
    suffix = release.xyz
    roots = [
        f"{name}{suffix}" for name in bare_names(request.profile) if index.named(f"{name}{suffix}")
    ]
    if not roots:
        msg = f"the repository has none of the packages of release {release}"
        raise ResolveError(
            msg, hint="is this the right mirror and suite? see `--mirror`, `--suite`"
        )
    for name in request.extra:
        # With the suffix also where there is no such package: that gets the nearest names.
        suffixed = name if name.endswith(suffix) else name + suffix
        is_plain = bool(index.named(name)) and not index.named(suffixed)
        roots.append(name if is_plain else suffixed)
    return list(dict.fromkeys(roots))


def _refuse_newer_libc(unmet: Sequence[Need], data: Catalog, release: Version, suite: str) -> None:
    for need in unmet:
        if need.is_known and need.group[0].name in LIBC:
            msg = (
                f"the build of release {release} for `{suite}` needs {need}, and this machine's "
                f"is older ({' -> '.join(need.chain)})"
            )
            older = [n for n in named_suites(data, release) if _is_older(data, n, suite)]
            pick = f"pick a suite for an older system: `--suite {older[0]}`" if older else None
            hint = pick or "an older release may fit: `rocmenv install --list`"
            raise HostError(msg, hint=hint)


def _is_older(data: Catalog, suite: str, than: str) -> bool:
    known = data.suites
    return suite in known and than in known and known[suite] < known[than]
