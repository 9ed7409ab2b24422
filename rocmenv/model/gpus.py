"""What is known about GPU targets: products, names in each channel, support, kernel drivers.

The tables are package data, `rocmenv/data/gpus.json`, which `rocmenv.sources.gpus` reads; where
the facts are from is in docs/gpus.md. A *family* is a name of AMD's build for several targets
(`gfx110X-all`); a *group* is the part of a tarball's name that says for which targets it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from rocmenv.errors import InvalidTargetError
from rocmenv.model.target import Generic, Target
from rocmenv.model.version import Version

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MULTIARCH = "multiarch"
"""The group of the tarball for all targets."""
_MULTIARCH_SINCE = Version.parse("7.14.0")
# From here on the names of packages have the target itself; up to 7.13 a family's short form.
_PACKAGES_BY_TARGET_SINCE = Version.parse("7.14.0")


class Level(str, Enum):
    """What AMD's support tables say of a target in a release."""

    LISTED = "listed"
    APART = "listed apart"
    """Only the documentation for Ryzen has it, not the table of the release."""
    DEPRECATED = "deprecated"
    UNLISTED = "not listed"
    UNCHECKED = "unknown"
    """Nobody has looked the release's table up for rocmenv."""


@dataclass(frozen=True, slots=True)
class Support:
    """Releases that list a target, `first` to `last`.

    `unverified` says what no primary source confirms, such as `the start`; `note` limits the row
    to some products or systems. Both are empty otherwise.
    """

    first: Version
    last: Version
    level: Level
    unverified: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Known:
    """One target, by its own name and by the names that channels have for it.

    `kind` is discrete, integrated or accelerator. `since` is the first release of TheRock's
    stream that builds it, None where none does. `stand_in` is the target whose code people have
    their GPU run by HSA_OVERRIDE_GFX_VERSION, and `stand_in_is` how sure that is. Empty names:
    the channel has none. `unverified` names the fields that no primary source confirms.
    """

    target: Target
    generation: str
    kind: str
    products: tuple[str, ...]
    linux: tuple[Support, ...]
    wsl: tuple[Support, ...] = ()
    since: Version | None = None
    tested: bool = True
    tarball: str = ""
    wheel_old: str = ""
    package_old: str = ""
    package: str = ""
    extra: str = ""
    stand_in: Target | None = None
    stand_in_is: str = ""
    unverified: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Family:
    """Targets that are built together; in releases from `first` to before `before` if given."""

    name: str
    targets: tuple[Target, ...]
    first: Version | None = None
    before: Version | None = None

    def holds_in(self, release: Version) -> bool:
        """Whether the name is in use in `release`."""
        return (self.first is None or release >= self.first) and (
            self.before is None or release < self.before
        )


@dataclass(frozen=True, slots=True)
class Drivers:
    """Which kernel drivers AMD tested a release with, all by their first two numbers.

    `for_release`: release to driver lines; `releases_for`: the other way round, from another
    table, which has other rows. `modules`: version of the amdgpu module to its line and whether
    that is unverified. A driver line up to 6.4 is the ROCm release that it came with.
    """

    for_release: Mapping[str, tuple[str, ...]]
    releases_for: Mapping[str, tuple[str, ...]]
    modules: Mapping[str, tuple[str, bool]]

    def line(self, module: str) -> tuple[str, bool] | None:
        """The line of an amdgpu module and whether that is unverified; None when not known.

        A module of the same first two numbers is taken for one of the same line, unverified.
        """
        if module in self.modules:
            return self.modules[module]
        start = _xy(module)
        found = [line for known, (line, _) in self.modules.items() if _xy(known) == start]
        return (found[0], True) if found else None

    def tested(self, line: str) -> list[str]:
        """The releases (`6.3`) that one of the tables names for a driver line, newest first."""
        found = {*self.releases_for.get(line, ())}
        found |= {xy for xy, lines in self.for_release.items() if line in lines}
        return sorted(found, key=_numbers, reverse=True)

    def says_of(self, xy: str, line: str) -> bool | None:
        """Whether a release is listed with a driver line; None where no table tells.

        The row of a driver cannot name releases that came after it was written.
        """
        if xy in self.tested(line):
            return True
        row = self.releases_for.get(line, ())
        is_told = xy in self.for_release or _numbers(xy) <= max(map(_numbers, row), default=())
        return False if is_told else None


