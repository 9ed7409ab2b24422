"""The scripts in shims/ and completions/: in a wheel inside the package, else beside it."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent


def shim_text(name: str) -> str:
    """The text of a file of `shims/`."""
    return _text("shims", name)


def completion_text(name: str) -> str:
    """The text of a file of `completions/`."""
    return _text("completions", name)


def _text(folder: str, name: str) -> str:
    for path in (_PACKAGE / f"_{folder}" / name, _PACKAGE.parent / folder / name):
        if path.is_file():
            return path.read_text(encoding="utf-8")
    msg = f"{folder}/{name} is missing from this installation of rocmenv"
    raise FileNotFoundError(msg)
