"""From a host's source entry to a repository with the keys that apt would use for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rocmenv.errors import SignatureError
from rocmenv.fetch.clearsign import dearmoured
from rocmenv.sources.apt.repository import Repository

if TYPE_CHECKING:
    from rocmenv.sources.apt.sourcelist import SourceEntry

_KEY_ENDINGS = (".gpg", ".asc")


def repository_of(entry: SourceEntry, *, architecture: str, etc: Path) -> Repository:
    """The repository of `entry`; `etc` is `/etc/apt`, with the keys trusted by default.

    Raises:
        SignatureError: `trusted=yes` without a key, or a key file that cannot be read.
    """
    pinned = entry.fingerprints or None
    suite = entry.suite.replace("$(ARCH)", architecture)  # sources.list(5) allows this one
    if entry.key_block:
        keyring = dearmoured(entry.key_block.encode())
    elif entry.keyrings:
        keyring = b"".join(_key_file(Path(path), entry.origin) for path in entry.keyrings)
    elif entry.is_trusted:
        message = f"the source is marked `trusted=yes`, so nobody vouches for it ({entry.origin})"
        hint = "name its key there with `signed-by=FILE`: rocmenv takes no unsigned packages"
        raise SignatureError(message, hint=hint)
    else:
        keyring = _trusted_keys(etc, entry.origin)
    return Repository(entry.uri, suite, entry.components, architecture, keyring, pinned)


def _key_file(path: Path, origin: str) -> bytes:
    try:
        return dearmoured(path.read_bytes())
    except OSError as error:
        words = (error.strerror or str(error)).lower()
        raise SignatureError(f"the key file `{path}` cannot be read: {words} ({origin})") from error


def _trusted_keys(etc: Path, origin: str) -> bytes:
    folder = etc / "trusted.gpg.d"
    paths = sorted(p for p in folder.glob("*") if p.suffix in _KEY_ENDINGS)
    paths += [p for p in [etc / "trusted.gpg"] if p.exists()]
    if not paths:
        message = f"the source names no key, and `{folder}` has none ({origin})"
        raise SignatureError(message, hint="add `signed-by=FILE` to the source")
    return b"".join(_key_file(path, origin) for path in paths)
