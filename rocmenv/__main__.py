"""The program: `rocmenv`, and `python -m rocmenv`.

Nearly everything is imported inside `main`: an interrupt while Python still loads it is
told like any other.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # that of `typing` would be the first slow import
if TYPE_CHECKING:
    from rocmenv.process import Process


def main() -> int:
    """Run the command that the process was started with; its exit status."""
    try:
        return _run()
    except KeyboardInterrupt:  # before `guarded`, or behind it
        os.write(2, b"rocmenv: interrupted\n")
        os._exit(130)


def _run() -> int:
    from rocmenv.cli.boundary import guarded  # noqa: PLC0415 - inside the guard against interrupts
    from rocmenv.process import Process  # noqa: PLC0415 - inside the guard against interrupts

    process = Process.current()
    status = guarded(lambda: dispatch(process), process)
    if "click" not in sys.modules:
        # A quick answer has opened nothing that needs an orderly end, which would cost as
        # much as a fifth of the whole call.
        process.leave(status)
    return status


def dispatch(process: Process) -> int:
    """Answer a plain call at once, any other through the parser."""
    from rocmenv.launch import quick  # noqa: PLC0415 - inside the guard against interrupts

    args = list(process.args)
    plus = args.pop(0)[1:] if args and args[0].startswith("+") and len(args[0]) > 1 else None
    status = quick(process, args, plus)
    if status is not None:
        return status
    from rocmenv.cli.program import run  # noqa: PLC0415 - click costs more than most commands

    return run(process, args, plus)


if __name__ == "__main__":
    sys.exit(main())
