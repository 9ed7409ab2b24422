"""AMD's RPM repositories: the legacy ones (`/opt/rocm-X.Y.Z`), and those of `amdrocm` packages.

Which addresses, keys and names a release has is given as an `RpmPlace`; everything here is
the same for both. Source of the package names: docs/sources.md, "RPM repositories".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmenv.errors import HostError, RepositoryError, ResolveError, SignatureError
from rocmenv.fetch.connection import shown
from rocmenv.fetch.transfer import NotThereError
from rocmenv.probe.host import debian_architecture
from rocmenv.sources import amdrocm
from rocmenv.sources.keyring import read_keyring
from rocmenv.sources.legacy_rules import Legacy, Prefixed, bare_names
from rocmenv.sources.packages import Chosen, PackagePlan
from rocmenv.sources.remembered import Remembered
from rocmenv.sources.rpm.closure import close
from rocmenv.sources.rpm.host import read_host
from rocmenv.sources.rpm.index import Index
from rocmenv.sources.rpm.repository import LoadedRepository, Repository
from rocmenv.sources.rpm_places import every_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.model.version import Version
    from rocmenv.sources.base import Request
    from rocmenv.sources.rpm.closure import Unmet

_ARCHITECTURES = frozenset({"x86_64", "noarch"})
_LIBC = ("libc.so.6(", "libm.so.6(", "libstdc++.so.6(", "libgcc_s.so.1(")
_MOST_NAMED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class RpmPlace:
    """Where a release's RPM packages are, and how they are named.

    `channel` is the name for the receipt. `bases` are the folders with `repodata`, in the
    order to try; `keys` the addresses or files of the key, likewise; `fingerprints` pin it.
    `prefix` is the place in the packages (`/opt/rocm-6.3.0`, `/opt/rocm/core-10.0`).
    `is_legacy` tells the names: `hip-devel6.3.0`, else `amdrocm-core-sdk10.0-gfx1100`, where
    `targets` are the GPUs wanted, each as the suffixes to try in their order; none means the
    packages for all GPUs. `oldest` are the names of the folder with the build for the oldest
    systems.
    """

    channel: str
    bases: tuple[str, ...]
    keys: tuple[str, ...]
    fingerprints: frozenset[str]
    prefix: str
    is_legacy: bool
    targets: tuple[tuple[str, ...], ...] = ()
    oldest: tuple[str, ...] = ()


def plan(
    place: RpmPlace, release: Version, version: Version, request: Request, downloads: Downloads
) -> PackagePlan:
    """The plan to install `release` from `place` as `version`. Reads the index; changes nothing.

    Of `request`, `profile`, `extra`, `keyring` and `fingerprint` count.

    Raises:
        ResolveError: the repository has no such packages, or not all they need.
        HostError: not x86-64, or a C or C++ library that is too old.
        SignatureError, RepositoryError, TransferError: the repository cannot be used.
    """
    debian_architecture()
    remembered = Remembered(downloads)
    repository = _open(place, release, request, remembered)
    index = index_of(repository, place, release)
    host = read_host()
    closure = close(
        roots_of(index, place, release, request),
        index,
        # What the repository has is taken from there: another ROCm on the host must not
        # stand in for one of this release.
        on_host=lambda relation: False if index.providing(relation.name) else host.meets(relation),
    )
    _refuse_newer_libc(closure.unmet, release, repository.origin, place.oldest)
    unknown = [str(need) for need in closure.unmet if not need.is_known]
    return PackagePlan(
        version=version,
        channel=place.channel,
        chosen=tuple(Chosen(package, repository) for package in closure.packages),
        recipe=Legacy(place.prefix, release) if place.is_legacy else Prefixed(place.prefix),
        notes=(*repository.notes, *_doubts(unknown)),
        host=tuple(str(need) for need in closure.unmet if need.is_known),
        remembered=remembered,
        request=request,
    )


def index_of(repository: LoadedRepository, place: RpmPlace, release: Version) -> Index:
    """The packages of a repository that are of `release`."""
    index = repository.index
    return index if place.is_legacy else Index(amdrocm.of_release(index, release))


def roots_of(index: Index, place: RpmPlace, release: Version, request: Request) -> list[str]:
    """The packages to begin with; `ResolveError` when there are none, or not for a GPU."""
    roots = _legacy_roots if place.is_legacy else _amdrocm_roots
    return roots(index, place, release, request)


def _open(
    place: RpmPlace, release: Version, request: Request, downloads: Remembered
) -> LoadedRepository:
    absent = NotThereError("no address of a repository is known")
    for repository in repositories(place, request, downloads):
        try:
            return repository.load(downloads)
        except NotThereError as error:
            absent = error
    downloads.refuse_if_offline(absent)
    raise no_repository(place, release)


def repositories(place: RpmPlace, request: Request, downloads: Remembered) -> list[Repository]:
    """The repositories of a place in the order to try, with their key."""
    keyring = _keyring((request.keyring,) if request.keyring else place.keys, downloads)
    pins = frozenset({request.fingerprint}) if request.fingerprint else place.fingerprints
    return [Repository(base, _ARCHITECTURES, keyring, pins) for base in place.bases]


def no_repository(place: RpmPlace, release: Version) -> RepositoryError:
    """The error for a server that has none of the repositories of a place."""
    tried = ", ".join(f"`{shown(base)}`" for base in place.bases) or "none"
    msg = f"no RPM repository of release {release} was found (tried: {tried})"
    shows = "`rocmenv install --list --online --channel rpm` shows what the server has"
    names = ", ".join(f"`{n}`" for n in every_folder(release, is_legacy=place.is_legacy))
    hint = f"{shows}; `--suite NAME` picks a folder, of {names}"
    return RepositoryError(msg, hint=hint)


def _keyring(places: Sequence[str], downloads: Remembered) -> bytes:
    absent = SignatureError("no signing key is known, so nothing can be verified")
    for place in places:
        try:
            return read_keyring(place, downloads)
        except SignatureError as error:
            absent = error
    raise absent


def _legacy_roots(index: Index, _place: RpmPlace, release: Version, request: Request) -> list[str]:
    suffix = release.xyz
    bare = bare_names(request.profile)
    roots = [name for b in bare if (name := _spelled(index, b, suffix)) is not None]
    if not roots:
        raise _no_packages(release)
    for name in request.extra:
        bare_name = name.removesuffix(suffix)
        plain = name if index.named(name) else bare_name + suffix
        roots.append(_spelled(index, bare_name, suffix) or plain)
    return list(dict.fromkeys(roots))


def _spelled(index: Index, bare: str, suffix: str) -> str | None:
    """The package that Debian's table calls `bare`: RPM has `-devel` for most of its `-dev`."""
    stem = bare.removesuffix("-devel").removesuffix("-dev")
    names = (bare,) if stem == bare else (f"{stem}-devel", f"{stem}-dev")
    return next((name + suffix for name in names if index.named(name + suffix)), None)


