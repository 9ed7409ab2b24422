"""`rocm.lock`: exactly which files a project's version was installed from, by platform.

The file is TOML in a stable order, so that a change of it is a change of what is installed.
One table for each platform: locking on one machine leaves the others' alone.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rocmenv.errors import InvalidVersionError, PinError, visible
from rocmenv.model.receipt import Item
from rocmenv.model.version import Version

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LOCK_NAME = "rocm.lock"
SCHEMA = 1
_LARGEST = 10**18
_DIGEST = re.compile(r"[0-9a-f]{64}")
_HEAD = "# What `rocmenv install --locked` installs. Made by `rocmenv lock`; edits are lost.\n"
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


@dataclass(frozen=True, slots=True)
class Locked:
    """What is locked for one platform, such as `linux-x86_64`.

    `mirror` is the base of the addresses that a mirror may stand in for. With `prune`, files
    that only other GPUs than `targets` use are not unpacked. `items` are sorted by name; each
    has its size in bytes and its SHA-256.
    """

    platform: str
    spec: str
    version: Version
    channel: str
    origin: str
    mirror: str
    profile: str
    extra: tuple[str, ...]
    targets: tuple[str, ...]
    prune: bool
    items: tuple[Item, ...]

    def at(self, mirror: str | None) -> Locked:
        """The same files below another base address."""
        if mirror is None or not self.mirror:
            return self
        return replace(self, mirror=mirror, items=moved(self.items, self.mirror, mirror))


@dataclass(frozen=True, slots=True)
class Lock:
    """The file: one entry for each platform, sorted by its name."""

    platforms: tuple[Locked, ...] = ()

    def on(self, platform: str) -> Locked | None:
        """What is locked for `platform`, None when nothing is."""
        return next((p for p in self.platforms if p.platform == platform), None)

    def with_platform(self, locked: Locked) -> Lock:
        """The lock with `locked` in place of what its platform had."""
        others = [p for p in self.platforms if p.platform != locked.platform]
        return Lock(tuple(sorted([*others, locked], key=lambda p: p.platform)))

    def render(self) -> str:
        """The text of the file."""
        out = [_HEAD, f"schema = {SCHEMA}\n"]
        for platform in self.platforms:
            out += ["\n[[platform]]\n", *_rows(platform)]
        return "".join(out)

    @classmethod
    def from_table(cls, table: dict[str, Any], path: str) -> Lock:
        """The lock of a parsed file; `PinError` naming `path` when it is not one."""
        try:
            schema = table["schema"]
            if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
                msg = f"{visible(str(schema))} is not the number of a form"
                raise ValueError(msg)
            if schema > SCHEMA:
                msg = f"{path} was written by a newer rocmenv (form {visible(str(schema))})"
                raise PinError(msg, hint="update rocmenv")
            platforms = tuple(_platform(row) for row in table.get("platform", []))
            names = [p.platform for p in platforms]
            if len(set(names)) < len(names):
                msg = "a platform is in it twice"
                raise ValueError(msg)
            return cls(tuple(sorted(platforms, key=lambda p: p.platform)))
        except (KeyError, TypeError, ValueError, AttributeError, InvalidVersionError) as error:
            raise no_lock(path, f"{error.__class__.__name__}: {error}") from error


def moved(items: Iterable[Item], old: str, new: str) -> tuple[Item, ...]:
    """`items` with the base address `new` where they have `old`."""
    old, new = old.rstrip("/") + "/", new.rstrip("/") + "/"
    return tuple(
        replace(i, url=new + i.url.removeprefix(old)) if i.url.startswith(old) else i for i in items
    )


def no_lock(path: str, why: str) -> PinError:
    """The refusal for a file that is none; nothing writes over it, as others' entries are in it."""
    place = shlex.quote(path)
    hint = f"move it away, then make it anew: `mv {place} {place}.old && rocmenv lock`"
    return PinError(f"{path} is not a lock ({why})", hint=hint)


def unmerged(path: str) -> PinError:
    """The refusal for a lock with both sides of a merge in it: one of them, and lock anew."""
    folder, _, name = path.rpartition("/")
    take = f"cd {shlex.quote(folder or '.')} && git checkout --ours {name} && rocmenv lock"
    return PinError(f"{path} has the marks of an unfinished merge", hint=f"take one side: `{take}`")


def _rows(locked: Locked) -> Iterator[str]:
    for key, value in (
        ("name", locked.platform),
        ("spec", locked.spec),
        ("version", str(locked.version)),
        ("channel", locked.channel),
        ("origin", locked.origin),
        ("mirror", locked.mirror),
        ("profile", locked.profile),
        ("extra", locked.extra),
        ("targets", locked.targets),
    ):
        yield f"{key} = {_toml(value)}\n"
    yield f"prune = {str(locked.prune).lower()}\n"
    for item in locked.items:
        yield "\n[[platform.file]]\n"
        for key, text in (("name", item.name), ("version", item.version), ("url", item.url)):
            yield f"{key} = {_toml(text)}\n"
        yield f"size = {item.size}\nsha256 = {_toml(item.sha256)}\n"


def _platform(row: dict[str, Any]) -> Locked:
    items = tuple(_item(file) for file in row.get("file", []))
    if not items:
        msg = "a platform has no files"
        raise ValueError(msg)
    return Locked(
        platform=_text(row["name"]),
        spec=_text(row["spec"]),
        version=Version.parse(_text(row["version"])),
        channel=_text(row["channel"]),
        origin=_text(row["origin"]),
        mirror=_text(row["mirror"]),
        profile=_text(row["profile"]),
        extra=_texts(row["extra"]),
        targets=_texts(row["targets"]),
        prune=_truth(row["prune"]),
        items=items,
    )


def _item(file: dict[str, Any]) -> Item:
    digest, size = _text(file["sha256"]), file["size"]
    if not _DIGEST.fullmatch(digest):
        msg = f"{visible(digest, 70)} is not a SHA-256"
        raise ValueError(msg)
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < _LARGEST:
        msg = f"{visible(repr(size))} is not a size"
        raise ValueError(msg)
    return Item(_text(file["name"]), _text(file["url"]), size, digest, _text(file["version"]))


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        msg = f"`{value}` is neither true nor false"
        raise TypeError(msg)
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        msg = f"{visible(repr(value))} is not a text"
        raise TypeError(msg)
    if not value.isprintable():  # it comes with a project, and is shown on terminals
        msg = f"{visible(value)} has what cannot be printed"
        raise ValueError(msg)
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        msg = f"{visible(repr(value))} is not a list"
        raise TypeError(msg)
    return tuple(map(_text, value))


def _toml(value: str | tuple[str, ...]) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return f'"{"".join(map(_toml_char, value))}"'


def _toml_char(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    return f"\\u{ord(char):04X}" if ord(char) < 0x20 or ord(char) == 0x7F else char  # noqa: PLR2004 - what TOML calls control characters
