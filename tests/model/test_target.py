"""Names of GPU targets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rocm_bootstrap import targets as oracle

from rocmenv.errors import InvalidTargetError
from rocmenv.model.target import Generic, Target, split

digits = st.integers(0, 15)
features = st.lists(
    st.tuples(st.sampled_from(["sramecc", "xnack"]), st.booleans()), unique_by=lambda f: f[0]
).map(lambda found: tuple(sorted(found)))
targets = st.builds(Target, st.integers(6, 19), digits, digits, features)


@given(targets)
def test_a_target_reads_back_as_itself_in_any_case(target: Target) -> None:
    assert Target.parse(str(target)) == target
    assert Target.parse(str(target).upper()) == target


@given(targets)
def test_the_kernels_number_names_the_target(target: Target) -> None:
    assert Target.from_number(target.number) == target.base


@given(st.integers(-(2**64), 2**64))
def test_any_other_number_is_no_target(number: int) -> None:
    target = Target.from_number(number)
    assert target is None or target.number == number


@given(st.lists(targets))
def test_the_order_is_that_of_the_numbers(found: list[Target]) -> None:
    assert [t.number for t in sorted(found)] == sorted(t.number for t in found)


@given(st.lists(targets), st.sampled_from([",", ":", " ", ", ", "\n"]))
def test_a_list_comes_apart_between_targets_alone(found: list[Target], separator: str) -> None:
    assert split(separator.join(map(str, found))) == list(map(str, found))


@given(st.text(max_size=30))
def test_a_text_is_a_target_or_refused_with_a_hint(text: str) -> None:
    hint: str | None = "none is needed"
    try:
        assert str(Target.parse(text).base) == text.lower().partition(":")[0]
    except InvalidTargetError as error:
        hint = error.hint
    assert hint


@pytest.mark.parametrize("known", oracle.ALL_TARGETS, ids=lambda known: known.name)
def test_amds_own_targets_have_the_same_names_and_numbers(known: oracle.GfxTarget) -> None:
    name = known.name.removesuffix("-strict")  # a build of gfx1250, not a target
    target = Target.parse(name)
    assert (target.major, target.minor, target.stepping) == (
        known.major,
        known.minor,
        known.stepping,
    )
    assert target.number == known.gfx_target_version
    assert str(target) == name


@pytest.mark.parametrize(
    ("text", "numbers", "words"),
    [
        ("gfx90a", (9, 0, 10), []),
        ("gfx1100", (11, 0, 0), []),
        ("gfx803", (8, 0, 3), []),
        ("GFX90A:XNACK-:sramecc+", (9, 0, 10), ["sramecc+", "xnack-"]),
        ("gfx942:xnack+:xnack+", (9, 4, 2), ["xnack+"]),
    ],
)
def test_forms(text: str, numbers: tuple[int, int, int], words: list[str]) -> None:
    target = Target.parse(text)
    assert (target.major, target.minor, target.stepping) == numbers
    assert target.feature_words == words


@pytest.mark.parametrize(
    "text",
    [
        "", "gfx", "gfx90", "gfx9010", "gfx11000", "gfx110g", "gfx2000", "gfx500", "1100",
        "gfx1100 ", "gfx1100:", "gfx1100:xnack", "gfx11-generic", "gfx110X-all", "gfx１100",
        "gfx1100\n", "gfx" + "1" * 1000,
    ],
)  # fmt: skip
def test_what_is_no_target(text: str) -> None:
    with pytest.raises(InvalidTargetError, match="is not a GPU target"):
        Target.parse(text)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("gfx9010", "did you mean `gfx90a`?"),
        ("gfx9012", "did you mean `gfx90c`?"),
        ("gfx11000", "did you mean `gfx1100`?"),
        ("gfx110X", "did you mean `gfx110X-all`?"),
        ("gxf1100", "did you mean `gfx1100`?"),
    ],
)
def test_a_slip_has_a_suggestion(text: str, hint: str) -> None:
    """R19: gfx9010 is gfx90a with its revision in decimal."""
    with pytest.raises(InvalidTargetError) as caught:
        Target.parse(text, ["gfx1100", "gfx90a", "gfx110X-all"])
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gfx90a:ecc+", "`ecc` in `gfx90a:ecc+` is not a feature"),
        ("gfx90a:xnack+:xnack-", "`xnack` in `gfx90a:xnack+:xnack-` is on and off"),
    ],
)
def test_features_are_checked(text: str, words: str) -> None:
    with pytest.raises(InvalidTargetError) as caught:
        Target.parse(text)
    assert (caught.value.message, caught.value.hint) == (
        words,
        "the features are sramecc and xnack",
    )


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (90010, "gfx90a"),
        (90012, "gfx90c"),
        (90402, "gfx942"),
        (90500, "gfx950"),
        (100306, "gfx1036"),
        (110000, "gfx1100"),
        (110501, "gfx1151"),
        (80003, "gfx803"),
        (0, None),
        (-90010, None),
        (91600, None),  # no hex digit
        (90016, None),
        (900010, None),
        (10100, None),
        (2**64, None),
    ],
)
def test_numbers_of_the_kernel(number: int, name: str | None) -> None:
    found = Target.from_number(number)
    assert (str(found) if found else None) == name


@pytest.mark.parametrize("text", ["gfx9-generic", "gfx9-4-generic", "gfx10-3-generic"])
def test_generic_names_read_back(text: str) -> None:
    assert str(Generic.parse(text)) == text
    assert Generic.parse(text.upper()) == Generic.parse(text)


@pytest.mark.parametrize("text", ["gfx1100", "gfx-generic", "gfx11-generic2", "gfx3-generic", ""])
def test_other_names_are_not_generic(text: str) -> None:
    assert Generic.parse(text) is None


@given(st.builds(Generic, st.integers(9, 11), st.none() | digits), targets)
def test_generic_code_may_serve_its_own_generation_alone(generic: Generic, target: Target) -> None:
    assert generic.may_serve(target) == (generic.major == target.major)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        (" , :", []),
        ("gfx90a:sramecc+:xnack-:gfx1100", ["gfx90a:sramecc+:xnack-", "gfx1100"]),
        ("gfx90a:XNACK-,gfx1100", ["gfx90a:XNACK-", "gfx1100"]),
        ("gfx110X-all gfx90a", ["gfx110X-all", "gfx90a"]),
        ("gfx90a:xnacky-", ["gfx90a", "xnacky-"]),
    ],
)
def test_lists(text: str, words: list[str]) -> None:
    assert split(text) == words
