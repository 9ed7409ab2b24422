"""Fingerprints: round trips, and what counts as a change."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmenv.errors import StoreError
from rocmenv.model.fingerprint import Change, Fingerprint, compare
from rocmenv.model.layout import Kind, Layout
from rocmenv.model.receipt import Receipt
from rocmenv.model.version import Version
from tests.strategies import versions

marks = st.dictionaries(st.text(), st.tuples(st.integers(), st.integers()), max_size=5)
fingerprints = st.builds(
    Fingerprint,
    versions().map(str) | st.just(""),
    st.text(),
    marks.map(lambda table: tuple((name, *pair) for name, pair in table.items())),
)
LINK = Receipt(
    Version.parse("6.3.0"), Layout(Kind.LEGACY), "link", "/x", "2026-01-01", "0", prefix="/x"
)


@given(fingerprints)
def test_a_receipt_keeps_its_fingerprint(fingerprint: Fingerprint) -> None:
    receipt = replace(LINK, fingerprint=fingerprint)
    assert Receipt.parse(receipt.render(), "r") == receipt


def test_a_receipt_without_one_is_still_read() -> None:
    assert "fingerprint" not in json.loads(LINK.render())
    assert Receipt.parse(LINK.render(), "r") == LINK


@pytest.mark.parametrize(
    "wrong",
    [
        7,
        [],
        {},
        {"version": 1, "text": "", "marks": {}},
        {"version": "", "text": "", "marks": []},
        {"version": "", "text": "", "marks": {"a": 1}},
        {"version": "", "text": "", "marks": {"a": [1]}},
        {"version": "", "text": "", "marks": {"a": ["x", 1]}},
    ],
)
def test_anything_else_is_no_fingerprint(wrong: object) -> None:
    value = {**json.loads(LINK.render()), "fingerprint": wrong}
    with pytest.raises(StoreError, match="r.json is not a receipt"):
        Receipt.parse(json.dumps(value), "r.json")


@given(fingerprints, versions())
def test_what_is_as_it_was_has_not_changed(fingerprint: Fingerprint, name: Version) -> None:
    if not fingerprint.version:  # then the name is of the release that it is
        fingerprint = replace(fingerprint, version=str(name))
    assert compare(fingerprint, fingerprint, name) is None


@given(fingerprints, fingerprints, versions())
def test_another_version_is_another_release(
    one: Fingerprint, other: Fingerprint, name: Version
) -> None:
    change = compare(one, other, name)
    if one.version and one.version != other.version:
        assert change == Change(one.version, other.version)
        assert change.is_release
    elif change is not None and one.version:
        assert not change.is_release


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        (("6.4.1", "6.4.1-83"), ("6.4.2", "6.4.2-9"), "was 6.4.1, is 6.4.2"),
        (("6.4.1", "6.4.1-83"), ("", ""), "was 6.4.1, is none that says its release"),
        (
            ("6.4.1", "6.4.1-83"),
            ("6.4.1", "6.4.1-84"),
            "was changed in place, and still is 6.4.1",
        ),
        (("6.4.1", "6.4.1-83"), ("6.4.1", "6.4.1-83"), None),
        # Linked by name, as the prefix did not say what it is.
        (("", ""), ("", ""), None),
        (("", ""), ("6.4.1", "6.4.1"), None),
        (("", ""), ("6.4.2", "6.4.2"), "was 6.4.1, is 6.4.2"),
        # Linked by an older rocmenv.
        (None, ("6.4.1", "6.4.1-83"), None),
        (None, ("", ""), None),
        (None, ("6.4.2", "6.4.2"), "was 6.4.1, is 6.4.2"),
    ],
)
def test_the_words_for_a_change(
    before: tuple[str, str] | None, now: tuple[str, str], words: str | None
) -> None:
    old = Fingerprint(*before) if before is not None else None
    change = compare(old, Fingerprint(*now), Version.parse("6.4.1+site"))
    assert (str(change) if change else None) == words
