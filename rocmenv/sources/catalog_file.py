"""Reading the catalogue: what came with rocmenv, and a file of the user's over it.

The user's file, `catalog.json` in the root, has the same form with any part left out: what a
release, place or channel says takes the place of the same part of the one with its name.
`rocmenv catalog update` writes releases into it that an index page has; keys and addresses
get into it by hand only.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from string import Formatter
from typing import Any

from rocmenv.errors import ConfigError, InvalidVersionError, ResolveError, visible
from rocmenv.model.version import Version
from rocmenv.sources.catalog import Catalog, Channel, KnownRelease, Place, checked_mirror

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
# What the templates of a place and of a channel may have in braces.
_IN_PLACE: dict[str, tuple[str, ...]] = {
    "packages": ("mirror", "profile"),
    "key": ("mirror",),
    "runfile": ("mirror", "xy", "xyz", "n"),
}
_IN_CHANNEL: dict[str, tuple[str, ...]] = {
    "base": ("mirror", "dir", "rpm", "sdk"),
    "key": ("mirror",),
    "index": ("mirror", "rpm"),
    "prefix": ("xyz",),
}


def load(overlay: Path | None = None) -> Catalog:
    """The catalogue, with the user's file `overlay` over it where that exists.

    Raises `ConfigError` naming the file when it is not a catalogue.
    """
    return _read(overlay)[1]


def whole(overlay: Path) -> dict[str, Any]:
    """The table of `load`'s catalogue, which raises the same."""
    return _read(overlay)[0]


def _read(overlay: Path | None) -> tuple[dict[str, Any], Catalog]:
    over = read_overlay(overlay) if overlay else None
    if over is None:
        table = _own()
        return table, parsed(table)
    try:
        table = merged(None, over)
        return table, parsed(table)
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
    for key in ("keys", "suites", "profiles", "groups"):
        if key in over:
            out[key] = {**under.get(key, {}), **over[key]}
    if "channels" in over:
        channels = under.get("channels", {})
        changed = {
            name: {**channels.get(name, {}), **row} for name, row in over["channels"].items()
        }
        out["channels"] = {**channels, **changed}
    for key, name in (("places", "name"), ("releases", "version")):
        rows = {row[name]: row for row in under.get(key, [])}
        for row in over.get(key, []):
            rows[row[name]] = {**rows.get(row[name], {}), **row}
        if rows:
            out[key] = list(rows.values())
    digests = (*under.get("tarballs", []), *over.get("tarballs", []))
    out["tarballs"] = list({tuple(row[:-1]): row for row in digests}.values())
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
        suites=_texts(row.get("suites", [])),
        rpm=_texts(row.get("rpm", [])),
        driver=str(row.get("driver", "")),
        text=str(row.get("text", "")),
        groups={system: _texts(names) for system, names in by_system.items()},
        runfile=str(row.get("runfile", "")),
        hip_sdk=str(row.get("hip_sdk", "")),
        unverified=_texts(row.get("unverified", [])),
    )


def _texts(value: Any) -> tuple[str, ...]:  # noqa: ANN401 - what json gives
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        msg = f"{visible(str(value))} is no list of texts"
        raise TypeError(msg)
    return tuple(value)


def _template(text: str, names: tuple[str, ...]) -> str:
    """`text`, when it can be filled in with values of these names and no others."""
    for _, field, form, conversion in Formatter().parse(text):
        if field is not None and (field not in names or form or conversion):
            known = ", ".join(f"{{{name}}}" for name in names)
            msg = f"{visible(text, 200)} has something else in braces than {known}"
            raise ValueError(msg)
    return text


def _channel(row: dict[str, Any], keys: dict[str, str]) -> Channel:
    given = {name: value for name, value in row.items() if name != "signed_by"}
    if "fingerprint" in given:
        msg = "a channel names its key by `signed_by`, and `keys` has the fingerprint"
        raise ValueError(msg)
    if "signed_by" in row:
        given["fingerprint"] = keys[row["signed_by"]]
    checked_mirror(row["mirror"])
    for name, names in _IN_CHANNEL.items():
        _template(row.get(name, ""), names)
    return Channel(**given)


def _place(row: dict[str, Any], keys: dict[str, str]) -> Place:
    checked_mirror(row["mirror"])
    for name, names in _IN_PLACE.items():
        _template(row.get(name) or "", names)
    tarballs = _texts(row["tarballs"])
    if not tarballs:
        msg = f"the place {visible(str(row['name']))} has no page of archives"
        raise ValueError(msg)
    return Place(
        **{name: row[name] for name in _PLACE_TEXTS if name in row},
        tarballs=tuple(_template(text, ("mirror",)) for text in tarballs),
        wheels=tuple(
            _template(text, ("mirror", "family")) for text in _texts(row.get("wheels", []))
        ),
        fingerprint=keys[row["signed_by"]] if "signed_by" in row else "",
        since=Version.parse(row["since"]) if "since" in row else None,
        before=Version.parse(row["before"]) if "before" in row else None,
    )
