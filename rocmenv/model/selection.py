"""Which version is wanted, and who says so.

A *pin* is the text of a version file. A *selection* is a spec with its *origin*; the order
of origins is in `rocmenv.ops.current.selected`, and nowhere else in Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from rocmenv.errors import InvalidVersionError, PinError, visible
from rocmenv.model.version import Spec

PIN_NAME = ".rocm-version"
LONGEST_PIN = 65536
"""Bytes of a version file that are looked at; a longer one is refused."""

_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_FORM = "write one version into it, like `6.3.0`; `#` starts a comment"


class Source(str, Enum):
    """What can decide a version, strongest first."""

    OPTION = "option"
    VARIABLE = "variable"
    PIN = "pin"
    DEFAULT = "default"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class Origin:
    """Who decided: the kind, and the option, variable or absolute path."""

    source: Source
    place: str = ""

    def __str__(self) -> str:
        if self.source is Source.SYSTEM:
            return "nothing selects a version"
        return f"set by {self.place}"


@dataclass(frozen=True, slots=True)
class Selection:
    """A request and its origin."""

    spec: Spec
    origin: Origin


def parse_pin(content: bytes, path: str) -> Spec | None:
    """The spec in a version file, None when it has no word (blank lines and comments).

    One rule for every reader, the shims and hooks included: the file holds one word,
    surrounded by blanks, blank lines and comments (`#` at the start of a word, to the end
    of the line). LF, CRLF and a byte order mark are all right. A second word is an error:
    a pin never stands for whichever of two versions there is.

    `path` is for messages. Raises `PinError` naming file and line.
    """
    found: Spec | None = None
    for number, line in enumerate(_lines(content, path), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if found is not None or (len(words) > 1 and not words[1].startswith("#")):
            msg = f"{path}, line {number}: more than one version: {visible(line.strip())}"
            raise PinError(msg, hint=_FORM)
        try:
            found = Spec.parse(words[0])
        except InvalidVersionError as error:
            msg = f"{path}, line {number}: {error.message}"
            raise PinError(msg, hint=_FORM) from error
    return found


def pin_comments(content: bytes, path: str) -> list[str]:
    """The lines of a version file that are comments, as `parse_pin` takes them.

    Bytes that are not UTF-8 are surrogates. Raises `PinError` when the file is too long.
    """
    return [line for line in _lines(content, path) if line.strip().startswith("#")]


def _lines(content: bytes, path: str) -> list[str]:
    if len(content) > LONGEST_PIN:
        first = visible(content[:100], 30)
        msg = f"{path}, line 1: longer than a version can be: {first}"
        raise PinError(msg, hint=_FORM)
    encoding = "utf-8"
    for mark, name in _MARKS:
        if content.startswith(mark):
            content, encoding = content[len(mark) :], name
            break
    errors = "surrogateescape" if encoding == "utf-8" else "replace"
    return content.decode(encoding, errors).replace("\r\n", "\n").split("\n")
