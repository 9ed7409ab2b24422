"""What is wrong with a file that came, told apart: each fault has its words and its cure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmenv.errors import TransferError, visible
from rocmenv.fetch.address import is_local, shown
from rocmenv.fetch.connection import encoded
from rocmenv.fetch.kind import expected

if TYPE_CHECKING:
    from rocmenv.fetch.connection import Reply
    from rocmenv.model.release import Artifact

_OTHER = "use another mirror with `--mirror URL`"
_LATER = f"try again later, or {_OTHER}"
_LOGIN = f"open the URL in a browser (a network's login page?), or {_OTHER}"
_PAGES = ("a web page", "XML", "JSON", "text")


@dataclass(frozen=True, slots=True)
class Came:
    """How a reply described itself: `size` is of the whole file, None when it did not say."""

    status: int
    size: int | None
    content_type: str
    encoding: str = ""
    redirected: str = ""

    @classmethod
    def of(cls, url: str, reply: Reply, size: int | None) -> Came:
        """The description of the reply to a request for `url`."""
        kind = (reply.headers.get("Content-Type") or "no content type").strip()
        redirected = "" if reply.url == url else reply.url
        return cls(reply.status, size, kind, encoded(reply), redirected)

    def is_other_than(self, size: int) -> bool:
        """Whether it announces another file than one of `size` bytes."""
        return self.size is not None and self.size != size and not self.encoding

    def __str__(self) -> str:
        words = [f"HTTP {self.status}", visible(self.content_type).strip("`")]
        if self.encoding:
            words.append(f"content encoding {visible(self.encoding).strip('`')}")
        if self.redirected:
            words.append(f"from `{shown(self.redirected)}`")
        return ", ".join(words)


def unfit(
    artifact: Artifact, came: Came | None, size: int, is_kind: str, digest: str
) -> TransferError | None:
    """The error for a complete file, None when it is what was asked for.

    `came` is None for a file that was complete before; `is_kind` is `kind.kind` of its start.
    """
    wants = expected(artifact.name)
    if size == 0 and artifact.size != 0:
        words = f"{_told(came, size, is_kind)} instead of {wants or 'content'}"
        return _error(artifact, "is not", words, f"the server has an empty file there: {_LATER}")
    if wants and is_kind != wants:
        words = f"{_told(came, size, is_kind)} instead of {wants}"
        return _error(artifact, "is not", words, _LOGIN if is_kind in _PAGES else _OTHER)
    if artifact.size is not None and size != artifact.size:
        return of_other_size(artifact, came, size, is_kind)
    if artifact.sha256 is not None and digest != artifact.sha256:
        words = f"{_told(came, size, is_kind)}, with sha256 {digest} instead of {artifact.sha256}"
        hint = f"it was changed, or damaged on the way: {_LATER}"
        if came is not None and came.encoding:
            hint = "a proxy may have packed it on the way: set `network.proxy` to `none`"
        return _error(artifact, "has not the content of", words, hint)
    return None


def of_other_size(
    artifact: Artifact, came: Came | None, size: int | None, is_kind: str
) -> TransferError:
    """The error for too few or too many bytes; `size` is None for an unknown number of these."""
    wants = expected(artifact.name)
    is_page = is_kind in _PAGES and is_kind != wants
    instead = f" instead of {wants}" if wants and is_kind != wants else ""
    words = f"{_told(came, size, is_kind)}{instead}; {artifact.size} bytes were announced"
    is_short = size is not None and artifact.size is not None and size < artifact.size
    hint = f"the server has only a part of it: {_OTHER}" if is_short else None
    hint = _LOGIN if is_page else hint or f"the server has another file there: {_LATER}"
    return _error(artifact, "is too short for" if is_short else "is too long for", words, hint)


def ended(url: str, total: int, whole: int) -> tuple[str, str]:
    """Message and hint for a reply that ended before its announced length."""
    hint = "try again: what came is kept, and continued from there"
    return f"`{shown(url)}` ended after {total} of {whole} bytes", hint


def changing(artifact: Artifact) -> TransferError:
    """The error for a file that is another one at every look."""
    message = f"`{shown(artifact.url)}` changes again and again while it is fetched"
    return TransferError(message, hint=f"the server's copy is being replaced: {_LATER}")


def _told(came: Came | None, size: int | None, is_kind: str) -> str:
    number = "more" if size is None else str(size)
    return f"{number} bytes came ({came or 'resumed'}), {is_kind}"


def _error(artifact: Artifact, verb: str, words: str, hint: str) -> TransferError:
    if is_local(artifact.url):
        hint = "the file is not what the index says: make the mirror anew"
    return TransferError(f"`{shown(artifact.url)}` {verb} `{artifact.name}`: {words}", hint=hint)
