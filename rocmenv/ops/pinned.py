"""What the projects that rocmenv knows of ask for, by their pins and their locks."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rocmenv.errors import PinError, RocmenvError
from rocmenv.model.lock import LOCK_NAME
from rocmenv.model.selection import PIN_NAME, Origin, Selection, Source
from rocmenv.model.version import Spec
from rocmenv.ops import current
from rocmenv.settings import Settings
from rocmenv.store import locks, pins, projects

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rocmenv.model.version import Version
    from rocmenv.process import Process
    from rocmenv.store.paths import Root


@dataclass(frozen=True, slots=True)
class Pin:
    """The pin or lock at `path`: its request, and the installed version that this means now.

    `version` is None for the system's, and for one that is not installed. `problem` says
    why a file cannot be read; it has no `spec` then. `is_unknown` tells that it may well be
    right, and only we may not read it.
    """

    path: str
    spec: Spec | None = None
    version: Version | None = None
    problem: str = ""
    is_unknown: bool = False
    is_lock: bool = False


def known_pins(process: Process, root: Root) -> list[Pin]:
    """What holds in the current folder, and in all projects that were seen: pins, then locks.

    A project whose files have gone is left out, and so are a file without a word and a lock
    that does not fit its pin. The list of projects itself is among them when it cannot be
    read.
    """
    folders, problem = projects.load(root)
    out = [Pin(str(root.projects), problem=problem, is_unknown=True)] if problem else []
    try:
        here = pins.nearest(process.cwd)
        lock = locks.nearest(process.cwd)
    except PinError as error:
        out.append(_unread(f"{process.cwd.rstrip('/')}/{PIN_NAME}", error))
        here = lock = None
    seen = [os.path.dirname(here[0])] if here else []
    seen += [str(lock.parent)] if lock else []
    places = [folder.rstrip("/") for folder in dict.fromkeys([*seen, *folders])]
    found = [*out, *_pins(process, root, places)]
    by_path = {pin.path: pin for pin in found}
    for place in places:
        beside = by_path.get(f"{place}/{PIN_NAME}")
        lock_pin = _lock(root, f"{place}/{LOCK_NAME}", beside.spec if beside else None)
        if lock_pin is not None:
            by_path[lock_pin.path] = lock_pin
    return list(by_path.values())


def _pins(process: Process, root: Root, places: Sequence[str]) -> Iterator[Pin]:
    meanings: dict[str, Version | None] = {}
    for place in places:
        path = f"{place}/{PIN_NAME}"
        try:
            if not _may_be_there(path):
                continue
            spec = pins.read(path)
        except PinError as error:
            yield _unread(path, error)
            continue
        if spec is None:
            continue
        text = str(spec)
        if text not in meanings:
            meanings[text] = meaning(process, root, spec, path)
        yield Pin(path, spec, meanings[text])


def _lock(root: Root, path: str, pin: Spec | None) -> Pin | None:
    """What the lock at `path` asks for on this platform; None for nothing.

    As for an install, one that does not fit the `pin` beside it counts for nothing.
    """
    try:
        locked = locks.read(Path(path)).on(locks.platform_name()) if _may_be_there(path) else None
    except PinError as error:
        return replace(_unread(path, error), is_lock=True)
    if locked is None or (pin and not pin.is_alias and not pin.fits(locked.version)):
        return None
    is_here = root.receipt(locked.version).is_file()
    spec = Spec(exact=locked.version)
    return Pin(path, spec, locked.version if is_here else None, is_lock=True)


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
    """False for what is certainly no pin or lock: it has gone, or it is a folder."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True  # and reading it says why it cannot be
    return os.path.isfile(path)
