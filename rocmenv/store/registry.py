"""Which versions are installed. Reads only; takes no lock."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmenv.errors import InvalidVersionError, NotInstalledError, StoreError, visible
from rocmenv.model.version import Version

if TYPE_CHECKING:
    from pathlib import Path

    from rocmenv.errors import RocmenvError
    from rocmenv.model.receipt import Receipt
    from rocmenv.store.paths import Root


@dataclass(frozen=True, slots=True)
class Installed:
    """One version with its receipt and absolute prefix."""

    receipt: Receipt
    prefix: str

    @property
    def version(self) -> Version:
        """The version."""
        return self.receipt.version

    @property
    def folder(self) -> str:
        """The folder with all its files, of which the prefix may be a part."""
        inner = self.receipt.inner
        return self.prefix.removesuffix(f"/{inner}") if inner else self.prefix


@dataclass(frozen=True, slots=True)
class Broken:
    """An entry of `versions/` that is not an install: its path, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Listing:
    """What is under `versions/`: installs by version, oldest first, and the rest apart."""

    installed: dict[Version, Installed]
    broken: tuple[Broken, ...] = ()


def load(root: Root) -> Listing:
    """Everything that is installed; one bad entry never hides the others."""
    found: list[Installed] = []
    broken: list[Broken] = []
    for name in _names(root):
        path = str(root.versions / name)
        try:
            version = Version.parse(name)
            if str(version) != name:
                msg = f"the folder of {version} is called `{version}`, not `{name}`"
                raise StoreError(msg)
            found.append(find(root, version))
        except NotInstalledError:
            continue  # removed since we looked
        except (InvalidVersionError, StoreError) as error:
            broken.append(Broken(path, error.message))
    found.sort(key=lambda item: item.version)
    return Listing({item.version: item for item in found}, tuple(broken))


def versions(root: Root) -> list[Version]:
    """The installed versions, oldest first, by their names and receipts' presence alone."""
    out = []
    for name in _names(root):
        try:
            version = Version.parse(name)
        except InvalidVersionError:
            continue
        if os.path.isfile(root.receipt(version)) and str(version) == name:
            out.append(version)
    return sorted(out)


def find(root: Root, version: Version) -> Installed:
    """One installed version; `StoreError` when it is not whole.

    The receipt must be about this version, and a link's prefix must still be there.
    `NotInstalledError` when there is not even its folder.
    """
    try:
        receipt = read_receipt(root, version)
    except StoreError as error:
        hint = error.hint or f"remove it: `rocmenv uninstall {version}`"
        raise StoreError(error.message, hint=hint) from error
    if receipt.prefix is None:
        prefix = os.path.join(root.version(version), receipt.inner).rstrip("/")
    else:
        prefix = str(receipt.prefix)
    if not os.path.isdir(prefix) and receipt.prefix is None:
        msg = f"{prefix}, where {version} should be, is gone"
        raise StoreError(msg, hint=f"install it again: `rocmenv install --reinstall {version}`")
    if not os.path.isdir(prefix):
        msg = f"{prefix}, which {version} is linked to, is gone"
        raise StoreError(msg, hint=f"run `rocmenv unlink --yes {version}`")
    return Installed(receipt, prefix)


def read_receipt(root: Root, version: Version) -> Receipt:
    """The receipt of a version, whether its prefix is there or not; raises as `find` does."""
    from rocmenv.model.receipt import Receipt  # noqa: PLC0415 - listing names needs none

    path = root.receipt(version)
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise _without_receipt(root.version(version), version) from None
    except (OSError, UnicodeDecodeError) as error:
        words = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        msg = f"{path} cannot be read ({words})"
        raise StoreError(msg) from error
    receipt = Receipt.parse(text, str(path))
    if receipt.version != version:
        msg = f"{path} is the receipt of {receipt.version}"
        raise StoreError(msg)
    if receipt.prefix is not None and not os.path.isabs(str(receipt.prefix)):
        msg = f"{path} links to {visible(str(receipt.prefix))}, which is not an absolute path"
        raise StoreError(msg)
    return receipt


def gone(version: Version) -> NotInstalledError:
    """The refusal for a version that was there a moment ago."""
    msg = f"version {version} is not installed any more"
    return NotInstalledError(msg, hint="`rocmenv versions` shows what there is")


def _without_receipt(folder: Path, version: Version) -> RocmenvError:
    if not os.path.lexists(folder):
        return gone(version)
    msg = f"{folder} has no receipt, so it is not an install"
    return StoreError(msg, hint=f"remove it: `rm -r {shlex.quote(str(folder))}`")


def _names(root: Root) -> list[str]:
    try:
        return sorted(os.listdir(root.versions))
    except FileNotFoundError:
        return []
    except OSError as error:
        msg = f"{root.versions} cannot be read ({error.strerror})"
        raise StoreError(msg) from error
