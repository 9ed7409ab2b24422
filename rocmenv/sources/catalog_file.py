"""Reading the catalogue: what came with rocmenv, and a file of the user's over it.

The user's file, `catalog.json` in the root, has the same form with any part left out: a
release takes the place of the one with its version, a place or channel that of its name.
`rocmenv catalog update` writes releases into it that an index page has; keys and addresses
get into it by hand only.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from rocmenv.errors import ConfigError
from rocmenv.model.version import Version
from rocmenv.sources.catalog import Catalog, Channel, KnownRelease, Place

SCHEMA = 2
_FILE = Path(__file__).parent.parent / "data" / "releases.json"
_PLACE_TEXTS = ("name", "line", "mirror", "packages", "key", "runfile", "keep_days")


def load(overlay: Path | None = None) -> Catalog:
    """The catalogue, with the user's file `overlay` over it where that exists.

    Raises `ConfigError` naming the file when it is not a catalogue.
    """
    table: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
    if overlay is None:
        return _parse(table)
    try:
        text = overlay.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return _parse(table)
    except (OSError, UnicodeDecodeError) as error:
        words = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        msg = f"{overlay} cannot be read ({words})"
        raise ConfigError(msg, hint=f"check its rights: `ls -l {shlex.quote(str(overlay))}`") from (
            error
        )
    try:
        return _parse(_merged(table, json.loads(text)))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        place = shlex.quote(str(overlay))
        msg = f"{overlay} is not a catalogue ({error.__class__.__name__}: {error})"
        raise ConfigError(msg, hint=f"mend it, or move it away: `mv {place} {place}.old`") from (
            error
        )


def _merged(table: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    if over.get("schema", SCHEMA) > SCHEMA:
        msg = f"its form {over['schema']} is of a newer rocmenv"
        raise ValueError(msg)
    out = dict(table)
    for key in ("keys", "suites", "profiles", "groups", "channels"):
        out[key] = {**table[key], **over.get(key, {})}
    for key, name in (("places", "name"), ("releases", "version")):
        rows = {row[name]: row for row in table[key]}
        for row in over.get(key, []):
            rows[row[name]] = {**rows.get(row[name], {}), **row}
        out[key] = list(rows.values())
    out["tarballs"] = [*table["tarballs"], *over.get("tarballs", [])]
    return out


def _parse(table: dict[str, Any]) -> Catalog:
    keys = table["keys"]
    releases = [_release(row, table["groups"]) for row in table["releases"]]
    return Catalog(
        tuple(sorted(releases, key=lambda r: r.version)),
        {name: _channel(row, keys) for name, row in table["channels"].items()},
        _numbers(table["suites"]),
        tuple(_place(row, keys) for row in table["places"]),
        _numbers(table["profiles"]),
        {(str(v), str(s), str(g)): str(digest) for v, s, g, digest in table["tarballs"]},
    )


def _numbers(table: dict[str, str]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(map(int, text.split("."))) for name, text in table.items()}


def _release(row: dict[str, Any], groups: dict[str, Any]) -> KnownRelease:
    named = row.get("groups", {})
    by_system = groups[named] if isinstance(named, str) else named
    return KnownRelease(
        version=Version.parse(row["version"]),
        stream=str(row["stream"]),
        status=str(row["status"]),
        date=str(row.get("date", "")),
        date_is=str(row.get("date_is", "")),
        suites=tuple(row.get("suites", ())),
        rpm=tuple(row.get("rpm", ())),
        driver=str(row.get("driver", "")),
        text=str(row.get("text", "")),
        groups={system: tuple(names) for system, names in by_system.items()},
        runfile=str(row.get("runfile", "")),
        hip_sdk=str(row.get("hip_sdk", "")),
        unverified=tuple(row.get("unverified", ())),
    )


def _channel(row: dict[str, Any], keys: dict[str, str]) -> Channel:
    given = {name: value for name, value in row.items() if name != "signed_by"}
    if "signed_by" in row:
        given["fingerprint"] = keys[row["signed_by"]]
    return Channel(**given)


def _place(row: dict[str, Any], keys: dict[str, str]) -> Place:
    return Place(
        **{name: row[name] for name in _PLACE_TEXTS if name in row},
        tarballs=tuple(row.get("tarballs", ())),
        wheels=tuple(row.get("wheels", ())),
        fingerprint=keys[row["signed_by"]] if "signed_by" in row else "",
        since=Version.parse(row["since"]) if "since" in row else None,
        before=Version.parse(row["before"]) if "before" in row else None,
    )
