"""The words for why a package is wanted: from a root down to the one that needs it."""

from __future__ import annotations


def path(chain: tuple[str, ...]) -> str:
    """The names of a chain, from the root on."""
    return " → ".join(f"`{name}`" for name in chain)


def needs(chain: tuple[str, ...], need: object) -> str:
    """Who needs `need`, and why that one is there; without a chain it is wanted as it is.

    >>> needs(("rocm-hip-sdk", "hipcc"), "perl")
    '`rocm-hip-sdk` → `hipcc` needs `perl`'
    """
    return f"{path(chain)} needs `{need}`" if chain else f"`{need}` is wanted"
