"""Which releases can be installed: the known ones, or those in a channel's own index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmenv.sources import catalog
from rocmenv.sources.index_page import release_folders

if TYPE_CHECKING:
    from rocmenv.fetch.transfer import Downloads
    from rocmenv.model.version import Version


@dataclass(frozen=True, slots=True)
class Row:
    """One release of a list; `date` is ISO 8601 or empty."""

    version: Version
    date: str
    status: str


def known(*, unlisted: bool) -> list[Row]:
    """The releases of the catalogue, oldest first. Needs no network."""
    return [Row(r.version, r.date, r.status) for r in catalog.load().legacy(unlisted=unlisted)]


def online(downloads: Downloads, mirror: str | None, *, unlisted: bool) -> list[Row]:
    """The releases in the legacy channel's folder listing, oldest first.

    A folder that the catalogue does not know is `new`; one that it knows as unlisted is
    shown with `unlisted` only.
    """
    data = catalog.load()
    channel = data.channels["legacy"]
    url = channel.index.format(mirror=channel.at(mirror))
    rows = []
    for version in release_folders(downloads.read(url, limit=4 << 20), url):
        release = data.release(version)
        status = release.status if release else "new"
        if unlisted or status != "unlisted":
            rows.append(Row(version, release.date if release else "", status))
    return rows
