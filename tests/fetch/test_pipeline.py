"""Downloads and unpacking together: order, failures, interrupts."""

from __future__ import annotations

import gzip
import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from rocmenv.errors import ArchiveError, TransferError
from rocmenv.fetch import archive, disk, members, pipeline
from rocmenv.fetch.archive import Tree
from rocmenv.fetch.decode import Stream
from rocmenv.fetch.pipeline import Job, download_and_unpack
from rocmenv.fetch.stop import Interrupted
from rocmenv.fetch.transfer import Downloads, NotThereError
from rocmenv.model.release import Artifact
from tests.fetch.test_archive import deb, listing, member, tar

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rocmenv.fetch.ar import Member
    from rocmenv.fetch.members import Entry
    from tests.fetch.server import Site


def job(site: Site, name: str, size: int = 10, *, body: bytes | None = None) -> Job:
    if body is None:
        body = tar(member(f"bin/{name}", os.urandom(size)))
    body = deb(gzip.compress(body))
    site.files[f"/{name}.deb"] = body
    digest = hashlib.sha256(body).hexdigest()
    return Job(Artifact(f"{site.url}/{name}.deb", f"{name}.deb", len(body), digest), name, str)


def test_everything_is_unpacked_and_counted(
    site: Site, downloads: Downloads, tmp_path: Path
) -> None:
    jobs = [job(site, f"p{n}", 1000 * n) for n in range(1, 8)]
    told: list[int] = []
    tree = Tree(tmp_path / "t")
    paths = download_and_unpack(jobs, downloads, tree, workers=2, on_bytes=told.append)
    tree.settle()
    assert sorted(p for p in listing(tmp_path / "t") if p != "bin") == [
        f"bin/p{n}" for n in range(1, 8)
    ]
    assert [p.name for p in paths] == [j.artifact.sha256 for j in jobs]
    assert sum(told) == sum(j.artifact.size or 0 for j in jobs)


def test_the_largest_is_asked_for_first(site: Site, downloads: Downloads, tmp_path: Path) -> None:
    jobs = [job(site, f"p{n}", 5000 * n) for n in (1, 9, 5, 7, 3, 8)]
    for one in jobs:
        site.always[f"/{one.artifact.name}"] = ("wait", 0.2)
    download_and_unpack(jobs, downloads, Tree(tmp_path / "t"), workers=1)
    assert {r.path for r in site.seen[:4]} == {f"/p{n}.deb" for n in (9, 8, 7, 5)}


def test_nothing_to_do_is_done(downloads: Downloads, tmp_path: Path) -> None:
    assert download_and_unpack([], downloads, Tree(tmp_path / "t"), workers=2) == ()


def test_unpacking_starts_before_the_last_download_ends(
    site: Site, downloads: Downloads, tmp_path: Path
) -> None:
    jobs = [job(site, "quick", 10), job(site, "slow", 200_000)]
    site.always["/slow.deb"] = ("drip", 0.05)
    seen: list[bool] = []
    download_and_unpack(
        jobs,
        downloads,
        Tree(tmp_path / "t"),
        workers=2,
        on_bytes=lambda _n: seen.append((tmp_path / "t/bin/quick").exists()),
    )
    assert seen.count(True) > 1


def test_the_first_failure_stops_the_rest(site: Site, downloads: Downloads, tmp_path: Path) -> None:
    slow = [job(site, f"slow{n}", 3_000_000) for n in range(3)]
    for one in slow:
        site.always[f"/{one.owner}.deb"] = ("drip", 0.05)
    missing = Job(Artifact(f"{site.url}/missing", "missing", 10_000_000, "0" * 64), "missing", str)
    start = time.monotonic()
    with pytest.raises(NotThereError):
        download_and_unpack([*slow, missing], downloads, Tree(tmp_path / "t"), workers=2)
    assert time.monotonic() - start < 2
    assert not downloads.cancel.is_set()
    assert threading.active_count() < 30


def test_content_that_was_not_verified_is_never_unpacked(
    site: Site, downloads: Downloads, tmp_path: Path
) -> None:
    wanted = job(site, "p")
    other = deb(gzip.compress(tar(member("bin/evil", b"x" * 10)), mtime=0))
    site.files["/p.deb"] = other
    with pytest.raises(TransferError):
        download_and_unpack([wanted], downloads, Tree(tmp_path / "t"), workers=2)
    assert listing(tmp_path / "t") == {}


def test_a_bad_archive_is_named(site: Site, downloads: Downloads, tmp_path: Path) -> None:
    bad = job(site, "p", body=tar(member("../evil", b"x")))
    with pytest.raises(ArchiveError, match=r"the archive `p` .*outside"):
        download_and_unpack([bad], downloads, Tree(tmp_path / "t"), workers=2)
    assert not (tmp_path / "evil").exists()


