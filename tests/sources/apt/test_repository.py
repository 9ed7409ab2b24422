"""Whole repositories, signed by real keys and served over HTTP or from files."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from rocmenv.errors import RepositoryError, SignatureError, TransferError
from rocmenv.fetch.archive import Tree
from rocmenv.fetch.pipeline import Job, download_and_unpack
from rocmenv.fetch.transfer import Downloads, NotThereError
from rocmenv.sources.apt import repository as module
from rocmenv.sources.apt.closure import close
from rocmenv.sources.apt.dpkg import UNKNOWN
from rocmenv.sources.apt.index import Index, Package
from rocmenv.sources.apt.repository import LoadedRepository, Repository
from tests.fetch.keys import Keys, key_folder
from tests.fetch.server import Site
from tests.sources.apt.builders import (
    PREFIX,
    ROCM,
    build_deb,
    index_files,
    release_text,
    stanza,
)
from tests.tools import tool

if TYPE_CHECKING:
    from collections.abc import Iterator

BASE = "/rocm/apt/6.3"
DISTS = f"{BASE}/dists/jammy"
INDEX = "main/binary-amd64/Packages"
TEXT = (
    "Package: rocm\nVersion: 1:6.3.0-39~22.04\nArchitecture: amd64\n"
    f"Filename: pool/a b/rocm_1%3a6.3.0+x-39~22.04_amd64.deb\nSize: 5\nSHA256: {'0' * 64}\n"
)


class Signer(NamedTuple):
    keys: Keys
    fingerprint: str
    keyring: bytes


@pytest.fixture(scope="module")
def signer() -> Iterator[Signer]:
    with key_folder() as keys:
        fingerprint = keys.make("rocm")
        keys.make("other")
        yield Signer(keys, fingerprint, keys.export("rocm", armour=True))


def publish(
    site: Site, signer: Signer, files: dict[str, bytes], *, more: str = "", place: str = DISTS
) -> bytes:
    """Put `files` and an InRelease file with their digests on the server."""
    release = release_text(files, more)
    site.files |= {f"{place}/{name}": data for name, data in files.items()}
    site.files[f"{place}/InRelease"] = signer.keys.clearsign(release, "rocm")
    return release


def repository(site: Site, signer: Signer) -> Repository:
    pins = frozenset({signer.fingerprint})
    return Repository(f"{site.url}{BASE}/", "jammy", ("main",), "amd64", signer.keyring, pins)


def test_a_signed_repository_is_loaded(site: Site, signer: Signer, downloads: Downloads) -> None:
    publish(site, signer, index_files(TEXT))
    loaded = repository(site, signer).load(downloads)
    assert loaded.index.names() == ("rocm",)
    assert loaded.notes == ()
    assert site.count(f"{DISTS}/{INDEX}.xz") == 1
    assert site.count(f"{DISTS}/{INDEX}.gz") == 0


def test_addresses_are_quoted(site: Site, signer: Signer, downloads: Downloads) -> None:
    publish(site, signer, index_files(TEXT))
    loaded = repository(site, signer).load(downloads)
    artifact = loaded.artifact(loaded.index.named("rocm")[0])
    name = "rocm_1%253a6.3.0%2Bx-39~22.04_amd64.deb"
    assert artifact.url == f"{site.url}{BASE}/pool/a%20b/{name}"
    assert artifact.name == "rocm_1%3a6.3.0+x-39~22.04_amd64.deb"
    assert (artifact.size, artifact.sha256) == (5, "0" * 64)


@pytest.mark.parametrize("ending", [".gz", "", ".xz"])
def test_any_form_of_the_index_will_do(
    site: Site, signer: Signer, downloads: Downloads, ending: str
) -> None:
    files = index_files(TEXT)
    publish(site, signer, {f"{INDEX}{ending}": files[f"{INDEX}{ending}"]})
    assert len(repository(site, signer).load(downloads).index) == 1


def test_a_form_that_is_announced_and_not_kept_is_passed_over(
    site: Site, signer: Signer, downloads: Downloads
) -> None:
    publish(site, signer, index_files(TEXT))
    del site.files[f"{DISTS}/{INDEX}.xz"]
    assert len(repository(site, signer).load(downloads).index) == 1
    for ending in (".gz", ""):
        del site.files[f"{DISTS}/{INDEX}{ending}"]
    with pytest.raises(RepositoryError, match="announces .*, and lacks it: .*Packages"):
        repository(site, signer).load(downloads)


def test_no_more_of_an_index_is_read_than_its_release_announces(
    site: Site, signer: Signer, downloads: Downloads, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mirror could send bytes without end."""
    monkeypatch.setattr(module, "_SURPLUS", 1000)
    publish(site, signer, index_files(TEXT))
    for ending in (".xz", ".gz", ""):
        site.files[f"{DISTS}/{INDEX}{ending}"] = b"x" * 5000
    with pytest.raises(TransferError, match="is larger than"):
        repository(site, signer).load(downloads)


