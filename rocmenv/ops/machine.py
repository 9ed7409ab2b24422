"""What this machine's GPUs are, and what each installed version says of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmenv.errors import RocmenvError
from rocmenv.model.advice import Advice, advise
from rocmenv.model.gpus import Support
from rocmenv.ops import current
from rocmenv.ops.targets import Targets, wanted
from rocmenv.probe.gpu import Machine, look
from rocmenv.settings import Settings
from rocmenv.sources.gpus import load
from rocmenv.store import registry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocmenv.model.target import Target
    from rocmenv.model.version import Version
    from rocmenv.process import Process
    from rocmenv.store.paths import Root


@dataclass(frozen=True, slots=True)
class Standing:
    """What a release says of one target: `level` is a value of `Level`, `note` its limits."""

    target: Target
    level: str
    note: str


@dataclass(frozen=True, slots=True)
class Fit:
    """An installed version beside this machine."""

    version: Version
    is_selected: bool
    standings: tuple[Standing, ...]
    advice: tuple[Advice, ...]


@dataclass(frozen=True, slots=True)
class Overview:
    """The machine, the targets that installs are for, and the versions, oldest first."""

    machine: Machine
    targets: Targets
    fits: tuple[Fit, ...]
    notes: tuple[str, ...]


def overview(process: Process, root: Root, plus: str | None, options: Sequence[str]) -> Overview:
    """The GPUs, and what installed versions say of the targets that installs are for.

    Without such targets the versions are told of the GPUs that were found. A selection that
    stands for no version is a note, and so is an unfit setting.
    """
    machine = look(process)
    notes, chosen = [], None
    try:
        targets = wanted(process, Settings(process, root), options, look=lambda: machine)
    except RocmenvError as error:
        if options:
            raise
        notes.append(f"{error.message}; {error.hint}")
        targets = Targets(None, "the setting `targets` cannot be read")
    found = [gpu.target for gpu in machine.gpus if gpu.target is not None]
    shown = found if targets.targets is None else targets.targets
    try:
        chosen = current.version_for(process, root, current.selected(process, root, plus))
    except RocmenvError as error:
        notes.append(error.message)
    fits = [
        _fit(version, shown, machine, is_selected=version == chosen)
        for version in registry.load(root).installed
    ]
    return Overview(machine, targets, tuple(fits), tuple(notes))


def _fit(
    version: Version, targets: Sequence[Target], machine: Machine, *, is_selected: bool
) -> Fit:
    gpus = load()
    standings = []
    for target in dict.fromkeys(target.base for target in targets):
        row = gpus.standing(target, version, wsl=machine.is_wsl)
        level, note = (row.level, row.note) if isinstance(row, Support) else (row, "")
        standings.append(Standing(target, level.value, note))
    advice = advise(gpus, version, targets, machine.driver, wsl=machine.is_wsl)
    return Fit(version, is_selected, tuple(standings), tuple(advice))
