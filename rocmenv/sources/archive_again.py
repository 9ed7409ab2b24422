"""Files of an install that came from one archive, made again from that archive."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rocmenv.fetch.archive import Tree
from rocmenv.fetch.streaming import download_and_unpack_tar
from rocmenv.model.manifest import LINK
from rocmenv.model.release import Artifact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocmenv.sources.base import Lost, Work


def unpack(
    work: Work, lost: Lost, *, path: Path | None = None, own_prefix: tuple[str, ...] = ()
) -> tuple[tuple[Path, ...], Sequence[str]]:
    """Unpack what is lost into `work.tree`; what of the cache it took, and the paths unpacked.

    Of an archive of many gigabytes only members with the names of lost files reach the disk.
    `path` is the archive where it is at hand; else it is fetched from the receipt's address.
    `own_prefix` is `Tree`'s. Raises as downloading and unpacking do.
    """
    (item,) = lost.items
    tree = Tree(work.tree, own_prefix=own_prefix, cancel=work.downloads.cancel)
    for entry in lost.entries:  # a member may stand below a link, and belongs behind it
        if entry.kind == LINK and entry.owner:
            tree.add_link(entry.path, entry.target, owner=entry.owner)
    names = {name.rpartition("/")[2] for name in lost.wanted}

    def keep(member: str) -> bool:
        return member.rpartition("/")[2] in names

    cached: tuple[Path, ...] = ()
    if path is not None:
        tree.add_tar(path, owner=item.name, keep=keep)
    else:
        artifact = Artifact(item.url, item.name, item.size, item.sha256)
        found, _ = download_and_unpack_tar(
            artifact, work.downloads, tree, owner=item.name, keep=keep, on_bytes=work.on_bytes
        )
        cached = (found,)
    return cached, tree.settle().paths
