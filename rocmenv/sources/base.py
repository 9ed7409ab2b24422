"""What a source of releases has to do: make a plan, then build the tree that it promises."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.model.receipt import Item
    from rocmenv.model.version import Version


@dataclass(frozen=True, slots=True)
class Request:
    """What a person asked for.

    `profile` names a set of root packages, `extra` adds single ones; `suite` overrides the
    choice by the host's libc. `mirror`, `keyring` and `fingerprint` stand in for the
    channel's own, None for these. `targets` are the GPUs that it has to run on, by bare
    name (`gfx1100`), none for unknown ones; `families` are the targets of each family name
    in the numbering of the release.
    """

    profile: str = "hip"
    extra: tuple[str, ...] = ()
    suite: str | None = None
    mirror: str | None = None
    keyring: str | None = None
    fingerprint: str | None = None
    targets: tuple[str, ...] = ()
    families: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


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
    files, relative to the prefix, that still name the place they were built for. `inner` is
    the path from the tree to the prefix, where that is not the tree itself.
    """

    items: tuple[Item, ...]
    files: int
    size: int
    notes: tuple[str, ...] = ()
    unrelocated: tuple[str, ...] = ()
    cached: tuple[Path, ...] = ()
    inner: str = ""


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

    def build(self, work: Work) -> Built:
        """Fill `work.tree`; raises a `RocmenvError` and leaves the tree to the caller."""
