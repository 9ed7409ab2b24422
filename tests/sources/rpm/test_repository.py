"""Whole repositories made by createrepo_c, signed by real keys and served over HTTP."""

from __future__ import annotations

import gzip
import hashlib
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rocmenv.errors import RepositoryError, SignatureError, TransferError
from rocmenv.fetch.archive import Settled, Tree
from rocmenv.fetch.pipeline import Job, download_and_unpack
from rocmenv.fetch.transfer import Downloads, NotThereError
from rocmenv.model.release import Artifact
from rocmenv.sources.rpm import repository as module
from rocmenv.sources.rpm.repository import LoadedRepository, Repository
from tests.sources.apt.builders import Deb, build_deb
from tests.sources.rpm.builders import PREFIX
from tests.sources.rpm.conftest import PLACE, Mirror
from tests.tools import tool

X86 = frozenset({"x86_64", "noarch"})


def repository(mirror: Mirror, *, key: str = "rocm") -> Repository:
    ring = mirror.made.keys.export("rocm", "other")
    pins = frozenset(mirror.made.keys.fingerprints(key))
    return Repository(f"{mirror.url}/", X86, ring, pins)


def unpack(loaded: LoadedRepository, name: str, downloads: Downloads, root: Path) -> Settled:
    tree = Tree(root)
    jobs = [loaded.job(package, str) for package in loaded.index.named(name)]
    download_and_unpack(jobs, downloads, tree, workers=2)
    return tree.settle()


def test_a_signed_repository_is_loaded(mirror: Mirror, downloads: Downloads) -> None:
    mirror.publish()
    loaded = repository(mirror).load(downloads)
    assert loaded.is_signed
    assert loaded.notes == ()
    assert loaded.origin == mirror.url
    assert "hipcc6.3.0" in loaded.index.names()
    job = loaded.job(loaded.index.named("hipcc6.3.0")[0], str)
    assert job.form == "rpm"
    assert job.voucher is None
    name = "hipcc6.3.0-6.3.0.60300-39.el8.x86_64.rpm"
    content = mirror.site.files[f"{PLACE}/{name}"]
    digest = hashlib.sha256(content).hexdigest()
    assert job.artifact == Artifact(f"{mirror.url}/{name}", name, len(content), digest)


@pytest.mark.parametrize("kind", ["gz", "xz", "bz2"])
def test_any_form_of_the_index_will_do(mirror: Mirror, downloads: Downloads, kind: str) -> None:
    mirror.publish(f"--general-compress-type={kind}")
    assert len(repository(mirror).load(downloads).index) == 11


@pytest.mark.parametrize("kind", ["sha512", "sha384"])
def test_stronger_digests_of_the_index_will_do(
    mirror: Mirror, downloads: Downloads, kind: str
) -> None:
    mirror.publish(f"--repomd-checksum={kind}")
    assert len(repository(mirror).load(downloads).index) == 11


def test_older_digests_are_refused_with_a_way_out(mirror: Mirror, downloads: Downloads) -> None:
    mirror.publish("--repomd-checksum=sha1")
    with pytest.raises(RepositoryError, match="only `sha1` as digest") as caught:
        repository(mirror).load(downloads)
    assert "newer createrepo_c" in str(caught.value.hint)
    mirror.publish("--checksum=sha1", "--repomd-checksum=sha256")
    loaded = repository(mirror).load(downloads)
    with pytest.raises(RepositoryError, match="the kind `sha1?` for `rccl6.3.0`, no SHA-256"):
        loaded.job(loaded.index.named("rccl6.3.0")[0], str)


def test_an_index_without_a_signature_leaves_it_to_the_packages(
    mirror: Mirror, downloads: Downloads, tmp_path: Path
) -> None:
    mirror.publish(packages=True, key=None)
    loaded = repository(mirror).load(downloads)
    assert not loaded.is_signed
    assert loaded.notes == ("the index is not signed: each package's own signature is checked",)
    settled = unpack(loaded, "rocm-llvm6.3.0", downloads, tmp_path / "t")
    assert (tmp_path / "t" / PREFIX / "lib/llvm/bin/zz").read_bytes() == b"clang\n" * 50_000
    assert settled.files == 7


def test_nothing_that_nobody_signed_is_unpacked(
    mirror: Mirror, downloads: Downloads, tmp_path: Path
) -> None:
    mirror.publish(key=None)
    loaded = repository(mirror).load(downloads)
    with pytest.raises(SignatureError, match="neither the package `rccl6.3.0` nor the index"):
        unpack(loaded, "rccl6.3.0", downloads, tmp_path / "t")
    assert not [path for path in (tmp_path / "t").rglob("*") if path.is_file()]


