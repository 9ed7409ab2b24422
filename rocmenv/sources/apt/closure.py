"""Which packages a wish needs, all together. Pure: no files, no network.

This is a closure without backtracking, not a solver. ROCm's packages name each other with
exact versions, so there is next to nothing to search; what matters is the sentence when
something is missing. Where a later package narrows an earlier choice, the closure is begun
again with that bound known (`_Narrowed`), which covers the one real case: two builds of one
package in a repository. `resolvelib` gives the same sets, with errors that name neither
the chain nor the field.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Protocol

from rocmenv.errors import ResolveError
from rocmenv.sources.apt.relation import Group, Relation, by_version, group_text, parse_relations
from rocmenv.sources.chain import needs, path

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rocmenv.sources.apt.index import Package

_SUFFIX = re.compile(r"(\d+\.\d+(?:\.\d+)?)(?:-gfx\w+)?\Z", re.ASCII)
_MOST_STARTS = 200


class Candidates(Protocol):
    """Where packages come from; `Index` is one."""

    def named(self, name: str) -> tuple[Package, ...]:
        """The packages called `name`."""

    def providing(self, name: str) -> tuple[Package, ...]:
        """The packages that provide `name`."""

    def names(self) -> tuple[str, ...]:
        """All names, for a suggestion."""


@dataclass(frozen=True, slots=True)
class Need:
    """What a package needs that is not in the closure.

    `group` are the alternatives; `chain` the names from a root to the package that has
    it. `is_known` is False when the host could not be asked.
    """

    group: Group
    chain: tuple[str, ...]
    is_known: bool = True

    def __str__(self) -> str:
        return group_text(self.group)


@dataclass(frozen=True, slots=True)
class Closure:
    """The packages to install, sorted by name, one for each name.

    `unmet` are needs that the repository cannot meet and the host does not, or may not;
    `from_host` those that were left to the host, as `on_host` said. Both are sorted, and
    have each group once, with its shortest chain. `chains` says for each package why it is
    there: the names from a root down to it.
    """

    packages: tuple[Package, ...]
    unmet: tuple[Need, ...]
    from_host: tuple[Need, ...]
    chains: dict[str, tuple[str, ...]]

    def meets(self, relation: Relation) -> bool:
        """Whether a package of the closure satisfies `relation`."""
        return any(
            (p.name == relation.name and relation.accepts(p.version))
            or any(n == relation.name and relation.accepts_offer(v) for n, v in p.offers())
            for p in self.packages
        )


def close(
    roots: Sequence[str],
    candidates: Candidates,
    *,
    architecture: str,
    on_host: Callable[[Relation], bool | None],
) -> Closure:
    """The closure of `roots` (names, or relations as `rocm (= 6.3.0…)`).

    A need is met by a package chosen already, else by the host, else by the newest
    candidate. `on_host` answers True, False, or None when the host cannot be asked. A need
    without candidates is `unmet`, unless it must be the repository's: it asks for an exact
    version, or carries a root's version suffix (`hipcc6.3.0`, `amdrocm-blas10.0-gfx1100`).

    Raises:
        ResolveError: a missing root or package, versions that exclude each other, or
            packages that conflict; the message names the chain.
        RepositoryError: a relation that cannot be read.
    """
    wanted = [_root(root) for root in roots]
    suffixes = frozenset(filter(None, (_suffix(root.name) for root in wanted)))
    bounds: dict[str, list[_Bound]] = {}
    for _ in range(_MOST_STARTS):
        attempt = _Attempt(candidates, architecture, on_host, bounds, suffixes)
        try:
            return attempt.run(wanted)
        except _NarrowedError as narrowed:
            bounds.setdefault(narrowed.bound.relation.name, []).append(narrowed.bound)
    raise ResolveError("the packages' versions narrow each other without end")


@dataclass(frozen=True, slots=True)
class _Bound:
    """A relation on a package, and who has it."""

    relation: Relation
    chain: tuple[str, ...]


class _NarrowedError(Exception):
    """Begin again, knowing `bound`."""

    def __init__(self, bound: _Bound) -> None:
        super().__init__()
        self.bound = bound


def _root(text: str) -> Relation:
    groups = parse_relations(text)
    if len(groups) != 1 or len(groups[0]) != 1:
        raise ResolveError(f"`{text}` is not the name of one package")
    return groups[0][0]


def _suffix(name: str) -> str | None:
    """The release at the end of a package's name, before the GPU."""
    match = _SUFFIX.search(name)
    return match[1] if match else None


