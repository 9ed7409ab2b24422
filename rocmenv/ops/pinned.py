"""What the projects that rocmenv knows of ask for."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmenv.errors import PinError, RocmenvError
from rocmenv.model.selection import PIN_NAME, Origin, Selection, Source
from rocmenv.model.version import Spec
from rocmenv.ops import current
from rocmenv.settings import Settings
from rocmenv.store import pins, projects

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rocmenv.model.version import Version
    from rocmenv.process import Process
    from rocmenv.store.paths import Root


@dataclass(frozen=True, slots=True)
class Pin:
    """The pin at `path`: its request, and the installed version that this means now.

    `version` is None for the system's, and for one that is not installed. `problem` says
    why a pin cannot be read; it has no `spec` then. `is_unknown` tells that it may well be
    right, and only we may not read it.
    """

    path: str
    spec: Spec | None = None
    version: Version | None = None
    problem: str = ""
    is_unknown: bool = False


def known_pins(process: Process, root: Root) -> list[Pin]:
    """The pin that holds in the current folder, and those of all projects that were seen.

    A project whose pin has gone is left out, and so is a file without a word. The list of
    projects itself is among them when it cannot be read.
    """
    meanings: dict[str, Version | None] = {}
    folders, problem = projects.load(root)
    paths = [f"{folder.rstrip('/')}/{PIN_NAME}" for folder in folders]
    out = [Pin(str(root.projects), problem=problem, is_unknown=True)] if problem else []
    try:
        here = pins.nearest(process.cwd)
    except PinError as error:
        out.append(_unread(f"{process.cwd.rstrip('/')}/{PIN_NAME}", error))
        here = None
    for path in dict.fromkeys([*([here[0]] if here else []), *paths]):
        try:
            if not _may_be_there(path):
                continue
            spec = pins.read(path)
        except PinError as error:
            out.append(_unread(path, error))
            continue
        if spec is None:
            continue
        text = str(spec)
        if text not in meanings:
            meanings[text] = meaning(process, root, spec, path)
        out.append(Pin(path, spec, meanings[text]))
    return list({pin.path: pin for pin in out}.values())


def aliases_of(process: Process, root: Root, version: Version) -> Iterator[str]:
    """The aliases that mean an installed version, in words of a reason to keep it."""
    for name, text in Settings(process, root).aliases().items():
        with suppress(RocmenvError):
            if meaning(process, root, Spec.parse(text), name) == version:
                yield f"what the alias `{name}` means"


def doubts_of(root: Root, known: Sequence[Pin]) -> list[str]:
    """What cannot be read and may ask for any version, in words of a reason to keep them all."""
    paths = [pin.path for pin in known if pin.is_unknown]
    try:
        if os.path.isfile(root.default):
            pins.read(str(root.default))
    except PinError as error:
        if _is_unknown(error):
            paths.append(str(root.default))
    return [f"{path} cannot be read, and may ask for it" for path in paths]


def meaning(process: Process, root: Root, spec: Spec, path: str) -> Version | None:
    """The installed version that a pin means, None when that is none of ours."""
    try:
        return current.named(process, root, Selection(spec, Origin(Source.PIN, path)))
    except RocmenvError:
        return None


def _unread(path: str, error: PinError) -> Pin:
    return Pin(path, problem=error.message, is_unknown=_is_unknown(error))


def _is_unknown(error: PinError) -> bool:
    """Whether it may well be right, and only we may not read it; nonsense asks for nothing."""
    return isinstance(error.__cause__, OSError)


def _may_be_there(path: str) -> bool:
    """False for what is certainly no pin: it has gone, or it is a folder."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True  # and reading it says why it cannot be
    return os.path.isfile(path)
