"""Counts of bytes and the like, as servers and archives write them."""

from __future__ import annotations

_MOST_DIGITS = 18  # below an exabyte; Python refuses to read some thousands of them


def whole(text: str) -> int | None:
    """The number that `text` is, None for anything but up to 18 digits.

    >>> whole("12"), whole("-1"), whole("")
    (12, None, None)
    """
    is_one = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
    return int(text) if is_one else None
