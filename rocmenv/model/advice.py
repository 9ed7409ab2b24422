"""What to tell of a release on a machine: GPUs that it does not list, a driver it is untested with.

Nothing of it forbids an install: AMD's tables name what AMD supports, and much else works.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rocmenv.model.gpus import Level, Support
from rocmenv.model.version import Version

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rocmenv.model.gpus import Gpus, Known
    from rocmenv.model.target import Target

_THEROCK = Version.parse("7.9.0")
_GAPS_SINCE = Version.parse("10.0.0")


@dataclass(frozen=True, slots=True)
class Advice:
    """One warning: what, where that is from, and what to type next (None: nothing helps).

    `code` is `unknown-target`, `retired`, `unlisted`, `stand-in`, `deprecated`, `apart`,
    `not-built`, `libraries` or `driver`, and stays the same from release to release.
    """

    code: str
    text: str
    source: str
    hint: str | None = None


def advise(
    gpus: Gpus,
    release: Version,
    targets: Iterable[Target],
    driver: str | None = None,
    *,
    wsl: bool = False,
) -> list[Advice]:
    """Warnings for installing or using `release` where the GPUs are `targets`, in their order.

    `driver` is the version of the amdgpu module, None where it is not known: then nothing is
    said of it. Where no table was looked up, nothing is said either.
    """
    found = []
    bases = list(dict.fromkeys(target.base for target in targets))
    for target in bases:
        found += _of_target(gpus, release, target, wsl=wsl)
    if len(bases) > 1:
        # The variable makes every GPU pass for that target, those too that need none of it.
        found = [replace(one, hint=None) if one.code == "stand-in" else one for one in found]
    if driver is not None and not wsl:
        found += _of_driver(gpus, release, driver)
    return found


def _of_target(gpus: Gpus, release: Version, target: Target, *, wsl: bool) -> list[Advice]:
    if (end := gpus.retired.get(target)) is not None:
        gone = f"{target} was dropped in release {end}"
        return [Advice("retired", gone, gpus.sources["builds"])] if release >= end else []
    known = gpus.known(target)
    if known is None:
        new = f"{target} is not in the tables of this rocmenv: it may be newer than they are"
        hint = "`rocmenv config set targets all` leaves nothing out of an install"
        return [Advice("unknown-target", new, gpus.sources["builds"], hint)]
    if release >= _THEROCK and not gpus.is_built(target, release):
        text = f"release {release} has no code for {target}"
        if known.since is None:
            return [Advice("not-built", text, gpus.sources["builds"])]
        text += f"; it is built from {known.since} on"
        return [Advice("not-built", text, gpus.sources["builds"], _install([f">={known.since}"]))]
    standing = gpus.standing(target, release, wsl=wsl)
    found = _of_libraries(gpus, release, target)
    if isinstance(standing, Support):
        return [*_of_support(gpus, release, target, standing, wsl=wsl), *found]
    return found if standing is Level.UNCHECKED else [_unlisted(gpus, release, known, wsl), *found]


def _of_support(
    gpus: Gpus, release: Version, target: Target, row: Support, *, wsl: bool
) -> list[Advice]:
    source = gpus.sources["wsl" if wsl else "support"]
    limits = [row.note] if row.note else []
    limits += [f"unverified: {row.unverified}"] if row.unverified else []
    end = f" ({'; '.join(limits)})" if limits else ""
    if row.level is Level.DEPRECATED:
        text = f"release {release} lists {target} as deprecated{end}"
        return [Advice("deprecated", text, source)]
    if row.level is Level.APART:
        text = (
            f"{target} is not in the table of release {release}, but in AMD's pages on Ryzen{end}"
        )
        return [Advice("apart", text, source)]
    return []


def _unlisted(gpus: Gpus, release: Version, known: Known, wsl: bool) -> Advice:  # noqa: FBT001 - one of the columns of a table
    rows, where = (known.wsl, " under WSL") if wsl else (known.linux, "")
    source = gpus.sources["wsl" if wsl else "support"]
    if rows:
        spans = ", ".join(map(_span, rows))
        text = f"release {release} does not list {known.target}{where}; listed in {spans}"
        return Advice("unlisted", text, source, _install(_range(rows[-1])))
    text = f"no release lists {known.target}{where}"
    if release >= _THEROCK:
        tests = "" if known.tested else ", untested"
        text += f"; {release} has code for it all the same{tests}"
    other = gpus.stand_in(known.target, release)
    if other is None or wsl:
        return Advice("unlisted", text, source)
    text += f"; people run code for {other} on it ({known.stand_in_is})"
    hint = f"`export HSA_OVERRIDE_GFX_VERSION={other.major}.{other.minor}.{other.stepping}`"
    return Advice("stand-in", text, gpus.sources["stand_in"], hint)


def _of_libraries(gpus: Gpus, release: Version, target: Target) -> list[Advice]:
    lacking = gpus.lacking(target) if release >= _GAPS_SINCE else []
    if not lacking:
        return []
    text = f"release {release} leaves out for {target}: {', '.join(lacking)}"
    return [Advice("libraries", text, gpus.sources["builds"])]


def _of_driver(gpus: Gpus, release: Version, driver: str) -> list[Advice]:
    line = gpus.drivers.line(driver)
    if line is None or gpus.drivers.says_of(release.xy, line[0]) is not False:
        return []
    tested = gpus.drivers.tested(line[0])
    unverified = ", unverified" if line[1] else ""
    text = (
        f"release {release} is not listed as tested with this kernel driver, amdgpu {driver} "
        f"(that of {line[0]}{unverified})"
    )
    if not tested:
        return [Advice("driver", text, gpus.sources["driver"])]
    text += f"; tested: {', '.join(tested)}"
    return [Advice("driver", text, gpus.sources["driver"], f"`rocmenv install {tested[0]}`")]


def _span(row: Support) -> str:
    return str(row.first) if row.first == row.last else f"{row.first} to {row.last}"


def _range(row: Support) -> Sequence[str]:
    return [str(row.first)] if row.first == row.last else [f">={row.first}", f"<={row.last}"]


def _install(request: Sequence[str]) -> str:
    text = ",".join(request)
    return f"`rocmenv install '{text}'`" if text[0] in "<>" else f"`rocmenv install {text}`"
