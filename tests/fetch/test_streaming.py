"""A tar archive that is unpacked while it is downloaded: one result, whatever the server does."""

from __future__ import annotations

import bz2
import errno
import gzip
import hashlib
import lzma
import os
import random
import signal
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmenv.errors import ArchiveError, SpaceError, TransferError
from rocmenv.fetch import archive
from rocmenv.fetch.archive import Settled, Tree
from rocmenv.fetch.decode import _zstd_module
from rocmenv.fetch.network import Network
from rocmenv.fetch.partial import Partial
from rocmenv.fetch.stop import Interrupted
from rocmenv.fetch.streaming import download_and_unpack_tar
from rocmenv.fetch.transfer import Downloads
from rocmenv.model.release import Artifact
from tests.fetch.server import Site, serving
from tests.fetch.test_archive import folder, hard, link, listing, member, tar

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "tar": bytes,
    "tar.gz": lambda data: gzip.compress(data, 1),
    "tar.xz": lzma.compress,
    "tar.bz2": bz2.compress,
    "tar.zst": lambda data: bytes(_zstd_module().compress(data)),
}


def noise(seed: int, size: int) -> bytes:
    """Bytes that do not get smaller."""
    return random.Random(seed).randbytes(size)  # noqa: S311 - any bytes do


def rocm(seed: int = 0, count: int = 12, size: int = 60_000) -> bytes:
    """A wrapped ROCm with links before their targets, one content each seed."""
    top = "rocm-6.3.0"
    many = [member(f"{top}/lib/f{n}", noise(seed * 1000 + n, size)) for n in range(count)]
    return tar(
        folder(top),
        link(f"{top}/llvm", "lib/llvm"),
        member(f"{top}/bin/hipcc", b"#!/bin/sh\n", mode=0o755),
        *many,
        hard(f"{top}/lib/again", f"{top}/lib/f1"),
        member(f"{top}/lib/llvm/bin/clang", b"clang"),
    )


def artifact(site: Site, body: bytes, name: str = "a.tar.gz", *, known: bool = False) -> Artifact:
    site.files[f"/{name}"] = body
    digest = hashlib.sha256(body).hexdigest()
    facts = (len(body), digest) if known else (None, None)
    return Artifact(f"{site.url}/{name}", name, *facts)


def stream(
    one: Artifact, downloads: Downloads, root: Path, tell: Callable[[int], None] | None = None
) -> tuple[Settled, str]:
    tree = Tree(root)
    path, digest = download_and_unpack_tar(one, downloads, tree, owner=one.name, on_bytes=tell)
    assert path.name == digest == hashlib.sha256(path.read_bytes()).hexdigest()
    return tree.settle(), digest


def expected(tmp_path: Path, data: bytes) -> dict[str, str]:
    """What `add_tar` makes of the archive."""
    (tmp_path / "plain.tar").write_bytes(data)
    tree = Tree(tmp_path / "expected")
    tree.add_tar(tmp_path / "plain.tar", owner="x")
    tree.settle()
    return listing(tmp_path / "expected")


@pytest.mark.parametrize("name", PACKERS)
def test_every_form_gives_what_add_tar_gives(
    site: Site, downloads: Downloads, tmp_path: Path, name: str
) -> None:
    body = PACKERS[name](rocm())
    told: list[int] = []
    settled, digest = stream(
        artifact(site, body, f"a.{name}"), downloads, tmp_path / "t", told.append
    )
    assert listing(tmp_path / "t") == expected(tmp_path, rocm())
    assert settled.files == 15
    assert digest == hashlib.sha256(body).hexdigest()
    assert sum(told) == len(body)


def test_files_are_there_before_the_download_is(
    site: Site, downloads: Downloads, tmp_path: Path
) -> None:
    body = PACKERS["tar.gz"](rocm())
    site.always["/a.tar.gz"] = ("drip", 0.02)
    most: list[int] = []
    come = 0

    def tell(count: int) -> None:
        nonlocal come
        come += count
        if come < len(body):
            # Folders come and go meanwhile, which `walk` takes as it finds it.
            most.append(sum(len(files) for _, _, files in os.walk(tmp_path / "t")))

    stream(artifact(site, body), downloads, tmp_path / "t", tell)
    assert max(most) > 5


def test_a_download_that_breaks_off_is_resumed(
    site: Site, downloads: Downloads, tmp_path: Path
) -> None:
    body = PACKERS["tar.gz"](rocm())
    site.script["/a.tar.gz"] = [("cut", 200_000), ("cut", 150_000)]
    stream(artifact(site, body), downloads, tmp_path / "t")
    assert listing(tmp_path / "t") == expected(tmp_path, rocm())
    starts = [r.headers.get("Range") for r in site.seen]
    assert starts == [None, "bytes=200000-", "bytes=350000-"]


