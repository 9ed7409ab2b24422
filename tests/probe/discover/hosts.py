"""Hosts to look at: nothing of the machine that the tests run on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rocmenv.probe.discover.base import Clue, Host, Places
from rocmenv.probe.discover.gather import Finding, Found, discover


def places(top: Path) -> Places:
    """The fixed places, below a folder of the test."""
    return Places(
        usual=(f"{top}/opt", f"{top}/usr/local"),
        alternatives=(f"{top}/etc/alternatives",),
        registers=(f"{top}/var/lib/dpkg/alternatives",),
        usr=f"{top}/usr",
        dpkg=f"{top}/var/lib/dpkg/info",
        pacman=f"{top}/var/lib/pacman/local",
        modules=(f"{top}/usr/share/modules/modulefiles",),
        spack=(f"{top}/opt/spack",),
        easybuild=(f"{top}/apps",),
        program_files=(),
    )


def host(
    top: Path, inside: Sequence[str | Path] = (), search: Sequence[str] = (), **environ: str
) -> Host:
    """A host whose every place is below `top`."""
    return Host(
        environ=environ,
        home=f"{top}/home",
        search=tuple(search),
        inside=tuple(map(str, inside)),
        places=places(top),
    )


def look(
    top: Path,
    inside: Sequence[str | Path] = (),
    more: Sequence[Clue] = (),
    variables: Mapping[str, str] | None = None,
    **environ: str,
) -> Found:
    """What is found on such a host; variables may be given in either way."""
    place = replace(host(top, inside), environ={**environ, **(variables or {})})
    return discover(place, more)


def only(found: Found) -> Finding:
    """The one finding that there is."""
    assert len(found.findings) == 1, found
    return found.findings[0]


def hows(finding: Finding) -> list[str]:
    """By what a finding was found, in order, each once."""
    return list(dict.fromkeys(trace.how.value for trace in finding.traces))
