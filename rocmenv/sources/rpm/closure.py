"""Which RPM packages a wish needs, all together. Pure: no files, no network.

The sibling of `apt.closure`, with the same rules: no solver, each need is met by a package
chosen already, else by the host, else by the best candidate, and where a later package
narrows an earlier choice, the closure is begun again with that bound known. What is apart
is what RPM asks for: capabilities and files, which any package may provide, and rich
dependencies, of which `if` and `unless` are looked at when all else is decided.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING

from rocmenv.errors import ResolveError
from rocmenv.sources.chain import needs, path
from rocmenv.sources.rpm.relation import CONDITIONAL, Need, Relation, Rich, parse_need
from rocmenv.sources.rpm.version import by_evr

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rocmenv.sources.rpm.index import Index, Package

_SUFFIX = re.compile(r"(\d+\.\d+(?:\.\d+)?)((?:-gfx\w+)?)\Z", re.ASCII)
_MOST_STARTS = 200
_ALONE = ("with", "without")
"""Rich dependencies that one package has to meet as a whole."""


@dataclass(frozen=True, slots=True)
class Unmet:
    """What a package needs that is not in the closure.

    `chain` are the names from a root to the package that needs it; `is_known` is False when
    the host could not be asked.
    """

    need: Need
    chain: tuple[str, ...]
    is_known: bool = True

    def __str__(self) -> str:
        return str(self.need)


@dataclass(frozen=True, slots=True)
class Closure:
    """The packages to install, sorted by name, one for each name.

    `unmet` are needs that the repository cannot meet and the host does not, or may not, each
    once with its shortest chain, sorted. `chains` says for each package why it is there: the
    names from a root down to it.
    """

    packages: tuple[Package, ...]
    unmet: tuple[Unmet, ...]
    chains: dict[str, tuple[str, ...]]


def close(
    roots: Sequence[str], index: Index, *, on_host: Callable[[Relation], bool | None]
) -> Closure:
    """The closure of `roots`: names, or relations such as `hipcc6.3.0 >= 1.1`.

    `on_host` answers True, False, or None when the host cannot be asked. A need without
    candidates is `unmet`, unless it must be the repository's: it asks for an exact version,
    carries a root's version suffix (`hipcc6.3.0`), or the repository has it in another
    version.

    Raises:
        ResolveError: a missing root or package, versions that exclude each other, or
            packages that conflict; the message names the chain.
        RepositoryError: a relation that cannot be read.
    """
    wanted = [parse_need(root) for root in roots]
    names = [need.name for need in wanted if isinstance(need, Relation)]
    suffixes = frozenset(match.groups() for name in names if (match := _SUFFIX.search(name)))
    bounds: dict[str, list[_Bound]] = {}
    for _ in range(_MOST_STARTS):
        attempt = _Attempt(index, on_host, bounds, suffixes)
        try:
            return attempt.run(wanted)
        except _NarrowedError as narrowed:
            bounds.setdefault(narrowed.name, []).append(narrowed.bound)
    raise ResolveError("the packages' versions narrow each other without end")


@dataclass(frozen=True, slots=True)
class _Bound:
    """What one package must also be, and who needs it to be that."""

    need: Need
    chain: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Condition:
    """A rich dependency that depends on what else is chosen, and who has it."""

    need: Rich
    chain: tuple[str, ...]


class _NarrowedError(Exception):
    """Begin again, knowing `bound` on the package `name`."""

    def __init__(self, name: str, bound: _Bound) -> None:
        super().__init__()
        self.name = name
        self.bound = bound


@dataclass(slots=True)
class _Attempt:
    index: Index
    on_host: Callable[[Relation], bool | None]
    bounds: dict[str, list[_Bound]]
    suffixes: frozenset[tuple[str, ...]]
    chosen: dict[str, Package] = field(default_factory=dict)
    provided: dict[str, list[Package]] = field(default_factory=dict)
    chains: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unmet: dict[Need, Unmet] = field(default_factory=dict)
    waiting: deque[Package] = field(default_factory=deque)
    conditional: list[_Condition] = field(default_factory=list)
    decided: set[tuple[_Condition, Need]] = field(default_factory=set)

    def run(self, roots: list[Need]) -> Closure:
        for root in roots:
            self._add_root(root)
        while self.waiting or self._decide():
            if self.waiting:
                package = self.waiting.popleft()
                for need in package.needs():
                    self._meet(need, self.chains[package.name])
        self._check_conflicts()
        return Closure(
            packages=tuple(self.chosen[name] for name in sorted(self.chosen)),
            unmet=tuple(sorted(self.unmet.values(), key=str)),
            chains={name: self.chains[name] for name in sorted(self.chains)},
        )

    def _add_root(self, root: Need) -> None:
        if self._is_chosen(root):
            return
        package = self._best(root, ())
        if package is not None:
            self._choose(package, ())
            return
        hint = None
        words = "no such package"
        if isinstance(root, Relation):
            near = get_close_matches(root.name, self.index.names(), 1, 0.75)
            hint = f"did you mean `{near[0]}`?" if near and near[0] != root.name else None
            has = ", ".join(f"`{p.version}`" for p in self.index.named(root.name))
            words = f"only {root.name} {has}" if has else words
        raise ResolveError(f"`{root}` is wanted, but the repository has {words}", hint=hint)

    def _decide(self) -> bool:
        """Look at rich dependencies with conditions; whether one needs something now.

        Each is looked at again whenever all else is decided, as what was chosen meanwhile
        may have changed its condition. One half of one is followed once.
        """
        for bound in self.conditional:
            need = bound.need
            wanted = self._wanted(need) if need.word in CONDITIONAL else [need]
            if not wanted or (bound, wanted[0]) in self.decided:
                continue
            if self._has(wanted[0]) is not True:
                self.decided.add((bound, wanted[0]))
                if wanted[0] is need:
                    self._meet_now(need, bound.chain)
                else:
                    self._meet(wanted[0], bound.chain)
                return True
        return False

    def _wanted(self, need: Rich) -> list[Need]:
        """What `(a if b else c)` or `(a unless b else c)` asks for as things are: one or none."""
        then, condition, *otherwise = need.parts
        holds = self._has(condition) is True
        return [then] if holds == (need.word == "if") else otherwise

    def _meet(self, need: Need, chain: tuple[str, ...]) -> None:
        if isinstance(need, Rich) and need.word == "and":
            for part in need.parts:
                self._meet(part, chain)
            return
        if isinstance(need, Rich) and need.is_conditional:
            self.conditional.append(_Condition(need, chain))
        else:
            self._meet_now(need, chain)

    def _meet_now(self, need: Need, chain: tuple[str, ...]) -> None:
        has = self._has(need)
        if has is True:
            return
        if isinstance(need, Rich) and need.word == "or":
            possible = next((part for part in need.parts if self._can(part)), None)
            if possible is not None:
                self._meet(possible, chain)
                return
        else:
            package = self._best(need, chain)
            if package is not None:
                self._choose(package, chain)
                return
        if self._must_be_ours(need):
            raise self._missing(need, chain)
        self.unmet.setdefault(need, Unmet(need, chain, is_known=has is not None))

    def _has(self, need: Need) -> bool | None:
        """Whether `need` is met by what is chosen or by the host; None when nobody knows."""
        if self._is_chosen(need):
            return True
        if isinstance(need, Relation):
            return self.on_host(need)
        if need.word in CONDITIONAL:
            wanted = self._wanted(need)
            return self._has(wanted[0]) if wanted else True
        if need.word == "without":
            return self._has(need.parts[0]) if self._has(need.parts[1]) is False else None
        answers = [self._has(part) for part in need.parts]
        decides = need.word == "or"  # one True decides `or`; one False, `and` and `with`
        if decides in answers:
            return decides
        return None if None in answers else not decides

    def _can(self, need: Need) -> bool:
        """Whether `need` is met, or some candidate would meet it."""
        if self._has(need) is True:
            return True
        if isinstance(need, Rich) and need.word in CONDITIONAL:
            return all(map(self._can, self._wanted(need)))
        if isinstance(need, Rich) and need.word not in _ALONE:
            test = any if need.word == "or" else all
            return test(self._can(part) for part in need.parts)
        return bool(self._fitting(need))

    def _is_chosen(self, need: Need) -> bool:
        names = [need.name] if isinstance(need, Relation) else [r.name for r in need.relations()]
        if isinstance(need, Rich) and need.word not in (*_ALONE, "or"):
            return False
        return any(p.meets(need) for name in names for p in self.provided.get(name, ()))

    def _fitting(self, need: Need) -> list[Package]:
        first = need
        while isinstance(first, Rich):
            first = first.parts[0]
        return [p for p in self.index.providing(first.name) if p.meets(need)]

    def _best(self, need: Need, chain: tuple[str, ...]) -> Package | None:
        """The best candidate for `need`, which is one package's to meet.

        A package of that name in another version may be chosen already; then the closure
        starts again with both bounds, or there is no way.
        """
        fitting = self._fitting(need)
        bounded = [p for p in fitting if all(p.meets(b.need) for b in self.bounds.get(p.name, ()))]
        free = [p for p in bounded if self.chosen.get(p.name, p) is p]
        if free:
            return max(free, key=lambda p: self._rank(need, p))
        if fitting:
            bound = _Bound(need, chain)
            name = (bounded or fitting)[0].name
            if not bounded or any(b.need == need for b in self.bounds.get(name, ())):
                raise self._contradiction(name, bound)
            raise _NarrowedError(name, bound)
        return None

    def _rank(self, need: Need, package: Package) -> tuple[object, ...]:
        """Its own name first, then one of the wanted release, then the newest.

        A repository of AMD's has each package twice, with and without a release's suffix,
        and both provide the same libraries; so do those for each GPU, of which the roots' own
        come first.
        """
        is_named = isinstance(need, Relation) and need.name == package.name
        match = _SUFFIX.search(package.name)
        is_exact = match is not None and match.groups() in self.suffixes
        own = package.architecture != "noarch"
        is_ours = self._is_of_release(package.name)
        return is_named, is_ours, is_exact, by_evr(package.evr), own, package.name

    def _is_of_release(self, name: str) -> bool:
        """Whether a name has the suffix of a root's release, whatever the GPU."""
        match = _SUFFIX.search(name)
        return match is not None and any(match[1] == release for release, _ in self.suffixes)

    def _choose(self, package: Package, chain: tuple[str, ...]) -> None:
        self.chosen[package.name] = package
        self.chains[package.name] = (*chain, package.name)
        names = dict.fromkeys([*(offer.name for offer in package.provides), *package.files])
        for name in names:
            self.provided.setdefault(name, []).append(package)
        self.waiting.append(package)

    def _must_be_ours(self, need: Need) -> bool:
        relations = [need] if isinstance(need, Relation) else need.relations()
        return all(
            not r.is_file
            and (
                r.operator == "="
                or self._is_of_release(r.name)
                or bool(self.index.providing(r.name))
            )
            for r in relations
        )

    def _missing(self, need: Need, chain: tuple[str, ...]) -> ResolveError:
        message = f"{needs(chain, need)}, which the repository does not have"
        if isinstance(need, Relation) and (near := self.index.providing(need.name)):
            message += f" (it has {', '.join(f'`{p.name} {p.version}`' for p in near)})"
        hint = "try again later, or use another mirror: this one is incomplete"
        return ResolveError(message, hint=hint)

    def _contradiction(self, name: str, bound: _Bound) -> ResolveError:
        known = self.bounds.get(name, ())
        other = next((b for b in known if b.need != bound.need), bound)
        return ResolveError(
            f"{needs(other.chain, other.need)}, but {needs(bound.chain, bound.need)}: "
            f"no version of `{name}` is both"
        )

    def _check_conflicts(self) -> None:
        for name in sorted(self.chosen):
            package = self.chosen[name]
            for need in package.excludes():
                other = next(
                    (p for p in self.chosen.values() if p is not package and p.meets(need)), None
                )
                if other is not None:
                    message = (
                        f"`{name}` conflicts with `{need}`, and both are needed: "
                        f"{path(self.chains[name])}; {path(self.chains[other.name])}"
                    )
                    raise ResolveError(message)
