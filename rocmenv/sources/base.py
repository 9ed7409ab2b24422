"""What a source of releases has to do: make a plan, then build the tree that it promises.

A channel that can be copied to a static mirror has a function that makes a `MirrorPlan`, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from rocmenv.model.target import NONE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from rocmenv.fetch.inventory import Inventory
    from rocmenv.fetch.settle import LeftOut
    from rocmenv.fetch.transfer import Downloads
    from rocmenv.model.manifest import Entry
    from rocmenv.model.receipt import Item, Shared
    from rocmenv.model.release import Artifact
    from rocmenv.model.version import Version


@dataclass(frozen=True, slots=True)
class Request:
    """What a person asked for.

    `profile` names a set of root packages, `extra` adds single ones; `suite` overrides the
    choice by the host's libc. `mirror`, `keyring` and `fingerprint` stand in for the
    channel's own, None for these. `targets` are the GPUs that it has to run on, by bare
    name (`gfx1100`), none for unknown ones; `families` are the targets of each family name
    in the numbering of the release. `bare` is for a machine that has none at all, and then
    there are no targets. With `prune`, files that only other GPUs use are not unpacked; None
    where nobody has said so yet.
    """

    profile: str = "hip"
    extra: tuple[str, ...] = ()
    suite: str | None = None
    mirror: str | None = None
    keyring: str | None = None
    fingerprint: str | None = None
    targets: tuple[str, ...] = ()
    families: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    bare: bool = False
    prune: bool | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """What it is for, as receipts and locks keep it: targets, or `none`; empty for all."""
        return (NONE,) if self.bare else self.targets

    def of_words(self, words: tuple[str, ...]) -> Request:
        """The same for what a receipt or a lock says."""
        is_bare = words == (NONE,)
        return replace(self, targets=() if is_bare else words, bare=is_bare)

    def keep(self) -> Callable[[str], bool] | None:
        """Which paths of an install are wanted, as `Tree.add_deb` asks; None for all.

        Without known targets every file is.
        """
        if not (self.prune and self.words):
            return None
        from rocmenv.model.kernels import keep  # noqa: PLC0415 - where something is left out
        from rocmenv.model.target import Target  # noqa: PLC0415 - as above

        wanted = tuple(Target.parse(text) for text in self.targets)
        return lambda path: keep(path, wanted)


class Reader(Protocol):
    """Reads small files: what an index is loaded with."""

    def read(self, url: str, *, limit: int) -> bytes:
        """The bytes at `url`, as `Downloads.read`."""


@dataclass(frozen=True, slots=True)
class Part:
    """One file of a plan: its name, version (empty for an archive) and size in bytes."""

    name: str
    version: str
    size: int | None


@dataclass(frozen=True, slots=True)
class Work:
    """What a plan builds with.

    `tree` is the empty staged folder, `prefix` the absolute path that it will have.
    `on_bytes` gets the change of the count of downloaded bytes, from several threads.
    """

    tree: Path
    prefix: str
    downloads: Downloads
    jobs: int
    on_bytes: Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Built:
    """What a plan has built: the files it came from, counts, and what there is to say.

    `cached` are files of the download cache that are no longer needed. `unrelocated` are
    files, relative to the prefix, that still name the place they were built for.
    `inventory` says which package each file came from; what it lacks is read once more.
    `inner` is the path from the tree to the prefix, where that is not the tree itself.
    `pruned` are the files that were left out for other GPUs' sake. `shared` is what an
    install that the tree was made of had in common with others.
    """

    items: tuple[Item, ...]
    files: int
    size: int
    inventory: Inventory
    notes: tuple[str, ...] = ()
    unrelocated: tuple[str, ...] = ()
    cached: tuple[Path, ...] = ()
    inner: str = ""
    pruned: tuple[LeftOut, ...] = ()
    shared: Shared | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """What is to be made again of an install.

    `entries` are all of its manifest, `wanted` the files whose content is gone. `there` is
    the prefix with all the others. `items` and `origin` are the receipt's.
    """

    there: Path
    entries: Sequence[Entry]
    wanted: frozenset[str]
    items: Sequence[Item]
    origin: str


class Plan(Protocol):
    """One release from one source, ready to be built.

    `download` and `installed` are in bytes, None where nobody can tell. `host` are
    packages that the machine lacks and that the release needs.
    """

    @property
    def version(self) -> Version:
        """The release."""

    @property
    def channel(self) -> str:
        """The source's name, as in the receipt."""

    @property
    def origin(self) -> str:
        """The address, file or folder it comes from."""

    @property
    def parts(self) -> Sequence[Part]:
        """The files it consists of, largest first."""

    @property
    def download(self) -> int | None:
        """Bytes to download."""

    @property
    def installed(self) -> int | None:
        """Bytes on disk afterwards."""

    @property
    def notes(self) -> Sequence[str]:
        """What to say before building."""

    @property
    def host(self) -> Sequence[str]:
        """What the machine lacks."""

    @property
    def request(self) -> Request:
        """What was asked for, as the receipt keeps it."""

    @property
    def items(self) -> Sequence[Item]:
        """The files with their addresses; a digest or size that nobody told is empty or 0."""

    def build(self, work: Work) -> Built:
        """Fill `work.tree`; raises a `RocmenvError` and leaves the tree to the caller."""