def test_another_file_in_the_middle_is_unpacked_from_its_start(
    site: Site, downloads: Downloads, tmp_path: Path
) -> None:
    first, second = PACKERS["tar.gz"](rocm(1)), PACKERS["tar.gz"](rocm(2, count=4))
    one = artifact(site, first)
    site.script["/a.tar.gz"] = [("cut", 300_000)]
    told: list[int] = []

    def tell(count: int) -> None:
        told.append(count)
        if sum(told) == 300_000:
            time.sleep(0.1)  # for the other thread, which writes what has come
            site.files["/a.tar.gz"] = second

    stream(one, downloads, tmp_path / "t", tell)
    assert -300_000 in told
    assert listing(tmp_path / "t") == expected(tmp_path, rocm(2, count=4))


@pytest.mark.parametrize("rest", [b"x" * 100_000, None])
def test_what_an_earlier_run_left_is_used_if_it_fits_and_else_not(
    site: Site, downloads: Downloads, tmp_path: Path, rest: bytes | None
) -> None:
    body = PACKERS["tar.gz"](rocm())
    one = artifact(site, body, known=True)
    part = Partial(downloads.cache, one)
    part.data.parent.mkdir(parents=True)
    part.data.write_bytes(body[:100_000] if rest is None else rest)
    stream(one, downloads, tmp_path / "t")
    assert listing(tmp_path / "t") == expected(tmp_path, rocm())
    starts = [r.headers.get("Range") for r in site.seen]
    assert starts == ["bytes=100000-"] + ([] if rest is None else [None])


def test_a_file_that_is_kept_is_read_from_the_cache(
    site: Site, downloads: Downloads, tmp_path: Path
) -> None:
    one = artifact(site, PACKERS["tar.gz"](rocm()))
    stream(one, downloads, tmp_path / "t")
    offline = Downloads(downloads.cache, offline=True)
    stream(one, offline, tmp_path / "again")
    assert listing(tmp_path / "again") == listing(tmp_path / "t")
    stream(one, downloads, tmp_path / "asked")  # 304
    assert len(site.seen) == 2


def test_a_tiny_archive_is_no_special_case(
    site: Site, downloads: Downloads, tmp_path: Path
) -> None:
    for number in range(20):
        body = PACKERS["tar.gz"](tar(member("bin/x", bytes([number]))))
        stream(artifact(site, body, f"{number}.tar.gz"), downloads, tmp_path / str(number))
        assert (tmp_path / str(number) / "bin/x").read_bytes() == bytes([number])


# What fails leaves nothing.

