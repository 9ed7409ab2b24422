"""The project's version and the user's default."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rocmenv.errors import NotInstalledError, PinError, StoreError, UsageError
from rocmenv.model.selection import PIN_NAME
from rocmenv.model.version import Spec
from rocmenv.ops import current
from rocmenv.shells.choose import SHELLS
from rocmenv.store import locks, pins, projects
from rocmenv.store.lock import ready_to_write

if TYPE_CHECKING:
    from rocmenv.process import Process
    from rocmenv.store.paths import Root


def set_pin(process: Process, root: Root, text: str, *, force: bool = False) -> tuple[Path, Spec]:
    """Write the pin of the current folder; the file's path, and what it says now.

    The request stays a request: `6.3` is the newest 6.3.x from now on too. It is written in
    its plainest spelling, `6.3.0` for `v6.3.0`.
    """
    path = _pin_here(process)
    spec = _checked(process, root, text, force=force)
    pins.write(path, spec)
    projects.record(root, str(path.parent))
    return path, spec


def remember_project(process: Process, root: Root) -> None:
    """Remember whose pin or lock holds in the current folder; nothing when none does."""
    with suppress(PinError):
        found = pins.nearest(process.cwd)
        lock = locks.nearest(process.cwd)
        if found is not None:
            projects.record(root, os.path.dirname(found[0]))
        if lock is not None:
            projects.record(root, str(lock.parent))


def unset_pin(process: Process) -> Path:
    """Remove the pin of the current folder; its path."""
    path = _pin_here(process)
    try:
        path.unlink()
    except FileNotFoundError:
        msg = f"there is no {path}"
        raise StoreError(msg, hint="`rocmenv version` shows what decides here") from None
    except OSError as error:
        msg = f"{path} cannot be removed ({error.strerror})"
        raise StoreError(msg) from error
    return path


def _pin_here(process: Process) -> Path:
    if not process.has_folder:
        msg = "the current folder was deleted"
        raise StoreError(msg, hint="go to one that is there: `cd`")
    return Path(process.cwd) / PIN_NAME


def set_default(
    process: Process, root: Root, text: str, *, force: bool = False
) -> tuple[Path, Spec]:
    """Write the user's default; the file's path, and what it says now, as `set_pin`."""
    spec = _checked(process, root, text, force=force)
    ready_to_write(root)
    pins.write(root.default, spec)
    return root.default, spec


def unset_default(root: Root) -> None:
    """Have no default. Fine when there was none."""
    ready_to_write(root)
    root.default.unlink(missing_ok=True)


def default_spec(root: Root) -> str:
    """The user's default as text, `system` when there is none."""
    spec = pins.read(str(root.default)) if os.path.isfile(root.default) else None
    return str(spec) if spec else "system"


def needs_function(process: Process, command: str, word: str | None) -> UsageError:
    """The refusal for what only the shell's own function can do, with its set-up line."""
    msg = f"`rocmenv {command}` changes this shell, which only rocmenv's function in it can do"
    shell = os.path.basename(process.get("SHELL") or "")
    line = f'eval "$(rocmenv init {shell if shell in SHELLS else "bash"})"'
    if shell == "fish":
        line = "rocmenv init fish | source"
    plus = shlex.quote(f"+{word}")
    other = f", or for one command: `rocmenv {plus} exec COMMAND`" if word else ""
    return UsageError(msg, hint=f"set the shell up with `{line}`{other}")


def _checked(process: Process, root: Root, text: str, *, force: bool) -> Spec:
    selection = current.asked(text)
    try:
        current.version_for(process, root, selection)
    except NotInstalledError as error:
        if not force:
            hint = f"{error.hint}; `--force` writes it all the same"
            raise NotInstalledError(error.message, hint=hint) from error
    return selection.spec
