"""AMD's installers in one file, `rocm-installer*.run`: taken apart, never run."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rocmenv.errors import (
    ArchiveError,
    InvalidVersionError,
    RepositoryError,
    ResolveError,
    visible,
)
from rocmenv.fetch.archive import Tree
from rocmenv.fetch.makeself import read_makeself
from rocmenv.model.receipt import Item
from rocmenv.model.version import Version
from rocmenv.sources.apt.relation import parse_relations
from rocmenv.sources.at_hand import Told, lacking, must_agree, this_host
from rocmenv.sources.base import Built, Part, Request, Work
from rocmenv.sources.catalog import native_prefix
from rocmenv.sources.installer_content import BASE, renamed, scan
from rocmenv.sources.legacy_rules import Legacy, Prefixed, bare_names

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from rocmenv.fetch.decode import Stream
    from rocmenv.fetch.makeself import Makeself
    from rocmenv.fetch.members import Entry
    from rocmenv.fetch.settle import Settled
    from rocmenv.sources.apt.relation import Group
    from rocmenv.sources.installer_content import Contents, Inner, Located
    from rocmenv.sources.packages import Finished, Recipe

UNSIGNED = "nobody signs such files: only the check sums that it has of itself were compared"
_NO_SUMS = "it has no check sums of itself: only its form was checked"
# `rocm-installer_1.2.5.70200-25-43~24.04.run`, and from 7.12 on `rocm-installer-10.0.0-4.run`.
_PACKED = re.compile(r"rocm-installer_\d+(?:\.\d+)*\.(\d{5,6})-")
_PLAIN = re.compile(r"rocm-installer-(\d+\.\d+\.\d+(?:(?:rc|a|b)\d+)?)(?=[-_.~])")
# AMD's build script names 6 to 8 for `xz -9` over the packages.
_UNPACKED = 7
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9+._-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallerPlan:
    """One installer, and what of it is taken: a `base.Plan`.

    `packages` are those that lie in it unpacked, by tag and name, with their bytes;
    `archives` the inner ones. `request` is what counted of the one that was made. `identity`
    is the file's device, inode, size and time when it was looked at.
    """

    version: Version
    origin: str
    made: Makeself
    packages: dict[tuple[str, str], int]
    archives: tuple[Inner, ...]
    contents: Contents
    request: Request
    recipe: Recipe
    identity: tuple[int, ...]
    notes: tuple[str, ...]
    host: tuple[str, ...] = ()
    channel: str = "local"

    @property
    def parts(self) -> tuple[Part, ...]:
        """The packages with their unpacked sizes, and the inner archives, largest first."""
        found = [Part(name, tag, size) for (tag, name), size in self.packages.items()]
        found += [Part(os.path.basename(a.name), "", a.size) for a in self.archives]
        return tuple(sorted(found, key=lambda part: (-(part.size or 0), part.name)))

    @property
    def download(self) -> int:
        """Nothing: the file is at hand."""
        return 0

    @property
    def installed(self) -> int:
        """The sum of the packages, and a guess for archives."""
        return sum(self.packages.values()) + sum(a.size for a in self.archives) * _UNPACKED

    @property
    def items(self) -> tuple[Item, ...]:
        """The one file, without its digest."""
        return (Item(self.made.name, self.origin, self.identity[2], ""),)

    def build(self, work: Work) -> Built:
        """Verify the file, unpack what is wanted, and make it fit its place."""
        digest, settled, done = self.fill(work)
        odd = (e for e in settled.left_out if not self.recipe.is_expected(e.member))
        left_out = [f"left out {e.member}: {e.reason}" for e in odd]
        return Built(
            tuple(replace(item, sha256=digest) for item in self.items),
            settled.files,
            settled.size,
            settled.inventory,
            (*settled.notes, *done.notes, *left_out),
            done.unrelocated,
        )

    def fill(self, work: Work) -> tuple[str, Settled, Finished]:
        """Fill `work.tree`, as `build`; the SHA-256 of the file, and what was done."""
        path = Path(self.origin)
        cancel = work.downloads.cancel
        with path.open("rb") as file:
            self._must_be_same(file)
            digest = self.made.verify(file, cancel)
        tree = Tree(work.tree, own_prefix=self.recipe.own_prefix, cancel=cancel)
        seen = {tag for tag, _ in self.packages}
        mapping = self.recipe.mapping(self.items[0])
        if self.packages:
            for number in range(len(self.made.sections)):
                owner = self.made.name + (f" ({number + 1})" if number else "")
                opened = partial(self._opened, number=number)
                tree.add_members(path, opened, owner=owner, mapping=mapping)
        for inner in self.archives:
            opened = partial(self._opened_inner, inner=inner, threads=work.jobs, seen=seen)
            tree.add_members(path, opened, owner=os.path.basename(inner.name), mapping=mapping)
        with path.open("rb") as file:
            self._must_be_same(file)
        settled = tree.settle()
        if not settled.files:
            place = self.recipe.own_prefix[0]
            raise ArchiveError(f"`{self.made.name}` holds nothing for {place} of {self.version}")
        _must_cover(self.contents, seen, self.request.targets, self.made.name)
        return digest, settled, self.recipe.finish(work, settled.paths)

    def _opened(self, file: BinaryIO, number: int) -> tuple[Stream, Iterator[Entry]]:
        stream = self.made.open(file, number)
        return stream, renamed(stream, lambda place: (place.tag, place.package) in self.packages)

    def _opened_inner(
        self, file: BinaryIO, inner: Inner, threads: int, seen: set[str]
    ) -> tuple[Stream, Iterator[Entry]]:
        stream = inner.open(self.made, file, threads)

        def is_wanted(place: Located) -> bool:
            wanted = self.contents.is_wanted(place.tag, self.request.targets)
            if wanted:
                seen.add(place.tag)
            return wanted

        return stream, renamed(stream, is_wanted)

    def _must_be_same(self, file: BinaryIO) -> None:
        if _identity(file) != self.identity:
            raise ArchiveError(f"`{self.made.name}` was changed while it was read")


def told(path: str) -> Told | None:
    """The release of the installer `path`: by its name, else by what is in it.

    Raises:
        ArchiveError: it is no installer, or a damaged one.
    """
    with open(path, "rb") as file:
        made = read_makeself(file, os.path.basename(path))
        by_name = _by_name(made)
        if by_name is not None:
            return by_name
        return _by_content(scan(made, file))


def plan(
    version: Version, path: str, request: Request, if_whole: tuple[str, ...] = ()
) -> InstallerPlan:
    """The plan to install from the installer `path` as `version`; nothing is unpacked yet.

    `if_whole` are notes for one whose packages cannot be chosen from.

    Raises:
        ArchiveError: it is no installer of ROCm, or a damaged one.
        UsageError: it is one of another release.
        ResolveError: it lacks a wanted package, or code for a wanted GPU.
        HostError: this machine cannot run what it holds.
    """
    with open(path, "rb") as file:
        identity = _identity(file)
        made = read_makeself(file, os.path.basename(path))
        must_agree(version, _by_name(made), path)
        found = scan(made, file)
    must_agree(version, _by_content(found), path)
    if not found.packages and not found.archives:
        label = visible(made.label) if made.label else "something else"
        msg = f"`{made.name}` is an installer of {label}, not of ROCm"
        raise ArchiveError(msg, hint="AMD's are called `rocm-installer*.run`")
    is_legacy = any(prefix.startswith("opt/rocm-") for prefix in found.prefixes)
    if is_legacy:
        choice = _legacy(found, version, request)
    else:
        choice = _from_7_9(found, version, request, made.name)
    return InstallerPlan(
        version=version,
        origin=path,
        made=made,
        packages=choice.packages,
        archives=tuple(a for a in found.archives if found.is_wanted(a.tag, request.targets)),
        contents=found,
        request=request if is_legacy else replace(request, profile="", extra=()),
        recipe=choice.recipe,
        identity=identity,
        notes=(
            UNSIGNED if made.has_sums else _NO_SUMS,
            *choice.notes,
            *(() if is_legacy else if_whole),
        ),
        host=choice.host,
    )


class _Choice(NamedTuple):
    """What of an installer is taken, and how."""

    recipe: Recipe
    packages: dict[tuple[str, str], int]
    notes: tuple[str, ...] = ()
    host: tuple[str, ...] = ()


def _legacy(found: Contents, version: Version, request: Request) -> _Choice:
    """Up to 7.2: the packages of the profile, with all they need."""
    recipe = Legacy(f"/opt/rocm-{version.xyz}", version.without_local)
    chosen, needs = _selected(found, request, version.xyz)
    if not found.needs:
        note = "it does not say what its packages need, so all of them are taken"
        return _Choice(recipe, found.packages, (note,))
    packages = {key: size for key, size in found.packages.items() if key[1] in chosen}
    return _Choice(recipe, packages, host=lacking(needs, this_host()))


def _from_7_9(found: Contents, version: Version, request: Request, name: str) -> _Choice:
    """From 7.9 on: all packages, with the code for the wanted GPUs."""
    # One archive of all tags says what it has only in itself, if there is no list beside it.
    tags = found.tags or set(found.families)
    if tags:
        _must_cover(found, tags, request.targets, name)
    wanted = {k: n for k, n in found.packages.items() if found.is_wanted(k[0], request.targets)}
    return _Choice(Prefixed(native_prefix(version)), wanted)


def _identity(file: BinaryIO) -> tuple[int, ...]:
    status = os.fstat(file.fileno())
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def _by_name(made: Makeself) -> Told | None:
    """By the file's name, else by the text in its help that AMD's builds have there."""
    if match := _PACKED.match(made.name):
        packed = int(match[1])
        numbers = (packed // 10000, packed // 100 % 100, packed % 100, 0)
        return Told(Version(numbers), "the name")
    with contextlib.suppress(InvalidVersionError):
        if match := _PLAIN.match(made.name):
            return Told(Version.parse(match[1]), "the name")
    return _by_text(made.help_text)


def _by_text(text: str) -> Told | None:
    """By the second line of AMD's file `VERSION`, where that is a release in full.

    `7.14` may be any 7.14.x, and says nothing.
    """
    lines = text.splitlines()
    with contextlib.suppress(InvalidVersionError, IndexError):
        return Told(Version.parse(lines[1].strip()), "the text `VERSION`")
    return None


def _by_content(found: Contents) -> Told | None:
    releases = {p.removeprefix("opt/rocm-") for p in found.prefixes if p.startswith("opt/rocm-")}
    if len(releases) == 1:
        return Told(Version.parse(releases.pop()), "the content")
    return _by_text(found.texts.get("VERSION", ""))


def _must_cover(found: Contents, tags: set[str], targets: tuple[str, ...], name: str) -> None:
    """`ResolveError` when none of `tags` has code for one of the wanted GPUs."""
    lacks = [t for t in targets if not any(found.covers(tag, t) for tag in tags)]
    if lacks:
        there = ", ".join(sorted(tags - {BASE, ""})) or "none"
        msg = f"`{name}` has no code for {', '.join(lacks)}; it has {there}"
        raise ResolveError(msg, hint="take it for all GPUs that it knows: `--gpu all`")


def _selected(
    found: Contents, request: Request, suffix: str
) -> tuple[set[str], list[tuple[str, Group]]]:
    """The packages of a profile with all they need, and what is left to the host."""
    names = found.names | {name for _, name in found.packages}
    chosen = [n for bare in bare_names(request.profile) if (n := _named(bare, names, suffix))]
    if not chosen:
        msg = f"it has none of the packages of the profile `{request.profile}`"
        raise ResolveError(msg, hint="is it whole? its packages are shown by `--profile full`")
    for name in request.extra:
        real = _named(name, names, suffix)
        if real is None:
            near = get_close_matches(name, names, 1, 0.75)
            hint = f"did you mean `{near[0]}`?" if near else None
            raise ResolveError(
                f"`{name}` is wanted, but the installer has no such package", hint=hint
            )
        chosen.append(real)
    done: set[str] = set()
    left: list[tuple[str, Group]] = []
    while chosen:
        package = chosen.pop()
        if package in done:
            continue
        done.add(package)
        for line in found.needs.get(package, ()):
            options = [_NAME.match(part.strip()) for part in line.split("|")]
            real = next((r for m in options if m and (r := _named(m[0], names, suffix))), None)
            if real is not None:
                chosen.append(real)
            else:
                left.extend((package, group) for group in _groups(line, names))
    return done, left


def _named(bare: str, names: set[str], suffix: str) -> str | None:
    """The package that is meant by `bare`: itself, with its release, or as RPMs name it."""
    devel = re.sub(r"-dev(?=$|\d)", "-devel", bare)
    tries = (bare, f"{bare}{suffix}", devel, f"{devel}{suffix}")
    return next((name for name in tries if name in names), None)


def _groups(line: str, names: set[str]) -> tuple[Group, ...]:
    """A line of a Debian package's needs; nothing for those of RPMs, which dpkg cannot judge."""
    if any("-devel" in name for name in names):
        return ()
    try:
        return parse_relations(line)
    except RepositoryError:
        return ()
