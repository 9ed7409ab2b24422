"""Pages that list what a server has, in the four shapes that vendors' servers give them.

A folder listing or a page of wheels (PEP 503) counts by its links alone. The pages of
TheRock's archives draw their list by script from an array in the page. A storage bucket
answers with XML, in parts.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote
from xml.parsers import expat

from rocmenv.errors import RepositoryError, visible
from rocmenv.fetch.connection import shown
from rocmenv.fetch.numbers import whole
from rocmenv.model.version import Version
from rocmenv.sources.folder_page import read_folder

if TYPE_CHECKING:
    from rocmenv.sources.base import Reader

_FOLDER = re.compile(r"\d{1,4}\.\d{1,4}(?:\.\d{1,4})?", re.ASCII)
_ARRAY = re.compile(r"\bconst\s+files\s*=\s*(?=\[)")
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_LIMIT = 16 << 20
_MOST_PARTS = 500
# What a file's time is below, when it is one: the year 10000.
_LAST_TIME = 253_402_300_800


@dataclass(frozen=True, slots=True)
class Listed:
    """One file of a page: `time` in seconds of the epoch and `size` in bytes, where told.

    `sha256` is told by mirrors that `rocmenv mirror` made. A bucket's ETag is not kept: of
    files in several parts it is no digest of the content.
    """

    name: str
    time: float | None = None
    size: int | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """What one address lists; `notes` say what is odd about it."""

    url: str
    files: tuple[Listed, ...]
    notes: tuple[str, ...] = ()


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the target of a link."""
        if tag == "a":
            self.targets += [value for name, value in attrs if name == "href" and value]


def read_page(reader: Reader, url: str) -> Page:
    """The files that the page at `url` lists; of a bucket all its parts.

    Raises `RepositoryError` with the address and the first bytes for a page in no known
    shape, and when it lists nothing; and what `reader` raises.
    """
    content = read_folder(reader, url, limit=_LIMIT)
    start = content.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith((b"<?xml", b"<ListBucketResult")):
        page = _bucket(reader, url, content)
    else:
        text = content.decode("utf-8", "replace")
        array = _ARRAY.search(text)
        page = Page(url, _array(text, array.end(), url) if array else _anchors(content, url))
    if not page.files:
        msg = f"the listing {shown(url)} has no files"
        raise RepositoryError(msg, hint="another mirror or a later try may have them")
    return page


def read_folders(reader: Reader, url: str) -> list[Version]:
    """The releases that have a folder in the listing at `url`, oldest first.

    Raises `RepositoryError` for a page that is no listing, or has none; and what `reader` raises.
    """
    found = release_folders(read_folder(reader, url, limit=_LIMIT), url)
    if not found:
        msg = f"the listing {shown(url)} has no releases"
        hint = "it may have moved; `rocmenv install --list` needs no server"
        raise RepositoryError(msg, hint=hint)
    return found


def release_folders(page: bytes, url: str) -> list[Version]:
    """The releases that have a folder in the listing `page`, oldest first.

    `X.Y` is X.Y.0, as AMD names it. Betas, moving names (`latest`, `debian`), files and
    the links for sorting are no releases. Raises `RepositoryError` when the page has no
    link at all: then it is something else, and saying "no releases" would be wrong.
    """
    names = (listed.name.rstrip("/") for listed in _anchors(page, url))
    return sorted({Version.parse_release(name) for name in names if _FOLDER.fullmatch(name)})


def _anchors(page: bytes, url: str) -> tuple[Listed, ...]:
    parser = _Links()
    try:
        parser.feed(page.decode("utf-8", "replace"))
    except AssertionError as error:  # html.parser's word for a declaration that is none
        raise _unknown(url, page) from error
    if not parser.targets:
        raise _unknown(url, page)
    names = []
    for target in parser.targets:
        path = re.split(r"[?#]", target)[0]
        name = unquote(path).rstrip("/").rpartition("/")[2]
        if name not in ("", ".", ".."):
            names.append(f"{name}/" if path.endswith("/") else name)
    return tuple(Listed(name) for name in dict.fromkeys(names))


