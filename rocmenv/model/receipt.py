"""What was installed, from where: the file that makes a folder an install.

A receipt is JSON, written into the staged folder before that appears under `versions/`, so
that no version is ever there without it. It is read by every command, hence JSON: Python
reads it without an import that costs start-up time.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from rocmenv.errors import StoreError
from rocmenv.model.fingerprint import Fingerprint
from rocmenv.model.layout import Layout
from rocmenv.model.version import Version

SCHEMA = 2
_PLAIN = 1
"""The form of a receipt without `inner`, which an older rocmenv reads as well."""


@dataclass(frozen=True, slots=True)
class Item:
    """One file that was installed from: `name`, `url`, `size` in bytes, `sha256` in hex.

    `version` is the package's own version; empty for an archive.
    """

    name: str
    url: str
    size: int
    sha256: str
    version: str = ""


@dataclass(frozen=True, slots=True)
class Shared:
    """What an install has in common with others.

    `method` is `reflink` or `hardlink`; the number of files and the sum of their sizes, in
    bytes, are those of the time when it was installed.
    """

    method: str
    files: int
    size: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """One install or link.

    `source` is the channel or `link`; `origin` the URL, file or folder it came from;
    `time` is UTC, ISO 8601. `prefix` is absolute for a link and None for an install, whose
    prefix is the folder that holds the receipt, or the folder `inner` below that: a path
    with `/`, empty for none. `unrelocated` are files, relative to the
    prefix, that still name the place they were built for. `host` are packages of the
    distribution that the install needs and the host lacks. `profile`, `extra`, `suite` and
    `targets` (GPUs, none for all) are what was asked for, empty where a channel has none or
    an older rocmenv kept none. `shared` is None when every file is the install's own.
    `fingerprint` is what a link's prefix was when it was registered.
    """

    version: Version
    layout: Layout
    source: str
    origin: str
    time: str
    made_by: str
    prefix: str | None = None
    items: tuple[Item, ...] = ()
    size: int = 0
    files: int = 0
    notes: tuple[str, ...] = ()
    unrelocated: tuple[str, ...] = ()
    host: tuple[str, ...] = ()
    profile: str = ""
    extra: tuple[str, ...] = ()
    suite: str = ""
    targets: tuple[str, ...] = ()
    shared: Shared | None = None
    fingerprint: Fingerprint | None = None
    inner: str = ""

    @property
    def is_link(self) -> bool:
        """Whether the prefix belongs to somebody else."""
        return self.prefix is not None

    def render(self) -> str:
        """The text of the file."""
        value: dict[str, object] = {
            "schema": SCHEMA if self.inner else _PLAIN,
            "version": str(self.version),
            "layout": self.layout.to_json(),
            "source": self.source,
            "origin": self.origin,
            "time": self.time,
            "rocmenv": self.made_by,
            "prefix": self.prefix,
            **({"inner": self.inner} if self.inner else {}),
            "size": self.size,
            "files": self.files,
            "notes": list(self.notes),
            "unrelocated": list(self.unrelocated),
            "host": list(self.host),
            **self._optional(),
            "items": [
                {
                    "name": i.name,
                    "version": i.version,
                    "url": i.url,
                    "size": i.size,
                    "sha256": i.sha256,
                }
                for i in self.items
            ],
        }
        if self.fingerprint is not None:
            value["fingerprint"] = self.fingerprint.to_json()
        return json.dumps(value, indent=1, ensure_ascii=True) + "\n"

    def _optional(self) -> dict[str, object]:
        """The fields that not every receipt has."""
        found: dict[str, object] = {
            "profile": self.profile,
            "extra": list(self.extra),
            "suite": self.suite,
            "targets": list(self.targets),
            "shared": asdict(self.shared) if self.shared else None,
        }
        return {name: value for name, value in found.items() if value}

    @classmethod
    def parse(cls, text: str, path: str) -> Receipt:
        """The receipt in `text`; `StoreError` naming `path` when it is not one."""
        try:
            value = json.loads(text)
            if value["schema"] > SCHEMA:
                msg = f"{path} was written by a newer rocmenv ({value.get('rocmenv')})"
                raise StoreError(msg, hint="update rocmenv")
            return cls(
                version=Version.parse(value["version"]),
                layout=Layout.from_json(value["layout"]),
                source=str(value["source"]),
                origin=str(value["origin"]),
                time=str(value["time"]),
                made_by=str(value["rocmenv"]),
                prefix=value["prefix"],
                items=tuple(Item(**item) for item in value["items"]),
                size=int(value["size"]),
                files=int(value["files"]),
                notes=_texts(value["notes"]),
                unrelocated=_texts(value["unrelocated"]),
                host=_texts(value["host"]),
                profile=str(value.get("profile", "")),
                extra=_texts(value.get("extra", [])),
                suite=str(value.get("suite", "")),
                targets=_texts(value.get("targets", [])),
                shared=_shared(value.get("shared")),
                fingerprint=_fingerprint(value.get("fingerprint")),
                inner=_below(value.get("inner", "")),
            )
        except StoreError:
            raise
        except Exception as error:
            # Whatever is wrong with a file on disk is one thing to its reader: not a receipt.
            msg = f"{path} is not a receipt ({error.__class__.__name__}: {error})"
            raise StoreError(msg) from error


def _shared(value: object) -> Shared | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        msg = f"{value!r} is not a table"
        raise ValueError(msg)  # noqa: TRY004 - the caller treats every fault of a file alike
    return Shared(str(value["method"]), int(value["files"]), int(value["size"]))


def _fingerprint(value: object) -> Fingerprint | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        msg = f"{value!r} is not a fingerprint"
        raise ValueError(msg)  # noqa: TRY004 - as in the layout
    return Fingerprint.from_json(value)


def _below(value: object) -> str:
    """A path below a folder, or nothing."""
    if value == "":
        return ""
    if not isinstance(value, str) or any(part in ("", ".", "..") for part in value.split("/")):
        msg = f"{value!r} is not a path below the install"
        raise ValueError(msg)
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        msg = f"{value!r} is not a list of texts"
        raise ValueError(msg)
    return tuple(value)
