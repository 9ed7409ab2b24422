"""The known releases, and which of them a request means."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rocmenv.errors import ResolveError
from rocmenv.model.version import Spec, Version
from rocmenv.sources import catalog, catalog_file
from rocmenv.sources.catalog import (
    Catalog,
    KnownRelease,
    address,
    native_prefix,
    tarball_name,
)
from rocmenv.sources.legacy import folder


@pytest.fixture(scope="module")
def known() -> Catalog:
    return catalog_file.load()


@pytest.mark.parametrize("mirror", ["nonsense", "ftp://h/rocm", "http://", "https:///", "h/x://y"])
def test_a_mirror_must_be_an_address(mirror: str) -> None:
    with pytest.raises(ResolveError, match=f"`{mirror}` is not the address of a mirror"):
        catalog_file.load().channels["legacy"].at(mirror)


def test_the_table_is_consistent(known: Catalog) -> None:
    versions = [release.version for release in known.releases]
    assert versions == sorted(set(versions))
    assert len(known.releases) == 72
    statuses = {"released", "preview", "unlisted", "nightly-only"}
    assert {release.status for release in known.releases} <= statuses
    for release in known.releases:
        assert release.version.is_final, release
        assert not release.version.local, release
        if release.stream == "legacy":
            assert release.suites, release
            assert set(release.suites) <= {*known.suites, "ubuntu"}, release
            assert release.version < Version.parse("7.9.0")
        else:
            assert not release.suites, release
        if release.status == "released" and "date" not in release.unverified:
            assert len(release.date) == 10, release


def test_the_channel_is_filled_in(known: Catalog) -> None:
    channel = known.channels["legacy"]
    base = channel.base.format(mirror="http://m", dir="6.3")
    assert base == "http://m/apt/6.3"
    assert channel.key.format(mirror="http://m").startswith("http://m/")
    assert channel.prefix.format(xyz="6.3.0") == "/opt/rocm-6.3.0"
    assert len(bytes.fromhex(channel.fingerprint)) == 20
    assert known.suites["jammy"] == (2, 35)


@pytest.mark.parametrize("text", ["6.3.0", "6.3.9", "5.9.9"])
def test_a_full_release_is_let_through(known: Catalog, text: str) -> None:
    assert str(catalog.pick(known, Spec.parse(text))) == text


@pytest.mark.parametrize(
    ("text", "chosen"),
    [("6.3", "6.3.3"), (">=6.1,<6.2", "6.1.5"), ("5", "5.7.1"), ("5.5", "5.5.1")],
)
def test_a_request_is_the_newest_listed_one(known: Catalog, text: str, chosen: str) -> None:
    assert str(catalog.pick(known, Spec.parse(text))) == chosen


def test_latest_is_of_the_channel(known: Catalog) -> None:
    latest = Spec.parse("latest")
    assert catalog.pick(known, latest, "legacy") == known.legacy()[-1].version
    newest = [r.version for r in known.releases if r.status == "released"][-1]
    assert catalog.pick(known, latest) == catalog.pick(known, latest, "tarball") == newest


def test_unlisted_releases_are_named_in_full_only(known: Catalog) -> None:
    assert known.release(Version.parse("5.5.2")) in known.legacy(unlisted=True)
    assert known.release(Version.parse("5.5.2")) not in known.legacy()
    assert str(catalog.pick(known, Spec.parse("5.5.2"))) == "5.5.2"


def test_a_preview_is_taken_only_when_it_is_named(known: Catalog) -> None:
    preview = Version.parse("7.12.0")
    assert catalog.pick(known, Spec.parse("7.12")) == preview
    assert catalog.pick(known, Spec.parse("7.12.0")) == preview
    assert catalog.pick(known, Spec.parse(">=7,<7.14")) == known.legacy()[-1].version
    assert preview not in [r.version for r in known.offered()]
    assert preview in [r.version for r in known.offered(pre=True)]


@pytest.mark.parametrize("text", ["7.9.0", "7.14.0", "7.9", "7.14", "10.1.0a20260901"])
def test_a_release_of_another_channel_is_told(known: Catalog, text: str) -> None:
    with pytest.raises(ResolveError, match="is not in AMD's legacy repositories") as caught:
        catalog.pick(known, Spec.parse(text), "legacy")
    assert "--channel auto" in str(caught.value.hint)


def test_an_old_release_is_in_no_archive(known: Catalog) -> None:
    with pytest.raises(ResolveError, match="is not in the channel `tarball`"):
        catalog.pick(known, Spec.parse("6.3.0"), "tarball")


@pytest.mark.parametrize("text", ["8.0.0", "9.1.0", "9.0.0rc1"])
def test_there_is_no_eight_or_nine(known: Catalog, text: str) -> None:
    with pytest.raises(ResolveError, match=r"7\.14 was followed by 10\.0"):
        catalog.pick(known, Spec.parse(text))


@pytest.mark.parametrize("text", ["3.1", "6.3.0rc1", "9", "work", "system", "<1"])
def test_what_fits_nothing_is_said(known: Catalog, text: str) -> None:
    with pytest.raises(ResolveError, match="no known release fits") as caught:
        catalog.pick(known, Spec.parse(text))
    assert "`rocmenv install --list`" in str(caught.value.hint)


@pytest.mark.parametrize("text", ["10.9", "11", "99"])
def test_a_series_newer_than_all_may_be_learnt(known: Catalog, text: str) -> None:
    with pytest.raises(ResolveError, match="no known release fits") as caught:
        catalog.pick(known, Spec.parse(text))
    assert caught.value.hint == "`rocmenv catalog update` learns of newer ones"


@pytest.mark.parametrize("mirror", ["http://m/rocm?a=1", "file:///mnt/a#b", "https://m/?"])
def test_a_mirror_has_no_question_or_fragment(mirror: str) -> None:
    with pytest.raises(ResolveError, match="cannot be a mirror"):
        catalog.checked_mirror(mirror)


def test_the_nearest_release_is_named() -> None:
    rows = tuple(KnownRelease(Version.parse(f"6.{n}.0"), "legacy", "released") for n in (1, 2))
    small = Catalog(rows, {}, {})
    with pytest.raises(ResolveError) as caught:
        catalog.pick(small, Spec.parse("6.2.0rc1"))
    assert "did you mean `6.2.0`?" in str(caught.value.hint)


_URLS = json.loads((Path(__file__).parent / "known_urls.json").read_text())


@pytest.mark.parametrize(("text", "what", "which", "url"), _URLS)
def test_addresses_are_those_of_the_vendors_documents(
    known: Catalog, text: str, what: str, which: str, url: str
) -> None:
    """Each address that was read in a public source, or follows a pattern given there."""
    version = Version.parse(text)
    row = known.release(version)
    kinds: dict[str, Callable[[Catalog, Version, Any, str], str | None]] = {
        "apt": _apt,
        "rpm": _rpm,
        "runfile": _runfile,
        "tarball": _tarball,
        "packages": lambda k, v, _, p: k.place(v).packages_base(p),
        "prefix": lambda _k, v, _r, _w: native_prefix(v),
        "wheels": lambda k, v, _, family: k.place(v).wheel_indexes(family)[0],
        "hip_sdk": _hip_sdk,
        "key": lambda k, v, _r, _w: k.place(v).key_address(),
    }
    assert kinds[what](known, version, row, which) == url


def test_every_release_has_an_address(known: Catalog) -> None:
    have = {text for text, *_ in _URLS}
    assert {str(r.version) for r in known.releases} <= have


def _apt(known: Catalog, version: Version, row: KnownRelease, suite: str) -> str:
    assert suite in row.suites
    channel = known.channels["legacy"]
    base = channel.base.format(mirror=channel.mirror, dir=folder(version))
    return f"{base}/dists/{suite}/InRelease"


def _rpm(known: Catalog, version: Version, row: KnownRelease, place: str) -> str:
    assert place in row.rpm
    channel = known.channels["rpm"]
    base = channel.base.format(mirror=channel.mirror, rpm=place, dir=folder(version))
    return f"{base}/repodata/repomd.xml"


def _runfile(known: Catalog, version: Version, row: KnownRelease, _: str) -> str:
    if row.stream == "legacy":
        channel = known.channels["runfile"]
        assert version >= Version.parse(channel.since)
        return channel.base.format(mirror=channel.mirror, dir=folder(version))
    place = known.place(version)
    numbers = {"xy": version.xy, "xyz": version.xyz, "n": row.runfile}
    return place.runfile.format(mirror=place.mirror, **numbers)


def _tarball(known: Catalog, version: Version, row: KnownRelease | None, which: str) -> str:
    system, group = which.split()
    text = (row.text if row else "") or str(version)
    assert row is None or group in row.groups[system]
    return address(known.place(version).tarball_indexes()[0], tarball_name(system, group, text))


def _hip_sdk(known: Catalog, _: Version, row: KnownRelease, _which: str) -> str:
    channel = known.channels["hip-sdk"]
    return channel.base.format(mirror=channel.mirror, sdk=row.hip_sdk)
