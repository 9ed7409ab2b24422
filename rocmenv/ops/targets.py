"""For which GPU targets an install is, and who says so."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmenv.errors import InvalidTargetError, UsageError, visible
from rocmenv.model.target import ALL, NONE, Target, split
from rocmenv.sources.gpus import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rocmenv.model.version import Version
    from rocmenv.probe.gpu import Machine
    from rocmenv.process import Process
    from rocmenv.settings import Settings

OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"
_NUMBERS = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{1,2})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Targets:
    """The targets that an install is for; None: all of them, as asked or because nobody knows.

    `origin` ends a sentence in parentheses: `set by ROCMENV_TARGETS`. `override` is what
    HSA_OVERRIDE_GFX_VERSION has GPUs pass for. `notes` are for people.
    """

    targets: tuple[Target, ...] | None
    origin: str
    override: Target | None = None
    notes: tuple[str, ...] = ()

    def kept(self, release: Version) -> tuple[Target, ...] | None:
        """The targets whose files an install of `release` must have; None: nothing is left out.

        Besides the targets those whose code they run where the release has none for them.
        """
        if self.targets is None:
            return None
        gpus = load()
        extra = {gpus.stand_in(target, release) for target in self.targets}
        extra |= {self.override} if self.targets else set()
        return tuple(sorted({*self.targets, *(target for target in extra if target is not None)}))


def wanted(
    process: Process,
    settings: Settings,
    options: Sequence[str] = (),
    *,
    look: Callable[[], Machine],
) -> Targets:
    """The targets by option, then variable or setting, then the GPUs found, else all.

    `options` are the values of `--gpu`: each one or several targets, families (`gfx110X-all`)
    or generic names, or `all` or `none`. `look` is asked for the GPUs only when nobody says.
    `InvalidTargetError` for an unfit word, with who said it; `UsageError` for contradictions.
    """
    if options:
        return _said(process, [w for text in options for w in split(text)], "`--gpu`")
    value = settings.value("targets")
    if value.value is not None:
        return _said(process, value.value, value.origin)
    machine = look()
    if not machine.gpus:
        return Targets(None, "no GPU was found", notes=machine.remarks)
    found = [gpu.target for gpu in machine.gpus if gpu.target is not None]
    if len(found) < len(machine.gpus):
        return Targets(None, "this machine has a GPU of an unknown target", notes=machine.remarks)
    return _made(process, found, "this machine's GPUs", machine.remarks)


def check(words: Sequence[str]) -> Sequence[str]:
    """`words`, when each is a target, family, generic name, `all` or `none`, and they agree."""
    _expand(words)
    return words


def known_words() -> list[str]:
    """Every word that an option or the setting takes and the tables have."""
    return [*load().names(), ALL, NONE]


def _said(process: Process, words: Sequence[str], place: str) -> Targets:
    try:
        targets = _expand(words)
    except (InvalidTargetError, UsageError) as error:
        raise type(error)(f"{error.message} (set by {place})", hint=error.hint) from error
    origin = f"set by {place}"
    if targets is None:
        return Targets(None, origin)
    gpus = load()
    notes = [
        f"{target} is not in the tables of this rocmenv; `rocmenv gpu` shows this machine's"
        for target in targets
        if gpus.known(target) is None and target.base not in gpus.retired
    ]
    return _made(process, targets, origin, notes)


def _expand(words: Sequence[str]) -> list[Target] | None:
    """The targets of words, each once; None for `all`."""
    lowered = {word.lower() for word in words}
    if not words or (lowered & {ALL, NONE} and len(lowered) > 1):
        msg = f"{visible(','.join(words))} is no list of GPU targets"
        raise UsageError(msg, hint="name targets, or `all`, or `none`: `--gpu gfx1100`")
    if lowered == {ALL}:
        return None
    gpus = load()
    return [] if lowered == {NONE} else sorted({t for word in words for t in gpus.expand(word)})


def _made(
    process: Process, targets: Iterable[Target], origin: str, notes: Iterable[str] = ()
) -> Targets:
    return Targets(tuple(sorted(set(targets))), origin, _override(process), tuple(notes))


def _override(process: Process) -> Target | None:
    match = _NUMBERS.fullmatch(process.get(OVERRIDE) or "")
    if match is None:
        return None
    major, minor, stepping = map(int, match.groups())
    return Target.from_number(major * 10000 + minor * 100 + stepping)
