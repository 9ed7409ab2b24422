"""Packages that lie in a folder, or one alone, without the index of a repository."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rocmenv.errors import ArchiveError, ResolveError, SignatureError, UsageError, visible
from rocmenv.fetch.digest import sha256_of
from rocmenv.fetch.pipeline import Job
from rocmenv.fetch.rpm import Voucher
from rocmenv.model.receipt import Item
from rocmenv.model.release import Artifact
from rocmenv.sources import legacy, native
from rocmenv.sources.apt.closure import close
from rocmenv.sources.apt.relation import compare
from rocmenv.sources.at_hand import Told, lacking, same_file, this_host
from rocmenv.sources.base import Built, Part, Request
from rocmenv.sources.catalog import native_prefix
from rocmenv.sources.legacy_rules import Legacy, Prefixed
from rocmenv.sources.loose_files import Loose, candidates, read_package, read_packages
from rocmenv.sources.packages import assemble
from rocmenv.sources.packages import rebuild as rebuild_packages

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Sequence

    from rocmenv.model.version import Version
    from rocmenv.sources.apt.index import Index, Package
    from rocmenv.sources.apt.relation import Group, Relation
    from rocmenv.sources.base import Lost, Work
    from rocmenv.sources.packages import Recipe

UNSIGNED = "nobody vouches for packages without a signed index: only their form was checked"
SIGNED = "each package is signed by a key of {keyring}"
_ARCHITECTURE = "amd64"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoosePlan:
    """Packages of one release that lie at hand: a `base.Plan`.

    `vouchers` say for each of `chosen` what it has to prove, None for nothing. `request` is
    what they were chosen by.
    """

    version: Version
    origin: str
    chosen: tuple[Loose, ...]
    recipe: Recipe
    notes: tuple[str, ...]
    host: tuple[str, ...]
    vouchers: tuple[Voucher | None, ...]
    request: Request
    channel: str = "local"

    @property
    def parts(self) -> tuple[Part, ...]:
        """The packages, largest first."""
        found = sorted(self.chosen, key=lambda one: (-one.size, one.package.name))
        return tuple(Part(o.package.name, o.package.version, o.size) for o in found)

    @property
    def download(self) -> int:
        """Nothing: the files are at hand."""
        return 0

    @property
    def installed(self) -> int:
        """The sum of what the packages say they take on disk."""
        return sum(one.package.installed_size or 0 for one in self.chosen)

    @property
    def items(self) -> tuple[Item, ...]:
        """The packages' files, without digests."""
        return tuple(_item(one, "") for one in self.chosen)

    def build(self, work: Work) -> Built:
        """Unpack all packages, and make them fit their new place."""
        files = _AtHand(work.downloads.cancel)
        jobs = [
            Job(
                Artifact(str(one.path), one.path.name, one.size),
                one.package.name,
                self.recipe.mapping(one.package),
                one.form,
                voucher,
            )
            for one, voucher in zip(self.chosen, self.vouchers, strict=True)
        ]
        built = assemble(self.recipe, jobs, self.items, work, self.request.keep(), files)
        if not built.files:
            place = self.recipe.own_prefix[0]
            raise ArchiveError(f"the packages in {self.origin} hold nothing for {place}")
        items = tuple(_item(one, files.digests[str(one.path)]) for one in self.chosen)
        return replace(built, items=items, cached=())


@dataclass(slots=True)
class _AtHand:
    """In the place of downloads: files that are there, of which only the digest is taken."""

    cancel: threading.Event
    digests: dict[str, str] = field(default_factory=dict)

    @property
    def connections(self) -> int:
        """One: two files at once would only make a disk seek."""
        return 1

    def with_cancel(self, cancel: threading.Event) -> _AtHand:
        """The same, stopped by another event."""
        return _AtHand(cancel, self.digests)

    def fetch(self, artifact: Artifact, on_bytes: Callable[[int], None] | None = None) -> Path:
        """The file that `artifact` names."""
        del on_bytes  # nothing is downloaded
        path = Path(artifact.url)
        self.digests[artifact.url] = sha256_of(path, self.cancel).hexdigest()
        return path


