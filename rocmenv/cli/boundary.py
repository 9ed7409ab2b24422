"""Where failures become words and an exit status."""

from __future__ import annotations

import errno
import json
import os
import sys
import traceback
from typing import TYPE_CHECKING

from rocmenv.errors import RocmenvError, SpaceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rocmenv.process import Process

INTERRUPTED = 130
TRACEBACK = "ROCMENV_TRACEBACK"


def guarded(work: Callable[[], int], process: Process) -> int:
    """The exit status of `work`; failures are told on stderr, and never as a traceback.

    With `--json` among the arguments the failure is on stdout too, as an object.
    """
    try:
        status = work()
        sys.stdout.flush()
    except RocmenvError as error:
        return tell(error, process)
    except KeyboardInterrupt:
        print("rocmenv: interrupted", file=sys.stderr)  # noqa: T201
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone; say nothing, also not at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:  # noqa: BLE001 - the boundary
        if process.get(TRACEBACK):
            traceback.print_exc()
        return tell(_unforeseen(error), process)
    else:
        return status


def tell(error: RocmenvError, process: Process) -> int:
    """Print `error` as people and programs want it; its exit status."""
    one_line = "--one-line" in process.args
    hint = f"; {error.hint}" if one_line and error.hint else ""
    lines = [f"rocmenv: {error.message}{hint}"]
    if error.hint and not one_line:
        lines.append(f"hint: {error.hint}")
    _write(sys.stderr.fileno(), "".join(f"{line}\n" for line in lines))
    if "--json" in process.args:
        value = {"error": {"code": error.code, "message": error.message, "hint": error.hint}}
        print(json.dumps(value))  # noqa: T201
    return error.exit_status


def _write(descriptor: int, text: str) -> None:
    data = text.encode("utf-8", "surrogateescape")
    while data:
        data = data[os.write(descriptor, data) :]


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
