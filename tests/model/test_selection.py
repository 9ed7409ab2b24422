"""Pins: every odd file of R01, one rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocmenv.errors import PinError
from rocmenv.model.selection import parse_pin

GOOD = [
    "plain",
    "no-final-newline",
    "crlf",
    "trailing-space-tab",
    "leading-space",
    "utf8-bom",
    "utf8-bom-crlf",
    "comment-first",
    "comment-inline",
    "comment-crlf-mixed",
    "prefix-v",
    "prefix-rocm",
]
EMPTY = ["empty", "blank-lines-only", "comments-only"]
REFUSED = [
    "traversal",
    "absolute",
    "shell-meta",
    "nul-inside",
    "very-long-line",
    "two-lines-fallback",
    "two-on-a-line",
]


def content(cases: Path, name: str) -> bytes:
    return (cases / "version-files" / name / ".rocm-version").read_bytes()


@pytest.mark.parametrize("name", GOOD)
def test_line_ends_blanks_marks_and_comments_do_not_matter(cases: Path, name: str) -> None:
    assert str(parse_pin(content(cases, name), "f")) == "6.3.0"


@pytest.mark.parametrize("name", EMPTY)
def test_a_file_without_a_word_is_no_pin(cases: Path, name: str) -> None:
    assert parse_pin(content(cases, name), "f") is None


@pytest.mark.parametrize("name", REFUSED)
def test_anything_else_is_refused_with_file_and_line(cases: Path, name: str) -> None:
    with pytest.raises(PinError) as caught:
        parse_pin(content(cases, name), "/src/.rocm-version")
    message = caught.value.message
    assert "/src/.rocm-version, line " in message
    assert message.isprintable()
    assert len(message) < 200
    assert caught.value.hint


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("two-part", "6.3"),
        ("rc", "10.0.0rc2"),
        ("nightly", "10.1.0a20260901"),
        ("system", "system"),
    ],
)
def test_other_forms_of_a_version_are_kept(cases: Path, name: str, spec: str) -> None:
    assert str(parse_pin(content(cases, name), "f")) == spec


def test_utf16_as_windows_powershell_writes_it_is_read() -> None:
    assert str(parse_pin("\ufeff6.3.0\r\n".encode("utf-16-le"), "f")) == "6.3.0"


def test_the_line_that_is_wrong_is_named() -> None:
    with pytest.raises(PinError, match="line 3: `6.x` is not a version"):
        parse_pin(b"# one\n\n6.x\n", "f")
