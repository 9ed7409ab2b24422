"""The distribution's own ROCm, from the machine's own package sources, into a prefix.

Nothing of the machine is changed, and no package manager runs: the sources and keys of
`/etc/apt` and dpkg's list of what is installed are only read. Which packages are fetched
is in `distro_rules`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from rocmenv.errors import HostError, ResolveError
from rocmenv.fetch.connection import shown
from rocmenv.model.version import Version, choose
from rocmenv.probe.host import debian_architecture
from rocmenv.sources.apt.closure import close
from rocmenv.sources.apt.dpkg import STATUS, read_host
from rocmenv.sources.apt.relation import by_version, upstream
from rocmenv.sources.distro_rules import (
    COMPILER,
    CORE,
    DEVELOPMENT,
    INCLUDES,
    PROFILES,
    RUNTIME,
    Rules,
    core_of,
    is_rocm,
)
from rocmenv.sources.distro_sources import Offers, read
from rocmenv.sources.distro_tree import Mapping, finish
from rocmenv.sources.packages import Chosen, Finished, Named, PackagePlan, Recipe
from rocmenv.sources.remembered import Remembered

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.model.version import Spec
    from rocmenv.sources.apt.index import Package
    from rocmenv.sources.apt.repository import LoadedRepository
    from rocmenv.sources.base import Request, Work

_ETC = Path("/etc/apt")
_NUMBERS = re.compile(r"(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?")
_ELSEWHERE = "take AMD's own packages: `rocmenv install latest --channel legacy`"
_NEAR = 3
# Packages that AMD's repositories have and no distribution's: the HIP runtime by their names.
_AMDS = ("hip-runtime-amd", "amdrocm-runtime", "amdrocm-core")


@dataclass(frozen=True, slots=True)
class _Distro:
    """The recipe: a distribution's `/usr` becomes the prefix."""

    release: Version
    own_prefix: tuple[str, ...] = ()

    def mapping(self, package: Named) -> Mapping:
        return Mapping(with_man=is_rocm(package.name))

    def is_expected(self, member: str) -> bool:
        return Mapping()(member) is None

    def finish(self, work: Work, paths: Sequence[str]) -> Finished:
        return Finished(finish(work.tree, work.prefix, self.release.xyz, paths))


def recipe(release: Version) -> Recipe:
    """How packages of a distribution become the prefix of `release`."""
    return _Distro(release)


def plan(
    spec: Spec,
    name: Version | None,
    request: Request,
    downloads: Downloads,
    *,
    etc: Path = _ETC,
    status: Path = Path(STATUS),
) -> PackagePlan:
    """The plan to install what `spec` asks for, as `name` or by its own version.

    Reads the sources below `etc`, their indexes, and dpkg's `status`; changes nothing. Of
    `request`, `profile`, `extra` and `suite` count: mirrors and keys are the machine's.

    Raises:
        ResolveError: the sources have no ROCm, not this one, or not all of it.
        HostError: the machine has no dpkg, or a library that is too old.
        SignatureError, TransferError, RepositoryError: no source could be read.
    """
    architecture = debian_architecture()
    host = read_host(status)
    if not host.is_known:
        msg = f"this machine has no list of packages (`{status}`)"
        raise HostError(msg, hint="the distro channel is for Debian and Ubuntu")
    bare = _profile(request.profile)
    remembered = Remembered(downloads)
    found = read(etc, architecture, request.suite, remembered)
    usable, notes = _without_amds(found.repositories)
    runtimes = [r for one in usable for r in _runtimes(one)]
    if not runtimes:
        if found.failures:
            raise found.failures[0]
        raise _none_at_all(found.repositories, RUNTIME.pattern)
    release = _pick(spec, runtimes)
    fitting = [r for r in runtimes if r.release == release]
    offers = _offers(usable, runtimes, release)
    rules = Rules(offers, host, architecture, core_of(offers))
    roots = _roots(offers, bare, max(fitting, key=lambda r: by_version(r.package.version)))
    closure = close(
        [*roots, *_extra(offers, rules, request.extra)],
        offers,
        architecture=architecture,
        on_host=rules.is_from_host,
    )
    return PackagePlan(
        version=name or release,
        channel="distro",
        chosen=tuple(Chosen(p, offers.home(p)) for p in closure.packages),
        recipe=recipe(release),
        notes=(*found.notes, *notes),
        host=rules.missing(closure),
        remembered=remembered,
        request=request,
    )


def releases(
    request: Request, downloads: Downloads, *, etc: Path = _ETC
) -> tuple[list[Version], tuple[str, ...]]:
    """The releases that the machine's package sources offer, oldest first, and notes.

    Raises as `plan`, when no source could be read.
    """
    found = read(etc, debian_architecture(), request.suite, Remembered(downloads))
    usable, notes = _without_amds(found.repositories)
    versions = {r.release for one in usable for r in _runtimes(one)}
    if not versions and found.failures:
        raise found.failures[0]
    return sorted(versions), (*found.notes, *notes)


