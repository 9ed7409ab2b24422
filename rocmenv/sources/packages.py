"""One plan for the channels that install packages: what they have in common."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from rocmenv.errors import StoreError
from rocmenv.fetch.address import file_name
from rocmenv.fetch.archive import Tree
from rocmenv.fetch.connection import without_account
from rocmenv.fetch.disk import hard_link
from rocmenv.fetch.pipeline import Job, download_and_unpack
from rocmenv.fetch.transfer import NotThereError
from rocmenv.model.manifest import FOLDER, LINK
from rocmenv.model.receipt import Item
from rocmenv.model.release import Artifact
from rocmenv.sources.base import Built, Part
from rocmenv.sources.incomplete import missing

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from rocmenv.fetch.pipeline import Fetcher
    from rocmenv.fetch.rpm import Voucher
    from rocmenv.fetch.transfer import Downloads
    from rocmenv.model.version import Version
    from rocmenv.sources.base import Lost, Request, Work
    from rocmenv.sources.remembered import Remembered


_INCOMPLETE = (
    "the mirror is not complete: one made by `rocmenv mirror` has the packages of its `--profile` "
    "and `--with`; make it with those that are asked for here, or use another `--mirror URL`"
)


class Package(Protocol):
    """What a plan has to know of a package, of either kind; sizes are in bytes."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def version(self) -> str:
        """Its whole version, as its repository writes it."""

    @property
    def size(self) -> int | None:
        """How large its file is, None where the index does not say."""

    @property
    def installed_size(self) -> int | None:
        """How much it takes on disk, None where the index does not say."""


class Home(Protocol):
    """The repository that a package comes from."""

    @property
    def origin(self) -> str:
        """Its address, and its suite where it has one, as people may see them."""

    def job(self, package: Any, mapping: Callable[[str], str | None]) -> Job:  # noqa: ANN401 - each takes packages of its own kind
        """How to fetch, check and unpack `package`; raises `RepositoryError`."""


class Finished(NamedTuple):
    """What was done to an unpacked tree: remarks, and files that still name another place."""

    notes: tuple[str, ...] = ()
    unrelocated: tuple[str, ...] = ()


class Named(Protocol):
    """A package, in an index or in a receipt."""

    @property
    def name(self) -> str:
        """Its name."""


class Recipe(Protocol):
    """How a channel makes a prefix out of its packages."""

    @property
    def own_prefix(self) -> tuple[str, ...]:
        """Absolute folders that mean the prefix in links of the packages."""

    def mapping(self, package: Named) -> Callable[[str], str | None]:
        """Where the members of a package go, as `Tree.add_deb` asks for it."""

    def is_expected(self, member: str) -> bool:
        """Whether it goes without saying that `member` is not in the prefix."""

    def finish(self, work: Work, paths: Sequence[str]) -> Finished:
        """Make the unpacked `paths` fit their new place.

        By new files in the place of old ones, never by edits: a file may have other names.
        """


@dataclass(frozen=True, slots=True)
class Chosen:
    """A package, and the repository that it comes from."""

    package: Package
    home: Home


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagePlan:
    """One release, resolved to packages; a `base.Plan`.

    `version` is the name that it is installed as. `host` are packages that the machine
    lacks, `remembered` the indexes and keys that were read.
    """

    version: Version
    channel: str
    chosen: tuple[Chosen, ...]
    recipe: Recipe
    notes: tuple[str, ...]
    host: tuple[str, ...]
    remembered: Remembered
    request: Request

    @property
    def origin(self) -> str:
        """The addresses and suites that packages come from."""
        return ", ".join(dict.fromkeys(c.home.origin for c in self.chosen))

    @property
    def packages(self) -> tuple[Package, ...]:
        """The packages, in the order of their names."""
        return tuple(c.package for c in self.chosen)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The packages, largest first."""
        packages = sorted(self.packages, key=lambda p: (-(p.size or 0), p.name))
        return tuple(Part(p.name, p.version, p.size) for p in packages)

    @property
    def download(self) -> int:
        """The sum of the packages' sizes."""
        return sum(p.size or 0 for p in self.packages)

    @property
    def installed(self) -> int:
        """The sum of what the packages say they take on disk, documentation included."""
        return sum(p.installed_size or 0 for p in self.packages)

    @property
    def items(self) -> tuple[Item, ...]:
        """The packages' files, in the order of their names."""
        return tuple(
            _item(job.artifact, c.package) for job, c in zip(self._jobs(), self.chosen, strict=True)
        )

    def build(self, work: Work) -> Built:
        """Fetch, verify and unpack all packages, and make them fit their new place."""
        self.remembered.keep()
        try:
            return assemble(self.recipe, self._jobs(), self.items, work, self.request.keep())
        except NotThereError as error:
            raise _incomplete(error) from error

    def fetch_into(
        self,
        tree: Tree,
        names: Collection[str],
        work: Work,
        keep: Callable[[str], bool] | None,
    ) -> tuple[Path, ...]:
        """Fetch, verify and unpack the packages `names`; their files in the cache.

        `keep` is `Tree.add_deb`'s.
        """
        self.remembered.keep()
        jobs = [job for job in self._jobs() if job.owner in names]
        try:
            return download_and_unpack(
                jobs, work.downloads, tree, workers=work.jobs, keep=keep, on_bytes=work.on_bytes
            )
        except NotThereError as error:
            raise _incomplete(error) from error

    def refuse_incomplete(self, downloads: Downloads) -> None:
        """`NotThereError` when the mirror is known to lack a package."""
        mirror = self.request.mirror
        error = missing(self.items, mirror, downloads) if mirror else None
        if error is not None:
            raise _incomplete(error) from error

    def unproven(self) -> list[tuple[Artifact, Voucher]]:
        """The packages whose digests no signed index has, and what each has to prove."""
        return [(job.artifact, job.voucher) for job in self._jobs() if job.voucher is not None]

    def _jobs(self) -> list[Job]:
        return [c.home.job(c.package, self.recipe.mapping(c.package)) for c in self.chosen]