def told(path: str) -> Told:
    """The release of the packages in `path`.

    Raises:
        ArchiveError: one of them is damaged.
        UsageError: they are of more than one, or of none.
    """
    found = read_packages(path)
    releases = {one.release for one in found if one.release is not None}
    if len(releases) == 1:
        return Told(releases.pop(), "the packages")
    raise _not_one(path, found)


def plan(version: Version, path: str, request: Request, *, whole: bool) -> LoosePlan:
    """The plan to install the packages in `path` (a folder, or one file) as `version`.

    All of the release are taken if `whole`, else those of the profile.

    Raises:
        ArchiveError: one of them is damaged.
        UsageError: none is of this release.
        ResolveError: the profile, or a further package, is not there whole.
        HostError: this machine cannot run them.
    """
    found = read_packages(path)
    ours = [one for one in found if one.is_of(version)]
    if not ours:
        raise _not_one(path, found, f"{version} was asked for, but ")
    # AMD has each package twice, of the same content: with the release in its name and
    # without. Those with it name each other exactly.
    named = [one for one in ours if one.has_release_in_name] or ours
    is_native = _is_native(one.package.name for one in named)
    release = version.without_local
    chosen = _newest(named) if whole else _of_profile(named, release, request, is_native=is_native)
    index = candidates(chosen)
    missing, needs = _unmet(chosen, index, candidates(found))
    vouchers = _vouchers(chosen, request)
    notes = [SIGNED.format(keyring=request.keyring) if any(vouchers) else UNSIGNED]
    if len(chosen) < len(found):
        notes.append(f"{len(chosen)} of {len(found)} packages in {path} are taken")
    if missing:
        notes.append(f"needed, and not there: {', '.join(missing)}")
    return LoosePlan(
        version=version,
        origin=path,
        chosen=tuple(chosen),
        recipe=_recipe(release, is_native=is_native),
        notes=tuple(notes),
        host=lacking(needs, this_host()),
        vouchers=tuple(vouchers),
        request=Request(profile="") if whole else request,
    )


def rebuild(work: Work, lost: Lost, version: Version) -> tuple[Path, ...]:
    """Make files of an install again from the packages they came from, as `packages.rebuild`.

    `StoreError` for a package that is not what it was.
    """
    recipe = _recipe(version, is_native=_is_native(item.name for item in lost.items))

    def job(item: Item, recipe: Recipe) -> Job:
        form = read_package(same_file(item, work.downloads.cancel)).form
        artifact = Artifact(item.url, item.name, item.size, item.sha256)
        return Job(artifact, item.name, recipe.mapping(item), form)

    rebuild_packages(recipe, work, lost, _AtHand(work.downloads.cancel), job)
    return ()  # nothing of it is in the cache


def _is_native(names: Iterable[str]) -> bool:
    return any(name.startswith("amdrocm") for name in names)


def _recipe(release: Version, *, is_native: bool) -> Recipe:
    if is_native:
        return Prefixed(native_prefix(release))
    return Legacy(f"/opt/rocm-{release.xyz}", release)


def are_signed(path: str) -> bool:
    """Whether the packages in `path` are of a form that has signatures."""
    return all(one.form == "rpm" for one in read_packages(path))


def _vouchers(chosen: Sequence[Loose], request: Request) -> list[Voucher | None]:
    """What each RPM package has to prove; `SignatureError` for keys that cannot be read."""
    if request.fingerprint and not request.keyring:
        msg = "`--fingerprint` needs the key itself"
        raise UsageError(msg, hint="name the file with the keys: `--keyring FILE`")
    if not request.keyring:
        return [None] * len(chosen)
    try:
        keys = Path(os.path.expanduser(request.keyring)).read_bytes()
    except OSError as error:
        msg = f"the keyring {visible(request.keyring, 200)} cannot be read ({error.strerror})"
        raise SignatureError(msg, hint="name the file with the keys: `--keyring FILE`") from error
    pinned = frozenset({request.fingerprint}) if request.fingerprint else None
    return [
        Voucher(keys, pinned, (o.package.name, o.package.version, o.package.architecture))
        for o in chosen
    ]


