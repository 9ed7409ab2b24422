"""Which RPM folders a machine is offered."""

from __future__ import annotations

import pytest

from rocmenv.model.version import Version
from rocmenv.sources.rpm_places import legacy_folders, profiles

SYSTEMS = {
    "alma8": 'ID="almalinux"\nID_LIKE="rhel centos fedora"\nVERSION_ID="8.10"\n',
    "rhel9": 'NAME="Red Hat Enterprise Linux"\nID="rhel"\nVERSION_ID="9.4"\n',
    "rocky10": "ID=rocky\nVERSION_ID=10.0\n",
    "amazon": 'ID="amzn"\nID_LIKE="fedora"\nVERSION_ID="2023"\n',
    "fedora": "ID=fedora\nVERSION_ID=42\n",
    "sles": 'ID="sles"\nID_LIKE="suse"\nVERSION_ID="15.6"\n',
    "leap": 'ID="opensuse-leap"\nID_LIKE="suse opensuse"\nVERSION_ID="15.6"\n',
    "azure": "ID=azurelinux\nVERSION_ID=3.0\n",
    "debian": 'ID=debian\nVERSION_ID="12"\n# ID=rhel\n',
    "ubuntu": "ID=ubuntu\nID_LIKE=debian\n",
    "odd": "ID='unclosed\nnonsense\n=x\n",
}


@pytest.mark.parametrize(
    ("system", "glibc", "release", "wanted"),
    [
        ("alma8", (2, 28), "6.3.0", "el8 rhel8"),
        ("alma8", (2, 28), "6.1.2", "rhel8 yum"),
        ("alma8", (2, 28), "5.2.0", "rhel8 yum"),
        ("rhel9", (2, 34), "6.3.0", "el9 rhel9 el8 rhel8 zyp"),
        ("rhel9", (2, 34), "5.3.0", "rhel9 rhel8 yum zyp"),
        ("rhel9", (2, 34), "5.2.0", "rhel8 yum zyp"),
        ("rhel9", (2, 34), "7.0.2", "el9 rhel9 el8 rhel8 zyp"),
        ("rocky10", (2, 39), "7.0.1", "el9 rhel9 el8 rhel8 zyp"),
        ("rocky10", (2, 39), "7.0.2", "el10 el9 rhel9 el8 rhel8 zyp"),
        ("amazon", (2, 34), "7.2.1", "el9 rhel9 el8 rhel8 zyp"),
        ("fedora", (2, 41), "7.2.1", "el10 el9 rhel9 el8 rhel8 zyp"),
        ("sles", (2, 38), "6.3.0", "zyp el9 rhel9 el8 rhel8"),
        ("leap", (2, 31), "6.1.0", "zyp rhel8 yum"),
        ("debian", (2, 36), "6.3.0", ""),
        ("ubuntu", (2, 39), "6.3.0", ""),
        ("odd", (2, 39), "6.3.0", ""),
        ("rhel9", (2, 17), "6.3.0", ""),
        ("rhel9", None, "6.3.0", ""),
    ],
)
def test_the_folders_of_a_legacy_release(
    system: str, glibc: tuple[int, ...] | None, release: str, wanted: str
) -> None:
    found = legacy_folders(SYSTEMS[system], glibc, Version.parse(release))
    assert " ".join(found) == wanted


def test_another_system_gets_them_when_it_asks() -> None:
    release = Version.parse("6.3.0")
    assert legacy_folders(SYSTEMS["debian"], (2, 36), release, asked=True) == (
        *("el9", "rhel9", "el8", "rhel8"),
        "zyp",
    )
    assert legacy_folders(SYSTEMS["debian"], (2, 28), release, asked=True) == ("el8", "rhel8")
    assert legacy_folders("", None, release, asked=True) == ()


@pytest.mark.parametrize(
    ("system", "glibc", "wanted"),
    [
        ("alma8", (2, 28), "rhel8"),
        ("rhel9", (2, 34), "rhel9 rhel8 sles15"),
        ("rocky10", (2, 39), "rhel10 rhel9 rhel8 azl3 sles15"),
        ("sles", (2, 38), "sles15 azl3 rhel9 rhel8"),
        ("azure", (2, 38), "azl3 rhel9 sles15 rhel8"),
        ("debian", (2, 36), ""),
    ],
)
def test_the_profiles_of_the_amdrocm_packages(
    system: str, glibc: tuple[int, ...], wanted: str
) -> None:
    assert " ".join(profiles(SYSTEMS[system], glibc)) == wanted


def test_every_folder_is_one_that_the_machine_can_run() -> None:
    floors = {"yum": (2, 17), "8": (2, 28), "9": (2, 34), "10": (2, 39), "zyp": (2, 31)}
    for minor in range(17, 45):
        for release in ("5.0.0", "5.3.0", "6.1.5", "6.2.0", "7.0.1", "7.0.2", "7.2.4"):
            found = legacy_folders(SYSTEMS["rhel9"], (2, minor), Version.parse(release))
            for folder in found:
                assert floors[folder.removeprefix("rhel").removeprefix("el")] <= (2, minor)
