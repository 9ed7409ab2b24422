"""The known releases, and which of them a request means."""

from __future__ import annotations

import pytest

from rocmenv.errors import ResolveError
from rocmenv.model.version import Spec, Version
from rocmenv.sources import catalog
from rocmenv.sources.catalog import Catalog, KnownRelease


@pytest.fixture(scope="module")
def known() -> Catalog:
    return catalog.load()


@pytest.mark.parametrize("mirror", ["nonsense", "ftp://h/rocm", "http://", "https:///", "h/x://y"])
def test_a_mirror_must_be_an_address(mirror: str) -> None:
    with pytest.raises(ResolveError, match=f"`{mirror}` is not the address of a mirror"):
        catalog.load().channels["legacy"].at(mirror)


def test_the_table_is_consistent(known: Catalog) -> None:
    versions = [release.version for release in known.releases]
    assert versions == sorted(set(versions))
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


def test_latest_is_of_the_channel_that_can_be_installed(known: Catalog) -> None:
    assert catalog.pick(known, Spec.parse("latest")) == known.legacy()[-1].version


def test_unlisted_releases_are_named_in_full_only(known: Catalog) -> None:
    assert known.release(Version.parse("5.5.2")) in known.legacy(unlisted=True)
    assert known.release(Version.parse("5.5.2")) not in known.legacy()
    assert str(catalog.pick(known, Spec.parse("5.5.2"))) == "5.5.2"


@pytest.mark.parametrize("text", ["7.9.0", "7.14.0", "7.9", "7.14"])
def test_other_streams_are_pointed_to_the_tarball(known: Catalog, text: str) -> None:
    with pytest.raises(ResolveError, match="is not in AMD's legacy repositories") as caught:
        catalog.pick(known, Spec.parse(text))
    assert "--from FILE" in str(caught.value.hint)


@pytest.mark.parametrize("text", ["3.1", "6.3.0rc1", "9", "work", "system", "<1"])
def test_what_fits_nothing_is_said(known: Catalog, text: str) -> None:
    with pytest.raises(ResolveError, match="no known release fits") as caught:
        catalog.pick(known, Spec.parse(text))
    assert "`rocmenv install --list`" in str(caught.value.hint)


def test_the_nearest_release_is_named() -> None:
    rows = tuple(KnownRelease(Version.parse(f"6.{n}.0"), "legacy", "released") for n in (1, 2))
    small = Catalog(rows, {}, {})
    with pytest.raises(ResolveError) as caught:
        catalog.pick(small, Spec.parse("6.2.0rc1"))
    assert "did you mean `6.2.0`?" in str(caught.value.hint)