def _not_one(path: str, found: Sequence[Loose], before: str = "") -> UsageError:
    """The error for packages that are not of one release, or not of the one asked for."""
    releases = sorted({one.release for one in found if one.release is not None})
    place = visible(path, 200)
    if not releases:
        names = ", ".join(sorted({one.package.name for one in found})[:3])
        msg = f"no package in {place} is one of AMD's releases ({names})"
        hint = "a distribution's own packages: `rocmenv install --channel distro latest`"
        return UsageError(msg, hint=hint)
    msg = f"{before}the packages in {place} are of {', '.join(map(str, releases))}"
    again = f"rocmenv install {releases[-1]} --from {shlex.quote(path)}"
    return UsageError(msg, hint=f"ask for one of them: `{again}`")


def _newest(found: Sequence[Loose]) -> list[Loose]:
    """Of each name the newest build, in the order of names."""
    best: dict[str, Loose] = {}
    for one in found:
        other = best.get(one.package.name)
        if other is None or compare(one.package.version, other.package.version) > 0:
            best[one.package.name] = one
    return [best[name] for name in sorted(best)]


def _of_profile(
    found: Sequence[Loose], release: Version, request: Request, *, is_native: bool
) -> list[Loose]:
    if any(one.form == "rpm" for one in found):
        msg = "`--profile` and `--with` cannot choose among RPM packages in a folder"
        raise UsageError(msg, hint="put the wanted ones in a folder of their own")
    index = candidates(found)
    roots = (native.roots if is_native else legacy.roots_of)(index, release, request)
    host = this_host()

    def on_host(relation: Relation) -> bool | None:
        return False if index.named(relation.name) else host.meets(relation)

    try:
        closure = close(roots, index, architecture=_ARCHITECTURE, on_host=on_host)
    except ResolveError as error:
        hint = error.hint if error.hint and "did you mean" in error.hint else None
        hint = hint or "put the missing package into the folder"
        message = error.message.replace("the repository", "the folder")
        raise ResolveError(message, hint=hint) from error
    by_key = {(one.package.name, one.package.version): one for one in found}
    return [by_key[p.name, p.version] for p in closure.packages]


def _unmet(
    chosen: Sequence[Loose], index: Index, everything: Index
) -> tuple[list[str], list[tuple[str, Group]]]:
    """Packages of AMD's that are needed and not chosen, and needs of the host."""
    missing: set[str] = set()
    needs: list[tuple[str, Group]] = []
    for one in chosen:
        for group in one.package.needs():
            applying = tuple(r for r in group if r.applies(_ARCHITECTURE))
            if not applying or any(_is_met(r, index) for r in applying):
                continue
            if any(_is_ours(r, one, everything) for r in applying):
                missing.add(applying[0].name)
            else:
                needs.append((one.package.name, applying))
    return sorted(missing), needs


def _is_met(relation: Relation, index: Index) -> bool:
    if any(relation.accepts(p.version) for p in index.named(relation.name)):
        return True
    offers = (dict(p.offers()).get(relation.name) for p in index.providing(relation.name))
    return any(offer is not None and relation.accepts_offer(offer) for offer in offers)


def _is_ours(relation: Relation, one: Loose, everything: Index) -> bool:
    release = one.release
    suffixes = (release.xyz, release.xy) if release else ()
    return (
        relation.operator == "="
        or relation.name.startswith("amdrocm")
        or re.sub(r"-gfx\w+$", "", relation.name).endswith(suffixes)
        or bool(everything.named(relation.name))
    )


def _item(one: Loose, digest: str) -> Item:
    package: Package = one.package
    return Item(package.name, str(one.path), one.size, digest, package.version)
