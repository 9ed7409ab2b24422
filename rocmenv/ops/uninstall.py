"""Removing a version."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmenv.env.diff import EnvDiff
from rocmenv.errors import NotInstalledError, RocmenvError, StoreError, UsageError
from rocmenv.ops import current
from rocmenv.ops.pinned import known_pins
from rocmenv.ops.rehash import rehash, tidy
from rocmenv.probe.running import users_of
from rocmenv.store import pins, registry, transaction, trash

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rocmenv.model.selection import Selection
    from rocmenv.model.version import Spec, Version
    from rocmenv.ops.pinned import Pin
    from rocmenv.process import Process
    from rocmenv.store.paths import Root


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a version is in use: in words, and how to change that."""

    words: str
    cure: str

    def __str__(self) -> str:
        return self.words

    def refusal(self, version: Version, command: str) -> StoreError:
        """The error that refuses to let `command` take `version` away."""
        hint = f"{self.cure}, or `rocmenv {command} --yes {version}`"
        return StoreError(f"version {version} is {self.words}", hint=hint)


def removable(process: Process, root: Root, text: str) -> Version:
    """The version that `text` names; the system's is refused.

    One whose receipt cannot be read goes by the name of its folder, when that is given in full.
    Of a link only our own folder with the receipt goes: its prefix is somebody else's.
    """
    selection = current.asked(text)
    try:
        version = meant(process, root, selection, "uninstall")
    except NotInstalledError as error:
        hint = "`rocmenv versions` shows what there is"
        raise NotInstalledError(error.message, hint=hint) from error
    if version is None:
        msg = "the system's ROCm is not ours to remove"
        raise UsageError(msg, hint="name an installed version; `rocmenv versions` shows them")
    return version


def meant(process: Process, root: Root, selection: Selection, command: str) -> Version | None:
    """As `current.named`; refuses a short request that fits several versions, broken ones included.

    What is selected may be the best of them; what is taken away must be what was meant.
    """
    version = current.named(process, root, selection)
    several = [v for v in registry.versions(root) if _is_short(selection.spec, v)]
    if len(several) > 1:
        msg = f"`{selection.spec}` fits {', '.join(map(str, several))}"
        raise StoreError(msg, hint=f"name one in full: `rocmenv {command} {several[-1]}`")
    return version


def _is_short(spec: Spec, version: Version) -> bool:
    return not spec.name and spec.exact is None and spec.fits(version)


def reasons_to_keep(
    process: Process,
    root: Root,
    version: Version,
    known: Sequence[Pin] | None = None,
    in_use: Mapping[str, str] | None = None,
) -> list[Reason]:
    """Why `version` should stay: active in this shell, in use, pinned, or the default.

    Pins count that hold here, and those of projects that were seen before; `known` are
    these, when the caller has read them. `in_use` is `users_of` the versions, likewise.
    A request counts that would stand for another version, or for none, afterwards.
    """
    reasons = []
    record = process.environ.get("ROCMENV_DIFF")
    try:
        active = EnvDiff.decode(record).version if record else None
    except ValueError:
        active = None
    if active == str(version):
        reasons.append(Reason("active in this shell", "run `rocmenv deactivate`"))
    text = process.get(current.VARIABLE)
    if text and _means(process, root, text, version):
        reasons.append(Reason(f"selected by {current.VARIABLE}", "run `rocmenv shell --unset`"))
    running = users_of(str(root.versions)) if in_use is None else in_use
    if user := running.get(str(version)):
        reasons.append(Reason(f"in use by {user}", "end it"))
    asking = known_pins(process, root) if known is None else known
    return [*reasons, *_files_that_ask(process, root, version, asking)]


def _files_that_ask(
    process: Process, root: Root, version: Version, known: Sequence[Pin]
) -> Iterator[Reason]:
    """The pins and the default, each by itself: one that cannot be read asks for nothing."""
    for pin in known:
        if pin.version != version:
            continue
        if pin.is_lock:
            folder = shlex.quote(os.path.dirname(pin.path))
            yield Reason(f"locked by {pin.path}", f"`cd {folder} && rocmenv lock VERSION`")
        else:
            yield Reason(f"pinned by {pin.path}", f"change {pin.path}")
    with suppress(RocmenvError):
        default = pins.read(str(root.default)) if os.path.isfile(root.default) else None
        if default and _means(process, root, str(default), version):
            yield Reason(f"the default in {root.default}", "run `rocmenv global VERSION`")


def uninstall(process: Process, root: Root, version: Version) -> None:
    """Remove an install that `removable` has found: gone at once, its files in the background.

    Raises `NotInstalledError` when it has gone meanwhile.
    """
    tidy(process, root)
    with transaction.removal(root, version):
        rehash(process, root)
    trash.empty(root)


def _means(process: Process, root: Root, text: str, version: Version) -> bool:
    try:
        return current.named(process, root, current.asked(text)) == version
    except RocmenvError:
        return False
