"""The package's data, and the scripts in shims/ and completions/.

These are inside the package in a wheel, else beside it.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent


def shim_text(name: str) -> str:
    """The text of a file of `shims/`."""
    return _text("shims", name)


def completion_text(name: str) -> str:
    """The text of a file of `completions/`."""
    return _text("completions", name)


def data_file(name: str) -> bytes:
    """The content of a file of the package's data."""
    return (_PACKAGE / "data" / name).read_bytes()


def _text(folder: str, name: str) -> str:
    for path in (_PACKAGE / f"_{folder}" / name, _PACKAGE.parent / folder / name):
        if path.is_file():
            return path.read_text(encoding="utf-8")
    msg = f"{folder}/{name} is missing from this installation of rocmenv"
    raise FileNotFoundError(msg)
