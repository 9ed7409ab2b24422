"""How packages of each channel become a prefix, for those that have the packages already."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocmenv.model.version import Version
    from rocmenv.sources.catalog import Catalog
    from rocmenv.sources.packages import Recipe


def recipe_of(channel: str, data: Catalog, release: Version) -> Recipe | None:
    """The recipe for packages of `release` from `channel`, None for one without packages."""
    if channel == "legacy":
        from rocmenv.sources import legacy  # noqa: PLC0415 - one channel a call

        return legacy.recipe(data, release)
    if channel == "rpm":
        from rocmenv.sources import rpm_release  # noqa: PLC0415 - as above

        return rpm_release.recipe(data, release)
    if channel == "native":
        from rocmenv.sources import native  # noqa: PLC0415 - as above

        return native.recipe(release)
    if channel == "distro":
        from rocmenv.sources import distro  # noqa: PLC0415 - as above

        return distro.recipe(release)
    return None