@dataclass(frozen=True, slots=True)
class Gpus:
    """All tables.

    `groups` are those that came or went with a release; `checked` and `wsl_checked` are spans of
    releases whose support was looked up.
    """

    targets: Mapping[Target, Known]
    families: tuple[Family, ...]
    groups: tuple[Family, ...]
    generic: Mapping[Generic, tuple[Target, ...]]
    retired: Mapping[Target, Version]
    gaps: Mapping[str, tuple[Target, ...]]
    only_on: Mapping[str, tuple[Target, ...]]
    drivers: Drivers
    checked: tuple[tuple[Version, Version], ...]
    wsl_checked: tuple[tuple[Version, Version], ...]
    sources: Mapping[str, str]

    def known(self, target: Target) -> Known | None:
        """The row of a target, whatever its features; None when it is not known."""
        return self.targets.get(target.base)

    def names(self) -> list[str]:
        """Everything that `expand` takes: targets in their order, families, generic names."""
        families = (family.name for family in self.families)
        return [*map(str, sorted(self.targets)), *families, *map(str, self.generic)]

    def expand(self, text: str) -> tuple[Target, ...]:
        """The targets of a name: one target, a family's or a generic name's, in any case.

        A target that is well formed and not known is taken as it is. `InvalidTargetError` for
        any other text, with the name that was meant where that can be told.
        """
        lowered = text.lower()
        for family in self.families:
            if family.name.lower() == lowered:
                return family.targets
        generic = Generic.parse(text)
        if generic is not None and generic in self.generic:
            return self.generic[generic]
        try:
            return (Target.parse(text, self.names()),)
        except InvalidTargetError as error:
            meant = self._by_product(lowered)
            if meant is None:
                raise
            raise InvalidTargetError(error.message, hint=f"that is `{meant}`") from error

    def _by_product(self, text: str) -> Target | None:
        """The one target with a product of which `text` is a part, such as `7900 xtx`."""
        words = text.replace("-", " ").split()
        found = [
            known.target
            for known in self.targets.values()
            if words and all(word in " ".join(known.products).lower() for word in words)
        ]
        return found[0] if len(found) == 1 else None

    def standing(self, target: Target, release: Version, *, wsl: bool = False) -> Support | Level:
        """The row that lists a target in a release, else whether it is not listed or unknown."""
        known = self.known(target)
        release = release.without_local
        rows = () if known is None else known.wsl if wsl else known.linux
        for row in rows:
            if row.first <= release <= row.last:
                return row
        checked = self.wsl_checked if wsl else self.checked
        is_checked = release.is_final and any(a <= release <= b for a, b in checked)
        return Level.UNLISTED if is_checked else Level.UNCHECKED

    def is_built(self, target: Target, release: Version) -> bool:
        """Whether a release of TheRock's stream (7.9 and later) has code for a target."""
        known = self.known(target)
        return known is not None and known.since is not None and release >= known.since

    def stand_in(self, target: Target, release: Version) -> Target | None:
        """Whose code people have a GPU run in a release that has none for it; None for nobody's."""
        known = self.known(target)
        if known is None or known.stand_in is None:
            return None
        has_code = isinstance(self.standing(target, release), Support)
        return None if has_code or self.is_built(target, release) else known.stand_in

    def lacking(self, target: Target) -> list[str]:
        """The libraries that TheRock leaves out for a target (as of 10.x), by name."""
        base = target.base
        without = [name for name, targets in self.gaps.items() if base in targets]
        return sorted(without + [n for n, targets in self.only_on.items() if base not in targets])

    def tarball_group(self, target: Target, release: Version) -> str | None:
        """The group of the tarball that has a target, None where no release of it is known.

        Not every group of a build has been published: the channel's listing decides.
        """
        known = self.known(target)
        if known is None or not self.is_built(target, release):
            return None
        for group in self.groups:
            if group.holds_in(release) and target.base in group.targets:
                return group.name
        if known.tarball in {group.name for group in self.groups}:
            return None  # a group that came later
        return known.tarball if known.tarball != MULTIARCH or release >= _MULTIARCH_SINCE else None

    def package_suffix(self, target: Target, release: Version) -> str | None:
        """What ends the names of AMD's packages from 7.9 on for a target; None for no such."""
        known = self.known(target)
        if known is None or not self.is_built(target, release):
            return None
        by_target = release >= _PACKAGES_BY_TARGET_SINCE
        return (known.package if by_target else known.package_old) or None

    @classmethod
    def from_json(cls, value: Any) -> Gpus:  # noqa: ANN401 - what json gives
        """The tables in our own data."""
        rows = [_known(row) for row in value["targets"]]
        current = [Family(name, _targets(names)) for name, names in value["families"].items()]
        driver = value["driver"]
        modules = driver["modules"].items()
        generic = ((Generic.parse(name), names) for name, names in value["generic"].items())
        return cls(
            targets={row.target: row for row in rows},
            families=(*current, *map(_family, value["families_old"])),
            groups=tuple(map(_family, value["groups"])),
            generic={name: _targets(names) for name, names in generic if name is not None},
            retired={Target.parse(k): Version.parse(v) for k, v in value["retired"].items()},
            gaps={name: _targets(names) for name, names in value["gaps"].items()},
            only_on={name: _targets(names) for name, names in value["only_on"].items()},
            drivers=Drivers(
                {k: tuple(v) for k, v in driver["for_release"].items()},
                {k: tuple(v) for k, v in driver["releases_for"].items()},
                {k: (v["line"], v.get("unverified", False)) for k, v in modules},
            ),
            checked=_spans(value["checked"]),
            wsl_checked=_spans(value["wsl_checked"]),
            sources=value["sources"],
        )


