"""Words on the terminal: data on stdout, all else on stderr."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA = 1


def say(text: str) -> None:
    """A line of data, to stdout; bytes that are not UTF-8 go out as they came in."""
    raw(f"{text}\n")


def raw(text: str) -> None:
    """`text` to stdout, to the byte."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


def tell(text: str) -> None:
    """A line for people, to stderr; lost where that is closed or full, as nothing hangs on it."""
    data = f"{text}\n".encode("utf-8", "surrogateescape")
    with contextlib.suppress(OSError):
        sys.stderr.flush()
        # Past Python's buffer, which would try once more at exit and complain.
        while data:
            data = data[os.write(sys.stderr.fileno(), data) :]


def say_json(value: Mapping[str, Any]) -> None:
    """An object with the schema's number, to stdout."""
    import json  # noqa: PLC0415 - a plain answer needs none, and starts sooner

    say(json.dumps({"schema": SCHEMA, **value}, indent=1))


def amount(count: float) -> str:
    """Bytes as people read them: `1.2 GB`, in powers of 1000 as download pages have them.

    >>> amount(999), amount(1_770_580_920)
    ('999 B', '1.8 GB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:  # noqa: PLR2004 - the step between units
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