def _amdrocm_roots(index: Index, place: RpmPlace, release: Version, request: Request) -> list[str]:

    def present(templates: tuple[str, ...]) -> list[str]:
        names = (_rpm(t.format(xy="", gfx="")) + release.xy for t in templates)
        return [root for name in names for root in _named(index, name, place, request)]

    own, besides = amdrocm.profile(request.profile)
    roots = present(own)
    if not roots:
        raise _no_packages(release)
    roots += present(besides)
    for name in request.extra:
        found = _named(index, _rpm(name) + release.xy, place, request)
        # AMD has each package a third time, without X.Y: it needs those of X.Y for all GPUs.
        roots += found or _named(index, name, place, request) or [name]
    return list(dict.fromkeys(roots))


def _rpm(name: str) -> str:
    """The name of a package of AMD's as RPM spells it, from Debian's."""
    return f"{name}el" if name.endswith("-dev") else name


def _named(index: Index, name: str, place: RpmPlace, request: Request) -> list[str]:
    """The packages called `name` for the GPUs; the one for all where nothing else is there.

    Without any GPU the one for some GPU, which has what all of them need.
    """
    start = f"{name}-gfx"
    has = {other for other in index.names() if other.startswith(start)}
    if request.bare and has:
        return [min(has)]
    if not place.targets or not has:
        return [name] if index.named(name) else []
    roots: list[str] = []
    for spellings in place.targets:
        found = next((n for s in spellings if (n := f"{name}-{s}") in has), None)
        if found is None:
            known = ", ".join(f"`{n.removeprefix(f'{name}-')}`" for n in sorted(has))
            msg = f"`{name}` has no packages for {' or '.join(f'`{s}`' for s in spellings)}"
            raise ResolveError(msg, hint=f"there are packages for {known}")
        roots.append(found)
    return list(dict.fromkeys(roots))


def _no_packages(release: Version) -> ResolveError:
    msg = f"the repository has none of the packages of release {release}"
    return ResolveError(msg, hint="is this the right mirror and folder? see `--mirror`, `--suite`")


def _refuse_newer_libc(
    unmet: Sequence[Unmet], release: Version, origin: str, oldest: Sequence[str]
) -> None:
    for need in unmet:
        if need.is_known and str(need).startswith(_LIBC):
            msg = (
                f"the build of release {release} in `{origin}` needs {need}, and this machine's "
                f"is older ({' -> '.join(need.chain)})"
            )
            hint = "an older release may fit: `rocmenv install --list --channel rpm`"
            if oldest and not set(oldest) & set(origin.split("/")):
                hint = f"pick the build for the oldest systems: `--suite {oldest[0]}`"
            raise HostError(msg, hint=hint)


def _doubts(unknown: list[str]) -> list[str]:
    """A remark on what the host could not be asked for."""
    if not unknown:
        return []
    names = ", ".join(unknown[:_MOST_NAMED])
    more = f" and {len(unknown) - _MOST_NAMED} more" if len(unknown) > _MOST_NAMED else ""
    return [f"this machine has no RPM database, so it is not known whether it has {names}{more}"]
