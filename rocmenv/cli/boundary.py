"""Where failures become words and an exit status."""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING

from rocmenv.cli import output
from rocmenv.cli.command_names import COMMANDS
from rocmenv.errors import RocmenvError, SpaceError
from rocmenv.process import Ended

if TYPE_CHECKING:
    from collections.abc import Callable

    from rocmenv.process import Process

INTERRUPTED = 130
TRACEBACK = "ROCMENV_TRACEBACK"


def guarded(work: Callable[[], int], process: Process) -> int:
    """The exit status of `work`; failures are told on stderr, and never as a traceback.

    With `--json` among the arguments the failure is on stdout too, as an object.
    """
    _open_closed_streams()
    try:
        status = work()
        sys.stdout.flush()
    except RocmenvError as error:
        return tell(error, process)
    except Ended as error:
        output.tell("rocmenv: interrupted")
        error.finish()
    except KeyboardInterrupt:
        output.tell("rocmenv: interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        _drop_output()  # the reader has gone
        return 1
    except Exception as error:  # noqa: BLE001 - the boundary
        if process.get(TRACEBACK):
            import traceback  # noqa: PLC0415 - for this branch alone

            traceback.print_exc()
        return tell(_unforeseen(error), process)
    else:
        return status


def _open_closed_streams() -> None:
    """A stream that was closed at the start (`>&-`) is None in Python; let it go nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - until exit


def _drop_output() -> None:
    """Say nothing more, also not at exit, where Python tries once more and complains."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def tell(error: RocmenvError, process: Process) -> int:
    """Print `error` as people and programs want it; its exit status."""
    words = _own_words(process)
    one_line = "--one-line" in words
    hint = f"; {error.hint}" if one_line and error.hint else ""
    lines = [f"rocmenv: {error.message}{hint}"]
    if error.hint and not one_line:
        lines.append(f"hint: {error.hint}")
    output.tell("\n".join(lines))
    try:
        if "--json" in words:
            told = {"code": error.code, "message": error.message, "hint": error.hint}
            output.say_json({"error": told})
        sys.stdout.flush()
    except OSError:
        _drop_output()
    return error.exit_status


def _own_words(process: Process) -> tuple[str, ...]:
    """The arguments without those of a program that is run, by `exec` or after `+VERSION`."""
    words = process.args
    has_plus = bool(words) and words[0].startswith("+")
    start = int(has_plus)
    while words[start : start + 1] and words[start].startswith("-"):
        start += 2 if words[start] == "--root" else 1
    command = "".join(words[start : start + 1])
    if command in ("run-matrix", "bisect") and "--" in words:
        return words[: words.index("--")]
    runs = command == "exec" or (has_plus and command not in COMMANDS)
    return words[:start] if runs else words


def _unforeseen(error: Exception) -> RocmenvError:
    if isinstance(error, OSError):
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            where = f" ({error.filename})" if error.filename else ""
            return SpaceError(f"there is no space left{where}", hint="make room, then do it again")
        where = f"{error.filename}: " if error.filename else ""
        return RocmenvError(f"{where}{error.strerror or error}")
    return RocmenvError(
        f"something that should not happen: {error.__class__.__name__}: {error}",
        hint=f"please report it with what `{TRACEBACK}=1` prints before the same command",
    )
