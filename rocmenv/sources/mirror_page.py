"""How the pages that a mirror makes for itself are told from those of others. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmenv.errors import RepositoryError, visible
from rocmenv.sources.index_page import read_page

if TYPE_CHECKING:
    from rocmenv.sources.index_page import Listed

LINKS = "<!-- made by rocmenv mirror -->"
"""In pages of links, which are made anew by each run."""
INDEX = "<!-- made by rocmenv mirror: an index -->"
"""In pages that installs read, which each run adds to."""


class Text:
    """A reader of one text."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def read(self, _url: str, *, limit: int) -> bytes:
        """The text, whatever the address."""
        return self.content[:limit]


def listed(before: bytes, path: str, *, shape: bytes = b"") -> tuple[Listed, ...]:
    """The files that the page `before` lists, none when it is empty.

    A page of others counts only if `shape` is in it. `RepositoryError` when it does not.
    """
    if not before.strip():
        return ()
    ours = is_ours(before)
    if not ours and not (shape and shape in before):
        raise foreign(path)
    try:
        return read_page(Text(before), path).files
    except RepositoryError as error:
        if ours:
            return ()  # a page of an empty folder
        raise foreign(path) from error


def is_ours(page: bytes) -> bool:
    """Whether `rocmenv mirror` made a page."""
    return LINKS.encode() in page or INDEX.encode() in page


def foreign(path: str) -> RepositoryError:
    """The error for a page in the mirror's folder that is not to be overwritten."""
    msg = f"{visible(path, 200)} is in the mirror's folder, and rocmenv did not make it"
    return RepositoryError(msg, hint="move it away, or name another folder: `--to DIR`")