def test_a_bad_signature_is_never_passed_over(mirror: Mirror, downloads: Downloads) -> None:
    """Also where each package would have a good one."""
    mirror.publish(packages=True, key="other")
    with pytest.raises(SignatureError, match="not the key expected") as caught:
        repository(mirror).load(downloads)
    assert "repomd.xml" in caught.value.message
    mirror.publish(packages=True)
    mirror.site.files[mirror.repomd] += b"\n<!-- -->"
    with pytest.raises(SignatureError, match="not the one that key"):
        repository(mirror).load(downloads)
    mirror.site.files[f"{mirror.repomd}.asc"] = b""
    with pytest.raises(SignatureError, match="is empty"):
        repository(mirror).load(downloads)
    mirror.site.always[f"{mirror.repomd}.asc"] = 500
    with pytest.raises(TransferError):
        repository(mirror).load(downloads)


def test_packages_of_another_key_are_refused(
    mirror: Mirror, downloads: Downloads, tmp_path: Path
) -> None:
    mirror.publish(packages=True, key=None)
    loaded = repository(mirror, key="other").load(downloads)
    with pytest.raises(SignatureError, match="not the key expected"):
        unpack(loaded, "rccl6.3.0", downloads, tmp_path / "t")


def test_a_package_that_is_not_the_listed_one_is_refused(
    mirror: Mirror, downloads: Downloads, tmp_path: Path
) -> None:
    mirror.publish()
    path = mirror.find("rccl6.3.0-")
    mirror.site.files[path] = mirror.site.files[path][:-1] + b"x"
    loaded = repository(mirror).load(downloads)
    with pytest.raises(TransferError):
        unpack(loaded, "rccl6.3.0", downloads, tmp_path / "t")


def test_an_unsigned_index_cannot_pass_one_package_off_as_another(
    mirror: Mirror, downloads: Downloads, tmp_path: Path
) -> None:
    """Both are signed by the right key; only the names in the index are changed."""
    mirror.publish("--general-compress-type=gz", "--simple-md-filenames", packages=True, key=None)
    exchange(
        mirror,
        lambda text: (
            text.replace("rccl", "????")
            .replace("rocblas", "rccl")
            .replace('href="rccl6', 'href="rocblas6')
        ),
    )
    loaded = repository(mirror).load(downloads)
    with pytest.raises(SignatureError, match="the server sent `rocblas6.3.0 "):
        unpack(loaded, "rccl6.3.0", downloads, tmp_path / "t")


def exchange(
    mirror: Mirror, change: Callable[[str], str], pack: Callable[[bytes], bytes] = gzip.compress
) -> None:
    """Put a changed index in place, with a `repomd.xml` that fits it."""
    path = mirror.find("primary.xml")
    before = mirror.site.files[path]
    text = gzip.decompress(before)
    plain = change(text.decode()).encode()
    after = pack(plain)
    mirror.site.files[path] = after
    repomd = mirror.site.files[mirror.repomd].decode()
    for old, new in (
        (hashlib.sha256(before).hexdigest(), hashlib.sha256(after).hexdigest()),
        (hashlib.sha256(text).hexdigest(), hashlib.sha256(plain).hexdigest()),
        (f"<size>{len(before)}<", f"<size>{len(after)}<"),
        (f"<open-size>{len(text)}<", f"<open-size>{len(plain)}<"),
    ):
        repomd = repomd.replace(old, new)
    mirror.site.files[mirror.repomd] = repomd.encode()


def test_an_index_in_zstd_is_read(mirror: Mirror, downloads: Downloads) -> None:
    """As newer createrepo_c make it; what it is is told by its first bytes."""
    mirror.publish("--general-compress-type=gz", "--simple-md-filenames")

    def pack(plain: bytes) -> bytes:
        words = [tool("zstd"), "-q", "-c"]
        return subprocess.run(words, input=plain, capture_output=True, check=True).stdout

    exchange(mirror, str, pack)
    mirror.sign()
    assert len(repository(mirror).load(downloads).index) == 11


def test_an_index_out_of_step_is_refused_with_both_sizes(
    mirror: Mirror, downloads: Downloads
) -> None:
    mirror.publish()
    path = mirror.find("primary.xml")
    content = mirror.site.files[path]
    mirror.site.files[path] = content + b"\0" * 7
    with pytest.raises(RepositoryError) as caught:
        repository(mirror).load(downloads)
    assert f"it has {len(content) + 7} bytes, and {len(content)} are announced" in str(caught.value)
    assert "try again later" in str(caught.value.hint)
    mirror.site.files[path] = content[:-1] + bytes([content[-1] ^ 1])
    with pytest.raises(RepositoryError, match="but another SHA256"):
        repository(mirror).load(downloads)
    del mirror.site.files[path]
    with pytest.raises(RepositoryError, match="announces `repodata/.*, and lacks it"):
        repository(mirror).load(downloads)