class Keeper(Protocol):
    """Has what was read, and can keep it for runs that are offline."""

    def keep(self) -> None:
        """Write it into the cache."""


@runtime_checkable
class FromIndexes(Protocol):
    """A plan that was made from indexes, which `remembered` has."""

    @property
    def remembered(self) -> Keeper:
        """The indexes, and what else was read."""


@dataclass(frozen=True, slots=True)
class MirrorFile:
    """One file of a static mirror.

    `path` is below the mirror's base, with `/` between its parts and nothing encoded. Its
    content is what `artifact` says, or `content`, as the server sent it. An artifact that
    nobody published a digest of is right when it is what a page of the mirror recorded.
    """

    path: str
    artifact: Artifact | None = None
    content: bytes = b""

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.content) if self.artifact is None else self.artifact.size or 0


def largest_first(files: Iterable[MirrorFile]) -> list[MirrorFile]:
    """The files, each path once."""
    return sorted({f.path: f for f in files}.values(), key=lambda file: (-file.size, file.path))


@dataclass(frozen=True, slots=True)
class Kept:
    """A file that a mirror has: its bytes and SHA-256."""

    size: int
    sha256: str


class MirrorPage(Protocol):
    """An index that the mirror has of its own, of what it has; each run adds to it."""

    @property
    def path(self) -> str:
        """Where it is in the mirror, as `MirrorFile.path`."""

    def known(self, before: bytes) -> Mapping[str, str]:
        """The SHA-256 that the page recorded for files, by their paths.

        `before` is the page as it is, empty for none. `RepositoryError` for a page that
        somebody else has made, and that cannot be added to.
        """

    def render(
        self, before: bytes, have: Mapping[str, Kept], is_there: Callable[[str], bool]
    ) -> bytes:
        """The page with the files of this run, which `have` has, and those that it had.

        What is no longer there is left out. The same page again when nothing is new.
        """


@dataclass(frozen=True, slots=True)
class Further:
    """What turned out to belong to a mirror once a file was there."""

    files: tuple[MirrorFile, ...] = ()
    pages: tuple[MirrorPage, ...] = ()


@dataclass(frozen=True, slots=True)
class MirrorPlan:
    """What a channel puts into a mirror for one release, in the server's own layout.

    `files` are in the order in which they must appear: what an index names before the
    index, an index before its signature; `pages` come last. A rocmenv with the mirror's
    address in place of the channel's then finds everything where it looks. `follow` is
    called with each file once it is there, where only that tells what else is needed.
    `installs` are the options of the installs that find all they need there, one each.
    `line` is that of the release (`stable`, `rc`) where other lines have files of the same
    paths that no mirror can have besides.
    """

    version: Version
    channel: str
    origin: str
    files: tuple[MirrorFile, ...]
    notes: tuple[str, ...] = ()
    pages: tuple[MirrorPage, ...] = ()
    follow: Callable[[MirrorFile, Path], Further] | None = None
    installs: tuple[tuple[str, ...], ...] = ((),)
    line: str = ""


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of a repository goes into a mirror.

    `whole`: all packages, not what the profile needs. `suites` names suites; without any,
    the one that an install on this machine would take, or with `all_suites` all there are.
    `all_gpus`: what an install for any GPU takes; else for the targets of the request.
    """

    whole: bool = False
    suites: tuple[str, ...] = ()
    all_suites: bool = False
    all_gpus: bool = False

    def requests(self, request: Request) -> list[Request]:
        """The requests of the installs that a mirror is to be enough for, one for each GPU.

        With `all_gpus` also one for each target that the release has a family with.
        """
        every = {t for members in request.families.values() for t in members}
        targets = sorted(every) if self.all_gpus else request.targets
        alone = [replace(request, targets=(target,)) for target in targets]
        return [replace(request, targets=()), *alone] if self.all_gpus or not alone else alone

    def install_options(self, request: Request, *, by_gpu: bool) -> tuple[str, ...]:
        """The options of an install of signed packages that depend on what was copied."""
        words: tuple[str, ...] = ()
        for target in (() if self.all_gpus else request.targets) or ("all",) if by_gpu else ():
            words += ("--gpu", target)
        if self.suites:
            words += ("--suite", self.suites[0])
        if request.fingerprint:
            words += ("--fingerprint", request.fingerprint)
        return words
