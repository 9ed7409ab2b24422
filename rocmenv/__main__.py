"""The program: `rocmenv`, and `python -m rocmenv`."""

from __future__ import annotations

import sys

from rocmenv.cli.boundary import guarded
from rocmenv.launch import quick
from rocmenv.process import Process


def main() -> int:
    """Run the command that the process was started with; its exit status."""
    process = Process.current()
    status = guarded(lambda: dispatch(process), process)
    if "click" not in sys.modules:
        # A quick answer has opened nothing that needs an orderly end, which would cost as
        # much as a fifth of the whole call.
        process.leave(status)
    return status


def dispatch(process: Process) -> int:
    """Answer a plain call at once, any other through the parser."""
    args = list(process.args)
    plus = args.pop(0)[1:] if args and args[0].startswith("+") and len(args[0]) > 1 else None
    status = quick(process, args, plus)
    if status is not None:
        return status
    from rocmenv.cli.program import run  # noqa: PLC0415 - click costs more than most commands

    return run(process, args, plus)


if __name__ == "__main__":
    sys.exit(main())