def _array(text: str, start: int, url: str) -> tuple[Listed, ...]:
    try:
        rows, _ = json.JSONDecoder().raw_decode(text, start)
        return tuple(_row(row) for row in rows)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _unknown(url, text[start:].encode()) from error


def _time(value: object) -> float | None:
    """A time in seconds, None for what is none: a page may say `1e400`."""
    if isinstance(value, (int, float)) and 0 <= value < _LAST_TIME:
        return float(value)
    return None


def _row(row: dict[str, object]) -> Listed:
    size, digest = row.get("size"), row.get("sha256")
    return Listed(
        str(row["name"]),
        _time(row.get("mtime")),
        size if isinstance(size, int) and size >= 0 else None,
        digest if isinstance(digest, str) and _DIGEST.fullmatch(digest) else None,
    )


def _bucket(reader: Reader, url: str, content: bytes) -> Page:
    """All parts of a bucket's list; a server that gives one part again and again is told."""
    files: dict[str, Listed] = {}
    for _ in range(_MOST_PARTS):
        part = _Bucket()
        part.feed(content, url)
        fresh = [f for f in part.files if f.name not in files]
        files.update((f.name, f) for f in part.files)
        if not part.is_cut:
            return Page(url, tuple(files.values()))
        if not fresh:
            break
        content = reader.read(part.next(url), limit=_LIMIT)
    note = f"the listing {shown(url)} is cut off: the server gives {len(files)} files and no more"
    return Page(url, tuple(files.values()), (note,))


class _Bucket:
    """One part of the XML list of a bucket (Amazon S3, ListObjects 1 and 2)."""

    def __init__(self) -> None:
        self.files: list[Listed] = []
        self.is_cut = False
        self._tokens: dict[str, str] = {}
        self._path: list[str] = []
        self._text: list[str] = []
        self._row: dict[str, str] = {}

    def feed(self, content: bytes, url: str) -> None:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text.append
        parser.StartDoctypeDeclHandler = self._refuse
        try:
            parser.Parse(content, True)  # noqa: FBT003 - expat takes no keyword
        except (expat.ExpatError, ValueError, LookupError) as error:
            raise _unknown(url, content) from error
        if not self.files and "ListBucketResult" not in self._tokens:
            raise _unknown(url, content)

    def next(self, url: str) -> str:
        """The address of the next part."""
        base = url.partition("?")[0]
        token = self._tokens.get("NextContinuationToken")
        if token:
            return f"{base}?list-type=2&continuation-token={quote(token, safe='')}"
        last = self._tokens.get("NextMarker") or self._tokens.get("last", "")
        return f"{base}?marker={quote(last, safe='')}"

    def _start(self, name: str, _attributes: dict[str, str]) -> None:
        self._path.append(name.rpartition(" ")[2])
        self._text.clear()
        if self._path == ["ListBucketResult"]:
            self._tokens["ListBucketResult"] = ""

    def _end(self, _name: str) -> None:
        name, text = self._path.pop(), "".join(self._text).strip()
        self._text.clear()
        if self._path == ["ListBucketResult", "Contents"]:
            self._row[name] = text
        elif self._path == ["ListBucketResult"]:
            if name == "Contents":
                self._add()
            elif name == "IsTruncated":
                self.is_cut = text.lower() == "true"
            else:
                self._tokens[name] = text

    def _add(self) -> None:
        row, self._row = self._row, {}
        key, size = row.get("Key", ""), row.get("Size", "")
        self._tokens["last"] = key
        name = key.removeprefix(self._tokens.get("Prefix", ""))
        if name:
            self.files.append(Listed(name, _seconds(row.get("LastModified", "")), whole(size)))

    def _refuse(self, *_told: object) -> None:
        msg = "a document type"
        raise ValueError(msg)  # entities could read files or grow without end


def _seconds(text: str) -> float | None:
    try:
        return _time(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())
    except (ValueError, OverflowError):
        return None


def _unknown(url: str, content: bytes) -> RepositoryError:
    msg = f"`{shown(url)}` is not a listing in any known form; it begins {visible(content[:60])}"
    hint = "without `--online` the list needs no server; `--mirror` names another one"
    return RepositoryError(msg, hint=hint)
