"""A ROCm that somebody else looks after, registered read-only."""

from __future__ import annotations

import os
import shlex
from datetime import datetime, timezone
from itertools import count
from typing import TYPE_CHECKING

from rocmenv import __version__
from rocmenv.errors import NotInstalledError, StoreError, UsageError, visible
from rocmenv.model.receipt import Receipt
from rocmenv.model.version import Version
from rocmenv.ops import current
from rocmenv.ops.rehash import rehash, tidy
from rocmenv.probe import fingerprint
from rocmenv.probe.prefix import Prefix, find_layout, find_version, is_shared, look_at
from rocmenv.store import registry, transaction, trash
from rocmenv.store.paths import RECEIPT_FOLDER

if TYPE_CHECKING:
    from rocmenv.process import Process
    from rocmenv.store.paths import Root
    from rocmenv.store.registry import Installed


def link(process: Process, root: Root, folder: str, name: str | None) -> Installed:
    """Register the ROCm at `folder`, as version `name` or the one it says it is."""
    path = os.path.normpath(os.path.join(process.cwd, os.path.expanduser(folder)))
    if is_shared(path):
        msg = f"{path} cannot be linked: activating it would put all of {path} first"
        raise StoreError(msg, hint="its ROCm is what `rocmenv use system` gives")
    if not os.path.isdir(path):
        msg = f"{visible(path, 200)} is not a folder"
        raise StoreError(msg, hint="name the folder that holds `bin` and `lib`")
    if ":" in path:
        msg = f"{visible(path, 200)} cannot be linked: no list of folders can hold a colon"
        raise StoreError(msg, hint="link to it by a name without one: `ln -s PREFIX NAME`")
    if f"{os.path.realpath(path)}/".startswith(f"{os.path.realpath(root.versions)}/"):
        msg = f"{visible(path, 200)} cannot be linked: it is in the root already"
        raise StoreError(msg, hint="`rocmenv versions` shows what there is")
    found = _named(path, Version.parse_release(name)) if name else look_at(path)
    tidy(process, root)
    with transaction.staging(root, found.version) as stage:
        if root.receipt(found.version).is_file():
            there = registry.find(root, found.version).prefix
            msg = f"version {found.version} is already there: {there}"
            command = f"rocmenv link {shlex.quote(path)} {_free_name(root, found.version)}"
            raise StoreError(msg, hint=f"give it another name: `{command}`")
        stage.commit(_receipt(found))
        rehash(process, root)
    trash.empty(root)
    return registry.find(root, found.version)


def refresh(
    process: Process, root: Root, version: Version, name: Version | None = None
) -> Installed:
    """Register a link anew as what its prefix is now, as `name` or the release it says.

    The old name is forgotten when it was of another release. Stopped in between, both names
    are there, and the next call goes on. `StoreError` when `version` is no link, its prefix
    is gone or says nothing, or the new name is another's.
    """
    path = registry.read_receipt(root, version).prefix
    if path is None:
        msg = f"version {version} is an install, not a link"
        raise StoreError(msg, hint="`rocmenv versions` shows what there is")
    registry.find(root, version)  # refuses one that is gone
    new = name or renewed(version, path)
    if new.release == version.release:
        new = version
    tidy(process, root)
    with transaction.staging(root, new) as stage:
        if new != version and root.receipt(new).is_file():
            there = registry.find(root, new)
            if there.prefix != path:
                msg = f"version {new} is already there: {there.prefix}"
                command = f"rocmenv link {shlex.quote(path)} {_free_name(root, new)}"
                raise StoreError(msg, hint=f"`{command}`, then `rocmenv unlink --yes {version}`")
        stage.commit(_receipt(Prefix(path, new, find_layout(path))))
        rehash(process, root)
    if new != version:
        unlink(process, root, version)
    trash.empty(root)
    return registry.find(root, new)


def renewed(version: Version, path: str) -> Version:
    """The name that a link called `version` gets now: its prefix's release, its own word."""
    said = find_version(path)
    if said is None:
        msg = f"{visible(path, 200)} does not say any more which release it is"
        raise StoreError(msg, hint=f"`rocmenv unlink --yes {version}`, or mend it")
    if said.local or not version.local:
        return said
    return Version.parse(f"{said}+{version.local}")


def _receipt(found: Prefix) -> Receipt:
    return Receipt(
        version=found.version,
        layout=found.layout,
        source="link",
        origin=found.path,
        time=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        made_by=__version__,
        prefix=found.path,
        fingerprint=fingerprint.take(found.path),
    )


def linked(process: Process, root: Root, text: str) -> Version:
    """The link that `text` names, also one whose prefix is gone."""
    selection = current.asked(text)
    # By name alone: a link whose prefix is gone is not whole, and is forgotten all the same.
    try:
        version = current.version_for(process, root, selection, registry.versions(root))
    except NotInstalledError as error:
        hint = "`rocmenv versions` shows what there is"
        raise NotInstalledError(error.message, hint=hint) from error
    if version is None:
        msg = "`system` is not linked"
        raise UsageError(msg)
    if not is_link(root, version):
        msg = f"version {version} is an install, not a link"
        raise StoreError(msg, hint=f"run `rocmenv uninstall {version}`")
    return version


def is_link(root: Root, version: Version) -> bool:
    """Whether a version is linked; of one whose receipt is broken, what its folder tells."""
    try:
        return registry.read_receipt(root, version).is_link
    except StoreError:
        # The folder of a link holds nothing else; where it does, files could be lost.
        return os.listdir(root.version(version)) == [RECEIPT_FOLDER]


def unlink(process: Process, root: Root, version: Version) -> None:
    """Forget a link that `linked` has found; its files stay."""
    tidy(process, root)
    with transaction.removal(root, version):
        rehash(process, root)
    trash.empty(root)


def _named(path: str, version: Version) -> Prefix:
    """The ROCm at `path` under a name of one's own, which must be of the same release."""
    if not os.path.isdir(os.path.join(path, "bin")):
        msg = f"{visible(path, 200)} is not the prefix of a ROCm: it has no bin"
        raise StoreError(msg, hint="name the folder that holds `bin` and `lib`")
    said = find_version(path)
    if said is not None and said.release != version.release:
        msg = f"{visible(path, 200)} says it is {said}, not {version}"
        hint = f"link it as what it is: `rocmenv link {shlex.quote(path)} {said}`"
        raise StoreError(msg, hint=hint)
    return Prefix(path, version, find_layout(path))


def _free_name(root: Root, version: Version) -> str:
    """A name of the same release that nothing has yet: `6.3.0+site`, `6.3.0+site2` ..."""
    plain = str(version).partition("+")[0]
    names = (f"{plain}+site{number if number > 1 else ''}" for number in count(1))
    return next(name for name in names if not os.path.lexists(root.versions / name))
