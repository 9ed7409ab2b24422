"""Settings: option, then variable, then `config.toml` in the root, then default."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rocmenv.errors import ConfigError, visible
from rocmenv.model.target import split as split_targets

if TYPE_CHECKING:
    from rocmenv.process import Process
    from rocmenv.store.paths import Root


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its key in `config.toml`, what it means, its type, variable and default.

    The type `list` is that of folders, `tuple` that of GPU targets; both are lists in the file.
    `form` is the pattern of a text, and words for it; `least` is for numbers.
    """

    key: str
    meaning: str
    kind: type
    variable: str | None = None
    default: object = None
    choices: tuple[str, ...] = ()
    form: tuple[str, str] | None = None
    least: int = 1


CHANNELS = ("auto", "legacy", "rpm", "tarball", "native", "wheels", "distro")
SHARE_WAYS = ("auto", "reflink", "hardlink", "off")
_RATE = (r"[1-9][0-9]{0,11}[KkMmGg]?", "a number of bytes per second such as `500K` or `10M`")
_PROXY = (
    r"none|https?://[^\s/?#]+/?",
    "the address of a proxy such as `http://HOST:3128`, or `none`",
)
_PLACE = (r"(?:/|~/|~$).*", "an absolute path")
PROFILE_NAMES = ("runtime", "hip", "libraries", "sdk", "ml", "profilers", "full")
SETTINGS = (
    Setting(
        "channel",
        "where `install` looks: `auto` is the release's own place",
        str,
        None,
        "auto",
        CHANNELS,
    ),
    Setting("profile", "which packages an install has", str, None, "hip", PROFILE_NAMES),
    Setting("jobs", "packages unpacked at once", int, "ROCMENV_JOBS"),
    Setting(
        "keep_downloads",
        "whether packages stay in the cache after an install",
        bool,
        None,
        default=False,
    ),
    Setting(
        "share",
        "how files that several installs have are kept once: `auto`, `reflink`, `hardlink`, `off`",
        str,
        "ROCMENV_SHARE",
        "auto",
        SHARE_WAYS,
    ),
    Setting("offline", "open no connection", bool, "ROCMENV_OFFLINE", default=False),
    Setting("targets", "the GPU targets that installs are for", tuple, "ROCMENV_TARGETS"),
    Setting("search", "folders in which AMD's packages install", list, None, ["/opt"]),
    Setting("legacy.mirror", "base address of AMD's repositories up to 7.2", str, "ROCMENV_MIRROR"),
    Setting("legacy.keyring", "file with the keys that sign them", str, "ROCMENV_KEYRING"),
    Setting("legacy.fingerprint", "the key that signs them", str, "ROCMENV_FINGERPRINT"),
    Setting(
        "therock.mirror", "base address of releases from 7.9 on", str, "ROCMENV_THEROCK_MIRROR"
    ),
    Setting("therock.keyring", "file with the keys that sign their packages", str),
    Setting("therock.fingerprint", "the key that signs their packages", str),
    Setting(
        "network.timeout",
        "seconds to wait for a connection, and for each piece of a file",
        int,
        "ROCMENV_TIMEOUT",
        30,
    ),
    Setting(
        "network.retries",
        "how often to try again after a failure that may pass",
        int,
        "ROCMENV_RETRIES",
        4,
        least=0,
    ),
    Setting(
        "network.rate",
        "bytes per second for all downloads together: `500K`, `10M`",
        str,
        "ROCMENV_RATE",
        form=_RATE,
    ),
    Setting("network.connections", "files downloaded at once", int, "ROCMENV_CONNECTIONS", 4),
    Setting(
        "network.proxy",
        "proxy in place of what `https_proxy` and the like say; `none` for no proxy",
        str,
        "ROCMENV_PROXY",
        form=_PROXY,
    ),
    Setting(
        "network.ca",
        "file or folder with certificates to trust besides the system's",
        str,
        "ROCMENV_CA",
        form=_PLACE,
    ),
)
_NUMBER = re.compile(r"0*[0-9]{1,9}", re.ASCII)
_BY_KEY = {setting.key: setting for setting in SETTINGS}
ALIASES = "aliases"


