"""The selected version's environment: to print, or to run a command in."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rocmenv.env.activation import Known, Switch, leave, switch
from rocmenv.env.diff import patched
from rocmenv.errors import CommandNotFoundError, NotInstalledError, StoreError, visible
from rocmenv.ops.again import again
from rocmenv.ops.current import installed_for
from rocmenv.settings import Settings
from rocmenv.store import registry
from rocmenv.store.shims import commands

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rocmenv.model.selection import Selection
    from rocmenv.process import Process
    from rocmenv.store.paths import Root
    from rocmenv.store.registry import Installed

LOOPS = "ROCMENV_SHIMS"


@dataclass(frozen=True, slots=True)
class Launch:
    """A program to become: absolute path and whole environment."""

    program: str
    environ: dict[str, str]


def known(process: Process, root: Root, environ: Mapping[str, str]) -> Known:
    """Every ROCm that can be told by its path: installs, links, AMD's folders, named ones."""
    linked = _links(root)
    named = (environ.get("ROCM_PATH"), environ.get("HIP_PATH"))
    linked += [p for p in named if p and os.path.isfile(os.path.join(p, ".info", "version"))]
    search = Settings(process, root)["search"]
    return Known((str(root.versions),), tuple(linked), tuple(search))


def _links(root: Root) -> list[str]:
    """The prefixes of links. No install is without a `bin`, so their receipts stay unread."""
    found = []
    for version in registry.versions(root):
        if not os.path.isdir(root.version(version) / "bin"):
            with suppress(StoreError, NotInstalledError):
                item = registry.find(root, version)
                found += [item.prefix] if item.receipt.is_link else []
    return found


def switch_to(process: Process, root: Root, item: Installed | None) -> Switch:
    """The way from the process's environment to one with `item`, or with none, selected."""
    back = leave(process.environ)
    if item is None:
        return back
    base = patched(process.environ, back.texts)
    return switch(
        str(item.version),
        item.receipt.layout,
        item.prefix,
        process.environ,
        known(process, root, base),
        back,
    )


def launch(
    process: Process, root: Root, selection: Selection, command: str, *, shim: bool
) -> Launch:
    """What `rocmenv exec` becomes; `CommandNotFoundError` (127) when there is no such command.

    With `shim` the command is one of the version's own, as a shim asks for it. The child's
    ROCMENV_VERSION keeps the choice for what it starts, and no record is handed on: a
    shell below sets out from the environment that it finds.
    """
    process = _with_path(process)
    item = installed_for(process, root, selection)
    environ = environ_with(process, root, item)
    program = find_command(item, command) if item else None
    if program is None and not (item and shim):
        skip = root.shims if item else root.path
        program = _on_path(process, root, command, environ, skip)
    if program is None:
        raise _no_program(process, root, selection, command, item)
    if shim:
        name = f"{item.version if item else 'system'}/{command}"
        again = process.environ.get(LOOPS, "").count(f":{name}:")
        if again >= 2 or _is_shim(root, program):  # noqa: PLR2004 - once is a tool that calls itself by name
            raise _endless(program)
        environ[LOOPS] = f"{process.environ.get(LOOPS, '')}:{name}:"
    return Launch(program, environ)


def environ_with(process: Process, root: Root, item: Installed | None) -> dict[str, str]:
    """The whole environment of a child that runs with a version, or with none."""
    process = _with_path(process)
    environ = patched(process.environ, switch_to(process, root, item).texts)
    environ.pop("ROCMENV_DIFF", None)
    environ.pop("ROCMENV_SHIM_ROOT", None)
    if item is not None:
        environ["ROCMENV_VERSION"] = str(item.version)
    return environ


def find_program(process: Process, root: Root, selection: Selection, command: str) -> str:
    """The program that a shim of `command` becomes here, without the environment for it."""
    process = _with_path(process)
    item = installed_for(process, root, selection)
    if item is not None:
        program = find_command(item, command)
    else:
        environ = patched(process.environ, leave(process.environ).texts)
        program = _on_path(process, root, command, environ, root.path)
    if program is None:
        raise _no_program(process, root, selection, command, item)
    if _is_shim(root, program):
        raise _endless(program)
    return program


def _with_path(process: Process) -> Process:
    """With the PATH that a shell takes where it is started without one."""
    if "PATH" in process.environ:
        return process
    return replace(process, environ={**process.environ, "PATH": os.defpath})


