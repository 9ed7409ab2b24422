"""From a host's source entry to a repository with the keys that apt would use for it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rocmenv.errors import SignatureError
from rocmenv.fetch.clearsign import dearmoured
from rocmenv.fetch.kind import HEAD, kind
from rocmenv.sources.apt.repository import Repository

if TYPE_CHECKING:
    from rocmenv.sources.apt.sourcelist import SourceEntry

_KEY_ENDINGS = (".gpg", ".asc")
_KEYBOX = slice(8, 12)
# A public key's packet: old form with one or two bytes of length, new form (RFC 9580, 4.2).
# apt takes files that begin so, and passes over others with a warning.
_KEY_STARTS = (0x98, 0x99, 0xC6)
# First bytes of lengths in the new form: below these, one byte and two; this one, five.
_ONE, _TWO, _FIVE = 192, 224, 255


@dataclass(frozen=True, slots=True)
class TrustedKeys:
    """The host's keys for sources that name none, from `folder` and the file beside it.

    `notes` are on files that cannot be used.
    """

    folder: Path
    keyring: bytes
    notes: tuple[str, ...]


def trusted_keys(etc: Path) -> TrustedKeys:
    """The keys that are trusted by default; `etc` is `/etc/apt`. Never raises."""
    folder = etc / "trusted.gpg.d"
    paths = sorted(p for p in folder.glob("[!.]*") if p.suffix in _KEY_ENDINGS)
    keys: list[bytes] = []
    notes: list[str] = []
    for path in [*paths, etc / "trusted.gpg"]:
        why = ""
        try:
            data = path.read_bytes()
            keys.append(_packets(data) if data else b"")  # apt says nothing of empty ones
        except OSError as error:
            why = _words(error) if os.path.lexists(path) else ""
        except SignatureError as error:
            why = error.message
        if why:
            notes.append(f"the key file `{path}` is left out: {why}")
    return TrustedKeys(folder, b"".join(keys), tuple(notes))


def needs_trusted(entry: SourceEntry) -> bool:
    """Whether the keys that are trusted by default count for `entry`."""
    return not (entry.key_block or entry.keyrings or entry.is_trusted)


def repository_of(entry: SourceEntry, *, architecture: str, trusted: TrustedKeys) -> Repository:
    """The repository of `entry`, with its own keys or those that are `trusted` by default.

    Raises:
        SignatureError: `trusted=yes` without a key, or a key file that cannot be used.
    """
    pinned = entry.fingerprints or None
    suite = entry.suite.replace("$(ARCH)", architecture)  # sources.list(5) allows this one
    keyring = trusted.keyring if needs_trusted(entry) else _own_keys(entry)
    if not keyring:
        message = f"the source names no key, and `{trusted.folder}` has none ({entry.origin})"
        if trusted.notes:
            message = f"{message}: {'; '.join(trusted.notes)}"
        raise SignatureError(message, hint="add `signed-by=FILE` to the source")
    return Repository(entry.uri, suite, entry.components, architecture, keyring, pinned)


def _own_keys(entry: SourceEntry) -> bytes:
    if entry.key_block:
        try:
            return _packets(entry.key_block.encode())
        except SignatureError as error:
            message = f"the key in the source cannot be used: {error.message} ({entry.origin})"
            raise SignatureError(message, hint=error.hint) from error
    if entry.keyrings:
        return b"".join(_key_file(Path(path), entry.origin) for path in entry.keyrings)
    message = f"the source is marked `trusted=yes`, so nobody vouches for it ({entry.origin})"
    hint = "name its key there with `signed-by=FILE`: rocmenv takes no unsigned packages"
    raise SignatureError(message, hint=hint)


def _key_file(path: Path, origin: str) -> bytes:
    try:
        return _packets(path.read_bytes())
    except OSError as error:
        message = f"the key file `{path}` cannot be read: {_words(error)} ({origin})"
        raise SignatureError(message) from error
    except SignatureError as error:
        message = f"the key file `{path}` cannot be used: {error.message} ({origin})"
        raise SignatureError(message, hint=error.hint) from error


def _words(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _packets(data: bytes) -> bytes:
    """The packets of a key file, armoured or not.

    Files are put together to one key ring, so each is looked at alone before: what is cut
    off or no key would make the whole ring unreadable.

    Raises:
        SignatureError: they are no whole packets that begin with a public key.
    """
    if data[_KEYBOX] == b"KBXf":
        hint = "run `gpg --no-default-keyring --keyring ./FILE.kbx --export > FILE.gpg`"
        raise SignatureError("it is a keybox, which only GnuPG reads", hint=hint)
    packets = dearmoured(data)
    if not packets:
        raise SignatureError("it is empty")
    if packets[0] not in _KEY_STARTS:
        raise SignatureError(f"it is no OpenPGP key but {kind(packets[:HEAD])}")
    at = 0
    while at < len(packets):
        at = _end(packets, at)
        if at > len(packets):
            raise SignatureError("it is damaged or cut off")
    return packets


def _end(data: bytes, at: int) -> int:
    """Where the packet at `at` ends; beyond `data` for none that a key ring may have.

    Source: RFC 9580, section 4.2. Packets of unknown length are for data alone.
    """
    head, first = data[at], _number(data, at + 1, 1)
    if head & 0xC0 == 0x80:  # noqa: PLR2004  (the old form)
        size = {0: 1, 1: 2, 2: 4}.get(head & 3)
        if size is not None:
            return at + 1 + size + _number(data, at + 1, size)
    elif head & 0x80:
        if first < _ONE:
            return at + 2 + first
        if first < _TWO:
            return at + 3 + ((first - _ONE) << 8) + _number(data, at + 2, 1) + _ONE
        if first == _FIVE:
            return at + 6 + _number(data, at + 2, 4)
    return len(data) + 1


def _number(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "big")
