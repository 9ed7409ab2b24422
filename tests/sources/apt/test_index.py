"""Packages and Release files: the samples of R17, and python-debian as oracle."""

from __future__ import annotations

import contextlib
import random
from typing import TYPE_CHECKING

import pytest
from debian.deb822 import Packages
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmenv.errors import RepositoryError
from rocmenv.sources.apt.index import Index, Package, parse_package
from rocmenv.sources.apt.relation import compare, parse_relations
from rocmenv.sources.apt.release import parse_release
from rocmenv.sources.apt.stanza import fields, stanzas

if TYPE_CHECKING:
    from pathlib import Path

DIGEST = "0" * 64


def in_step(cases: Path) -> str:
    path = cases / "apt/in-step/dists/jammy/main/binary-amd64/Packages"
    return path.read_text(encoding="utf-8")


def test_the_sample_has_nine_entries(cases: Path) -> None:
    """R17: a description's ` .` line does not start an entry."""
    index = Index(in_step(cases))
    assert len(index) == 9
    assert [p.name for p in index][:3] == ["rocm-core", "rocm-core6.3.0", "hip-runtime-amd6.3.0"]
    assert [p.version for p in index.named("rocm-core")] == ["6.3.0.60300-39~22.04"]
    assert len(index.named("comgr")) == 2
    assert index.named("nothing") == ()


def test_a_folded_field_is_one_text(cases: Path) -> None:
    package = Index(in_step(cases)).named("hip-runtime-amd6.3.0")[0]
    names = [r.name for group in parse_relations(package.depends) for r in group]
    assert names == ["libc6", "libnuma1", "comgr6.3.0", "hsa-rocr6.3.0", "rocm-core6.3.0"]


def test_alternatives_need_no_blanks(cases: Path) -> None:
    package = Index(in_step(cases)).named("rocm-llvm6.3.0")[0]
    groups = [tuple(r.name for r in group) for group in parse_relations(package.depends)]
    assert groups[2] == ("libstdc++6", "libstdc++8")
    assert len(groups[3]) == 3


def test_the_newer_of_two_builds_is_known(cases: Path) -> None:
    versions = [p.version for p in Index(in_step(cases)).named("comgr")]
    assert compare(versions[0], versions[1]) == -1


def test_a_missing_version_comes_from_the_file_name(cases: Path) -> None:
    index = Index(in_step(cases))
    assert index.named("rocm-cmake")[0].version == "0.14.0.60300-39~22.04"
    assert index.named("amdgpu-dkms")[0].version == "1:6.10.5.60300-2084815.22.04"


def test_sizes_are_in_bytes(cases: Path) -> None:
    package = Index(in_step(cases)).named("rocm-core6.3.0")[0]
    assert (package.size, package.installed_size) == (13080, 120 * 1024)


def test_every_field_is_read_by_its_name() -> None:
    text = (
        f"SHA256: {DIGEST.upper()}\nsize: 7\nEssential: yes\nMulti-Arch: same\nProvides: a,\n b\n"
        "Pre-Depends: c\nConflicts: d\nBreaks: e\nFilename: ./pool/x_1_all.deb\nVersion: 1\n"
        "Architecture: all\nDepends: f\nPackage: x\nUnknown: y\n folded\n"
    )
    assert parse_package(text) == Package(
        name="x",
        version="1",
        architecture="all",
        filename="pool/x_1_all.deb",
        size=7,
        sha256=DIGEST,
        depends="f",
        pre_depends="c",
        provides="a, b",
        conflicts="d",
        breaks="e",
    )


@pytest.mark.parametrize(
    "text",
    [
        "Package: x\n",
        "Package: x\nFilename: x.deb\n",
        "Version: 1\n",
        "Package: x\nVersion: 1\nSize: big\n",
        "Package: x\nVersion: 1\nSize: -1\n",
        f"Package: x\nVersion: 1\nSize: {'1' * 5000}\n",
        "Package: x\nVersion: 1\nSize: \u0661\n",
        "Package: x\nVersion: 1\nInstalled-Size: 1.5\n",
        "Package: x\nVersion: 1\nSHA256: abc\n",
        f"Package: x\nVersion: 1\nSHA256: {'g' * 64}\n",
    ],
)
def test_an_entry_that_makes_no_sense_is_an_error(text: str) -> None:
    with pytest.raises(RepositoryError):
        parse_package(text)


def test_providers_are_found() -> None:
    index = Index(
        "Package: a\nVersion: 1\nProvides: virtual (= 2), other\n\n"
        "Package: b\nVersion: 1\nprovides: other:amd64,\n virtual\n\nPackage: c\nVersion: 1\n"
    )
    assert [p.name for p in index.providing("virtual")] == ["a", "b"]
    assert [p.name for p in index.providing("other")] == ["a", "b"]
    assert index.providing("a") == ()


@pytest.mark.parametrize("gap", ["\n\n", "\n\n\n", "\n \n", "\n\t\n", "\r\n\r\n"])
def test_entries_are_apart_however_blank_the_line_is(gap: str) -> None:
    text = f"Package: a\nVersion: 1{gap}Package: b\nVersion: 2{gap}"
    assert Index(text).names() == ("a", "b")
    assert [p.version for p in Index(text)] == ["1", "2"]