def find_command(item: Installed, command: str) -> str | None:
    """The absolute path of a command in an installed version, None when it has none."""
    if "/" in command or not command:
        return None
    for folder in item.receipt.layout.bins:
        path = os.path.join(item.prefix, folder, command)
        if _can_start(path):
            return path
    return None


def _blocked(item: Installed, command: str) -> str | None:
    """The file of a command that lacks the right to be started."""
    paths = (os.path.join(item.prefix, b, command) for b in item.receipt.layout.bins)
    return next((p for p in paths if os.path.isfile(p)), None)


def having(root: Root, command: str) -> list[Installed]:
    """The installed versions that have a command, oldest first."""
    return [i for i in registry.load(root).installed.values() if find_command(i, command)]


def _no_program(
    process: Process, root: Root, selection: Selection, command: str, item: Installed | None
) -> CommandNotFoundError:
    if "/" in command:
        return _no_file(process, command)
    return _not_found(root, selection, command, item)


def _no_file(process: Process, command: str) -> CommandNotFoundError:
    path = os.path.join(process.cwd, command)
    if os.path.isdir(path):
        return CommandNotFoundError(f"{visible(command)} is a folder", hint="name a program in it")
    if os.path.exists(path):
        msg = f"{visible(command)} may not be started"
        return CommandNotFoundError(msg, hint=f"run `chmod +x {shlex.quote(command)}`")
    folder = shlex.quote(os.path.dirname(path))
    return CommandNotFoundError(f"{visible(command)} is not there", hint=f"run `ls {folder}`")


def _not_found(
    root: Root, selection: Selection, command: str, item: Installed | None
) -> CommandNotFoundError:
    """The refusal for a command that the selected version lacks, naming those that have it."""
    if item is not None and (blocked := _blocked(item, command)) is not None:
        msg = f"{blocked} is there, and may not be started ({selection.origin})"
        hint = f"is its file system mounted `noexec`? else: `chmod +x {shlex.quote(blocked)}`"
        return CommandNotFoundError(msg, hint=hint)
    where = f"version {item.version} has no command" if item else "the system has no command"
    msg = f"{where} {visible(command)} ({selection.origin})"
    others = [i.version for i in having(root, command)]
    if others:
        listed = ", ".join(map(str, others))
        best = ([v for v in others if v.is_final and not v.local] or others)[-1]
        run = f"rocmenv +{best} exec {shlex.quote(command)}"
        hint = f"these have it: {listed}; run `{run}`"
        return CommandNotFoundError(msg, hint=hint)
    if item is not None:
        import difflib  # noqa: PLC0415 - only for messages

        near = difflib.get_close_matches(command, commands(item), n=1)
        if near:
            return CommandNotFoundError(msg, hint=f"did you mean `{near[0]}`?")
        return CommandNotFoundError(msg, hint=f"no installed version has it{_more(item)}")
    return CommandNotFoundError(msg, hint="select a version, such as: `rocmenv use latest`")


def _more(item: Installed) -> str:
    """What to look at next: how an install gets a further package, if it is of a channel."""
    if item.receipt.source not in ("legacy", "rpm", "native", "distro"):
        return "; `rocmenv versions` shows them"
    return f"; see `{again(item, '--with', 'PACKAGE')}`"


def _on_path(
    process: Process, root: Root, command: str, environ: Mapping[str, str], skip: Path
) -> str | None:
    """The path of a command of the machine; folders in `skip` and shims do not count.

    The folders are compared by where they really are: `ROOT/../ROOT/shims` is ours too.
    """
    if "/" in command:
        path = os.path.join(process.cwd, command)
        return path if _can_start(path) else None
    own = os.path.realpath(skip)
    for folder in environ.get("PATH", "").split(":"):
        path = os.path.join(process.cwd, folder, command)
        if _can_start(path) and not _is_shim(root, path):
            real = os.path.realpath(os.path.dirname(path))
            if real != own and not real.startswith(f"{own}/"):
                return path
    return None


def _can_start(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _is_shim(root: Root, program: str) -> bool:
    shim = root.shims / os.path.basename(program)
    return shim.exists() and os.path.samefile(shim, program)


def _endless(program: str) -> CommandNotFoundError:
    msg = f"{program} starts the shim of {visible(os.path.basename(program))} again, without end"
    hint = f"look at it: `file {shlex.quote(program)}`; a script there should name its tool in full"
    return CommandNotFoundError(msg, hint=hint)
