"""The tables of GPU targets: against the facts as collected, and what is asked of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rocm_bootstrap import naming
from rocm_bootstrap import targets as oracle

from rocmenv.errors import InvalidTargetError
from rocmenv.model.gpus import Level, Support
from rocmenv.model.target import Generic, Target
from rocmenv.model.version import Version
from rocmenv.sources import catalog_file
from rocmenv.sources.gpus import load

GPUS = load()
FACTS = [
    line
    for line in Path(__file__).with_name("gpu_facts.txt").read_text().splitlines()
    if not line.startswith("#")
]
ROWS = [line.split(" | ") for line in FACTS if " | " in line]
KINDS = {"dgpu": "discrete", "apu": "integrated", "dcgpu": "accelerator"}
LEVELS = {"official": Level.LISTED, "deprecated": Level.DEPRECATED, "ryzen-docs": Level.APART}
STATUS = {
    "documented-third-party": "documented by third parties",
    "community-unverified": "unverified",
    "none": "",
    "not-needed": "",
}


def target(text: str) -> Target:
    return Target.parse(text)


def v(text: str) -> Version:
    return Version.parse(text)


def facts(kind: str) -> dict[str, list[str]]:
    """The lines of one kind: the name, and what stands behind it."""
    found = (line.split() for line in FACTS if line.startswith(f"{kind} "))
    return {name: rest for _, name, *rest in found}


def spans(text: str) -> list[tuple[str, str, Level]]:
    found = (word.replace("=", "-").split("-", 2) for word in text.split() if word != "-")
    return [(first, last, LEVELS[level]) for first, last, level in found]


def rows(support: tuple[Support, ...]) -> list[tuple[str, str, Level]]:
    return [(str(row.first), str(row.last), row.level) for row in support]


def test_the_targets_are_those_of_the_facts() -> None:
    assert list(map(str, GPUS.targets)) == [
        row[0].split()[0] for row in sorted(ROWS, key=lambda row: int(row[0].split()[1]))
    ]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row[0].split()[0]))
def test_a_target_is_as_the_facts_say(row: list[str]) -> None:
    name, number, kind = row[0].split()
    known = GPUS.known(target(name))
    assert known is not None
    assert (known.target.number, known.kind) == (int(number), KINDS[kind])
    built, *listed = row[6].split()
    linux = spans(row[1])
    if listed:  # the set of 10.0's documentation, which is a list of its own
        before = [span for span in linux if not span[0].startswith("10.")]
        linux = [*before, ("10.0.0", "10.0.0", Level.LISTED), *linux[len(before) :]]
    assert rows(known.linux) == linux
    assert rows(known.wsl) == spans(row[2])
    names = [known.tarball, known.wheel_old, known.package_old, known.package, known.extra]
    assert [name or "-" for name in names] == row[3].split()
    member_of = sorted(f.name for f in GPUS.families if known.target in f.targets and not f.first)
    assert (" ".join(member_of) or "-") == row[4]
    assert (known.since is None) == (row[4] == "-")
    override, status = row[5].split()
    stand_in = known.stand_in
    assert override == (
        f"{stand_in.major}.{stand_in.minor}.{stand_in.stepping}" if stand_in else "-"
    )
    assert known.stand_in_is == STATUS[status]
    assert known.tested is (built == "release" or row[4] == "-")
    assert known.products
    assert known.generation


def test_families_and_generic_names_are_as_the_facts_say() -> None:
    families = {f.name: list(map(str, f.targets)) for f in GPUS.families if f.first is None}
    old = {f.name: list(map(str, f.targets)) for f in GPUS.families if f.first is not None}
    lines = [line.split()[1:] for line in FACTS if line.startswith("family ")]
    assert families == {name: members for kind, name, *members in lines if kind == "now"}
    assert old == {name: members for kind, name, *members in lines if kind == "old"}
    generic = {str(name): list(map(str, members)) for name, members in GPUS.generic.items()}
    assert generic == facts("generic")
    assert {str(t): [str(end)] for t, end in GPUS.retired.items()} == facts("retired")


def test_libraries_and_drivers_are_as_the_facts_say() -> None:
    gaps = {name: list(map(str, members)) for name, members in GPUS.gaps.items()}
    only = {f"{name}_only_on": list(map(str, members)) for name, members in GPUS.only_on.items()}
    assert {**gaps, **only} == facts("gap")
    drivers = GPUS.drivers
    assert {name: list(lines) for name, lines in drivers.for_release.items()} == facts("driver-for")
    assert {n: list(xs) for n, xs in drivers.releases_for.items()} == facts("release-for")
    modules = {
        version: [line, "unverified" if unsure else "verified"]
        for version, (line, unsure) in drivers.modules.items()
    }
    assert modules == facts("module")


def test_every_source_that_is_shown_has_words() -> None:
    assert all(GPUS.sources[name] for name in ("support", "wsl", "builds", "driver", "stand_in"))


@pytest.mark.parametrize(
    "known",
    [t for t in oracle.ALL_TARGETS if t.name.isalnum() and target(t.name) in GPUS.targets],
    ids=lambda known: known.name,
)
def test_device_packages_are_named_as_amds_own_tool_does(known: oracle.GfxTarget) -> None:
    row = GPUS.known(target(known.name))
    assert row is not None
    if row.extra:
        bundle = oracle.bundle_for_target(known, oracle.PackagingLevel.TARGET)
        name = naming.device_dist_name("rocm-sdk-device", bundle)
        assert name == f"rocm-sdk-{row.extra}"


@pytest.mark.parametrize(
    "bundle",
    [b for b in oracle.all_bundles() if b.llvm_generic],
    ids=lambda bundle: bundle.key,
)
def test_generic_names_of_amds_own_tool_may_serve_their_members(
    bundle: oracle.TargetBundle,
) -> None:
    generic = Generic.parse(str(bundle.llvm_generic))
    assert generic is not None
    assert all(generic.may_serve(target(m.name.removesuffix("-strict"))) for m in bundle.members)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("gfx110X-all", "gfx1100 gfx1101 gfx1102 gfx1103"),
        ("GFX110x-DGPU", "gfx1100 gfx1101 gfx1102"),
        ("gfx90X-dcgpu", "gfx906 gfx908 gfx90a"),
        ("gfx12-generic", "gfx1200 gfx1201"),
        ("gfx90a:xnack-", "gfx90a:xnack-"),
        ("gfx1170", "gfx1170"),
    ],
)
def test_names_of_several_targets(text: str, names: str) -> None:
    assert " ".join(map(str, GPUS.expand(text))) == names


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("gfx9010", "did you mean `gfx90a`?"),
        ("gfx110X", "did you mean `gfx110X-all`?"),
        ("gfx120X-al", "did you mean `gfx120X-all`?"),
        ("mi210", "that is `gfx90a`"),
        ("RX 7900 XTX", "that is `gfx1100`"),
        ("radeon", None),  # many
    ],
)
def test_a_name_that_is_none_has_a_suggestion(text: str, hint: str | None) -> None:
    with pytest.raises(InvalidTargetError) as caught:
        GPUS.expand(text)
    if hint is None:
        assert str(caught.value.hint).startswith("a target is written like `gfx1100`")
    else:
        assert caught.value.hint == hint


@given(st.sampled_from(GPUS.names()))
def test_every_name_that_is_offered_is_taken(name: str) -> None:
    assert GPUS.expand(name)
    assert GPUS.expand(name.upper()) == GPUS.expand(name)


@pytest.mark.parametrize(
    ("name", "release", "wsl", "level"),
    [
        ("gfx1100", "6.3.0", False, Level.LISTED),
        ("gfx1100", "6.3.0+site", False, Level.LISTED),
        ("gfx906", "6.1.0", False, Level.DEPRECATED),
        ("gfx1151", "7.2.0", False, Level.APART),
        ("gfx1151", "7.0.0", False, Level.UNLISTED),
        ("gfx1201", "6.1.0", False, Level.UNLISTED),
        ("gfx1201", "7.14.0", False, Level.UNCHECKED),
        ("gfx1201", "10.1.0rc1", False, Level.UNCHECKED),
        ("gfx1031", "5.7.1", False, Level.UNCHECKED),
        ("gfx1101", "10.0.0", False, Level.LISTED),
        ("gfx1103", "10.1.0", True, Level.UNLISTED),
        ("gfx1100", "7.2.1", True, Level.LISTED),
        ("gfx1100", "6.3.0", True, Level.UNCHECKED),
        ("gfx1170", "6.3.0", False, Level.UNLISTED),
    ],
)
def test_what_a_release_says_of_a_target(
    name: str, release: str, level: Level, *, wsl: bool
) -> None:
    found = GPUS.standing(target(name), v(release), wsl=wsl)
    assert (found.level if isinstance(found, Support) else found) is level


@pytest.mark.parametrize(
    ("name", "release", "group", "suffix"),
    [
        ("gfx1100", "7.10.0", "gfx110X-dgpu", "gfx110x"),
        ("gfx1100", "7.11.0", "gfx110X-all", "gfx110x"),
        ("gfx1103", "7.10.0", None, "gfx110x"),
        ("gfx1103", "7.11.0", "gfx110X-all", "gfx110x"),
        ("gfx906", "7.11.0", "gfx90X-dcgpu", None),
        ("gfx906", "7.12.0", None, None),
        ("gfx906", "7.14.0", "multiarch", "gfx906"),
        ("gfx1035", "7.12.0", None, "gfx103x"),
        ("gfx90a", "7.11.0", "gfx90X-dcgpu", "gfx90a"),
        ("gfx90a", "7.12.0", "gfx90a", "gfx90a"),
        ("gfx1030", "7.12.0", "gfx103X-dgpu", "gfx103x"),
        ("gfx1030", "7.13.0", "gfx103X-all", "gfx103x"),
        ("gfx1031", "7.11.0", None, None),
        ("gfx1010", "7.12.0", None, None),
        ("gfx1010", "10.0.0", "multiarch", "gfx1010"),
        ("gfx942:xnack+", "7.13.0", "gfx94X-dcgpu", "gfx94x"),
        ("gfx942:xnack+", "10.0.0", "gfx94X-dcgpu", "gfx942"),
        ("gfx1151", "10.0.0", "gfx1151", "gfx1151"),
        ("gfx1100", "6.3.0", None, None),
        ("gfx803", "10.0.0", None, None),
        ("gfx1170", "10.0.0", None, None),
    ],
)
def test_names_in_a_channel(name: str, release: str, group: str | None, suffix: str | None) -> None:
    assert GPUS.tarball_group(target(name), v(release)) == group
    assert GPUS.package_suffix(target(name), v(release)) == suffix


@pytest.mark.parametrize(
    ("name", "release", "other"),
    [
        ("gfx1031", "6.3.0", "gfx1030"),
        ("gfx1031", "7.12.0", None),
        ("gfx1101", "6.2.0", "gfx1100"),
        ("gfx1101", "7.0.0", None),
        ("gfx1151", "7.0.0", "gfx1100"),
        ("gfx1100", "5.0.0", None),
        ("gfx1170", "6.3.0", None),
    ],
)
def test_whose_code_a_gpu_runs(name: str, release: str, other: str | None) -> None:
    found = GPUS.stand_in(target(name), v(release))
    assert (str(found) if found else None) == other


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("6.10.5", ("6.3", True)),
        ("6.16.6", ("30.20", False)),
        ("6.16.13", ("30.20", True)),
        ("6.9.1", None),
        ("", None),
    ],
)
def test_a_module_is_of_a_line_of_drivers(module: str, line: tuple[str, bool] | None) -> None:
    assert GPUS.drivers.line(module) == line


@pytest.mark.parametrize(
    ("xy", "line", "says"),
    [
        ("6.3", "6.3", True),
        ("6.2", "30.10", True),
        ("7.2", "30.10", True),
        ("6.0", "6.4", False),
        ("5.2", "6.3", False),
        ("7.14", "31.50", None),
        ("5.0", "4.5", None),
    ],
)
def test_whether_a_release_was_tested_with_a_driver(xy: str, line: str, says: object) -> None:
    assert GPUS.drivers.says_of(xy, line) is says


def test_the_releases_of_the_tables_are_known() -> None:
    known = {row.version for row in catalog_file.load().releases}
    ends = [end for span in (*GPUS.checked, *GPUS.wsl_checked) for end in span]
    ends += [
        e for k in GPUS.targets.values() for s in (*k.linux, *k.wsl) for e in (s.first, s.last)
    ]
    assert {str(end) for end in ends if end not in known} == set()
