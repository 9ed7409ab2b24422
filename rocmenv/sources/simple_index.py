"""Indexes of Python packages: which files a project has there (PEP 503, and PEP 691 as JSON)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from rocmenv.errors import RepositoryError, visible
from rocmenv.fetch.connection import shown
from rocmenv.sources.folder_page import PAGE, read_folder

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rocmenv.sources.base import Reader

_LIMIT = 16 << 20
_SHA256 = re.compile(r"(?:^|&)sha256=([0-9a-fA-F]{64})(?:&|$)", re.ASCII)
_DIGEST = re.compile(r"[0-9a-fA-F]{64}", re.ASCII)
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Offered:
    """One file of a project: `sha256` and `size` (bytes) where the index tells them.

    `python` is the range of Python releases it is for, empty for all; `yanked` says that its
    maker has taken it back.
    """

    name: str
    url: str
    sha256: str | None = None
    size: int | None = None
    python: str = ""
    yanked: bool = False


def read_project(reader: Reader, index: str, project: str) -> tuple[Offered, ...]:
    """The files of `project` in the index at the address `index`.

    Raises what `reader` raises, `NotThereError` for a project that the index does not have,
    and `RepositoryError` for a page in another form.
    """
    url = _address(index, project)
    content = read_folder(reader, url, limit=_LIMIT)
    if content.lstrip().startswith(b"{"):
        return tuple(_from_json(content, url))
    page = _read(content, url)
    base = _joined(url, page.base)
    if base is None:
        raise _unknown(url, content)
    return tuple(
        _offered(address, attributes)
        for attributes in page.links
        if (address := _joined(base, attributes["href"])) is not None
    )


def read_names(reader: Reader, index: str) -> tuple[str, ...]:
    """The names of all projects of an index, in their plain form (`rocm-sdk-core`)."""
    url = _address(index)
    content = read_folder(reader, url, limit=_LIMIT)
    if content.lstrip().startswith(b"{"):
        found = [str(row["name"]) for row in _rows(content, url, "projects")]
    else:
        links = _read(content, url).links
        addresses = (_joined(url, attributes["href"]) for attributes in links)
        paths = (urlsplit(address).path for address in addresses if address is not None)
        found = [unquote(path).rstrip("/").rpartition("/")[2] for path in paths]
    return tuple(dict.fromkeys(re.sub(r"[-_.]+", "-", name).lower() for name in found if name))


def is_same_place(one: str, other: str) -> bool:
    """Whether two addresses are of one server: scheme, name and port."""
    try:
        return _server(one) == _server(other)
    except ValueError:  # a port that is none
        return False


def _server(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or _PORTS.get(parts.scheme)


def _address(index: str, project: str = "") -> str:
    url = "/".join(part for part in (index.rstrip("/"), project) if part)
    # What a web server answers for a folder is a file of it.
    return f"{url}/{PAGE}" if url.lower().startswith("file:") else f"{url}/"


class _Page(HTMLParser):
    """The attributes of all links of a page, and the address that they are relative to."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[dict[str, str]] = []
        self.base = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a link."""
        attributes = {name: value or "" for name, value in attrs}
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes)
        elif tag == "base" and not self.base:
            self.base = attributes.get("href", "")


def _read(content: bytes, url: str) -> _Page:
    page = _Page()
    try:
        page.feed(content.decode("utf-8", "replace"))
    except AssertionError as error:  # html.parser's word for a declaration that is none
        raise _unknown(url, content) from error
    if not page.links:
        raise _unknown(url, content)
    return page


def _joined(base: str, link: str) -> str | None:
    """The address that `link` on a page means; None for what is no address."""
    try:
        return urljoin(base, link)
    except ValueError:
        return None


def _offered(address: str, attributes: dict[str, str]) -> Offered:
    url, fragment = urldefrag(address)
    digest = _SHA256.search(fragment)
    return Offered(
        name=unquote(urlsplit(url).path).rpartition("/")[2],
        url=url,
        sha256=digest[1].lower() if digest else None,
        python=attributes.get("data-requires-python", ""),
        yanked="data-yanked" in attributes,
    )


def _from_json(content: bytes, url: str) -> Iterable[Offered]:
    for row in _rows(content, url, "files"):
        try:
            digest = row.get("hashes", {}).get("sha256")
            size = row.get("size")
            yield Offered(
                name=str(row["filename"]),
                url=urldefrag(urljoin(url, str(row["url"])))[0],
                sha256=digest.lower() if digest and _DIGEST.fullmatch(digest) else None,
                size=size if isinstance(size, int) and size >= 0 else None,
                python=str(row.get("requires-python") or ""),
                yanked=bool(row.get("yanked")),
            )
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise _unknown(url, content) from error


def _rows(content: bytes, url: str, name: str) -> list[dict[str, Any]]:
    try:
        rows = json.loads(content)[name]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _unknown(url, content) from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise _unknown(url, content)
    return rows


def _unknown(url: str, content: bytes) -> RepositoryError:
    msg = f"`{shown(url)}` is not a page of Python packages; it begins {visible(content[:60])}"
    return RepositoryError(msg, hint="`--mirror` names another place")
