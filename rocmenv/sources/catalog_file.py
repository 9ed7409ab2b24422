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

from rocmenv.errors import ConfigError, InvalidVersionError, ResolveError
from rocmenv.model.version import Version
from rocmenv.sources.catalog import Catalog, Channel, KnownRelease, Place

SCHEMA = 2
_FILE = Path(__file__).parent.parent / "data" / "releases.json"
UNFIT = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    RecursionError,
    InvalidVersionError,
    ResolveError,
)
"""What a table in another form leads to."""
_PLACE_TEXTS = ("name", "line", "mirror", "packages", "key", "runfile", "keep_days")


def load(overlay: Path | None = None) -> Catalog:
    """The catalogue, with the user's file `overlay` over it where that exists.

    Raises `ConfigError` naming the file when it is not a catalogue.
    """
    over = read_overlay(overlay) if overlay else None
    if over is None:
        return parsed(_own())
    try:
        return parsed(merged(None, over))
    except UNFIT as error:
        raise _no_catalogue(overlay, error) from error


def read_overlay(path: Path) -> dict[str, Any] | None:
    """The table in the user's file, None where there is none; `ConfigError` as `load`."""
    try:
        table = json.loads(path.read_text(encoding="utf-8-sig"))
        if not isinstance(table, dict):
            msg = "it holds no table"
            raise TypeError(msg)
    except FileNotFoundError:
        return None
    except OSError as error:
        msg = f"{path} cannot be read ({error.strerror})"
        hint = f"check its rights: `ls -l {shlex.quote(str(path))}`"
        raise ConfigError(msg, hint=hint) from error
    except (ValueError, TypeError, RecursionError) as error:
        raise _no_catalogue(path, error) from error
    return table


def merged(table: dict[str, Any] | None, over: dict[str, Any]) -> dict[str, Any]:
    """`over` laid over `table`, or over the catalogue that came with rocmenv.

    Raises one of `UNFIT` for tables in another form.
    """
    under = _own() if table is None else table
    if over.get("schema", SCHEMA) > SCHEMA:
        msg = f"its form {over['schema']} is of a newer rocmenv"
        raise ValueError(msg)
    out = {**under, "schema": SCHEMA}
    for key in ("keys", "suites", "profiles", "groups", "channels"):
        if key in over:
            out[key] = {**under.get(key, {}), **over[key]}
    for key, name in (("places", "name"), ("releases", "version")):
        rows = {row[name]: row for row in under.get(key, [])}
        for row in over.get(key, []):
            rows[row[name]] = {**rows.get(row[name], {}), **row}
        if rows:
            out[key] = list(rows.values())
    out["tarballs"] = [*under.get("tarballs", []), *over.get("tarballs", [])]
    return out


def _own() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
    return table


def _no_catalogue(path: Path | None, error: Exception) -> ConfigError:
    place = shlex.quote(str(path))
    msg = f"{path} is not a catalogue ({error.__class__.__name__}: {error})"
    return ConfigError(msg, hint=f"mend it, or move it away: `mv {place} {place}.old`")


def parsed(table: dict[str, Any]) -> Catalog:
    """The catalogue of a whole table; raises as `merged`."""
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
