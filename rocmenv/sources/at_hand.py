"""What files that are at hand have in common: what they tell of their release, and the host."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rocmenv.errors import HostError, StoreError, UsageError, visible
from rocmenv.fetch.connection import shown
from rocmenv.fetch.digest import sha256_of
from rocmenv.sources.amd import LIBC
from rocmenv.sources.apt.dpkg import STATUS, read_host
from rocmenv.sources.apt.relation import group_text

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable

    from rocmenv.model.receipt import Item
    from rocmenv.model.version import Version
    from rocmenv.sources.apt.dpkg import Host
    from rocmenv.sources.apt.relation import Group


class Told(NamedTuple):
    """The release that something says it is, and what of it says so, for a sentence."""

    version: Version
    by: str


def must_agree(asked: Version, told: Told | None, source: str) -> None:
    """`UsageError` when the path or address `source` tells another release than was `asked` for."""
    if told is None or told.version.release == asked.release:
        return
    name = shown(source) if "://" in source else os.path.basename(source)
    msg = f"{asked} was asked for, but {told.by} of `{name}` says {told.version}"
    hint = f"leave the version out: `rocmenv install --from {shlex.quote(shown(source))}`"
    raise UsageError(msg, hint=hint)


def same_file(item: Item, cancel: threading.Event | None) -> Path:
    """The file that `item` names by its path; `StoreError` when it is not what it was."""
    path = Path(item.url)
    try:
        is_same = path.stat().st_size == item.size and (
            sha256_of(path, cancel).hexdigest() == item.sha256
        )
    except OSError as error:
        msg = f"{visible(item.url, 200)} cannot be read ({error.strerror})"
        raise StoreError(msg) from error
    if not is_same:
        msg = (
            f"{visible(item.url, 200)} is not the file any more that the version was installed from"
        )
        raise StoreError(msg)
    return path


def this_host() -> Host:
    """What dpkg has installed on this machine."""
    return read_host(Path(STATUS))


def lacking(needs: Iterable[tuple[str, Group]], host: Host) -> tuple[str, ...]:
    """The `needs` of packages (name and group) that `host` is known to lack, as texts.

    Raises:
        HostError: one is the C library, which has to be the host's own.
    """
    found = []
    for package, group in needs:
        if any(host.meets(relation) is not False for relation in group):
            continue
        if group[0].name in LIBC:
            msg = f"`{package}` needs {group_text(group)}, and this machine's is older"
            raise HostError(msg, hint="take the files for an older system")
        found.append(group_text(group))
    return tuple(sorted(set(found)))
