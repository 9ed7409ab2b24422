"""The commands that scripts, hooks and shims run all the time, without the command line's parser.

A call in its plain form is answered here; with any option, the parser in `rocmenv.cli` does
it through the same operations.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rocmenv.ops import current
from rocmenv.store.paths import find_root

if TYPE_CHECKING:
    from rocmenv.process import Process


def quick(process: Process, args: list[str], plus: str | None) -> int | None:
    """The exit status of a plain call; None when the parser should have it."""
    if args == ["version"]:
        return _version(process, plus)
    if args[:1] == ["resolve"] and len(args) <= 3:  # noqa: PLR2004 - `resolve [--] SPEC`
        return _resolve(process, args[1:], plus)
    if args[:2] == ["exec", "--shim"] and len(args) > 3 and args[3] == "--":  # noqa: PLR2004 - counts the words of a command line
        return execute(process, plus, args[2], args[4:], shim=True)
    if args[:1] == ["init"] and len(args) == 2 and not args[1].startswith("-"):  # noqa: PLR2004 - counts the words of a command line
        return _init(process, args[1])
    if args[:1] == ["exec"] and len(args) > 1 and not args[1].startswith("-"):
        return execute(process, plus, args[1], args[2:], shim=False)
    return None


def describe(process: Process, root_option: str | None, plus: str | None) -> str:
    """The selected version with its origin, as `rocmenv version` prints it."""
    root = find_root(process, root_option)
    selection = current.selected(process, root, plus)
    version = current.version_for(process, root, selection)
    return f"{version or 'system'} ({selection.origin})"


def execute(
    process: Process,
    plus: str | None,
    command: str,
    arguments: list[str],
    *,
    shim: bool,
    root_option: str | None = None,
) -> int:
    """Become `command` in the selected version's environment; returns only by raising."""
    from rocmenv.errors import CommandNotFoundError  # noqa: PLC0415 - for this branch alone
    from rocmenv.ops.activate import launch  # noqa: PLC0415 - as above

    root = find_root(process, root_option)
    selection = current.selected(process, root, plus)
    ready = launch(process, root, selection, command, shim=shim)
    try:
        process.replace(ready.program, arguments, ready.environ)
    except OSError as error:
        import shlex  # noqa: PLC0415 - only for messages

        msg = f"{ready.program} cannot be started ({error.strerror})"
        look = f"file {shlex.quote(ready.program)}"
        raise CommandNotFoundError(msg, hint=f"look at it: `{look}`") from error


def _version(process: Process, plus: str | None) -> int:
    _write(f"{describe(process, None, plus)}\n")
    return 0


def _init(process: Process, shell: str) -> int:
    from rocmenv.ops.setup import setup_text  # noqa: PLC0415 - for this branch alone

    _write(setup_text(process, find_root(process), shell))
    return 0


def _resolve(process: Process, words: list[str], plus: str | None) -> int | None:
    words = [word for word in words if word not in ("--", "--one-line")]
    if len(words) > 1 or any(word.startswith("--") for word in words):
        return None
    root = find_root(process)
    selection = current.selected(process, root, words[0] if words else plus)
    _write(f"{current.version_for(process, root, selection) or 'system'}\n")
    return 0


def _write(text: str) -> None:
    """`text` to stdout, to the byte: a folder's name need not be UTF-8."""
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
