"""Versions of ROCm and requests for them.

Three stages, a type each. What a person types is a text; `Spec.parse` turns it into a
*spec*, a request that may fit several releases (`6.3`, `latest`, `>=6.3,<7`); `choose`
picks one *version* (`6.3.4`) out of those that are installed, or known.

Forms of a version, as AMD writes them in file names (source: TheRock's release pages and
the apt repositories, see docs/sources.md):

    6.3.0               a release
    10.0.0rc2           a release candidate
    10.1.0a20260901     a nightly, by date
    10.1.0.dev0+0f1e2d  a developer build
    10.0.0+bkc.1        a variant of a release

The order is numeric in each part and is not the order of dates: 7.14.1 came out after
10.0.0, and 6.1.5 after 6.3.3.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmenv.errors import InvalidVersionError, visible

if TYPE_CHECKING:
    from collections.abc import Iterable

LATEST = "latest"
SYSTEM = "system"

_LONGEST = 100
_NUMBERS = 3
_VERSION = re.compile(
    r"(?P<major>\d{1,4})\.(?P<minor>\d{1,4})\.(?P<patch>\d{1,4})(?:\.(?P<fourth>\d{1,6}))?"
    r"(?:(?P<phase>a|b|rc|\.dev)(?P<number>\d{1,12}))?"
    r"(?:\+(?P<local>[0-9A-Za-z]+(?:\.[0-9A-Za-z]+)*))?",
    re.ASCII,
)
_PREFIX = re.compile(r"(\d{1,4})(?:\.(\d{1,4}))?", re.ASCII)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*", re.ASCII)
_CLAUSE = re.compile(r"(>=|<=|==|!=|>|<)\s*([0-9][0-9A-Za-z.+]*)", re.ASCII)
_PHASES = {".dev": 0, "a": 1, "b": 2, "rc": 3, "": 4}
_FORMS = "a version is written like `6.3.0`, `6.3`, `latest`, `>=6.3,<7` or `system`"
_FULL_FORMS = "a version in full is written like `6.3.0`, `6.3.0+site` or `10.0.0rc2`"

_Key = tuple[tuple[int, ...], int, int, tuple[tuple[int, int, str], ...]]


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """One release, totally ordered.

    `release` has four numbers, the fourth almost always 0; `phase` is 0 (developer build)
    to 4 (final); `number` counts within the phase (a date for nightlies, as YYYYMMDD);
    `local` is the text after `+`, kept as it was written.
    """

    release: tuple[int, int, int, int]
    phase: int = 4
    number: int = 0
    _local_key: tuple[tuple[int, int, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Version:
        """The version that `text` spells in full, else `InvalidVersionError`.

        >>> str(Version.parse("10.1.0a20260901"))
        '10.1.0a20260901'
        >>> Version.parse("6.10.0") > Version.parse("6.4.0")
        True
        """
        match = _VERSION.fullmatch(text) if len(text) <= _LONGEST else None
        if match is None:
            msg = f"{visible(text)} is not a version in full"
            raise InvalidVersionError(msg, hint=_FULL_FORMS)
        numbers = [int(match[name] or 0) for name in ("major", "minor", "patch", "fourth")]
        parts = (match["local"] or "").split(".") if match["local"] else []
        return cls(
            (numbers[0], numbers[1], numbers[2], numbers[3]),
            _PHASES[match["phase"] or ""],
            int(match["number"] or 0),
            tuple((1, int(p), p) if p.isdigit() else (0, 0, p) for p in parts),
        )

    @classmethod
    def parse_release(cls, text: str) -> Version:
        """As `parse`, and `X.Y` is taken for `X.Y.0`, as AMD's repositories name it."""
        match = _PREFIX.fullmatch(text)
        return cls.parse(f"{text}.0" if match and match[2] else text)

    @classmethod
    def parse_info(cls, text: str) -> Version:
        """The version in a prefix's `.info/version`: `X.Y.Z`, `X.Y.Z.W` or `X.Y.Z-BUILD`.

        Source: rocm-core's CMake file, which writes these three forms.
        """
        return cls.parse_release(text.strip().partition("-")[0])

    @property
    def local(self) -> str:
        """The text after `+`, or an empty text."""
        return ".".join(part[2] for part in self._local_key)

    @property
    def packed(self) -> int:
        """AMD's packed form, two digits each for minor and patch: 6.3.0 is 60300, 10.0.0 100000."""
        return self.release[0] * 10000 + self.release[1] * 100 + self.release[2]

    @property
    def xy(self) -> str:
        """The first two numbers, as in `6.3`."""
        return f"{self.release[0]}.{self.release[1]}"

    @property
    def xyz(self) -> str:
        """The first three numbers, as in `6.3.0`: the part that AMD's folder names use."""
        return f"{self.xy}.{self.release[2]}"

    @property
    def without_local(self) -> Version:
        """The release that this is a variant of; itself when it is none."""
        return Version(self.release, self.phase, self.number)

    @property
    def is_final(self) -> bool:
        """Whether this is a release and not a candidate, nightly or developer build."""
        return self.phase == _PHASES[""]

    def __str__(self) -> str:
        fourth = f".{self.release[3]}" if self.release[3] else ""
        phase = next(name for name, rank in _PHASES.items() if rank == self.phase)
        number = f"{phase}{self.number}" if phase else ""
        local = f"+{self.local}" if self._local_key else ""
        return f"{self.xyz}{fourth}{number}{local}"


