"""Folder listings of web servers: the two common shapes, by their links alone."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import unquote

from rocmenv.errors import RepositoryError, visible
from rocmenv.fetch.connection import shown
from rocmenv.model.version import Version

_FOLDER = re.compile(r"\d+\.\d+(?:\.\d+)?", re.ASCII)


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the target of a link."""
        if tag == "a":
            self.targets += [value for name, value in attrs if name == "href" and value]


def release_folders(page: bytes, url: str) -> list[Version]:
    """The releases that have a folder in the listing `page`, oldest first.

    `X.Y` is X.Y.0, as AMD names it. Betas, moving names (`latest`, `debian`), files and
    the links for sorting are no releases. Raises `RepositoryError` when the page has no
    link at all: then it is something else, and saying "no releases" would be wrong.
    """
    parser = _Links()
    parser.feed(page.decode("utf-8", "replace"))
    if not parser.targets:
        msg = f"`{shown(url)}` is not a folder listing; it begins {visible(page[:60])}"
        raise RepositoryError(msg, hint="without `--online` the list needs no server")
    names = (unquote(target).rstrip("/").rpartition("/")[2] for target in parser.targets)
    return sorted({Version.parse_release(name) for name in names if _FOLDER.fullmatch(name)})
