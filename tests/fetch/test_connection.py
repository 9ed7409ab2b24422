"""Addresses as people may see them."""

from __future__ import annotations

import pytest

from rocmenv.fetch.connection import without_account


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://joe:secret@h/x", "http://h/x"),
        ("https://joe@h:80/x?y=@z", "https://h:80/x?y=@z"),
        ("  http://joe:secret@h/x", "http://h/x"),
        ("http://joe:se/cret@h/x", "http://h/x"),
        ("git+https://joe:secret@h/x", "git+https://h/x"),
        ("http://h:8080/a@b", "http://h:8080/a@b"),
        ("http://h/@scope/x", "http://h/@scope/x"),
        ("http://h:80", "http://h:80"),
        ("https://[fd00::5]:8443/a@b", "https://[fd00::5]:8443/a@b"),
        ("http://joe:secret@[::1]/a", "http://[::1]/a"),
        ("/a/joe@h", "/a/joe@h"),
    ],
)
def test_name_and_password_are_taken_off_and_nothing_else(url: str, shown: str) -> None:
    assert without_account(url) == shown