def test_cancel_from_another_thread_ends_all(site: Site, tmp_path: Path) -> None:
    cancel = threading.Event()
    downloads = Downloads(tmp_path / "cache", cancel=cancel)
    jobs = [job(site, "quick"), *(job(site, f"slow{n}", 2_000_000) for n in range(5))]
    for one in jobs[1:]:
        site.always[f"/{one.owner}.deb"] = ("drip", 0.05)
    threading.Timer(0.5, cancel.set).start()
    start = time.monotonic()
    tree = Tree(tmp_path / "t")
    with pytest.raises(Interrupted):
        download_and_unpack(jobs, downloads, tree, workers=2)
    assert time.monotonic() - start < 2


def test_a_thread_that_was_stalled_writes_nothing_after_a_failure(
    site: Site, downloads: Downloads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stalled, content = threading.Event(), members.content

    def slow(stream: Stream, entry: Entry) -> Iterator[tuple[int, memoryview]]:
        if entry.name == "f0":
            stalled.set()
            time.sleep(0.5)
        elif entry.name == "good":
            stalled.wait(10)
        return content(stream, entry)

    monkeypatch.setattr(disk, "content", slow)
    monkeypatch.setattr(pipeline, "_GRACE", 0.1)
    many = job(site, "many", body=tar(*(member(f"f{n}", b"1") for n in range(200))))
    bad = job(site, "bad", body=tar(member("good", b"x"), member("../evil", b"x")))
    tree = Tree(tmp_path / "t")
    with pytest.raises(ArchiveError, match="outside"):
        download_and_unpack([many, bad], downloads, tree, workers=2)
    assert stalled.is_set()
    before = listing(tmp_path / "t")
    time.sleep(0.8)
    assert listing(tmp_path / "t") == before
    assert set(before) == {"f0", "good"}


@pytest.mark.parametrize(("sizes", "most"), [((90_000, 10, 10, 10), 3), ((9_000,) * 4, 1)])
def test_a_package_that_outlasts_all_others_is_decoded_by_several_threads(
    site: Site,
    downloads: Downloads,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sizes: tuple[int, ...],
    most: int,
) -> None:
    seen: list[int] = []

    def watched(source: Member, name: str, *, threads: int) -> Stream:
        seen.append(threads)
        return Stream(source, name, threads=threads)

    monkeypatch.setattr(archive, "Stream", watched)
    jobs = [job(site, f"p{n}", size) for n, size in enumerate(sizes)]
    download_and_unpack(jobs, downloads, Tree(tmp_path / "t"), workers=3)
    assert sorted(seen) == [1, 1, 1, most]


PROGRAM = """
import sys
from pathlib import Path
from rocmenv.fetch.archive import Tree
from rocmenv.fetch.pipeline import Job, download_and_unpack
from rocmenv.fetch.transfer import Downloads
from rocmenv.model.release import Artifact
base, *words = sys.argv[1:]
jobs = []
for word in words:
    url, name, size, digest = word.split("|")
    jobs.append(Job(Artifact(url, name, int(size), digest), name, str))
told = []
def tell(count):
    if not told and (Path(base) / "t/bin/quick").exists():
        told.append(print("unpacked", flush=True))
try:
    download_and_unpack(
        jobs, Downloads(Path(base) / "cache"), Tree(Path(base) / "t"), workers=2, on_bytes=tell
    )
except KeyboardInterrupt:
    print("stopped", flush=True)
    sys.exit(130)
"""


def test_an_interrupt_ends_the_program_within_a_second_and_keeps_what_is_verified(
    site: Site, tmp_path: Path
) -> None:
    quick, slow = job(site, "quick"), [job(site, f"slow{n}", 2_000_000) for n in range(3)]
    for one in slow:
        site.always[f"/{one.owner}.deb"] = ("drip", 0.05)
    words = [
        f"{j.artifact.url}|{j.artifact.name}|{j.artifact.size}|{j.artifact.sha256}"
        for j in (quick, *slow)
    ]
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path), *words], stdout=subprocess.PIPE, text=True
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "unpacked\n"
    start = time.monotonic()
    program.send_signal(signal.SIGINT)
    assert program.communicate(timeout=20)[0] == "stopped\n"
    assert time.monotonic() - start < 2.5
    assert program.returncode == 130
    kept = tmp_path / "cache" / "sha256"
    assert [p.name for p in kept.iterdir()] == [quick.artifact.sha256]
    assert list((tmp_path / "cache" / "partial").glob("*.part"))
