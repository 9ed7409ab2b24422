"""Changing `config.toml`, with its comments and order kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rocmenv.errors import ConfigError, visible
from rocmenv.model.target import split
from rocmenv.model.version import Spec
from rocmenv.ops.rehash import rehash
from rocmenv.ops.targets import check
from rocmenv.settings import ALIASES, bad_config, config_text, known_setting, parse_value
from rocmenv.sources.catalog import checked_mirror
from rocmenv.store.lock import WRITERS, locked
from rocmenv.store.pins import replace_file

if TYPE_CHECKING:
    from rocmenv.process import Process
    from rocmenv.store.paths import Root


def set_value(process: Process, root: Root, key: str, text: str) -> None:
    """Give `key` the value that `text` spells; `ConfigError` when it does not fit."""
    _must_be_unicode(root, text)
    value: object = text
    if key.startswith(f"{ALIASES}."):
        name = key.removeprefix(f"{ALIASES}.")
        if not Spec.parse(name).is_alias or Spec.parse(text).is_alias:
            msg = f"{visible(name)} cannot be an alias of {visible(text)}"
            raise ConfigError(msg, hint="`rocmenv config set aliases.work 6.3`: a name, a version")
    else:
        value = parse_value(known_setting(key), text, "the command line")
        if key.endswith(".mirror"):
            checked_mirror(text)
        if key == "targets":
            value = list(check(split(text)))
    _change(process, root, key, value)


def _must_be_unicode(root: Root, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        msg = f"{visible(text)} cannot be written into {root.config}: it is not UTF-8"
        raise ConfigError(msg, hint="link to it by a name that is: `ln -s PATH NAME`") from error


def unset_value(process: Process, root: Root, key: str) -> None:
    """Take `key` out of the file; fine when it is not there."""
    if not key.startswith(f"{ALIASES}."):
        known_setting(key)
    _change(process, root, key, None)


def _change(process: Process, root: Root, key: str, value: object) -> None:
    import tomlkit  # noqa: PLC0415 - the writer, for this command alone
    from tomlkit.exceptions import TOMLKitError  # noqa: PLC0415 - writers alone need it

    with locked(root, WRITERS, "config"):
        text = config_text(root)
        try:
            document = tomlkit.parse(text)
        except (ValueError, TOMLKitError) as error:
            raise bad_config(root, f"{root.config} is not TOML ({error})") from error
        *tables, name = key.split(".")
        table: Any = document
        for part in tables:
            if part not in table and value is not None:
                table[part] = tomlkit.table()
            table = table.get(part, {})
            if not isinstance(table, dict):
                raise bad_config(root, f"`{part}` in {root.config} should be a table")
        if value is None:
            table.pop(name, None)
        else:
            table[name] = value
        if tomlkit.dumps(document) != text:
            replace_file(root.config, tomlkit.dumps(document).encode())
    rehash(process, root)