@dataclass(slots=True)
class _Attempt:
    candidates: Candidates
    architecture: str
    on_host: Callable[[Relation], bool | None]
    bounds: dict[str, list[_Bound]]
    suffixes: frozenset[str]
    chosen: dict[str, Package] = field(default_factory=dict)
    provided: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    chains: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unmet: dict[Group, Need] = field(default_factory=dict)
    from_host: dict[Group, Need] = field(default_factory=dict)
    waiting: deque[Package] = field(default_factory=deque)

    def run(self, roots: list[Relation]) -> Closure:
        for root in roots:
            self._add_root(root)
        while self.waiting:
            package = self.waiting.popleft()
            chain = self.chains[package.name]
            for group in package.needs():
                applying = tuple(r for r in group if r.applies(self.architecture))
                if applying:
                    self._meet(applying, chain)
        self._check_conflicts()
        return Closure(
            packages=tuple(self.chosen[name] for name in sorted(self.chosen)),
            unmet=tuple(sorted(self.unmet.values(), key=str)),
            from_host=tuple(sorted(self.from_host.values(), key=str)),
            chains={name: self.chains[name] for name in sorted(self.chains)},
        )

    def _add_root(self, root: Relation) -> None:
        if self._is_chosen(root):
            return
        package = self._newest(root, ())
        if package is None:
            near = get_close_matches(root.name, self.candidates.names(), 1, 0.75)
            hint = f"did you mean `{near[0]}`?" if near and near[0] != root.name else None
            has = ", ".join(f"`{p.version}`" for p in self.candidates.named(root.name))
            words = f"only {root.name} {has}" if has else "no such package"
            message = f"`{root}` is wanted, but the repository has {words}"
            raise ResolveError(message, hint=hint)
        self._choose(package, ())

    def _meet(self, group: Group, chain: tuple[str, ...]) -> None:
        if any(self._is_chosen(relation) for relation in group):
            return
        answers = [self.on_host(relation) for relation in group]
        if True in answers:
            self.from_host.setdefault(group, Need(group, chain))
            return
        for relation in group:
            package = self._newest(relation, chain)
            if package is not None:
                self._choose(package, chain)
                return
        if all(self._must_be_ours(relation) for relation in group):
            raise self._missing(group, chain)
        self.unmet.setdefault(group, Need(group, chain, is_known=None not in answers))

    def _is_chosen(self, relation: Relation) -> bool:
        package = self.chosen.get(relation.name)
        if package is not None and relation.accepts(package.version):
            return True
        offers = self.provided.get(relation.name, ())
        return any(relation.accepts_offer(version) for _, version in offers)

    def _newest(self, relation: Relation, chain: tuple[str, ...]) -> Package | None:
        """The best candidate for `relation`, real ones before providers.

        A package of that name in another version may be chosen already; then the closure
        starts again with both bounds, or there is no way.
        """
        fitting = [p for p in self._usable(relation.name) if relation.accepts(p.version)]
        if relation.name in self.chosen and fitting:
            self._narrow(relation, chain)
        bounded = [p for p in fitting if self._within_bounds(p)]
        if fitting and not bounded:
            raise self._contradiction(_Bound(relation, chain))
        if bounded:
            return max(bounded, key=lambda p: by_version(p.version))
        for package in self.candidates.providing(relation.name):
            offered = dict(package.offers()).get(relation.name)
            fits = offered is not None and relation.accepts_offer(offered)
            other = self.chosen.get(package.name, package)
            if fits and self._is_usable(package) and other is package:
                return package
        return None

    def _usable(self, name: str) -> list[Package]:
        return [p for p in self.candidates.named(name) if self._is_usable(p)]

    def _is_usable(self, package: Package) -> bool:
        return package.architecture in (self.architecture, "all", "")

    def _within_bounds(self, package: Package) -> bool:
        bounds = self.bounds.get(package.name, ())
        return all(bound.relation.accepts(package.version) for bound in bounds)

    def _narrow(self, relation: Relation, chain: tuple[str, ...]) -> None:
        bound = _Bound(relation, chain)
        known = self.bounds.get(relation.name, [])
        if any(b.relation == relation for b in known):
            raise self._contradiction(bound)
        raise _NarrowedError(bound)

    def _contradiction(self, bound: _Bound) -> ResolveError:
        name = bound.relation.name
        other = next((b for b in self.bounds.get(name, ()) if b.relation != bound.relation), bound)
        message = (
            f"{needs(other.chain, str(other.relation))}, but "
            f"{needs(bound.chain, str(bound.relation))}: no version of `{name}` is both"
        )
        return ResolveError(message)

    def _choose(self, package: Package, chain: tuple[str, ...]) -> None:
        self.chosen[package.name] = package
        self.chains[package.name] = (*chain, package.name)
        for name, version in package.offers():
            self.provided.setdefault(name, []).append((package.name, version))
        self.waiting.append(package)

    def _must_be_ours(self, relation: Relation) -> bool:
        return (
            relation.operator == "="
            or _suffix(relation.name) in self.suffixes
            or bool(self._usable(relation.name))
        )

    def _missing(self, group: Group, chain: tuple[str, ...]) -> ResolveError:
        message = f"{needs(chain, group_text(group))}, which the repository does not have"
        versions = [p.version for r in group for p in self._usable(r.name)]
        if versions:
            message += f" (it has {', '.join(f'`{v}`' for v in versions)})"
        hint = "try again later, or use another mirror: this one is incomplete"
        return ResolveError(message, hint=hint)

    def _check_conflicts(self) -> None:
        for name in sorted(self.chosen):
            package = self.chosen[name]
            for word, text in (("conflicts with", package.conflicts), ("breaks", package.breaks)):
                for group in parse_relations(text):
                    for relation in group:
                        self._check_conflict(package, word, relation)

    def _check_conflict(self, package: Package, word: str, relation: Relation) -> None:
        others = [
            other
            for other in (relation.name, *(n for n, v in self.provided.get(relation.name, ())))
            if other != package.name and other in self.chosen
        ]
        for other in others:
            same = other == relation.name
            offered = dict(self.chosen[other].offers()).get(relation.name, "")
            version = self.chosen[other].version if same else offered
            if relation.accepts_offer(version):
                message = (
                    f"`{package.name}` {word} `{relation}`, and both are needed: "
                    f"{path(self.chains[package.name])}; {path(self.chains[other])}"
                )
                raise ResolveError(message)