@dataclass(frozen=True, slots=True)
class Value:
    """A setting's value and where it was set: a variable, a file, or `default`."""

    value: Any
    origin: str


class Settings:
    """The settings of one root, read once when first asked for."""

    def __init__(self, process: Process, root: Root) -> None:
        self._process = process
        self._root = root
        self._table: dict[str, Any] | None = None

    def value(self, key: str) -> Value:
        """A setting with its origin; `ConfigError` for an unknown key or an unfit value."""
        setting = known_setting(key)
        text = self._process.get(setting.variable) if setting.variable else None
        if text is not None:
            return Value(parse_value(setting, text, setting.variable or ""), setting.variable or "")
        found: Any = _lookup(self._file(), key)
        if found is None:
            return Value(setting.default, "default")
        if not _is_fit(setting, found):
            msg = f"`{key}` in {self._root.config} should be {_words(setting)}"
            raise ConfigError(msg, hint=f"run `rocmenv config unset {key}`")
        if setting.kind is list:
            found = [self._folder(text) for text in found]
        elif setting.kind is tuple:
            found = tuple(found)
        return Value(found, str(self._root.config))

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 - a setting's type is in its row
        """A setting's value."""
        return self.value(key).value

    def aliases(self) -> dict[str, str]:
        """Names that people gave to versions, by name.

        One that is no text is left out: an install or a completion does not ask for it, and
        goes on. `find_alias` refuses it.
        """
        return {name: text for name, text in self._aliases().items() if isinstance(text, str)}

    def find_alias(self, name: str) -> str | None:
        """The version that `name` stands for, None when nobody said so.

        `ConfigError` when it is no text: TOML reads `6.10` without quotes as the number 6.1,
        which is another version.
        """
        text = self._aliases().get(name)
        if text is None or isinstance(text, str):
            return text
        msg = f"`{ALIASES}.{name}` in {self._root.config} should be a text, not a number or a list"
        hint = f"write it in quotes, or run `rocmenv config set {ALIASES}.{name} VERSION`"
        raise ConfigError(msg, hint=hint)

    def alias(self, name: str) -> str:
        """As `find_alias`, and `ConfigError` when nobody said so."""
        text = self.find_alias(name)
        if text is None:
            msg = f"{visible(name)} is not an alias"
            raise ConfigError(msg, hint=f"set it: `rocmenv config set {ALIASES}.{name} VERSION`")
        return text

    def alias_names(self) -> list[str]:
        """All that are in the file, those that `find_alias` refuses too."""
        return sorted(self._aliases())

    def _aliases(self) -> dict[str, Any]:
        table = self._file().get(ALIASES, {})
        return table if isinstance(table, dict) else {}

    def _folder(self, text: str) -> str:
        plain = _plain_folder(text) or text
        return f"{self._process.home}{plain[1:]}" if plain.startswith("~") else plain

    def _file(self) -> dict[str, Any]:
        if self._table is None:
            self._table = _read(self._root)
        return self._table


def known_setting(key: str) -> Setting:
    """The row of `key`, else `ConfigError` with the nearest key."""
    if key not in _BY_KEY:
        import difflib  # noqa: PLC0415 - only for messages

        near = difflib.get_close_matches(key, _BY_KEY, n=1)
        hint = f"did you mean `{near[0]}`?" if near else "`rocmenv config list` shows them"
        msg = f"{visible(key)} is not a setting"
        raise ConfigError(msg, hint=hint)
    return _BY_KEY[key]


