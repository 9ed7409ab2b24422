"""Versions and specs: total order, round trips, and the choice that a spec makes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmenv.errors import InvalidVersionError
from rocmenv.model.version import Spec, Version, choose, nearest
from tests.strategies import versions


def v(text: str) -> Version:
    return Version.parse(text)


@given(versions())
def test_a_version_is_what_it_prints(version: Version) -> None:
    assert Version.parse(str(version)) == version


@given(versions(), versions(), versions())
def test_the_order_is_total(a: Version, b: Version, c: Version) -> None:
    assert (a < b) + (a == b) + (a > b) == 1
    assert (a == b) == (str(a) == str(b))
    if a <= b <= c:
        assert a <= c


def test_numbers_are_compared_as_numbers_and_phases_in_their_order() -> None:
    """R18: text order put 0.8.22 above 0.10, and dates are not the order of releases."""
    ordered = [
        "6.3.0",
        "6.4.0",
        "6.10.0",
        "7.2.4",
        "7.9.0",
        "7.14.0",
        "7.14.1",
        "10.0.0rc0",
        "10.0.0rc2",
        "10.0.0",
        "10.0.0+bkc.1",
        "10.0.0+bkc.2",
        "10.0.0+bkc.10",
        "10.1.0.dev0+0f1e2d",
        "10.1.0a20260831",
        "10.1.0a20260901",
        "10.1.0rc1",
        "10.1.0",
    ]
    assert sorted(map(v, reversed(ordered))) == list(map(v, ordered))


@pytest.mark.parametrize(
    ("typed", "canonical"),
    [
        ("6.3.0", "6.3.0"),
        ("v6.3.0", "6.3.0"),
        ("rocm-6.3.0", "6.3.0"),
        ("6.3", "6.3"),
        ("6", "6"),
        (" 6.3.0 ", "6.3.0"),
        ("latest", "latest"),
        ("system", "system"),
        (">=6.3,<7", ">=6.3,<7"),
        (">=6.3, <7", ">=6.3,<7"),
        ("==6.3", "==6.3"),
        ("work", "work"),
        ("10.1.0a20260901", "10.1.0a20260901"),
        ("6.3.0.1", "6.3.0.1"),
        ("06.3.0", "6.3.0"),
    ],
)
def test_every_spelling_has_one_canonical_form(typed: str, canonical: str) -> None:
    spec = Spec.parse(typed)
    assert str(spec) == canonical
    assert Spec.parse(str(spec)) == spec


@pytest.mark.parametrize(
    "typed",
    [
        "",
        ".",
        "..",
        "../../outside",
        "/opt/rocm-6.3.0",
        "6.3.0;touch pwned",
        "6.3.0 ",
        "6..3",
        "-6",
        "6.3.0\x00",
        "6.3.0\r",
        ">=",
        ">=x",
        ">6.3,",
        "6.3.0+",
        "6.3.0-1",
        "6.3.0.0.0",
        "٦.٣.٠",
        "6" * 70000,
        "a/b",
        "$(id)",
        "6.3.0a",
    ],
)
def test_what_is_no_version_is_refused(typed: str) -> None:
    with pytest.raises(InvalidVersionError) as caught:
        Version.parse(typed)
    assert caught.value.hint
    if typed not in ("6.3.0 ", "6.3.0\r"):  # a spec is stripped, a version is not
        with pytest.raises(InvalidVersionError):
            Spec.parse(typed)


@pytest.mark.parametrize("text", ["", " ", "\t"])
def test_an_empty_version_is_called_that(text: str) -> None:
    with pytest.raises(InvalidVersionError, match="^the version is empty$"):
        Spec.parse(text)


def test_a_control_character_is_seen_in_the_message() -> None:
    """R01: the message looked right on screen because the carriage return is invisible."""
    with pytest.raises(InvalidVersionError, match=r"`6\.3\.0\\r`"):
        Version.parse("6.3.0\r")


@pytest.mark.parametrize(
    ("spec", "chosen"),
    [
        ("6.3", "6.3.4"),
        ("6", "6.10.1"),
        ("6.3.0", "6.3.0"),
        ("latest", "10.0.0"),
        (">=6.3,<7", "6.10.1"),
        (">=6.3,<6.4", "6.3.4"),
        ("==6.3", "6.3.4"),
        ("<=6.3.0", "6.3.0"),
        ("!=10.0.0", "7.2.4"),
        (">7", "10.0.0"),
        ("10.1", None),
        ("10.1.0a20260901", "10.1.0a20260901"),
        ("7.14.0+distro", "7.14.0+distro"),
        ("7.14", "7.14.0+distro"),
        ("5", None),
        ("system", None),
        ("work", None),
        ("6.3.1", None),
    ],
)
def test_a_spec_chooses_the_newest_release_that_fits(spec: str, chosen: str | None) -> None:
    have = [
        "6.3.0",
        "6.3.4",
        "6.10.1",
        "7.2.4",
        "10.0.0",
        "10.1.0a20260901",
        "7.14.0+distro",
        "6.3.4+distro",
        "10.0.0+bkc.1",
    ]
    found = choose(Spec.parse(spec), map(v, have))
    assert (str(found) if found else None) == chosen


@pytest.mark.parametrize(
    ("spec", "chosen"),
    [
        (">6.3.0", None),
        ("<6.3.0", None),
        ("<=6.3.0", "6.3.0+t"),
        (">=6.3.0", "6.3.0+t"),
        ("==6.3.0", "6.3.0+t"),
        ("==6.3", "6.3.0+t"),
        ("!=6.3.0", None),
        (">6.3.0+s", "6.3.0+t"),
        ("<6.3.0+s", "6.3.0+r"),
        ("==6.3.0+s", "6.3.0+s"),
        ("!=6.3.0+t", "6.3.0+s"),
    ],
)
def test_a_range_takes_a_variant_for_its_release(spec: str, chosen: str | None) -> None:
    found = choose(Spec.parse(spec), map(v, ["6.3.0+r", "6.3.0+s", "6.3.0+t"]))
    assert (str(found) if found else None) == chosen


@given(versions(), versions(), st.sampled_from(["<", "<=", "==", "!=", ">=", ">"]))
def test_a_comparison_without_a_variant_is_blind_to_variants(
    version: Version, bound: Version, operator: str
) -> None:
    spec = Spec.parse(f"{operator}{bound.without_local}")
    assert spec.fits(version) == spec.fits(version.without_local)


@given(st.lists(versions(), max_size=8))
def test_latest_is_never_a_pre_release(have: list[Version]) -> None:
    found = choose(Spec.parse("latest"), have)
    assert found is None or found.is_final


@pytest.mark.parametrize(("code", "text"), [(60300, "6.3.0"), (70204, "7.2.4"), (100000, "10.0.0")])
def test_the_packed_form(code: int, text: str) -> None:
    """R02."""
    assert v(text).packed == code


@pytest.mark.parametrize(
    ("text", "version"),
    [("6.3.0-39\n", "6.3.0"), ("6.3.0", "6.3.0"), ("7.0.0.1", "7.0.0.1"), ("5.7", "5.7.0")],
)
def test_the_info_file_is_read_in_each_of_its_forms(text: str, version: str) -> None:
    assert str(Version.parse_info(text)) == version


def test_the_nearest_versions_are_those_a_typing_slip_away() -> None:
    assert str(nearest("6.4.3", map(v, ["5.2.3", "6.4.1", "7.2.4"]))[0]) == "6.4.1"
    assert nearest("zzz", [v("5.2.3")]) == []
