"""What a server shows of a folder: its own listing, or a page that lies there."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from rocmenv.fetch.trouble import NotThereError

if TYPE_CHECKING:
    from rocmenv.sources.base import Reader

PAGE = "index.html"


def read_folder(reader: Reader, url: str, *, limit: int) -> bytes:
    """The page at `url`, which ends in `/` where it is a folder; at most `limit` bytes.

    Servers that serve files and nothing else, such as buckets, have nothing at a folder's
    address. `rocmenv mirror` puts a page into each folder, which is asked for by name then.
    Raises what `reader` raises for `url` itself.
    """
    try:
        return reader.read(url, limit=limit)
    except NotThereError:
        if not url.endswith("/"):
            raise
        with contextlib.suppress(NotThereError):
            return reader.read(f"{url}{PAGE}", limit=limit)
        raise
