"""Texts in messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmenv.errors import visible


@given(st.one_of(st.text(), st.binary()))
def test_whatever_is_shown_prints_and_has_no_further_backtick(text: str | bytes) -> None:
    shown = visible(text)
    assert (shown[0], shown[-1]) == ("`", "`")
    assert shown[1:-1].isprintable()
    assert "`" not in shown[1:-1]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("6.3.0", "`6.3.0`"),
        ("a`b", r"`a\x60b`"),
        (b"\xff\0\r", r"`\udcff\x00\r`"),
        ("größe", "`größe`"),
        ("12345", "`12345`"),
        ("123456", "`12345…`"),
    ],
)
def test_what_is_shown(text: str | bytes, shown: str) -> None:
    assert visible(text, 5) == shown
