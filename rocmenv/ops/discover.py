"""Every ROCm of the machine: what it is to rocmenv, and registering those that can be."""

from __future__ import annotations

import os
import re
import shlex
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from itertools import count
from typing import TYPE_CHECKING

from rocmenv.errors import RocmenvError, StoreError, visible
from rocmenv.model.version import Version
from rocmenv.ops.link import link, refresh, renewed
from rocmenv.probe.discover.base import Clue, Host, How
from rocmenv.probe.discover.gather import Form, discover
from rocmenv.probe.fingerprint import change_of
from rocmenv.probe.host import is_windows
from rocmenv.settings import Settings
from rocmenv.store import registry
from rocmenv.store.lock import locked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rocmenv.model.fingerprint import Change
    from rocmenv.probe.discover.gather import Finding, Found
    from rocmenv.process import Process
    from rocmenv.store.paths import Root
    from rocmenv.store.registry import Installed

_LOCK = "discover"
_NO_NAME = re.compile(r"(rocm|core|_rocm_sdk|site-packages|lib|lib64|python3|software)\b.*|hip")


class State(str, Enum):
    """What a finding is to rocmenv."""

    NEW = "new"
    LINKED = "linked"
    CHANGED = "changed"
    UNFIT = "unfit"
    PARTIAL = "partial"
    SHARED = "shared"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Registered:
    """A link to the prefix: its name, and what became of it since (None: nothing)."""

    name: Version
    change: Change | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One finding with its state; `reason` says why it cannot be registered.

    `name` is the version that it is registered as, or would be.
    """

    finding: Finding
    state: State
    reason: str = ""
    name: Version | None = None
    links: tuple[Registered, ...] = ()


@dataclass(frozen=True, slots=True)
class Survey:
    """All rows, oldest version first, and what could not be looked at."""

    rows: tuple[Row, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Adoption:
    """What `adopt` did: the rows as they are now, what was registered, and the refusals."""

    survey: Survey
    done: tuple[Installed, ...]
    refused: tuple[RocmenvError, ...]


def survey(
    process: Process, root: Root, inside: Sequence[str] = (), named: Sequence[str] = ()
) -> Survey:
    """Look for every ROCm; changes nothing and starts nothing.

    `inside` are folders to walk as well. With `named` only these prefixes are looked at.
    Raises `StoreError` for one of either that is not there.
    """
    links = dict(_links(root))
    clues = [Clue(item.prefix, How.LINK, str(version)) for version, item in links.items()]
    wanted = [_folder(process, path) for path in named]
    clues += [Clue(path, How.NAMED, "the command line") for path in wanted]
    host = Host(
        environ=process.environ,
        home=str(process.home),
        search=tuple(Settings(process, root)["search"]),
        inside=tuple(_folder(process, path) for path in inside),
        own=os.path.realpath(root.versions),
        windows=is_windows(),
    )
    for path in wanted:
        if f"{os.path.realpath(path)}/".startswith(f"{host.own}/"):
            msg = f"{visible(path, 200)} is in the root of rocmenv, so it is no discovery"
            raise StoreError(msg, hint="`rocmenv versions` shows what is installed")
    return _judged(root, discover(host, clues), links, wanted)


def adopt(
    process: Process, root: Root, inside: Sequence[str] = (), named: Sequence[str] = ()
) -> Adoption:
    """Register what `survey` finds and nobody has registered; renew what has changed.

    With `named` only these, and each that cannot be registered is refused. One refusal
    keeps nothing else from being registered. Nothing below a prefix is changed.
    """
    with locked(root, _LOCK, "adopting"):  # two at once would give two names to one prefix
        found = survey(process, root, inside, named)
        rows: dict[Row, Row] = {}
        done: list[Installed] = []
        refused: list[RocmenvError] = []
        # What has changed first: that may leave a name for others.
        for row in sorted(found.rows, key=lambda row: row.state is not State.CHANGED):
            items: list[Installed] = []
            try:
                items.extend(_register(process, root, row))
            except RocmenvError as error:
                refused.append(error)
            else:
                if named and not items and row.state is not State.LINKED:
                    refused.append(_unfit(row))
            done += items
            rows[row] = _after(row, items)
    now = tuple(rows[row] for row in found.rows)
    return Adoption(Survey(now, found.notes), tuple(done), tuple(refused))


def _register(process: Process, root: Root, row: Row) -> Iterator[Installed]:
    if row.state is State.NEW:
        yield link(process, root, row.finding.prefix, str(row.name))
    for old in row.links:
        if row.state is State.CHANGED and old.change is not None:
            new = renewed(old.name, str(registry.read_receipt(root, old.name).prefix))
            taken = set(registry.versions(root)) - {old.name}
            yield refresh(process, root, old.name, _name(new, row.finding, taken))


def _after(row: Row, items: Sequence[Installed]) -> Row:
    """The row, once `items` have been registered of it."""
    if not items:
        return row
    kept = [link for link in row.links if link.change is None]
    links = (*kept, *(Registered(item.version) for item in items))
    return replace(row, state=State.LINKED, links=links, name=links[0].name)


def _unfit(row: Row) -> StoreError:
    prefix = row.finding.prefix
    hint = f"look at it: `ls {shlex.quote(prefix)}`"
    if row.state is State.UNFIT and row.finding.version is None:
        hint = f"name it: `rocmenv link {shlex.quote(prefix)} VERSION`"
    return StoreError(f"{visible(prefix, 200)} cannot be registered: {row.reason}", hint=hint)


def _judged(
    root: Root, found: Found, links: dict[Version, Installed], wanted: Sequence[str]
) -> Survey:
    """The rows; a name that is free goes to the first new one that wants it."""
    rows = [_row(finding, links) for finding in found.findings]
    changed = {
        link.name: row
        for row in rows
        for link in row.links
        if link.change is not None and link.change.is_release
    }
    taken = set(registry.versions(root)) - set(changed)
    taken.update(row.finding.version for row in changed.values() if row.finding.version)
    for number, row in enumerate(rows):
        if row.state is State.NEW and row.finding.version is not None:
            name = _name(row.finding.version, row.finding, taken)
            taken.add(name)
            rows[number] = replace(row, name=name)
    if wanted:
        rows = [r for r in rows if {r.finding.prefix, *r.finding.names} & set(wanted)]
    return Survey(tuple(rows), found.notes)


def _row(finding: Finding, links: dict[Version, Installed]) -> Row:
    names = [Version.parse(t.told) for t in finding.traces if t.how is How.LINK]
    is_broken = finding.form is Form.BROKEN
    mine = tuple(Registered(n, None if is_broken else change_of(links[n].receipt)) for n in names)
    first = names[0] if names else None
    if is_broken or (finding.form is not Form.WHOLE and not names):
        return Row(finding, State(finding.form.value), finding.why, first, mine)
    if names:
        changed = any(link.change is not None for link in mine)
        return Row(finding, State.CHANGED if changed else State.LINKED, "", first, mine)
    reason = _obstacle(finding) or (finding.why if finding.version is None else "")
    return Row(finding, State.UNFIT if reason else State.NEW, reason)


def _obstacle(finding: Finding) -> str:
    """Why a whole ROCm cannot be registered, empty when it can."""
    if any(trace.how is How.HIP_SDK for trace in finding.traces) or is_windows():
        return "rocmenv does not run on Windows"
    if ":" in finding.prefix:
        return "no list of folders can hold a colon"
    if not os.path.isdir(os.path.join(finding.prefix, "bin")):
        return "it has no bin"
    return ""


def _name(version: Version, finding: Finding, taken: set[Version]) -> Version:
    """The name for a prefix: its version where that is free, else with a word for its place."""
    return version if version not in taken else _distinct(version, finding, taken)


def _distinct(version: Version, finding: Finding, taken: Iterable[Version]) -> Version:
    """`6.3.0+opt`: the nearest folder above whose name is not ROCm's own; `+opt2` if taken."""
    word = next(filter(None, map(_word, reversed(_above(finding.prefix)))), "site")
    start = f"{version}.{word}" if version.local else f"{version}+{word}"
    names = (f"{start}{number if number > 1 else ''}" for number in count(1))
    return next(v for v in map(Version.parse, names) if v not in set(taken))


def _above(path: str) -> list[str]:
    return os.path.dirname(path).split(os.sep)


def _word(folder: str) -> str:
    """A folder's name as the local part of a version; empty for one that tells nothing."""
    if _NO_NAME.fullmatch(folder):
        return ""
    return re.sub(r"[^0-9A-Za-z]", "", folder)[:20].lower()


def _links(root: Root) -> Iterator[tuple[Version, Installed]]:
    """Every link, also one whose prefix is gone."""
    for version in registry.versions(root):
        with suppress(RocmenvError):  # broken receipts are told by `versions`
            receipt = registry.read_receipt(root, version)
            if receipt.prefix is not None:
                yield version, registry.Installed(receipt, receipt.prefix)


def _folder(process: Process, text: str) -> str:
    path = os.path.normpath(os.path.join(process.cwd, os.path.expanduser(text)))
    if not os.path.isdir(path):
        msg = f"{visible(path, 200)} is not a folder"
        raise StoreError(msg, hint="name one that is there; `rocmenv discover` looks everywhere")
    return path