def _known(row: dict[str, Any]) -> Known:
    texts = ("tarball", "wheel_old", "package_old", "package", "extra", "stand_in_is")
    since, stand_in = row.get("since"), row.get("stand_in")
    return Known(
        Target.parse(row["name"]),
        row["generation"],
        row["kind"],
        tuple(row["products"]),
        _support(row["linux"]),
        _support(row.get("wsl", ())),
        since=Version.parse(since) if since else None,
        tested=row.get("tested", True),
        stand_in=Target.parse(stand_in) if stand_in else None,
        unverified=tuple(row.get("unverified", ())),
        **{name: row.get(name, "") for name in texts},
    )


_LEVELS = {"listed": Level.LISTED, "apart": Level.APART, "deprecated": Level.DEPRECATED}


def _support(rows: Iterable[dict[str, str]]) -> tuple[Support, ...]:
    return tuple(
        Support(
            Version.parse(row["first"]),
            Version.parse(row["last"]),
            _LEVELS[row["level"]],
            row.get("unverified", ""),
            row.get("note", ""),
        )
        for row in rows
    )


def _family(row: dict[str, Any]) -> Family:
    before = row.get("before")
    return Family(
        row["name"],
        _targets(row["targets"]),
        Version.parse(row["first"]),
        Version.parse(before) if before else None,
    )


def _targets(names: Iterable[str]) -> tuple[Target, ...]:
    return tuple(map(Target.parse, names))


def _spans(rows: Iterable[tuple[str, str]]) -> tuple[tuple[Version, Version], ...]:
    return tuple((Version.parse(first), Version.parse(last)) for first, last in rows)


def _numbers(xy: str) -> tuple[int, ...]:
    return tuple(map(int, xy.split(".")))


def _xy(text: str) -> tuple[str, ...]:
    return tuple(text.split(".")[:2])
