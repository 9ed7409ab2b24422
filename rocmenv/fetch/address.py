"""Addresses as people may see them, and as servers want them."""

from __future__ import annotations

import re

from rocmenv.errors import visible

# The second form has a `/` in the password, which no address may have, and people type.
_ACCOUNT = re.compile(
    r"^\s*([\w+.-]+://)(?:[^/?#\s]*|[^/:@?#\s\[][^/:@?#\s]*:(?!\d*(?:/|$))[^@?#\s]*)@"
)
# RFC 3986: what may stand in a path and a query as it is. `+` may, too, but object storage
# takes it for a blank.
_SAFE_PATH = "/%:@!$&'()*,;=~-._"
_SAFE_QUERY = f"{_SAFE_PATH}?+[]"


def shown(url: str) -> str:
    """`url` for a message: no account, no control characters, and `...` for a query.

    A query may be the token that opens a private download.
    """
    return visible(re.sub(r"\?.+", "?...", without_account(url), flags=re.DOTALL), 300).strip("`")


def without_account(url: str) -> str:
    """`url` without name and password, which belong into no file and no message."""
    return _ACCOUNT.sub(r"\1", url)


def is_local(url: str) -> bool:
    """Whether `url` names a file of this machine."""
    return url.lower().startswith("file:")


def file_name(url: str) -> str:
    """What the file at `url` is called: the end of the path, decoded."""
    from urllib.parse import unquote  # noqa: PLC0415 - only when fetching

    return unquote(url.rpartition("/")[2])


def quoted(url: str) -> str:
    """`url` with its path and query as they go into a request, and without a fragment.

    Blanks, letters beyond ASCII and a `+` in the path are percent-encoded; what is encoded
    already stays. Raises ValueError for an address that cannot be taken apart.

    >>> quoted("https://host/dist-10.1.0.dev0+abc.tar.gz#top")
    'https://host/dist-10.1.0.dev0%2Babc.tar.gz'
    """
    from urllib.parse import quote, urlsplit, urlunsplit  # noqa: PLC0415 - only when fetching

    parts = urlsplit(url)
    path = quote(parts.path or "/", safe=_SAFE_PATH)
    query = quote(parts.query, safe=_SAFE_QUERY)
    return urlunsplit(parts._replace(path=path, query=query, fragment=""))
