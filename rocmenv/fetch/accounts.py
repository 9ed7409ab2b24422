"""Names and passwords for hosts, from `.netrc`.

Source for the form: the manual of GNU inetutils, "The .netrc file"; quotes as curl reads
them.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

VARIABLE = "NETRC"
_LARGEST = 1 << 20
_WORD = re.compile(r'"((?:[^"\\\n]|\\.)*)"|(\S+)')
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_TAKES_ONE = ("login", "password", "account")


class Found(NamedTuple):
    """What a file has: `NAME:PASSWORD` by host (the empty one for all), or why it is not used."""

    accounts: Mapping[str, tuple[str, str]]
    problem: str = ""

    def of(self, host: str, *, by_name: bool = False) -> tuple[str, str] | None:
        """Login and password for `host`; with `by_name` not those of the `default` entry."""
        found = self.accounts.get(host.lower())
        return found or (None if by_name else self.accounts.get(""))


@dataclass(frozen=True, slots=True)
class Accounts:
    """The person's netrc file, read when a server is asked; None for none."""

    file: Path | None = None

    @classmethod
    def of(cls, environ: Mapping[str, str], home: Path) -> Accounts:
        """The file that `NETRC` names, else `.netrc` in `home`."""
        named = environ.get(VARIABLE)
        return cls(Path(os.path.expanduser(named)) if named else home / ".netrc")

    def read(self) -> Found:
        """What the file says; never raises.

        A file whose passwords others on this machine can read is not used.
        """
        if self.file is None:
            return Found({})
        try:
            with self.file.open(encoding="utf-8", errors="surrogateescape") as file:
                mode = os.fstat(file.fileno())
                text = file.read(_LARGEST) if stat.S_ISREG(mode.st_mode) else ""
        except FileNotFoundError:
            return Found({})
        except OSError as error:
            return Found({}, f"`{self.file}` cannot be read: {(error.strerror or '').lower()}")
        if mode.st_uid not in (os.geteuid(), 0):
            return Found({}, f"`{self.file}` is not used, as it belongs to another user")
        if mode.st_mode & _OTHERS:
            return Found({}, f"`{self.file}` is not used, as others can read it: `chmod 600` it")
        return Found(_parse(text))


def _parse(text: str) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    host: str | None = None
    words = _words(text)
    for word in words:
        if word == "machine":
            host = next(words, "").lower() or None
        elif word == "default":
            host = ""
        elif word in _TAKES_ONE:
            value = next(words, "")
            if host is not None:
                login, password = found.get(host, ("", ""))
                if word == "login":
                    found[host] = (value, password)
                elif word == "password":
                    found[host] = (login, value)
    return found


def _words(text: str) -> Iterator[str]:
    """The words, without comments and macros. A `#` starts a comment in front of a keyword."""
    at, takes_value = 0, False
    while match := _WORD.search(text, at):
        at = match.end()
        word = match[2] if match[1] is None else re.sub(r"\\(.)", r"\1", match[1])
        if takes_value:
            takes_value = False
        elif match[2] and word.startswith("#"):
            at = _find(text, "\n", at)
            continue
        elif word == "macdef":
            at = _find(text, "\n\n", at)
            continue
        else:
            takes_value = word in ("machine", *_TAKES_ONE)
        yield word


def _find(text: str, what: str, at: int) -> int:
    found = text.find(what, at)
    return len(text) if found < 0 else found