def test_an_index_that_unpacks_without_end_is_refused(
    site: Site, signer: Signer, downloads: Downloads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_INDEX", 100)
    publish(site, signer, index_files(TEXT))
    with pytest.raises(RepositoryError, match="unpacks to more than 100 bytes"):
        repository(site, signer).load(downloads)


def test_the_index_is_found_by_its_digest(site: Site, signer: Signer, downloads: Downloads) -> None:
    files = index_files(TEXT)
    publish(site, signer, files, more="Acquire-By-Hash: yes\n")
    assert len(repository(site, signer).load(downloads).index) == 1
    digest = hashlib.sha256(files[f"{INDEX}.xz"]).hexdigest()
    hashed = f"{DISTS}/main/binary-amd64/by-hash/SHA256/{digest}"
    assert site.count(hashed) == 1
    site.files[hashed] = files[f"{INDEX}.xz"]
    site.files[f"{DISTS}/{INDEX}.xz"] = b"of the next release already"
    assert len(repository(site, signer).load(downloads).index) == 1


def test_two_files_are_the_older_form(site: Site, signer: Signer, downloads: Downloads) -> None:
    release = publish(site, signer, index_files(TEXT))
    del site.files[f"{DISTS}/InRelease"]
    site.files[f"{DISTS}/Release"] = release
    with pytest.raises(SignatureError, match="is not signed"):
        repository(site, signer).load(downloads)
    site.files[f"{DISTS}/Release.gpg"] = signer.keys.detach(release, "rocm")
    assert len(repository(site, signer).load(downloads).index) == 1
    site.files[f"{DISTS}/Release"] = release.replace(b"jammy", b"noble")
    with pytest.raises(SignatureError, match="is not the one"):
        repository(site, signer).load(downloads)


def test_a_bad_signature_is_not_got_round_by_the_older_form(
    site: Site, signer: Signer, downloads: Downloads
) -> None:
    release = publish(site, signer, index_files(TEXT))
    site.files[f"{DISTS}/Release"] = release
    site.files[f"{DISTS}/Release.gpg"] = signer.keys.detach(release, "rocm")
    site.files[f"{DISTS}/InRelease"] += b"Suite: evil\n"
    with pytest.raises(SignatureError, match=r"text after .*InRelease"):
        repository(site, signer).load(downloads)
    assert site.count(f"{DISTS}/Release") == 0


def test_another_signer_is_refused(site: Site, signer: Signer, downloads: Downloads) -> None:
    release = publish(site, signer, index_files(TEXT))
    site.files[f"{DISTS}/InRelease"] = signer.keys.clearsign(release, "other")
    both = signer.keys.export("rocm", "other")
    with pytest.raises(SignatureError, match="not the key expected"):
        replace(repository(site, signer), keyring=both).load(downloads)
    with pytest.raises(SignatureError, match="not in the key ring"):
        repository(site, signer).load(downloads)
    trusting = replace(repository(site, signer), keyring=both, fingerprints=None)
    assert len(trusting.load(downloads).index) == 1


def test_a_login_page_is_named(site: Site, signer: Signer, downloads: Downloads) -> None:
    """R14, for the signed file."""
    site.always[f"{DISTS}/InRelease"] = ("say", b"<!DOCTYPE html>Sign in", "text/html")
    with pytest.raises(SignatureError, match="a web page came"):
        repository(site, signer).load(downloads)


def test_no_such_suite_is_not_there(site: Site, signer: Signer, downloads: Downloads) -> None:
    with pytest.raises(NotThereError, match="dists/jammy/Release"):
        repository(site, signer).load(downloads)


def test_the_sample_in_step_is_loaded(
    site: Site, signer: Signer, downloads: Downloads, cases: Path
) -> None:
    """R17."""
    loaded = sample(site, signer, downloads, cases, "in-step")
    assert len(loaded.index) == 9


def test_the_sample_out_of_step_is_refused_with_both_sizes(
    site: Site, signer: Signer, downloads: Downloads, cases: Path
) -> None:
    """R17: for days the vendor's index had another size than its Release file said."""
    with pytest.raises(RepositoryError) as caught:
        sample(site, signer, downloads, cases, "out-of-step")
    folder = cases / "apt/out-of-step/dists/jammy/main/binary-amd64"
    assert str((folder / "Packages.gz").stat().st_size) in caught.value.message
    assert "1586" in caught.value.message
    assert "later" in (caught.value.hint or "")
    assert "--mirror" in (caught.value.hint or "")


def sample(
    site: Site, signer: Signer, downloads: Downloads, cases: Path, name: str
) -> LoadedRepository:
    folder = cases / "apt" / name / "dists/jammy"
    for path in folder.rglob("*"):
        if path.is_file():
            site.files[f"{DISTS}/{path.relative_to(folder).as_posix()}"] = path.read_bytes()
    release = (folder / "Release").read_bytes()
    site.files[f"{DISTS}/InRelease"] = signer.keys.clearsign(release, "rocm")
    return repository(site, signer).load(downloads)


def test_an_index_of_the_right_size_and_other_content_is_refused(
    site: Site, signer: Signer, downloads: Downloads
) -> None:
    publish(site, signer, {INDEX: TEXT.encode()})
    site.files[f"{DISTS}/{INDEX}"] = TEXT.replace("39", "40").encode()
    with pytest.raises(RepositoryError, match="another SHA-256"):
        repository(site, signer).load(downloads)


def test_an_index_that_does_not_unpack_is_refused(
    site: Site, signer: Signer, downloads: Downloads
) -> None:
    publish(site, signer, {f"{INDEX}.gz": index_files(TEXT)[f"{INDEX}.gz"][:-6]})
    with pytest.raises(RepositoryError, match="cannot be unpacked"):
        repository(site, signer).load(downloads)


def test_an_expired_index_is_refused_with_its_date(
    site: Site, signer: Signer, downloads: Downloads
) -> None:
    more = "Valid-Until: Wed, 08 Jan 2025 00:00:00 UTC\n"
    publish(site, signer, index_files(TEXT), more=more)
    with pytest.raises(RepositoryError, match="expired on 2025-01-08") as caught:
        repository(site, signer).load(downloads)
    assert "clock" in (caught.value.hint or "")
    now = datetime(2025, 1, 7, tzinfo=timezone.utc)
    assert len(repository(site, signer).load(downloads, now=now).index) == 1


def test_an_index_from_the_future_is_refused(
    site: Site, signer: Signer, downloads: Downloads
) -> None:
    publish(site, signer, index_files(TEXT))
    now = datetime(2020, 1, 7, tzinfo=timezone.utc)
    with pytest.raises(RepositoryError, match="from the future"):
        repository(site, signer).load(downloads, now=now)


def test_an_architecture_that_is_not_listed_is_named(
    site: Site, signer: Signer, downloads: Downloads
) -> None:
    publish(site, signer, index_files(TEXT))
    arm = replace(repository(site, signer), architecture="arm64")
    with pytest.raises(RepositoryError, match=r"main/binary-arm64/Packages.*amd64"):
        arm.load(downloads)


def test_another_suites_file_is_noted(site: Site, signer: Signer, downloads: Downloads) -> None:
    place = f"{BASE}/dists/noble"
    publish(site, signer, index_files(TEXT), place=place)
    loaded = replace(repository(site, signer), suite="noble").load(downloads)
    assert loaded.notes == ("the repository calls its suite `jammy`, not `noble`",)


@pytest.mark.parametrize("suite", ["./", "/", "ubuntu/", "./ubuntu/"])
def test_flat_repositories_have_everything_in_one_folder(
    site: Site, signer: Signer, downloads: Downloads, suite: str
) -> None:
    place = f"{BASE}/ubuntu" if "ubuntu" in suite else BASE
    publish(site, signer, index_files(TEXT, "Packages"), more="Acquire-By-Hash: yes\n", place=place)
    flat = replace(repository(site, signer), suite=suite, components=())
    loaded = flat.load(downloads)
    assert loaded.index.names() == ("rocm",)
    assert loaded.artifact(loaded.index.named("rocm")[0]).url.startswith(f"{site.url}{BASE}/pool")
    assert site.seen[1].path.startswith(f"{place}/by-hash/SHA256/")


def test_components_are_read_together(site: Site, signer: Signer, downloads: Downloads) -> None:
    extra = index_files(TEXT.replace("rocm", "more", 1), "extra/binary-amd64/Packages")
    publish(site, signer, {**index_files(TEXT), **extra})
    both = replace(repository(site, signer), components=("main", "extra"))
    assert both.load(downloads).index.names() == ("rocm", "more")


@pytest.mark.parametrize("filename", ["../x.deb", "/x.deb", "a/../../x", ""])
def test_a_file_name_that_leaves_the_repository_is_refused(
    site: Site, signer: Signer, downloads: Downloads, filename: str
) -> None:
    publish(site, signer, index_files(TEXT))
    loaded = repository(site, signer).load(downloads)
    package = replace(loaded.index.named("rocm")[0], filename=filename)
    with pytest.raises(RepositoryError):
        loaded.artifact(package)


@pytest.mark.parametrize("gap", ["sha256", "size"])
def test_a_package_without_digest_or_size_is_refused(
    site: Site, signer: Signer, downloads: Downloads, gap: str
) -> None:
    publish(site, signer, index_files(TEXT))
    loaded = repository(site, signer).load(downloads)
    package: Package = replace(loaded.index.named("rocm")[0], **{gap: None})  # type: ignore[arg-type]  # a field by name
    with pytest.raises(RepositoryError, match=r"no size or no SHA-256"):
        loaded.artifact(package)


def mapping(member: str) -> str | None:
    if member == PREFIX:
        return ""
    return member.removeprefix(f"{PREFIX}/") if member.startswith(f"{PREFIX}/") else None


@pytest.mark.parametrize("scheme", ["http", "file"])
def test_a_release_is_installed_from_its_index(
    site: Site, signer: Signer, downloads: Downloads, tmp_path: Path, scheme: str
) -> None:
    tool("dpkg-deb")
    texts = []
    for deb in ROCM:
        path = build_deb(deb, tmp_path)
        place = f"pool/main/{deb.filename}"
        site.files[f"{BASE}/{place}"] = path.read_bytes()
        texts.append(stanza(path, place))
    publish(site, signer, index_files("\n".join(texts)))
    base = f"{site.url}{BASE}"
    if scheme == "file":
        for name, data in site.files.items():
            path = tmp_path / "mirror" / name.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        base = (tmp_path / "mirror" / BASE.lstrip("/")).as_uri()
    loaded = replace(repository(site, signer), base_url=base).load(downloads)
    closure = close(
        ["rocm-hip-sdk6.3.0"], loaded.index, architecture="amd64", on_host=UNKNOWN.meets
    )
    assert list(map(str, closure.unmet)) == ["libc6 (>= 2.17)", "perl | perl-base"]
    tree = Tree(tmp_path / "tree")
    jobs = [Job(loaded.artifact(p), p.name, mapping) for p in closure.packages]
    counted: list[int] = []
    paths = download_and_unpack(jobs, downloads, tree, workers=2, on_bytes=counted.append)
    settled = tree.settle()
    assert sum(counted) == sum(p.size or 0 for p in closure.packages)
    assert settled.paths == (
        ".info/version",
        "bin/amdclang",
        "bin/hipcc",
        "lib/llvm/bin/clang",
        "llvm",
    )
    assert (tmp_path / "tree/bin/amdclang").read_bytes().startswith(b"clang")
    for path in paths:
        downloads.discard(path)
    assert list((downloads.cache / "sha256").iterdir()) == []


def test_a_package_that_was_replaced_is_refused(
    site: Site, signer: Signer, downloads: Downloads, tmp_path: Path
) -> None:
    """R17: packages of one version number had been replaced by others of the same number."""
    publish(site, signer, index_files(TEXT))
    loaded = repository(site, signer).load(downloads)
    artifact = loaded.artifact(loaded.index.named("rocm")[0])
    site.files[artifact.url.removeprefix(site.url)] = b"12345"
    with pytest.raises(TransferError):
        download_and_unpack(
            [Job(artifact, "rocm", mapping)], downloads, Tree(tmp_path / "t"), workers=2
        )
    assert list((tmp_path / "t").iterdir()) == []
    assert Index(TEXT).names() == ("rocm",)
