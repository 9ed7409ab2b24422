"""The process that rocmenv runs in, as a value: the one place that looks at it."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import FrameType


@dataclass(frozen=True)
class Process:
    """Arguments, environment, folder, home and program of this process.

    `cwd` is the folder as the shell names it (PWD, where that is the current folder), so
    that pins are found along the same way as the shims and hooks take. `launcher` are the
    words that start rocmenv again.
    """

    environ: Mapping[str, str]
    cwd: str
    home: Path
    launcher: tuple[str, ...]
    interactive: bool = False
    has_folder: bool = True
    """Whether the current folder is still there; one that was deleted counts as `/`."""
    args: tuple[str, ...] = field(default=())

    @classmethod
    def current(cls) -> Process:
        """The process that is running."""
        environ = dict(os.environ)
        return cls(
            environ=environ,
            cwd=_folder(environ.get("PWD")),
            home=Path(os.path.expanduser("~")),
            launcher=_launcher(sys.argv[0]),
            interactive=all(s is not None and s.isatty() for s in (sys.stdin, sys.stderr)),
            args=tuple(sys.argv[1:]),
            has_folder=_has_folder(),
        )

    def get(self, name: str) -> str | None:
        """The text of a variable; None when it is unset or empty."""
        return self.environ.get(name) or None

    def replace(
        self, program: str, arguments: Sequence[str], environ: Mapping[str, str]
    ) -> NoReturn:
        """Become another program. Raises OSError when that cannot be started.

        As in a shell, a text without `#!` is a script of /bin/sh.
        """
        _flush()
        try:
            os.execve(program, [program, *arguments], dict(environ))  # noqa: S606 - that is the job
        except OSError as error:
            if error.errno != errno.ENOEXEC or not may_be_script(program):
                raise
        os.execve("/bin/sh", ["/bin/sh", program, *arguments], dict(environ))  # noqa: S606 - as above

    def leave(self, status: int) -> NoReturn:
        """End at once: what was written is flushed, nothing else is tidied up."""
        _flush()
        os._exit(status)


class Ended(KeyboardInterrupt):
    """A signal asked the process to end; `number` tells which."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    def finish(self) -> NoReturn:
        """End by the signal, as if it had not been held up, so that the caller can tell."""
        import signal  # noqa: PLC0415 - as in `heeding_signals`

        with suppress(OSError):  # a terminal that was closed
            _flush()
        signal.signal(self.number, signal.SIG_DFL)
        os.kill(os.getpid(), self.number)
        os._exit(128 + self.number)  # not reached, unless the signal is blocked


@contextmanager
def heeding_signals() -> Iterator[None]:
    """Have SIGTERM and SIGHUP raise `Ended`: then what is under way is tidied up first.

    A signal that the process was started without, as under `nohup`, stays without effect.
    """
    import signal  # noqa: PLC0415 - its tables cost a millisecond, and quick answers need none

    def end(number: int, _frame: FrameType | None) -> NoReturn:
        raise Ended(number)

    wanted = (signal.SIGTERM, signal.SIGHUP)
    held = [number for number in wanted if signal.getsignal(number) == signal.SIG_DFL]
    for number in held:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in held:
            signal.signal(number, signal.SIG_DFL)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # a stream that was closed before we started
            stream.flush()


def may_be_script(path: str) -> bool:
    """Whether a file may be a script: a program for another machine has NUL bytes at once."""
    with open(path, "rb") as file:
        return b"\0" not in file.read(128)


def _has_folder() -> bool:
    try:
        return bool(os.getcwd())
    except OSError:
        return False


def _folder(named: str | None) -> str:
    if named and named.startswith("/"):
        try:
            if os.path.samefile(named, "."):
                return named
        except OSError:
            pass
    try:
        return os.getcwd()
    except OSError:
        return "/"


def _launcher(program: str) -> tuple[str, ...]:
    beside = os.path.join(os.path.dirname(sys.executable), "rocmenv")
    for path in (os.path.abspath(program), beside):
        if (
            os.path.basename(path) == "rocmenv"
            and os.path.isfile(path)
            and os.access(path, os.X_OK)
        ):
            return (path,)
    # `-P` (Python 3.11): a module in the user's folder must not be taken for one of ours.
    safe = ("-P",) if sys.version_info >= (3, 11) else ()
    return (sys.executable, *safe, "-m", "rocmenv")
