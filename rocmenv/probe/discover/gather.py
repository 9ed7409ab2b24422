"""From clues to findings: one for each folder, whatever it is called."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from rocmenv.probe.discover import (
    alternatives,
    easybuild,
    folders,
    hipsdk,
    inside,
    modules,
    rocmcli,
    spack,
    system,
    variables,
    wheels,
)
from rocmenv.probe.discover.base import How, Look, shown, words_for
from rocmenv.probe.discover.owners import Owners
from rocmenv.probe.prefix import find_layout, find_version, is_rocm, is_shared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rocmenv.model.layout import Kind
    from rocmenv.model.version import Version
    from rocmenv.probe.discover.base import Clue, Host

_ALWAYS: tuple[Callable[[Look], Iterator[Clue]], ...] = (
    inside.clues,
    variables.clues,
    wheels.clues,
    rocmcli.clues,
)
_UNIX = (
    folders.clues,
    alternatives.clues,
    modules.clues,
    system.clues,
    spack.clues,
    easybuild.clues,
)
_LEFT_OVER = re.compile(r"rocm-\d.*|core-\d.*")


class Form(str, Enum):
    """What a finding is: a whole ROCm, a part of one, one among everything else, or none."""

    WHOLE = "whole"
    PARTIAL = "partial"
    SHARED = "shared"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Trace:
    """By what a prefix was found: how, the variable or file that told, the name it gave."""

    how: How
    told: str
    name: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One folder that is a ROCm, or should be one.

    `prefix` is its real, absolute path. `version` is None where nothing says it; `why`
    then tells, and tells what is wrong where the form is not whole. `kind` is the
    layout's, for a whole one. `traces` are all ways that led here.
    """

    prefix: str
    form: Form
    version: Version | None
    why: str
    kind: Kind | None
    traces: tuple[Trace, ...]
    remarks: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The other paths by which the folder was named, shortest first."""
        found = {os.path.normpath(trace.name) for trace in self.traces} - {self.prefix}
        return tuple(sorted(found, key=lambda name: (len(name), name)))


@dataclass(frozen=True, slots=True)
class Found:
    """All findings, oldest version first, and what could not be looked at."""

    findings: tuple[Finding, ...]
    notes: tuple[str, ...]


def discover(host: Host, more: Iterable[Clue] = ()) -> Found:
    """Look at every place of `host`, and follow the clues `more` too. Changes nothing."""
    look = Look(host)
    places = (*_ALWAYS, *((hipsdk.clues,) if host.windows else _UNIX))
    groups: dict[object, _Group] = {}
    for clue in (*(clue for place in places for clue in place(look)), *more):
        _follow(host, clue, groups)
    owners = Owners(look)
    found = [_finding(group, owners) for group in groups.values()]
    kept = [finding for finding in found if finding is not None]
    kept.sort(key=lambda f: (f.version is None, f.version or 0, f.prefix))
    return Found(tuple(kept), tuple(look.notes))


@dataclass(slots=True)
class _Group:
    """The clues that ended in one folder, and its real path; `broken` when in none."""

    prefix: str
    clues: list[Clue]
    broken: str = ""


def _follow(host: Host, clue: Clue, groups: dict[object, _Group]) -> None:
    path = os.path.normpath(clue.path)
    try:
        os.stat(path)
    except OSError as error:
        if clue.sure or os.path.lexists(path):
            reason = words_for(error)
            if os.path.islink(path) and isinstance(error, FileNotFoundError):
                reason = f"it leads to {shown(os.path.realpath(path))}, which is not there"
            elif isinstance(error, FileNotFoundError):
                reason = "it is not there"
            groups.setdefault(path, _Group(path, [], reason)).clues.append(clue)
        return
    if not os.path.isdir(path):
        if clue.sure:
            reason = "it is not a folder"
            groups.setdefault(path, _Group(path, [], reason)).clues.append(clue)
        return
    real = os.path.realpath(path)
    if clue.how not in (How.WHEEL, How.ROCM_CLI):  # their links lead into other packages
        real = _top(real)
    if host.own and (real == host.own or real.startswith(host.own + os.sep)):
        return  # an install of ours
    stat = os.stat(real)
    # A bind mount is the same folder under another real path.
    group = groups.setdefault((stat.st_dev, stat.st_ino), _Group(real, []))
    group.clues.append(clue)
    group.prefix = min(group.prefix, real, key=lambda p: (len(p), p))


def _top(path: str) -> str:
    """The prefix that a folder belongs to, where it is but a place in it or a view of it.

    `/opt/rocm` of the Core SDK is a folder of links into `/opt/rocm/core-X.Y`, and HIP_PATH
    named the folder `hip` of a prefix up to 5.x.
    """
    above = os.path.dirname(path)
    if os.path.basename(path) == "hip" and _says_version(above):
        return above
    programs = os.path.realpath(os.path.join(path, "bin"))
    there = os.path.dirname(programs)
    if os.path.basename(programs) == "bin" and there != path and _says_version(there):
        return path if _says_version(path) else there
    return path


def _says_version(path: str) -> bool:
    return os.path.isfile(os.path.join(path, ".info", "version"))


def _finding(group: _Group, owners: Owners) -> Finding | None:
    """What a group of clues led to; None when a name alone had promised a ROCm."""
    prefix = group.prefix
    traces = tuple(dict.fromkeys(Trace(c.how, c.told, c.path) for c in group.clues))
    parts = [clue.partial for clue in group.clues if clue.partial]
    partial = parts[0] if parts else ""
    if not partial and os.path.isdir(os.path.join(prefix, ".spack")):
        partial = spack.PARTIAL
    flaw = group.broken or _flaw(prefix)
    if not flaw and not partial and not is_rocm(prefix):
        named = any(clue.sure for clue in group.clues)
        if not named and not _LEFT_OVER.fullmatch(os.path.basename(prefix)):
            return None
        flaw = "it has no .info/version and no bin/hipcc"
    if flaw:
        return Finding(prefix, Form.BROKEN, None, flaw, None, traces)
    version, why, remarks = _version(group)
    form, kind = Form.WHOLE, None
    if is_shared(prefix) or any(clue.how is How.SYSTEM for clue in group.clues):
        form, why = Form.SHARED, f"`rocmenv use system` gives what is among all else in {prefix}"
    elif partial:
        form, why = Form.PARTIAL, partial
    else:
        kind = find_layout(prefix).kind
    remarks += _remarks(group, owners)
    return Finding(prefix, form, version, why, kind, traces, remarks)


def _flaw(prefix: str) -> str:
    """Why a folder cannot be looked into, empty when it can."""
    try:
        os.listdir(prefix)
    except OSError as error:
        return f"it cannot be read ({words_for(error)})"
    return ""


def _version(group: _Group) -> tuple[Version | None, str, tuple[str, ...]]:
    """The version, or why there is none, and where it is from if not from the prefix."""
    said = find_version(group.prefix)
    if said is not None:
        return said, "", ()
    for clue in group.clues:
        if clue.version is not None:
            source = "its name" if clue.how in (How.FOLDER, How.HIP_SDK) else shown(clue.told)
            return clue.version, "", (f"the version is from {source}",)
    name = os.path.basename(group.prefix)
    if any(clue.how is How.HIP_SDK for clue in group.clues):
        return None, f"its folder says {name}, without a patch level", ()
    return None, "it does not say which release it is", ()


def _remarks(group: _Group, owners: Owners) -> tuple[str, ...]:
    found = [clue.remark for clue in group.clues if clue.remark]
    paths = dict.fromkeys((group.prefix, *(os.path.normpath(c.path) for c in group.clues)))
    owner = next((name for name in map(owners.of, paths) if name), None)
    if owner:
        found.append(f"owned by package {shown(owner)}")
    return tuple(dict.fromkeys(found))
