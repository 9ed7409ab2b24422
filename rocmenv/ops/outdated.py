"""Installed versions against the releases that are out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmenv.model.version import Spec, choose
from rocmenv.ops import listing
from rocmenv.ops.listing import Servers, Wanted
from rocmenv.sources.base import Request
from rocmenv.store import registry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.model.version import Version
    from rocmenv.sources.catalog import Catalog
    from rocmenv.store.paths import Root
    from rocmenv.store.registry import Installed

DISTRO = "distro"
AMDS = ("legacy", "rpm", "tarball", "native", "wheels")
"""The channels of AMD's own servers."""


@dataclass(frozen=True, slots=True)
class Row:
    """One installed version; each other field is None where nobody knows of one.

    `series` is the newest release with the same first two numbers, `newest` the newest of
    all that the version's channel has, `elsewhere` the newest that only other channels have,
    and `preview` the newest that is no release yet. None of them is older than `version`.
    """

    version: Version
    channel: str
    series: Version | None = None
    newest: Version | None = None
    elsewhere: Version | None = None
    preview: Version | None = None

    @property
    def is_outdated(self) -> bool:
        """Whether the same series has something newer."""
        return self.series is not None and self.series > self.version.without_local


@dataclass(frozen=True, slots=True)
class Known:
    """The releases that are out, by channel; a channel that is not there was not asked."""

    channels: dict[str, tuple[Version, ...]]
    released: tuple[Version, ...] = ()
    previews: tuple[Version, ...] = ()

    def newest_in_series(self, version: Version, channel: str) -> Version | None:
        """The newest release of the channel with the same first two numbers."""
        return choose(Spec.parse(version.xy), self.channels.get(channel, ()))


def known(
    data: Catalog,
    channels: Sequence[str],
    downloads: Downloads,
    *,
    online: bool,
    with_distro: bool = False,
    at: Servers | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Known:
    """What is out: by the catalogue, with `online` by the indexes of these channels.

    The distribution's releases are in its package sources alone, which are read with
    `online` or `with_distro`. `at` and `tell` are `listing.online`'s. Raises as reading
    does.
    """
    listed = dict.fromkeys(AMDS, listing.known(data, Wanted()))
    for channel in AMDS if online else ():
        if channel in channels:
            asked = at or Servers()
            listed[channel] = listing.online(data, downloads, asked, Wanted(channel), tell)
    found = {c: tuple(r.version for r in rows if c in r.channels) for c, rows in listed.items()}
    if DISTRO in channels and (online or with_distro):
        from rocmenv.sources import distro  # noqa: PLC0415 - for the machines that have it

        found[DISTRO] = tuple(distro.releases(Request(), downloads)[0])
    return Known(
        found,
        tuple(r.version for r in data.releases if r.status == "released"),
        tuple(r.version for r in data.releases if r.status in ("preview", "nightly-only")),
    )


def rows(root: Root, out: Known) -> list[Row]:
    """Each installed version with what is newer, oldest first; linked ones too."""
    return [_row(item, out) for item in registry.load(root).installed.values()]


def _row(item: Installed, out: Known) -> Row:
    version, channel = item.version, item.receipt.source
    plain = version.without_local
    # A tree of one's own is of some release, too: what is out at all is compared with that.
    own = out.channels.get(channel, () if channel == DISTRO else out.released)
    newest = choose(Spec.parse("latest"), own)
    elsewhere = choose(Spec.parse("latest"), out.released)
    preview = max(out.previews, default=None)
    return Row(
        version,
        channel,
        _unless_older(choose(Spec.parse(version.xy), own), plain),
        _unless_older(newest, plain),
        elsewhere if elsewhere and newest and elsewhere > max(newest, plain) else None,
        preview if preview and preview > max(newest or plain, elsewhere or plain, plain) else None,
    )


def _unless_older(found: Version | None, than: Version) -> Version | None:
    """A release that is out, or what is installed where that is newer than all of them."""
    return None if found is None else max(found, than)
