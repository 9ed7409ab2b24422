"""What `run-matrix` and `bisect` have in common: their words, and running the command."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

from rocmenv.cli.output import tell
from rocmenv.cli.program import empty_argument
from rocmenv.errors import UsageError
from rocmenv.ops import matrix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocmenv.cli.program import Context
    from rocmenv.model.version import Version
    from rocmenv.ops.matrix import Run


def split(words: Sequence[str], hint: str) -> tuple[Sequence[str], Sequence[str]]:
    """What stands before the first `--`, and the command behind it.

    `UsageError` with `hint` when there is no command, and for empty words but arguments.
    """
    at = [*words, "--"].index("--")
    before, command = words[:at], words[at + 1 :]
    if "" in (*before, *command[:1]):
        raise empty_argument()
    if not command:
        raise UsageError("the command is missing", hint=f"write it behind `--`: {hint}")
    return before, command


def run(
    ctx: Context, version: Version, command: Sequence[str], *, as_json: bool, quiet: bool
) -> Run:
    """Run `command` under a version, with a line before it, and why it could not be started.

    With `as_json` what it has for stdout goes to stderr.
    """
    sys.stdout.flush()
    if not quiet:
        tell(f"== {version}: {shlex.join(command)}")
    output = sys.stderr.fileno() if as_json else None
    done = matrix.run(ctx.process, ctx.root, version, command, output=output)
    if done.problem:
        tell(f"rocmenv: {done.problem}")
    return done


def row(done: Run) -> dict[str, object]:
    """A run for JSON."""
    return {
        "version": str(done.version),
        "status": done.status,
        "seconds": round(done.seconds, 3),
        "problem": done.problem or None,
    }
