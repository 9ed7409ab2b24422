"""Every refusal of rocmenv: cause, origin, and the next command to type.

A message is lower case, has no final period and puts values in backticks; a hint is one
line that can be pasted. `code` is stable and appears in JSON; `exit_status` is what the
process returns: 1 failure, 2 usage, 127 command not in the selected version.
"""

from __future__ import annotations


def visible(text: str | bytes, limit: int = 60) -> str:
    r"""`text` in backticks, escaped where it has others or does not print, cut at `limit`.

    A stray carriage return or NUL must be seen in a message (cases R01): terminals show
    neither.

    >>> visible("6.3.0" + chr(13))
    '`6.3.0\\r`'
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogateescape")
    out = "".join(map(_visible_char, text[:limit]))
    return f"`{out}…`" if len(text) > limit else f"`{out}`"


def _visible_char(char: str) -> str:
    if char == "`":
        return r"\x60"
    return char if char.isprintable() else char.encode("unicode_escape").decode()


class RocmenvError(Exception):
    """A failure that a person can act on.

    `message` says what and where from; `hint` the next command, or None.
    """

    code = "failure"
    exit_status = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(RocmenvError):
    """The words on the command line do not fit."""

    code = "usage"
    exit_status = 2


class InvalidVersionError(RocmenvError):
    """A text that should name a version does not."""

    code = "invalid-version"
    exit_status = 2


class InvalidTargetError(RocmenvError):
    """A text that should name a GPU target does not."""

    code = "invalid-target"
    exit_status = 2


class PinError(RocmenvError):
    """A pin that cannot be read as one version."""

    code = "invalid-pin"


class NotInstalledError(RocmenvError):
    """A selected version is not in the root."""

    code = "not-installed"


class CommandNotFoundError(RocmenvError):
    """The selected version has no such command."""

    code = "command-not-found"
    exit_status = 127


class RootError(RocmenvError):
    """The root cannot be used as it is: a ROCm prefix, not writable, not a folder."""

    code = "root"


class StoreError(RocmenvError):
    """An install, link or receipt is not as it should be."""

    code = "store"


class ChangedError(StoreError):
    """A linked prefix has become another release than the one it was registered as."""

    code = "changed"


class LockedError(RocmenvError):
    """Another rocmenv holds the root for longer than we wait."""

    code = "locked"


class TransferError(RocmenvError):
    """A download did not give the bytes that were asked for."""

    code = "transfer"


class SignatureError(RocmenvError):
    """A signature is missing, wrong, or cannot be checked."""

    code = "signature"


class RepositoryError(RocmenvError):
    """A repository's index is inconsistent or of an unknown form."""

    code = "repository"


class ResolveError(RocmenvError):
    """No set of packages satisfies what was asked."""

    code = "resolve"


class ArchiveError(RocmenvError):
    """An archive is damaged, or would write outside its folder."""

    code = "archive"


class SpaceError(RocmenvError):
    """A file system has too little room."""

    code = "space"


class HostError(RocmenvError):
    """This machine cannot run what was asked for."""

    code = "host"


class ConfigError(RocmenvError):
    """A setting has no such name or no such value."""

    code = "config"
