"""Whether a mirror has all files of an install, as far as that can be known beforehand.

A mirror that `rocmenv mirror` made lists its files. The list is not trusted: it can only
lead to one question more, and to an error that the download would have ended with.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING
from urllib.parse import unquote

from rocmenv.errors import TransferError
from rocmenv.fetch.address import file_name, is_local
from rocmenv.fetch.connection import without_account
from rocmenv.fetch.transfer import NotThereError
from rocmenv.model.release import Artifact
from rocmenv.sources.catalog import checked_mirror

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.model.receipt import Item

FILES = "rocmenv-files.json"
"""At a mirror's base: a JSON list of the paths of its files."""
_LIMIT = 64 << 20


def missing(items: Sequence[Item], mirror: str, downloads: Downloads) -> NotThereError | None:
    """The error of the first of `items` that the mirror at this address lacks.

    None when it has them all, when they are in the cache, and when nobody can tell yet.
    """
    base = f"{checked_mirror(mirror)}/"
    start = without_account(base)
    below = {i.url.removeprefix(start): i for i in items if i.url.startswith(start)}
    if is_local(base):
        doubtful = list(below)
    else:
        listed = None if downloads.offline else _listed(base, downloads)
        doubtful = [] if listed is None else [path for path in below if unquote(path) not in listed]
    for path in doubtful:
        try:
            downloads.size(base + path)
        except NotThereError as error:
            if downloads.cached(_artifact(below[path])) is None:
                return error
        except TransferError:
            return None  # the download will tell
        else:
            if not is_local(base):
                return None  # the list is an old one
    return None


def _listed(base: str, downloads: Downloads) -> frozenset[str] | None:
    with contextlib.suppress(TransferError, ValueError, TypeError, RecursionError):
        rows = json.loads(downloads.read(base + FILES, limit=_LIMIT))
        return frozenset(rows) if isinstance(rows, list) else None
    return None


def _artifact(item: Item) -> Artifact:
    return Artifact(item.url, file_name(item.url), item.size or None, item.sha256 or None)
