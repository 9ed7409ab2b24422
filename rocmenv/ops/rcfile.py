"""The line that sets a shell up, in a marked block of the shell's start file."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rocmenv.errors import StoreError, UsageError, visible
from rocmenv.shells.choose import shell_named
from rocmenv.store.pins import replace_file

if TYPE_CHECKING:
    from rocmenv.process import Process

BEGIN, END = b"# >>> rocmenv >>>", b"# <<< rocmenv <<<"
_LARGEST = 16 << 20
_BY_HAND = re.compile(rb"^[^#]*\brocmenv['\"]?\s[^#]*\binit\b")


@dataclass(frozen=True, slots=True)
class Edited:
    """A start file, and whether it was changed.

    `line` is the number of a line outside of the block that sets rocmenv up, 0 for none.
    """

    path: Path
    is_changed: bool
    line: int = 0


def start_file(process: Process, name: str) -> Path:
    """The file that the shell `name` reads when it starts for a person; it need not be there.

    `UsageError` for shells that have none but the one that ENV names, when that is unset.
    """
    shell = shell_named(name).name
    home = process.home
    if shell == "bash":
        return home / ".bashrc"
    if shell == "zsh":
        return Path(process.get("ZDOTDIR") or home) / ".zshrc"
    if shell == "fish":
        return Path(process.get("XDG_CONFIG_HOME") or home / ".config") / "fish/config.fish"
    named = process.get("ENV")
    if named is None and shell in ("ksh", "mksh"):
        return home / f".{shell}rc"
    if named is None:
        msg = f"{shell} reads the file that ENV names, and ENV is not set"
        raise UsageError(
            msg, hint='put `export ENV="$HOME/.shrc"` into ~/.profile, and log in anew'
        )
    path = os.path.expanduser(named)
    if not path.startswith("/"):
        msg = f"ENV is {visible(named)}, which is no absolute path"
        raise UsageError(msg, hint='write the whole of it: `export ENV="$HOME/.shrc"`')
    return Path(path)


def block(process: Process, name: str, root_option: str | None) -> bytes:
    """What is put into the start file. Nothing happens where rocmenv has gone since."""
    shell = shell_named(name)
    root = ("--root", os.path.abspath(root_option)) if root_option else ()
    call = " ".join(map(shell.quote, (*process.launcher, *root, "init", shell.name)))
    program = shell.quote(process.launcher[0])
    line = f'if [ -x {program} ]; then eval "$({call})"; fi'
    if shell.suffix == "fish":
        line = f"if test -x {program}; {call} | source; end"
    undo = f"`rocmenv init {shell.name} --uninstall` removes these lines"
    text = f"{BEGIN.decode()}\n# {undo}\n{line}\n{END.decode()}\n"
    return text.encode("utf-8", "surrogateescape")


def install(path: Path, block: bytes) -> Edited:
    """Put the block into a start file, at its end, or where it was.

    Nothing is changed when a line of one's own sets rocmenv up already. Raises `StoreError`
    when the file cannot be read or written, or half of a block is in it.
    """
    old = _read(path)
    start, end = _find(path, old)
    by_hand = _by_hand(old, start, end)
    if by_hand:
        return Edited(path, is_changed=False, line=by_hand)
    if start == end:
        gap = b"" if not old or old.endswith(b"\n") else b"\n"
        new = old + gap + block
    else:
        new = old[:start] + block + old[end:]
    return _written(path, old, new)


def uninstall(path: Path) -> Edited:
    """Take the block out of a start file. Raises as `install`."""
    old = _read(path)
    start, end = _find(path, old)
    rest = old[:start] + old[end:]
    edited = _written(path, old, rest)
    return Edited(path, edited.is_changed, _by_hand(rest, 0, 0))


def _written(path: Path, old: bytes, new: bytes) -> Edited:
    if new == old:
        return Edited(path, is_changed=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"{path.parent} cannot be made ({error.strerror})"
        hint = f"see what is there: `ls -ld {shlex.quote(str(path.parent))}`"
        raise StoreError(msg, hint=hint) from error
    replace_file(path, new)
    return Edited(path, is_changed=True)


def _read(path: Path) -> bytes:
    try:
        if not path.exists():
            return b""
        if not path.is_file():
            msg = f"{path} is not a file"
            raise StoreError(msg, hint=f"see what it is: `ls -ld {shlex.quote(str(path))}`")
        with path.open("rb") as file:
            return file.read(_LARGEST)
    except OSError as error:
        msg = f"{path} cannot be read ({error.strerror})"
        raise StoreError(msg, hint=f"check its rights: `ls -l {shlex.quote(str(path))}`") from error


def _find(path: Path, content: bytes) -> tuple[int, int]:
    """Where the block begins and ends; twice the end of the file where there is none."""
    marks: list[tuple[bytes, int, int]] = []
    at = 0
    for line in content.splitlines(keepends=True):
        word = line.strip()
        if word in (BEGIN, END):
            marks.append((word, at, at + len(line)))
        at += len(line)
    if not marks:
        return at, at
    if [word for word, _, _ in marks] != [BEGIN, END]:
        msg = f"{path} has half of a block of rocmenv's, or more than one"
        hint = f"remove its lines by hand, from `{BEGIN.decode()}` to `{END.decode()}`"
        raise StoreError(msg, hint=hint)
    return marks[0][1], marks[1][2]


def _by_hand(content: bytes, start: int, end: int) -> int:
    at = 0
    for number, line in enumerate(content.splitlines(keepends=True), start=1):
        if not start <= at < end and _BY_HAND.match(line):
            return number
        at += len(line)
    return 0