def parse_value(setting: Setting, text: str, origin: str) -> object:
    """`text` as the setting's type; `ConfigError` naming `origin` when it does not fit."""
    lowered = text.strip().lower()
    if setting.kind is bool and lowered in ("1", "true", "yes", "on", "0", "false", "no", "off"):
        return lowered in ("1", "true", "yes", "on")
    if setting.kind is int and _NUMBER.fullmatch(lowered) and int(lowered) >= setting.least:
        return int(lowered)
    if setting.kind is list:
        folders = [_plain_folder(part) for part in text.split(":") if part]
        if None not in folders:
            return folders
    if setting.kind is tuple and (words := tuple(split_targets(text))):
        return words
    if setting.kind is str and text and _is_fit(setting, text):
        return text
    given = "what was given" if "@" in text else visible(text)  # it may hold a password
    msg = f"`{setting.key}` should be {_words(setting)}, not {given} ({origin})"
    by_variable = origin == setting.variable
    command = f"unset {origin}" if by_variable else f"rocmenv config unset {setting.key}"
    raise ConfigError(msg, hint=f"`{command}` goes back to the default")


def _plain_folder(text: str) -> str | None:
    """A folder as it is compared with entries of path lists; None for a relative one.

    `~` stays: the file may be shared by homes. A person's name behind it is not understood.
    """
    if text != "~" and not text.startswith(("/", "~/")):
        return None
    plain = os.path.normpath(text)
    return f"/{plain.lstrip('/')}" if plain.startswith("/") else plain


def _is_fit(setting: Setting, value: object) -> bool:
    """Whether a value of the file is what the setting takes; TOML's types are as Python's."""
    if setting.kind is int:
        is_number = isinstance(value, int) and not isinstance(value, bool)
        return is_number and value >= setting.least  # type: ignore[operator]  # a number
    if setting.kind is list:
        return isinstance(value, list) and all(
            isinstance(item, str) and _plain_folder(item) is not None for item in value
        )
    if setting.kind is tuple:
        return isinstance(value, list) and all(isinstance(item, str) and item for item in value)
    if setting.choices:
        return value in setting.choices
    if setting.form and isinstance(value, str):
        return re.fullmatch(setting.form[0], value, re.ASCII | re.DOTALL) is not None
    return isinstance(value, setting.kind)


def _words(setting: Setting) -> str:
    if setting.choices:
        return "one of " + ", ".join(f"`{choice}`" for choice in setting.choices)
    if setting.form:
        return setting.form[1]
    names: dict[type, str] = {
        bool: "`true` or `false`",
        int: f"a number from {setting.least}",
        list: "a list of absolute folders",
        tuple: "a list of GPU targets, such as `gfx1100`",
    }
    return names.get(setting.kind, "a text")


def _lookup(table: dict[str, Any], key: str) -> object:
    found: object = table
    for part in key.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def config_text(root: Root) -> str:
    """The text of `config.toml`, empty where there is none; `ConfigError` when it is no text."""
    try:
        if root.config.exists() and not root.config.is_file():
            msg = f"{root.config} is {'a folder' if root.config.is_dir() else 'not a file'}"
            place = _quoted(root)
            raise ConfigError(msg, hint=f"move it away: `mv {place} {place}.old`")
        return root.config.read_text(encoding="utf-8-sig")  # a byte order mark, as in pins
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        words = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        msg = f"{root.config} cannot be read ({words})"
        raise ConfigError(msg, hint=f"check its rights: `ls -l {_quoted(root)}`") from error


def bad_config(root: Root, words: str) -> ConfigError:
    """The refusal of a `config.toml` of which `words` tell what is wrong."""
    return ConfigError(words, hint=f"mend or remove it: `${{EDITOR:-vi}} {_quoted(root)}`")


def _read(root: Root) -> dict[str, Any]:
    text = config_text(root)
    if not text:
        return {}
    try:
        if sys.version_info >= (3, 11):
            import tomllib  # noqa: PLC0415 - only where there is a file to read

            return tomllib.loads(text)
        import tomlkit  # noqa: PLC0415 - as above; no reader in the library before 3.11

        return tomlkit.parse(text).unwrap()
    except (ValueError, RecursionError) as error:
        raise bad_config(root, f"{root.config} is not TOML ({error})") from error


def _quoted(root: Root) -> str:
    import shlex  # noqa: PLC0415 - only for messages

    return shlex.quote(str(root.config))
