"""What selecting a release does to an environment: (layout, prefix, environment) to a diff.

`steps` is the part that depends on the layout alone; shells render it once per install, so
that a prompt hook and a shim need no process (rocmenv.store.activations). `activate` does
the same to an environment that is at hand. Both follow the one table in
`rocmenv.env.family`, and the tests hold them to the same results.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmenv.env import family, pathlist
from rocmenv.env.diff import EnvDiff, patched
from rocmenv.env.family import FAMILY, Role

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rocmenv.model.layout import Layout

RECORD = "ROCMENV_DIFF"
"""The variable that the applied diff travels in."""


@dataclass(frozen=True, slots=True)
class Known:
    """Where a ROCm may lie, to tell entries of path lists that belong to one.

    `stores` are folders whose every child is a prefix (`ROOT/versions`); `prefixes` are
    single ones; `search` are folders in which AMD's packages install (`/opt`): there
    `rocm`, all below it, and `rocm-<digit>...` count. Only the text is compared, with no
    look at the disk, so that the shells decide alike.
    """

    stores: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    search: tuple[str, ...] = ("/opt",)

    def owns(self, path: str) -> bool:
        """Whether `path` is a ROCm's prefix or lies in one."""
        if any(path.startswith(f"{store}/") for store in self.stores):
            return True
        prefixes = (*self.prefixes, *(f"{folder}/rocm" for folder in self.search))
        if any(path == p or path.startswith(f"{p}/") for p in prefixes):
            return True
        starts = [f"{folder}/rocm-" for folder in self.search]
        return any(path.startswith(s) and path[len(s) : len(s) + 1].isdigit() for s in starts)

    def also(self, *prefixes: str) -> Known:
        """This, and `prefixes`."""
        return Known(self.stores, (*self.prefixes, *prefixes), self.search)


@dataclass(frozen=True, slots=True)
class Step:
    """One variable of the table with what this layout does to it.

    `places` are paths below the prefix (`""` is the prefix itself); `text` is a text as it
    is. Neither: the variable is cleared, or only loses entries.
    """

    name: str
    role: Role
    places: tuple[str, ...] = ()
    text: str | None = None

    def values(self, prefix: str) -> list[str]:
        """The absolute paths of `places`."""
        return [f"{prefix}/{place}" if place else prefix for place in self.places]


def steps(layout: Layout) -> tuple[Step, ...]:
    """What activating a prefix of this layout does, one step for each row of the table."""
    places = family.selected(layout)
    lists = family.entries(layout)
    out = []
    for row in FAMILY:
        if row.role is Role.SELECT:
            place = places[row.name]
            out.append(Step(row.name, row.role, () if place is None else (place,)))
        elif row.role is Role.DROP and places.get(row.name) is not None:
            out.append(Step(row.name, Role.SELECT, (places[row.name] or "",)))
        elif row.role is Role.CONSTANT:
            out.append(Step(row.name, row.role, text=family.CONSTANTS[row.name]))
        else:
            out.append(Step(row.name, row.role, lists.get(row.name, ())))
    return tuple(out)


def activate(
    version: str, layout: Layout, prefix: str, environ: Mapping[str, str], known: Known
) -> EnvDiff:
    """The diff that selects `prefix` in `environ`, which holds no other activation of ours."""
    known = known.also(prefix)
    after: dict[str, str | None] = {}
    for step in steps(layout):
        before = environ.get(step.name)
        values = step.values(prefix)
        if step.role in (Role.LIST, Role.LIST_IF_SET):
            if step.role is Role.LIST_IF_SET and not before:
                values = []
            after[step.name] = pathlist.put(before, values, known.owns)
        elif step.role is Role.DROP:
            foreign = before is not None and known.owns(before)
            after[step.name] = None if foreign else before
        else:
            after[step.name] = values[0] if values else step.text
    return EnvDiff.between(version, environ, after)


@dataclass(frozen=True, slots=True)
class Switch:
    """The way from one environment to another.

    `texts` are the variables to set (None: unset), the record included; `left` names the
    version that was active before, `kept` the variables that the user had changed since.
    """

    texts: dict[str, str | None]
    left: str | None
    kept: tuple[str, ...] = ()


def leave(environ: Mapping[str, str]) -> Switch:
    """The way back to the environment before activation; nothing when none is recorded.

    A record that cannot be read is dropped: it is ours alone, and a new activation can do
    without it.
    """
    record = environ.get(RECORD)
    if record is None:
        return Switch({}, None)
    try:
        diff = EnvDiff.decode(record)
    except ValueError:
        return Switch({RECORD: None}, None)
    texts, kept = diff.undo(environ)
    return Switch({**texts, RECORD: None}, diff.version, tuple(kept))


def switch(
    version: str,
    layout: Layout,
    prefix: str,
    environ: Mapping[str, str],
    known: Known,
    back: Switch | None = None,
) -> Switch:
    """The way from `environ` to one in which `prefix` is selected: undo, then apply, as one.

    `back` is what `leave` says of `environ`, where the caller has it already.
    """
    back = back or leave(environ)
    base = patched(environ, back.texts)
    diff = activate(version, layout, prefix, base, known)
    texts = {**back.texts, **{c.name: c.after for c in diff.changes}, RECORD: diff.encode()}
    changed = {name: text for name, text in texts.items() if environ.get(name) != text}
    return Switch(changed, back.left, back.kept)