def republish(mirror: Mirror, pattern: str, text: str) -> None:
    """Change the `repomd.xml` and sign it again."""
    content = mirror.site.files[mirror.repomd].decode()
    changed, count = re.subn(pattern, text, content, count=1, flags=re.DOTALL)
    assert count
    mirror.site.files[mirror.repomd] = changed.encode()
    mirror.sign()


@pytest.mark.parametrize(
    ("pattern", "text", "words"),
    [
        (r"<open-size>\d+", "<open-size>10", "unpacks to more than the 10 bytes announced"),
        (r"<open-size>\d+", "<open-size>99999999", "unpacked` is out of step"),
        (r"(<open-checksum[^>]*>)\w+", r"\g<1>00", "unpacked` is out of step"),
        (r"<size>\d+", "<size>x", "as size of its index"),
        (r"<size>\d+", f"<size>{'1' * 5000}", "as size of its index"),
        (r"<checksum.*?</checksum>", "", "no digest of its index"),
        (r'type="primary"', 'type="other-primary"', r"no index `primary` \(it has: filelists"),
        (r'href="repodata', 'href="../repodata', "as place of its index"),
        (r'href="repodata', 'href="https://evil.invalid/repodata', "as place of its index"),
        (r"<repomd", '<!DOCTYPE repomd [<!ENTITY a "b">]><repomd', "document type"),
        (r".*", "<html/>", "not the index of an RPM repository"),
    ],
)
def test_an_odd_repomd_is_refused(
    mirror: Mirror, downloads: Downloads, pattern: str, text: str, words: str
) -> None:
    mirror.publish()
    republish(mirror, pattern, text)
    with pytest.raises(RepositoryError, match=words):
        repository(mirror).load(downloads)


def test_an_index_without_open_digests_is_read(mirror: Mirror, downloads: Downloads) -> None:
    mirror.publish()
    republish(mirror, r"<open-checksum.*?</open-checksum>", "")
    assert len(repository(mirror).load(downloads).index) == 11


def test_what_is_no_archive_is_refused(mirror: Mirror, downloads: Downloads) -> None:
    mirror.publish()
    path = mirror.find("primary.xml")
    cut = mirror.site.files[path][:-20]
    mirror.site.files[path] = cut
    digest = hashlib.sha256(cut).hexdigest()
    republish(mirror, r"(<checksum[^>]*>)\w+", rf"\g<1>{digest}")
    republish(mirror, r"<size>\d+", f"<size>{len(cut)}")
    with pytest.raises(RepositoryError, match="cannot be unpacked: .*ends too early"):
        repository(mirror).load(downloads)


def test_no_more_of_an_index_is_read_than_is_announced(
    mirror: Mirror, downloads: Downloads, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mirror could send bytes without end."""
    monkeypatch.setattr(module, "_SURPLUS", 1000)
    mirror.publish()
    mirror.site.files[mirror.find("primary.xml")] += bytes(1_000_000)
    with pytest.raises(TransferError, match="is larger than"):
        repository(mirror).load(downloads)


@pytest.mark.parametrize("href", ["/etc/x.rpm", "../x.rpm", "a/../../x.rpm", "http://x.invalid/x"])
def test_a_package_outside_the_repository_is_refused(
    mirror: Mirror, downloads: Downloads, href: str
) -> None:
    mirror.publish("--general-compress-type=gz", "--simple-md-filenames")
    name = "rccl6.3.0-6.3.0.60300-39.el8.x86_64.rpm"
    exchange(mirror, lambda text: text.replace(f'href="{name}"', f'href="{href}"'))
    mirror.sign()
    loaded = repository(mirror).load(downloads)
    with pytest.raises(RepositoryError, match="as file of `rccl6.3.0`"):
        loaded.job(loaded.index.named("rccl6.3.0")[0], str)


def test_a_repository_that_is_not_there_says_so(mirror: Mirror, downloads: Downloads) -> None:
    with pytest.raises(NotThereError):
        repository(mirror).load(downloads)


def test_both_kinds_of_packages_go_into_one_tree(
    mirror: Mirror, downloads: Downloads, tmp_path: Path
) -> None:
    tool("dpkg-deb")
    mirror.publish(packages=True, key=None)
    deb = build_deb(Deb("one", files={f"{PREFIX}/bin/one": b"1"}), tmp_path)
    content = deb.read_bytes()
    mirror.site.files["/one.deb"] = content
    artifact = Artifact(
        f"{mirror.site.url}/one.deb", "one.deb", len(content), hashlib.sha256(content).hexdigest()
    )
    loaded = repository(mirror).load(downloads)
    jobs = [Job(artifact, "one", str), loaded.job(loaded.index.named("hipcc6.3.0")[0], str)]
    tree = Tree(tmp_path / "t")
    download_and_unpack(jobs, downloads, tree, workers=2)
    tree.settle()
    assert sorted(p.name for p in (tmp_path / "t" / PREFIX / "bin").iterdir()) == ["hipcc", "one"]
