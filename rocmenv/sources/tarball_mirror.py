"""What of AMD's archives goes into a static mirror, and the page that lists them there."""

from __future__ import annotations

import html
import json
import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from rocmenv.fetch.connection import without_account
from rocmenv.model.release import Artifact
from rocmenv.sources.archive_groups import ALL, choose_group
from rocmenv.sources.base import MirrorFile, MirrorPlan
from rocmenv.sources.mirror_page import INDEX, listed
from rocmenv.sources.remembered import Remembered
from rocmenv.sources.tarball import digest_of, offer, with_size

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.model.version import Version
    from rocmenv.sources.base import Extent, Kept, Request
    from rocmenv.sources.catalog import Catalog
    from rocmenv.sources.index_page import Listed
    from rocmenv.sources.tarball import Archive, Offer

# What the vendor's own pages have, too: such a page may be added to.
_SHAPE = b"const files"


@dataclass(frozen=True, slots=True)
class ArchivePage:
    """The page of a folder of archives, in the vendor's shape: an array in a script.

    `times` are what the server told of the files of this run, by their names. Size and
    SHA-256 are ours: installs from the mirror are held to them.
    """

    folder: str
    times: Mapping[str, float | None]

    @property
    def path(self) -> str:
        """The page's file."""
        return f"{self.folder}/index.html"

    def known(self, before: bytes) -> dict[str, str]:
        """The digests of files that the server has not published anew since."""
        return {
            f"{self.folder}/{row.name}": row.sha256
            for row in listed(before, self.path, shape=_SHAPE)
            if row.sha256 and self.times.get(row.name, row.time) in (None, row.time)
        }

    def render(
        self, before: bytes, have: Mapping[str, Kept], is_there: Callable[[str], bool]
    ) -> bytes:
        """The page, sorted by name."""
        rows: dict[str, dict[str, Any]] = {}
        for row in listed(before, self.path, shape=_SHAPE):
            if not row.name.endswith("/") and is_there(f"{self.folder}/{row.name}"):
                rows[row.name] = _row(row)
        for name, told in self.times.items():
            if kept := have.get(f"{self.folder}/{name}"):
                time = told if told is not None else rows.get(name, {}).get("mtime")
                new = {"name": name, "mtime": time, "size": kept.size, "sha256": kept.sha256}
                rows[name] = {key: value for key, value in new.items() if value is not None}
        return _page(self.folder, [rows[name] for name in sorted(rows)]).encode()


def plan(
    data: Catalog, release: Version, request: Request, downloads: Downloads, extent: Extent
) -> MirrorPlan:
    """The mirror of one release, as `ops.mirror` asks for it. Reads the pages.

    With targets the archive for each of them alone, as a machine with this GPU takes it.
    Without any, the one for every GPU; where there is none and `extent` says all GPUs, all.

    Raises `ResolveError` for a release or GPU that has no archive, and what reading raises.
    """
    found = offer(data, release, request, Remembered(downloads))
    groups = _groups(found, request, extent)
    chosen = {group: with_size(found.archives[group], downloads) for group in groups}
    files = {_path(found, one): _artifact(data, one) for one in chosen.values()}
    folders: dict[str, dict[str, float | None]] = {}
    for one in chosen.values():
        folders.setdefault(posixpath.dirname(_path(found, one)), {})[one.name] = one.time
    return MirrorPlan(
        version=release,
        channel="tarball",
        origin=", ".join(dict.fromkeys(without_account(a.index) for a in chosen.values())),
        files=tuple(MirrorFile(path, artifact) for path, artifact in files.items()),
        notes=found.notes,
        pages=tuple(ArchivePage(folder, times) for folder, times in folders.items()),
        installs=tuple(("--gpu", word) for word in dict.fromkeys(groups.values())),
    )


def _groups(found: Offer, request: Request, extent: Extent) -> dict[str, str]:
    """The groups to copy, and for each a word of `--gpu` that an install takes it for."""
    everyone = {group: "all" if group == ALL else group for group in sorted(found.archives)}
    if extent.whole and everyone:
        return everyone
    groups: dict[str, str] = {}
    for target in request.targets:
        group = choose_group(found.archives, (target,), request.families)
        if group is None:
            raise found.lacking(request)
        groups.setdefault(group, target)
    if not request.targets and ALL in found.archives:
        groups[ALL] = "all"
    elif not request.targets and extent.all_gpus:
        groups = everyone
    if not groups:
        raise found.lacking(request)
    return groups


def _path(found: Offer, archive: Archive) -> str:
    below = archive.index.removeprefix(found.base).strip("/")
    return f"{below}/{archive.name}"


def _artifact(data: Catalog, archive: Archive) -> Artifact:
    return Artifact(archive.url, archive.name, archive.size, digest_of(data, archive))


def _row(row: Listed) -> dict[str, Any]:
    fields = {"name": row.name, "mtime": row.time, "size": row.size, "sha256": row.sha256}
    return {key: value for key, value in fields.items() if value is not None}


def _page(folder: str, rows: list[dict[str, Any]]) -> str:
    title = html.escape(f"Index of /{folder}/")
    links = "".join(
        f'<a href="{quote(row["name"], safe="~")}">{html.escape(row["name"])}</a>\n' for row in rows
    )
    # A script ends at the first `</script`, whatever it stands in.
    array = ",\n".join(json.dumps(row) for row in rows).replace("<", "\\u003c")
    return (
        f"<!doctype html>\n{INDEX}\n<meta charset=utf-8>\n<title>{title}</title>\n"
        f"<h1>{title}</h1>\n<pre>\n{links}</pre>\n"
        f"<script>\nconst files = [\n{array}\n];\n</script>\n"
    )
