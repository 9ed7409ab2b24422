"""Where the RPM packages of a release are: what the catalogue has for this machine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rocmenv.errors import HostError, RepositoryError
from rocmenv.probe.host import glibc, os_release
from rocmenv.sources.catalog import is_legacy, native_prefix
from rocmenv.sources.legacy import folder
from rocmenv.sources.legacy_rules import Legacy, Prefixed
from rocmenv.sources.native import suffixes
from rocmenv.sources.rpm_channel import RpmPlace
from rocmenv.sources.rpm_places import every_profile, legacy_folders, oldest_folders, profiles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocmenv.model.version import Version
    from rocmenv.sources.base import Request
    from rocmenv.sources.catalog import Catalog, Place
    from rocmenv.sources.packages import Recipe

CHANNEL = "rpm"


def is_native(release: Version) -> bool:
    """Whether this machine uses RPM, and AMD builds the older packages of `release` for it."""
    return bool(legacy_folders(os_release(), glibc(), release))


def place(data: Catalog, release: Version, request: Request) -> RpmPlace:
    """The repositories to try for `release`, the best for this machine first.

    `request.suite` names one folder (`el9`, `rhel9`) in place of the choice. `HostError`
    when no build runs here, `RepositoryError` for packages that nobody signs.
    """
    if is_legacy(data, release):
        return _legacy(data, release, request)
    return _newer(data, release, request)


def recipe(data: Catalog, release: Version) -> Recipe:
    """How RPM packages of `release` become a prefix."""
    if is_legacy(data, release):
        return Legacy(data.channels["rpm"].prefix.format(xyz=release.xyz), release)
    return Prefixed(native_prefix(release))


def _legacy(data: Catalog, release: Version, request: Request) -> RpmPlace:
    channel, known = data.channels["rpm"], data.release(release)
    names: tuple[str, ...] = (request.suite,) if request.suite else ()
    if not names:
        fitting = legacy_folders(os_release(), glibc(), release, asked=True)
        names = tuple(n for n in fitting if known is None or not known.rpm or n in known.rpm)
    if not names:
        raise _too_old(release)
    mirror = channel.at(request.mirror)
    return RpmPlace(
        channel=CHANNEL,
        bases=tuple(channel.base.format(mirror=mirror, rpm=n, dir=folder(release)) for n in names),
        keys=(channel.key.format(mirror=mirror),),
        fingerprints=frozenset({channel.fingerprint}),
        prefix=channel.prefix.format(xyz=release.xyz),
        is_legacy=True,
        oldest=tuple(
            n for n in oldest_folders(release, is_legacy=True) if not known or n in known.rpm
        ),
    )


def _newer(data: Catalog, release: Version, request: Request) -> RpmPlace:
    found = data.place(release)
    if found.packages is None or not found.fingerprint:
        msg = f"AMD does not sign the packages of {release} (line `{found.line}`)"
        raise RepositoryError(msg, hint="take the archive: `--channel tarball`")
    names = _profiles(request)
    if not names:
        raise _too_old(release)
    return replace(
        _at(found, names, request),
        prefix=native_prefix(release),
        oldest=oldest_folders(release, is_legacy=False),
        targets=tuple(tuple(suffixes(t, release, request)) for t in request.targets),
    )


def repositories_at(found: Place, request: Request) -> RpmPlace:
    """The repositories to try for what `found` has of any release; there is always one."""
    return _at(found, _profiles(request) or every_profile(), request)


def _profiles(request: Request) -> tuple[str, ...]:
    return (request.suite,) if request.suite else profiles(os_release(), glibc(), asked=True)


def _at(found: Place, names: Sequence[str], request: Request) -> RpmPlace:
    bases = [found.packages_base(name, request.mirror) for name in names]
    return RpmPlace(
        channel=CHANNEL,
        bases=tuple(f"{base}/x86_64" for base in bases if base),
        keys=(found.key_address(request.mirror),),
        fingerprints=frozenset({found.fingerprint}),
        prefix="",
        is_legacy=False,
    )


def _too_old(release: Version) -> HostError:
    has = glibc()
    if has is None:
        msg = "AMD's packages need glibc, and this host has none"
        return HostError(msg, hint="use a container with AlmaLinux, Debian or Ubuntu")
    here = ".".join(map(str, has))
    msg = f"no RPM build of release {release} runs here: all need a newer glibc than {here}"
    hint = "an older release may fit: `rocmenv install --list --channel rpm`"
    return HostError(msg, hint=hint)