def _incomplete(error: NotThereError) -> NotThereError:
    return NotThereError(f"{error.message}, though the signed index lists it", hint=_INCOMPLETE)


def assemble(
    recipe: Recipe,
    jobs: Sequence[Job],
    items: tuple[Item, ...],
    work: Work,
    keep: Callable[[str], bool] | None = None,
    files: Fetcher | None = None,
) -> Built:
    """Fetch and unpack `jobs`, whose files are `items`, and make a prefix of them.

    `keep` is `Tree.add_deb`'s; `files` stands in for the downloads where the packages are at
    hand.
    """
    tree = Tree(work.tree, own_prefix=recipe.own_prefix, cancel=work.downloads.cancel)
    cached = download_and_unpack(
        jobs,
        files or work.downloads,
        tree,
        workers=work.jobs,
        keep=keep,
        on_bytes=work.on_bytes,
    )
    settled = tree.settle()
    done = recipe.finish(work, settled.paths)
    odd = (e for e in settled.left_out if not recipe.is_expected(e.member))
    left_out = (f"left out {e.member}: {e.reason}" for e in odd)
    return Built(
        items,
        settled.files,
        settled.size,
        settled.inventory,
        (*settled.notes, *done.notes, *left_out),
        done.unrelocated,
        cached,
        pruned=settled.pruned,
    )


def rebuild(
    recipe: Recipe,
    work: Work,
    lost: Lost,
    files: Fetcher | None = None,
    job: Callable[[Item, Recipe], Job] | None = None,
) -> tuple[Path, ...]:
    """Make files of an install again in `work.tree`; the files of the cache that it took.

    Only the packages that they came from are fetched. All other files of the install are
    linked to, so that the recipe finds the tree that it had. `files` stands in for the
    downloads where the packages are at hand, and `job` for `job_of`.

    Raises `StoreError` for a package that the receipt does not have, and what fetching and
    unpacking raise.
    """
    tree = Tree(work.tree, own_prefix=recipe.own_prefix, cancel=work.downloads.cancel)
    owners = {e.owner for e in lost.entries if e.path in lost.wanted and e.owner}
    items = [item for item in lost.items if item.name in owners]
    if missing := owners - {item.name for item in items}:
        msg = f"the receipt has no package `{min(missing)}`, which files are missing of"
        raise StoreError(msg)
    for entry in lost.entries:
        if entry.kind == LINK and entry.owner:
            tree.add_link(entry.path, entry.target, owner=entry.owner)
    jobs = [(job or job_of)(item, recipe) for item in items]
    cached = download_and_unpack(
        jobs, files or work.downloads, tree, workers=work.jobs, on_bytes=work.on_bytes
    )
    settled = tree.settle()
    complete(work.tree, lost)
    recipe.finish(work, settled.paths)
    return cached


def complete(tree: Path, lost: Lost) -> None:
    """Add what `tree` lacks of an install, but for what rocmenv itself had made there."""
    for entry in lost.entries:
        new = tree / entry.path
        if os.path.lexists(new):
            continue
        if entry.kind == FOLDER:
            new.mkdir(parents=True)
        elif entry.owner and entry.kind == LINK:
            new.parent.mkdir(parents=True, exist_ok=True)
            new.symlink_to(entry.target)
        elif entry.owner and entry.path not in lost.wanted:
            old = lost.there / entry.path
            if not old.is_symlink():  # what stands there is no file of the install
                name_again(old, new)


def name_again(old: Path, new: Path) -> None:
    """The same file or link in the new place; nothing for what is neither, or not there.

    A file by a hard link where there are any: recipes put new ones in the place of those that
    they change.
    """
    if not (old.is_symlink() or old.is_file()):
        return
    new.parent.mkdir(parents=True, exist_ok=True)
    if old.is_symlink():
        new.symlink_to(os.readlink(old))
    else:
        hard_link(old, "", new)


def job_of(item: Item, recipe: Recipe) -> Job:
    """How to fetch and unpack a package again, which the digest of the receipt vouches for."""
    name = file_name(item.url)
    artifact = Artifact(item.url, name, item.size, item.sha256)
    form = "rpm" if name.endswith(".rpm") else "deb"
    return Job(artifact, item.name, recipe.mapping(item), form)


def _item(artifact: Artifact, package: Package) -> Item:
    size, digest = artifact.size or 0, artifact.sha256 or ""
    return Item(package.name, without_account(artifact.url), size, digest, package.version)
