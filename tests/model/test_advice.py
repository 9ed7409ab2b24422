"""What is told of a release on a machine: never more than the tables say, never a refusal."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmenv.model.advice import Advice, advise
from rocmenv.model.target import Target
from rocmenv.model.version import Spec, Version, choose
from rocmenv.sources import catalog_file
from rocmenv.sources.gpus import load
from tests.model.test_target import targets
from tests.strategies import versions

GPUS = load()
RELEASES = [row.version for row in catalog_file.load().releases]


def told(
    release: str, target: str, driver: str | None = None, *, wsl: bool = False
) -> list[Advice]:
    return advise(GPUS, Version.parse(release), [Target.parse(target)], driver, wsl=wsl)


def test_a_gpu_that_the_release_does_not_list() -> None:
    assert told("6.1.0", "gfx1201") == [
        Advice(
            "unlisted",
            "release 6.1.0 does not list gfx1201; listed in 6.4.1 to 7.2.4, 10.0.0, 10.1.0",
            GPUS.sources["support"],
            "`rocmenv install 10.1.0`",
        )
    ]


@pytest.mark.parametrize(
    ("release", "target", "codes"),
    [
        ("6.3.0", "gfx1100", []),
        ("6.3.0+site", "gfx90a:xnack-", []),
        ("6.1.0", "gfx906", ["deprecated"]),
        ("7.2.0", "gfx1151", ["apart"]),
        ("7.0.0", "gfx1151", ["unlisted"]),
        ("6.3.0", "gfx940", []),
        ("7.0.0", "gfx941", ["retired"]),
        ("5.3.0", "gfx1201", []),  # nobody looked its table up
        ("7.13.0", "gfx1201", []),
        ("6.3.0", "gfx1170", ["unknown-target"]),
        ("6.3.0", "gfx1031", ["stand-in"]),
        ("6.3.0", "gfx803", ["unlisted"]),
        ("7.11.0", "gfx1031", ["not-built"]),
        ("10.0.0", "gfx803", ["not-built"]),
        ("10.0.0", "gfx1103", ["libraries"]),
        ("10.0.0", "gfx1036", ["unlisted", "libraries"]),
    ],
)
def test_what_there_is_to_tell_of_a_target(release: str, target: str, codes: list[str]) -> None:
    assert [advice.code for advice in told(release, target)] == codes


@pytest.mark.parametrize(
    ("release", "target", "text", "hint"),
    [
        (
            "6.3.0",
            "gfx1031",
            "no release lists gfx1031; people run code for gfx1030 on it (documented by third parties)",  # noqa: E501 - one text
            "`export HSA_OVERRIDE_GFX_VERSION=10.3.0`",
        ),
        ("6.3.0", "gfx803", "no release lists gfx803", None),
        (
            "10.0.0",
            "gfx906",
            "release 10.0.0 does not list gfx906; listed in 5.7.0 to 6.3.3",
            "`rocmenv install '>=5.7.0,<=6.3.3'`",
        ),
        (
            "10.0.0",
            "gfx1250",
            "no release lists gfx1250; 10.0.0 has code for it all the same, untested",
            None,
        ),
        (
            "7.11.0",
            "gfx1031",
            "release 7.11.0 has no code for gfx1031; it is built from 7.12.0 on",
            "`rocmenv install '>=7.12.0'`",
        ),
        (
            "6.1.0",
            "gfx906",
            "release 6.1.0 lists gfx906 as deprecated (maintenance mode; unverified: the end)",
            None,
        ),
        (
            "7.1.0",
            "gfx1150",
            "gfx1150 is not in the table of release 7.1.0, but in AMD's pages on Ryzen (unverified: the range)",  # noqa: E501 - one text
            None,
        ),
    ],
)
def test_the_words(release: str, target: str, text: str, hint: str | None) -> None:
    found = told(release, target)[0]
    assert (found.text, found.hint) == (text, hint)


def test_wsl_has_a_table_of_its_own() -> None:
    assert told("7.2.0", "gfx1100", wsl=True) == []
    assert told("7.2.0", "gfx90a", wsl=True)[0].text == "no release lists gfx90a under WSL"
    found = told("7.2.0", "gfx1152", wsl=True)[0]
    assert found.text == "release 7.2.0 does not list gfx1152 under WSL; listed in 10.1.0"
    assert found.source == GPUS.sources["wsl"]
    assert told("6.0.0", "gfx1100", "6.16.6", wsl=True) == [], "the driver is that of Windows"


@pytest.mark.parametrize(
    ("release", "driver", "text", "hint"),
    [
        ("6.3.0", "6.10.5", None, None),
        ("6.2.0", "6.14.14", None, None),
        ("7.14.0", "6.10.99", None, None),
        ("6.3.0", "5.18.13", None, None),
        (
            "6.0.0",
            "6.12.12",
            "amdgpu 6.12.12 (that of 6.4, unverified); tested: 7.2, 7.1, 7.0, 6.4",
            "`rocmenv install 7.2`",
        ),
        ("5.3.0", "6.16.6", None, None),
        (
            "6.4.0",
            "6.16.6",
            "amdgpu 6.16.6 (that of 30.20); tested: 10.1, 7.2, 7.1",
            "`rocmenv install 10.1`",
        ),
    ],
)
def test_a_driver_that_the_release_was_not_tested_with(
    release: str, driver: str, text: str | None, hint: str | None
) -> None:
    found = [advice for advice in told(release, "gfx1100", driver) if advice.code == "driver"]
    start = f"release {release} is not listed as tested with this kernel driver, "
    assert [(a.text, a.hint) for a in found] == ([(f"{start}{text}", hint)] if text else [])


def test_beside_another_gpu_no_override_is_advised() -> None:
    """It would make that one pass for the other target too."""
    both = [Target.parse("gfx1100"), Target.parse("gfx1036")]
    found = advise(GPUS, Version.parse("6.3.0"), both)
    assert [(advice.code, advice.hint) for advice in found] == [("stand-in", None)]


def test_features_and_repeats_are_told_once() -> None:
    twice = [Target.parse("gfx1201"), Target.parse("gfx1201:xnack-")]
    assert len(advise(GPUS, Version.parse("6.1.0"), twice)) == 1


modules = st.none() | st.sampled_from([*GPUS.drivers.modules, "", "x", "6", "6.10"])


@given(versions(), st.lists(targets, max_size=3), modules, st.booleans())
def test_there_is_always_an_answer(
    release: Version,
    found: list[Target],
    driver: str | None,
    wsl: bool,  # noqa: FBT001 - hypothesis passes by name
) -> None:
    for advice in advise(GPUS, release, found, driver, wsl=wsl):
        assert advice.text[0].islower()
        assert not advice.text.endswith(".")
        assert advice.source


@given(st.sampled_from(RELEASES), st.sampled_from(sorted(GPUS.targets)), modules)
def test_a_hint_to_install_leads_to_a_release_without_that_warning(
    release: Version, target: Target, driver: str | None
) -> None:
    for advice in advise(GPUS, release, [target], driver):
        if advice.hint and advice.hint.startswith("`rocmenv install"):
            words = shlex.split(advice.hint.strip("`"))
            other = choose(Spec.parse(words[2]), RELEASES)
            assert other is not None, advice.hint
            again = [a.code for a in advise(GPUS, other, [target], driver)]
            assert advice.code not in again