GARBAGE = noise(7, 200_000)
FAILURES: dict[str, tuple[bytes, bool, type[Exception], str]] = {
    "other content": (PACKERS["tar.gz"](rocm(3)), True, TransferError, "sha256"),
    "a page": (b"<html>no</html>" * 1000, False, TransferError, "a web page instead of gzip"),
    "noise": (GARBAGE, False, TransferError, "instead of gzip"),
    "noise behind the head": (b"\x1f\x8b" + GARBAGE, False, ArchiveError, "a.tar.gz"),
    "cut": (PACKERS["tar.gz"](rocm())[:-9000], False, ArchiveError, "ends too early"),
    "a broken sum": (PACKERS["tar.gz"](rocm())[:-8] + bytes(8), False, ArchiveError, "a.tar.gz"),
    "an escape": (
        PACKERS["tar.gz"](tar(member("bin/a", b"x"), member("../evil", b"x"))),
        False,
        ArchiveError,
        "`../evil` lies outside",
    ),
    "a device": (
        PACKERS["tar.gz"](tar(member("bin/a", b"x"), member("d", type=tarfile.CHRTYPE))),
        False,
        ArchiveError,
        "`d` is a device",
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_leaves_the_tree_as_it_was_and_of_use(
    site: Site, downloads: Downloads, tmp_path: Path, name: str
) -> None:
    body, known, kind, words = FAILURES[name]
    one = artifact(site, body)
    if known:
        one = Artifact(one.url, one.name, len(body), "0" * 64)
    tree = Tree(tmp_path / "t")
    with pytest.raises(kind, match=words):
        download_and_unpack_tar(one, downloads, tree, owner=one.name)
    assert [p for p in (tmp_path / "t").rglob("*") if ".unpacking" not in p.name] == []
    good = artifact(site, PACKERS["tar.gz"](rocm()), "good.tar.gz")
    download_and_unpack_tar(good, downloads, tree, owner="good")
    tree.settle()
    assert listing(tmp_path / "t") == expected(tmp_path, rocm())


def test_a_full_disk_ends_it_at_once_and_gets_its_space_back(
    site: Site, downloads: Downloads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    site.always["/a.tar.gz"] = ("drip", 0.5)
    one = artifact(site, PACKERS["tar.gz"](rocm()))
    monkeypatch.setattr(archive, "write", full)
    start = time.monotonic()
    with pytest.raises(SpaceError, match=r"a\.tar\.gz"):
        stream(one, downloads, tmp_path / "t")
    assert time.monotonic() - start < 5
    assert [p for p in (downloads.cache / "partial").iterdir() if p.suffix != ".lock"] == []


def test_cancel_ends_it_at_once_and_keeps_what_has_come(
    site: Site, downloads: Downloads, tmp_path: Path
) -> None:
    site.always["/a.tar.gz"] = ("drip", 0.05)
    body = PACKERS["tar.gz"](rocm())
    one = artifact(site, body)
    threading.Timer(0.4, downloads.cancel.set).start()
    start = time.monotonic()
    with pytest.raises(Interrupted):
        stream(one, downloads, tmp_path / "t")
    assert time.monotonic() - start < 3
    assert Partial(downloads.cache, one).data.stat().st_size > 0
    assert [p for p in (tmp_path / "t").rglob("*") if p.is_file()] == []


PROGRAM = """
import sys
from pathlib import Path
from rocmenv.fetch.archive import Tree
from rocmenv.fetch.streaming import download_and_unpack_tar
from rocmenv.fetch.network import Network
from rocmenv.fetch.transfer import Downloads
from rocmenv.model.release import Artifact
url, base = sys.argv[1], Path(sys.argv[2])
told = []
def tell(count):
    told.append(count)
    if sum(told) > 150_000 and len(told) < 10_000:
        told.extend([0] * 10_000)
        print("coming", flush=True)
try:
    tree = Tree(base / "t")
    download_and_unpack_tar(
        Artifact(url, "a.tar.gz"), Downloads(base / "cache"), tree, owner="x", on_bytes=tell
    )
    tree.settle()
except KeyboardInterrupt:
    print("stopped", flush=True)
    sys.exit(130)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_after_a_stop_the_next_run_goes_on_from_the_disk(
    site: Site, tmp_path: Path, how: signal.Signals
) -> None:
    body = PACKERS["tar.gz"](rocm())
    one = artifact(site, body)
    site.always["/a.tar.gz"] = ("drip", 0.05)
    command = [sys.executable, "-c", PROGRAM, one.url, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "coming\n"
        start = time.monotonic()
        program.send_signal(how)
        program.communicate(timeout=20)
        assert time.monotonic() - start < 3
    site.always.clear()
    stream(one, Downloads(tmp_path / "cache"), tmp_path / "again")
    assert listing(tmp_path / "again") == expected(tmp_path, rocm())
    assert site.seen[-1].headers["Range"].startswith("bytes=1")


def test_memory_does_not_grow_with_the_archive(site: Site, tmp_path: Path) -> None:
    many = [member(f"lib/f{n}", bytes(40 << 20)) for n in range(8)]
    one = artifact(site, PACKERS["tar.gz"](tar(*many)))
    # Not by getrusage, which begins with what the parent had.
    program = f"{PROGRAM}\nprint(Path('/proc/self/status').read_text())"
    command = [sys.executable, "-c", program, one.url, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout.split("VmHWM:")[1].split()[0]) < 100 * 1024


# What the server may do: break off, ignore ranges, wait, say it is busy.
faults = st.one_of(
    st.tuples(st.just("cut"), st.integers(0, 120_000)),
    st.just(("whole",)),
    st.just(503),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(faults, max_size=4), st.booleans())
def test_whatever_the_server_does_there_is_one_result(
    tmp_path_factory: pytest.TempPathFactory,
    script: list[object],
    known: bool,  # noqa: FBT001 - hypothesis passes by position
) -> None:
    base = tmp_path_factory.mktemp("s")
    data = rocm(count=3, size=40_000)
    with serving(Site()) as site:
        one = artifact(site, PACKERS["tar.gz"](data), known=known)
        site.script["/a.tar.gz"] = list(script)
        manners = Network(retries=8, pause=0.001, timeout=5)
        downloads = Downloads(base / "cache", network=manners)
        stream(one, downloads, base / "t")
    assert listing(base / "t") == expected(base, data)
