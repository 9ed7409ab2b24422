"""Bringing the user's catalogue up to date: from a mirror's file, or from the index pages."""

from __future__ import annotations

import json
import os
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from rocmenv.errors import ConfigError, HostError, visible
from rocmenv.fetch.connection import shown
from rocmenv.ops.listing import Wanted, online
from rocmenv.sources.catalog import is_legacy
from rocmenv.sources.catalog_file import SCHEMA, UNFIT, load, merged, parsed, read_overlay
from rocmenv.sources.remembered import replace_file
from rocmenv.store.lock import WRITERS, locked, not_writable

if TYPE_CHECKING:
    from collections.abc import Callable

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.ops.listing import Servers
    from rocmenv.sources.catalog import Catalog
    from rocmenv.store.paths import Root

_LIMIT = 16 << 20
# What a mirror's file may change. Keys decide whom to trust: they are written by hand only.
_FROM_MIRRORS = ("suites", "profiles", "groups", "channels", "places", "tarballs", "releases")


@dataclass(frozen=True, slots=True)
class Change:
    """What an update did: releases that are new, and names of addresses that are others now."""

    releases: tuple[str, ...]
    addresses: tuple[str, ...]


def update_from_pages(
    root: Root,
    downloads: Downloads,
    at: Servers,
    tell: Callable[[str], None],
    *,
    write: bool,
) -> Change:
    """Add the releases that the channels' index pages have and the catalogue does not.

    `at` and `tell` are as for `listing.online`. Without `write` nothing is changed.
    """
    data = load(root.catalog)
    rows: list[dict[str, Any]] = []
    for row in online(data, downloads, at, Wanted(), tell):
        if row.status != "new" or not row.version.is_final:
            continue
        fresh: dict[str, Any] = {
            "version": str(row.version),
            "date": row.date,
            "date_is": "listing" if row.date else "unknown",
            "stream": "legacy" if is_legacy(data, row.version) else "therock",
            "status": "released",
            "unverified": ["date", "status"],
        }
        if row.groups:
            fresh["groups"] = {"linux": list(row.groups)}
        rows.append(fresh)
    return _apply(root, {"schema": SCHEMA, "releases": rows}, write=write)


def update_from_file(
    root: Root, downloads: Downloads, source: str, cwd: str, *, write: bool
) -> Change:
    """Take releases and places from a catalogue at an address or in a file.

    Its keys are left out, and so is what it says of the key of a known place or channel, and
    digests of archives that are known. Raises `ConfigError` when it is no catalogue.
    """
    if "://" in source:
        text = downloads.read(source, limit=_LIMIT)
        name = shown(source)
    else:
        path = os.path.join(cwd, os.path.expanduser(source))
        name = visible(source, 200)
        try:
            with open(path, "rb") as file:
                text = file.read(_LIMIT)
        except OSError as error:
            msg = f"{name} cannot be read ({error.strerror})"
            raise HostError(msg, hint="name a file or an address: `--from FILE|URL`") from error
    try:
        table = json.loads(text.decode("utf-8-sig"))
        given = {key: table[key] for key in _FROM_MIRRORS if key in table}
        _keep_trust(load(root.catalog), given)
        parsed(merged(None, {**given, "schema": table.get("schema", SCHEMA)}))
    except UNFIT as error:
        msg = f"{name} is not a catalogue ({error.__class__.__name__}: {error})"
        raise ConfigError(
            msg, hint="it has the form of the file that `rocmenv catalog show` prints"
        ) from error
    return _apply(root, {"schema": SCHEMA, **given}, write=write)


def _keep_trust(data: Catalog, given: dict[str, Any]) -> None:
    """Take out of a mirror's table what would make other bytes right than before."""
    known = {place.name for place in data.places}
    rows = [row for row in given.get("places", []) if row["name"] in known]
    rows += [row for name, row in given.get("channels", {}).items() if name in data.channels]
    for row in rows:
        row.pop("signed_by", None)
    digests = given.get("tarballs", [])
    given["tarballs"] = [row for row in digests if tuple(row[:-1]) not in data.hashes]


def _apply(root: Root, fresh: dict[str, Any], *, write: bool) -> Change:
    """Lay `fresh` over the user's file; one at a time, so that no update loses another."""
    with locked(root, WRITERS, "catalog update") if write else nullcontext():
        return _laid_over(root, fresh, write=write)


def _laid_over(root: Root, fresh: dict[str, Any], *, write: bool) -> Change:
    before = load(root.catalog)
    over = merged(read_overlay(root.catalog) or {}, fresh)
    after = parsed(merged(None, over))
    had = {release.version for release in before.releases}
    places = {place.name: place for place in before.places}
    change = Change(
        tuple(str(r.version) for r in after.releases if r.version not in had),
        tuple(p.name for p in after.places if places.get(p.name) != p)
        + tuple(n for n, c in after.channels.items() if before.channels.get(n) != c),
    )
    if write:
        over["updated"] = datetime.now(timezone.utc).isoformat(timespec="seconds")
        try:
            replace_file(root.catalog, (json.dumps(over, indent=1) + "\n").encode())
        except OSError as error:
            raise not_writable(root, str(root.catalog), error) from error
    return change