LINE = st.text(st.characters(codec="ascii", categories=["L", "N", "P", "Zs"]), max_size=20)
FIELDS = st.dictionaries(
    st.from_regex(r"[A-Za-z][A-Za-z0-9-]{0,10}", fullmatch=True).map(str.title),
    st.tuples(LINE.filter(lambda t: t.strip() != ""), st.lists(LINE.filter(str.strip), max_size=3)),
    min_size=1,
    max_size=6,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(FIELDS, min_size=1, max_size=4))
def test_paragraphs_are_read_as_python_debian_does(paragraphs: list[dict[str, object]]) -> None:
    text = "\n\n".join(
        "\n".join(
            f"{name}: {value[0]}" + "".join(f"\n {line}" for line in value[1])  # type: ignore[index]  # text or a pair
            for name, value in paragraph.items()
        )
        for paragraph in paragraphs
    )
    theirs = [
        {name.lower(): [part.strip() for part in value.split("\n")] for name, value in p.items()}
        for p in Packages.iter_paragraphs(text.encode(), use_apt_pkg=False, encoding="utf-8")
    ]
    ours = [
        {name: [part.strip() for part in value.split("\n")] for name, value in fields(s).items()}
        for s in stanzas(text)
    ]
    for paragraph in theirs:
        for parts in paragraph.values():
            parts[:] = ["" if part == "." and part is not parts[0] else part for part in parts]
    assert ours == theirs


def test_an_index_of_fifty_thousand_entries_is_quick() -> None:
    import time  # noqa: PLC0415 - for this test alone

    numbers = random.Random(0)  # noqa: S311 - test data, not a secret
    entry = (
        "Package: package-{n}\nSource: s\nVersion: 1.{n}-1\nInstalled-Size: {n}\n"
        "Architecture: amd64\nDepends: package-{d} (>= 1.0), libc6 (>= 2.36), a | b\n"
        "Description: text\nHomepage: https://example.invalid/{n}\nDescription-md5: 0\n"
        "Tag: a::b, c::d,\n e::f\nSection: x\nPriority: optional\nFilename: pool/p/{n}.deb\n"
        f"Size: {{n}}\nMD5sum: {'0' * 32}\nSHA256: {DIGEST}\n"
    )
    text = "\n".join(entry.format(n=n, d=numbers.randrange(50_000)) for n in range(50_000))
    start = time.perf_counter()
    index = Index(text)
    assert index.named("package-49999")[0].version == "1.49999-1"
    assert len(index) == 50_000
    elapsed = time.perf_counter() - start
    # 0.2 s on the machine of the first measurement; the bound only notices a wrong algorithm.
    assert elapsed < 5


# Release files.


def test_the_sample_release_is_read(cases: Path) -> None:
    release = parse_release((cases / "apt/in-step/dists/jammy/Release").read_text())
    assert (release.suite, release.codename) == ("jammy", "jammy")
    assert release.origin == "repo.example.invalid"
    assert release.components == ("main", "proprietary")
    assert release.architectures == ("amd64", "i386")
    assert release.date is not None
    assert release.date.isoformat() == "2025-01-01T00:00:00+00:00"
    assert release.valid_until is None
    assert not release.acquire_by_hash
    size, digest = release.files["main/binary-amd64/Packages.gz"]
    assert size == 1586
    assert digest.startswith("acefde1e")
    assert len(release.files) == 3


def test_weak_digests_alone_are_refused() -> None:
    text = f"Suite: x\nMD5Sum:\n {'0' * 32} 1 a\nSHA1:\n {'0' * 40} 1 a\n"
    with pytest.raises(RepositoryError, match="no SHA-256"):
        parse_release(text)


@pytest.mark.parametrize(
    "line",
    [
        "abc 1 a",
        f"{DIGEST} x a",
        f"{DIGEST} -1 a",
        f"{DIGEST} {'1' * 5000} a",
        f"{DIGEST} 1",
        f"{DIGEST} 1 a b",
    ],
)
def test_a_digest_line_that_is_none_is_refused(line: str) -> None:
    with pytest.raises(RepositoryError):
        parse_release(f"SHA256:\n {line}\n")


@pytest.mark.parametrize("date", ["yesterday", "99", "Wed, 45 Jan 2025 00:00:00 UTC"])
def test_a_date_that_is_none_is_refused(date: str) -> None:
    with pytest.raises(RepositoryError, match="is not a date"):
        parse_release(f"Valid-Until: {date}\nSHA256:\n {DIGEST} 1 a\n")


@pytest.mark.parametrize("zone", ["UTC", "GMT", "+0000", "Z"])
def test_dates_may_be_written_with_any_zone(zone: str) -> None:
    text = f"Date: Sat, 07 Jun 2025 09:10:11 {zone}\nAcquire-By-Hash: yes\nSHA256:\n {DIGEST} 1 a\n"
    release = parse_release(text)
    assert release.date is not None
    assert release.date.isoformat() == "2025-06-07T09:10:11+00:00"
    assert release.acquire_by_hash


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("Package:Version SHA256\n .1a-,()|<>=\t\r#é"), max_size=200))
def test_noise_is_an_error_of_ours_or_nothing(text: str) -> None:
    with contextlib.suppress(RepositoryError):
        list(Index(text))
    with contextlib.suppress(RepositoryError):
        parse_release(text)
    with contextlib.suppress(RepositoryError):
        parse_relations(text)
