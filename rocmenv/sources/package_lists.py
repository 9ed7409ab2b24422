"""Which releases AMD's package repositories have: read from the indexes that installs read.

The older RPM repositories lie in a folder for each release, below one for each system, of
which the server gives a listing. The newer ones, of both kinds, have all releases of a place
in one signed index (docs/sources.md, "The native channel" and "RPM repositories").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmenv.errors import HostError, RepositoryError
from rocmenv.fetch.transfer import NotThereError
from rocmenv.sources import amdrocm, native, rpm_channel, rpm_release
from rocmenv.sources.index_page import read_folders
from rocmenv.sources.remembered import Remembered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rocmenv.fetch.transfer import Downloads
    from rocmenv.model.version import Version
    from rocmenv.sources.apt.repository import Repository as DebRepository
    from rocmenv.sources.base import Request
    from rocmenv.sources.catalog import Catalog, Place
    from rocmenv.sources.rpm.repository import Repository as RpmRepository


def folders(
    data: Catalog, request: Request, downloads: Downloads, tell: Callable[[str], None]
) -> list[Version]:
    """The releases in the older RPM repositories, for any system, oldest first.

    `request.suite` names one folder (`el9`). `tell` gets what is odd about one of several.

    Raises:
        RepositoryError: a page that is no listing, or has no releases, and no better one.
        NotThereError: the server has none of the folders.
        TransferError: it cannot be read.
    """
    channel = data.channels["rpm"]
    names = [request.suite] if request.suite else _every_folder(data)
    found: set[Version] = set()
    failures: list[RepositoryError | NotThereError] = []
    for name in names:
        url = channel.index.format(mirror=channel.at(request.mirror), rpm=name)
        try:
            found.update(read_folders(downloads, url))
        except (RepositoryError, NotThereError) as error:
            failures.append(error)
    if not found:
        raise next((f for f in failures if isinstance(f, RepositoryError)), failures[0])
    for failure in failures:
        # A mirror may be for some systems; on AMD's own server each folder is to be there.
        if isinstance(failure, RepositoryError) or not request.mirror:
            tell(failure.message)
    return sorted(found)


def _every_folder(data: Catalog) -> list[str]:
    return list(dict.fromkeys(name for release in reversed(data.releases) for name in release.rpm))


def of_debs(data: Catalog, place: Place, request: Request, downloads: Downloads) -> list[Version]:
    """The releases in a place's index of .deb packages, oldest first.

    Of several systems it is that of this machine, or of `request.suite`. Raises as an install.
    """
    names = [request.suite] if request.suite else _systems(data)
    remembered = Remembered(downloads)
    return _first(native.repositories(place, names, request, remembered), remembered)


def _systems(data: Catalog) -> list[str]:
    try:
        return native.host_profiles(data)
    except HostError:  # which may ask for others
        return list(data.profiles)


def of_rpms(place: Place, request: Request, downloads: Downloads) -> list[Version]:
    """As `of_debs`, in a place's index of RPM packages."""
    remembered = Remembered(downloads)
    where = rpm_release.repositories_at(place, request)
    return _first(rpm_channel.repositories(where, request, remembered), remembered)


def _first(
    repositories: Iterable[DebRepository] | Iterable[RpmRepository], remembered: Remembered
) -> list[Version]:
    """The releases of the first repository that is there."""
    absent: NotThereError | None = None
    for repository in repositories:
        try:
            loaded = repository.load(remembered)
        except NotThereError as error:
            absent = absent or error
            continue
        found = amdrocm.releases(loaded.index)
        if not found:
            msg = f"the index of {loaded.origin} has no releases"
            raise RepositoryError(msg, hint="it may have moved: `rocmenv config list`")
        return found
    raise absent or NotThereError("no address of a repository is known")