def _without_amds(
    repositories: Iterable[LoadedRepository],
) -> tuple[list[LoadedRepository], list[str]]:
    """The repositories but for AMD's own, whose packages are for `/opt`; and notes on these.

    Both have packages called `hipcc` or `rocminfo`, which do not fit each other.
    """
    usable, notes = [], []
    for one in repositories:
        if any(one.index.named(name) for name in _AMDS):
            where = one.repository.base_url
            notes.append(f"`{shown(where)}` is AMD's own, which `--channel legacy` installs from")
        else:
            usable.append(one)
    return usable, notes


@dataclass(frozen=True, slots=True)
class _Runtime:
    """A HIP runtime that a repository offers, and the release that it makes."""

    package: Package
    release: Version
    home: LoadedRepository


def _offers(
    usable: Iterable[LoadedRepository], runtimes: Iterable[_Runtime], release: Version
) -> Offers:
    """All repositories but those that have newer releases alone: their parts do not fit."""
    fitting = [r.home for r in runtimes if r.release <= release]
    newer = [r.home for r in runtimes if r.release > release]
    return Offers(tuple(one for one in usable if one in fitting or one not in newer))


def _runtimes(home: LoadedRepository) -> list[_Runtime]:
    """The HIP runtimes of a repository.

    Where it has the development package, only the one of that version counts: archives
    keep an older library for a while, which nothing else fits.
    """
    names = [name for name in home.index.names() if RUNTIME.fullmatch(name)]
    packages = [p for name in names for p in home.index.named(name)]
    current = {p.version for p in home.index.named(DEVELOPMENT)}
    if any(p.version in current for p in packages):
        packages = [p for p in packages if p.version in current]
    cores = [p for n in home.index.names() if CORE.fullmatch(n) for p in home.index.named(n)]
    releases = [_release(p.version) for p in cores]
    found = []
    for package in packages:
        release = _release(package.version)
        if release is None:
            continue
        # ROCm's own number has the patch level right; one of another series is no guide.
        own = [r for r in releases if r is not None and r.xy == release.xy]
        found.append(_Runtime(package, max(own, default=release), home))
    return found


def _release(version: str) -> Version | None:
    match = _NUMBERS.match(upstream(version))
    return Version.parse(f"{match[1]}.{match[2]}.{match[3] or 0}") if match else None


def _pick(spec: Spec, runtimes: list[_Runtime]) -> Version:
    versions = sorted({r.release for r in runtimes}, reverse=True)
    release = choose(spec, versions)
    if release is None:
        some = ", ".join(map(str, versions))
        msg = f"this machine's package sources offer ROCm {some}, not `{spec}`"
        hint = f"`rocmenv install {versions[0]} --channel distro`, or another channel"
        raise ResolveError(msg, hint=hint)
    return release


def _profile(name: str) -> list[str]:
    if name not in PROFILES:
        names = ", ".join(f"`{known}`" for known in PROFILES)
        msg = f"`{name}` is not a profile of the distro channel"
        raise ResolveError(msg, hint=f"profiles are {names}; `--with PACKAGE` adds one package")
    return [root for profile in (*INCLUDES.get(name, ()), name) for root in PROFILES[profile]]


def _roots(offers: Offers, bare: list[str], runtime: _Runtime) -> list[str]:
    """The packages to begin with; the runtime and its headers in the version chosen."""
    if COMPILER in bare and not offers.named(COMPILER):
        raise _none_at_all(offers.repositories, COMPILER)
    exact = {runtime.package.name: runtime.package.version}
    if any(p.version == runtime.package.version for p in offers.named(DEVELOPMENT)):
        exact[DEVELOPMENT] = runtime.package.version
    names = dict.fromkeys((runtime.package.name, *bare))
    return [
        f"{name} (= {exact[name]})" if name in exact else name
        for name in names
        if offers.named(name)
    ]


def _extra(offers: Offers, rules: Rules, names: Iterable[str]) -> list[str]:
    wanted = list(dict.fromkeys(names))
    for name in wanted:
        if rules.is_hosts(name):
            msg = f"`{name}` belongs to the system and is never installed into a prefix"
            raise ResolveError(msg, hint=f"sudo apt-get install {name}")
        if not offers.named(name):
            near = get_close_matches(name, offers.names(), _NEAR, 0.6)
            msg = f"this machine's package sources have no package `{name}`"
            hint = f"did you mean {' or '.join(f'`{n}`' for n in near)}?" if near else None
            raise ResolveError(msg, hint=hint)
    return wanted


def _none_at_all(repositories: Iterable[LoadedRepository], name: str) -> ResolveError:
    shown = "libamdhip64" if name == RUNTIME.pattern else name
    suites = ", ".join(dict.fromkeys(one.repository.suite for one in repositories))
    msg = f"this machine's package sources offer no ROCm: no `{shown}` in {suites}"
    return ResolveError(msg, hint=f"{_ELSEWHERE}; or add a newer suite to the sources")