@dataclass(frozen=True, slots=True)
class Clause:
    """One comparison of a range: an operator and a version with 1 to 3 numbers given."""

    operator: str
    version: Version
    given: int

    @property
    def is_partial(self) -> bool:
        """Whether fewer numbers were given than a release has."""
        return self.given < _NUMBERS

    def __str__(self) -> str:
        numbers = ".".join(map(str, self.version.release[: self.given]))
        return self.operator + (numbers if self.is_partial else str(self.version))

    def fits(self, version: Version) -> bool:
        """Whether `version` satisfies the comparison.

        `==6.3` and `!=6.3` compare as many numbers as were given. A variant counts as the
        release that it is one of, unless the comparison names a variant itself: `6.3.0+site`
        fits `<=6.3.0` and `==6.3.0`, and not `>6.3.0`.
        """
        if not self.version.local:
            version = version.without_local
        if self.operator in ("==", "!="):
            if self.is_partial:
                same = version.release[: self.given] == self.version.release[: self.given]
            else:
                same = version == self.version
            return same == (self.operator == "==")
        return {
            ">=": version >= self.version,
            ">": version > self.version,
            "<=": version <= self.version,
            "<": version < self.version,
        }[self.operator]


@dataclass(frozen=True, slots=True)
class Spec:
    """A request for a version, in one of five forms.

    Exactly one of these holds: `exact` is a version; `prefix` is one or two numbers;
    `clauses` is a range; `name` is `latest`, `system` or an alias.
    """

    exact: Version | None = None
    prefix: tuple[int, ...] = ()
    clauses: tuple[Clause, ...] = ()
    name: str = ""

    @classmethod
    def parse(cls, text: str) -> Spec:
        """The request that `text` makes, else `InvalidVersionError`.

        A leading `v` or `rocm-` is dropped, as in `v6.3.0` and `rocm-6.3.0`.

        >>> str(Spec.parse("rocm-6.3.0")), str(Spec.parse(">=6.3, <7"))
        ('6.3.0', '>=6.3,<7')
        """
        text = text.strip()
        if not text:
            msg = "the version is empty"
            raise InvalidVersionError(msg, hint=_FORMS)
        bare = re.sub(r"\A(?:rocm-|v)(?=\d)", "", text)
        if len(bare) <= _LONGEST and bare.isascii():
            if match := _PREFIX.fullmatch(bare):
                return cls(prefix=tuple(int(n) for n in match.groups() if n is not None))
            if _VERSION.fullmatch(bare):
                return cls(exact=Version.parse(bare))
            if _NAME.fullmatch(bare):
                return cls(name=bare)
            if bare[:1] in "<>=!":
                return cls(clauses=_parse_range(bare, text))
        msg = f"{visible(text)} is not a version"
        raise InvalidVersionError(msg, hint=_FORMS)

    @property
    def is_system(self) -> bool:
        """Whether this asks for no version of ours: what the system has."""
        return self.name == SYSTEM

    @property
    def is_alias(self) -> bool:
        """Whether this is a name that a person has given to a version."""
        return bool(self.name) and self.name not in (LATEST, SYSTEM)

    def fits(self, version: Version) -> bool:
        """Whether `version` is one of those asked for; aliases and `system` fit none."""
        if self.exact is not None:
            return version == self.exact
        if self.clauses:
            return all(clause.fits(version) for clause in self.clauses)
        if self.prefix:
            return version.release[: len(self.prefix)] == self.prefix
        return self.name == LATEST

    def __str__(self) -> str:
        if self.exact is not None:
            return str(self.exact)
        if self.clauses:
            return ",".join(map(str, self.clauses))
        return ".".join(str(n) for n in self.prefix) or self.name


def _parse_range(text: str, typed: str) -> tuple[Clause, ...]:
    clauses = []
    for part in text.split(","):
        match = _CLAUSE.fullmatch(part.strip())
        prefix = _PREFIX.fullmatch(match[2]) if match else None
        if match is None:
            msg = f"{visible(typed)} is not a range of versions"
            raise InvalidVersionError(msg, hint="write a range like `>=6.3,<7`")
        numbers = [int(n) for n in prefix.groups() if n is not None] if prefix else []
        if prefix:
            version = Version((numbers[0], numbers[1] if numbers[1:] else 0, 0, 0))
        else:
            version = Version.parse(match[2])
        clauses.append(Clause(match[1], version, len(numbers) or _NUMBERS))
    return tuple(clauses)


def choose(spec: Spec, versions: Iterable[Version]) -> Version | None:
    """The newest of `versions` that `spec` asks for, or None.

    Candidates, nightlies and developer builds are chosen only when named in full, and a
    variant (`6.3.0+distro`) only when no plain release fits: a pin never becomes a build
    of another kind because that sorts higher.
    """
    fitting = [v for v in versions if spec.fits(v)]
    if spec.exact is None:
        fitting = [v for v in fitting if v.is_final]
        fitting = [v for v in fitting if not v.local] or fitting
    return max(fitting, default=None)


def nearest(wanted: str, versions: Iterable[Version]) -> list[Version]:
    """Up to three of `versions` that a person may have meant by `wanted`, best first."""
    import difflib  # noqa: PLC0415 - only for messages

    texts = {str(v): v for v in versions}
    close = difflib.get_close_matches(wanted, list(texts), n=3, cutoff=0.6)
    return [texts[text] for text in close]
