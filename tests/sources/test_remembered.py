"""Small files that are kept for runs without a network."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path
from typing import ClassVar

import pytest

from rocmenv.errors import TransferError
from rocmenv.fetch.network import Network
from rocmenv.fetch.transfer import Downloads, NotThereError
from rocmenv.sources.remembered import Remembered, replace_file
from tests.fetch.server import Site, serving

HOUR = 3600


def test_what_was_read_is_there_offline(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    site = Site(files={"/key": b"the key"})
    with serving(site) as running:
        url = f"{running.url}/key"
        first = Remembered(Downloads(cache))
        assert first.read(url) == b"the key"
        assert not cache.exists()
        first.keep()
    offline = Remembered(Downloads(cache, offline=True))
    assert offline.read(url) == b"the key"
    with pytest.raises(NotThereError, match="is not in the cache") as caught:
        offline.read(f"{url}s")
    with pytest.raises(TransferError, match="is not in the cache"):
        offline.refuse_if_offline(caught.value)


def test_a_message_shows_no_account(tmp_path: Path) -> None:
    offline = Remembered(Downloads(tmp_path, offline=True))
    with pytest.raises(NotThereError) as caught:
        offline.read("http://joe:secret@example.invalid/key")
    assert caught.value.message.startswith("`http://example.invalid/key` is not")


def test_a_cache_that_cannot_be_written_is_no_reason_to_stop(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("not a folder")
    with serving(Site(files={"/key": b"x"})) as running:
        remembered = Remembered(Downloads(tmp_path / "cache"))
        assert remembered.read(f"{running.url}/key") == b"x"
    remembered.keep()


def test_the_callers_timeout_and_attempts_count(tmp_path: Path) -> None:
    site = Site(files={"/key": b"x"}, always={"/key": 503})
    with serving(site) as running:
        remembered = Remembered(Downloads(tmp_path, network=Network(pause=0.01, retries=1)))
        with pytest.raises(TransferError, match="HTTP 503"):
            remembered.read(f"{running.url}/key")
    assert site.count("/key") == 2


# Replacing a file.


def test_a_file_is_replaced_not_edited(tmp_path: Path) -> None:
    path, twin = tmp_path / "made/file", tmp_path / "twin"
    replace_file(path, b"old")
    twin.hardlink_to(path)
    replace_file(path, b"new")
    assert (path.read_bytes(), twin.read_bytes()) == (b"new", b"old")
    assert os.listdir(path.parent) == ["file"]


def test_a_full_disk_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    write = Path.write_bytes

    def full(self: Path, data: bytes) -> int:
        write(self, data[:1])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space"):
        replace_file(path, b"new")
    assert os.listdir(tmp_path) == ["file"]
    assert path.read_bytes() == b"old"


def test_many_may_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    contents = [bytes([number]) * 100_000 for number in range(8)]
    replace_file(path, contents[0])
    failures: list[OSError] = []

    def write(content: bytes) -> None:
        for _ in range(40):
            try:
                replace_file(path, content)
                assert path.read_bytes() in contents
            except OSError as error:
                failures.append(error)

    threads = [threading.Thread(target=write, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert os.listdir(tmp_path) == ["file"]


def test_what_a_killed_writer_left_is_removed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *_: None)
        patch.setattr(Path, "unlink", lambda *_, **__: None)
        replace_file(tmp_path / "file", b"never finished")
    (left,) = tmp_path.iterdir()
    replace_file(tmp_path / "other", b"x")
    assert left.exists(), "somebody may still be writing it"
    long_ago = left.stat().st_mtime - HOUR - 60
    os.utime(left, (long_ago, long_ago))
    replace_file(tmp_path / "other", b"x")
    assert os.listdir(tmp_path) == ["other"]


# Two folders with one index, two runs at once.


class Web(Downloads):
    """Downloads from a table."""

    pages: ClassVar[dict[str, bytes]] = {}

    def read(self, url: str, *, limit: int = 0) -> bytes:
        del limit
        return self.pages[url]


def by_hash(folder: str, content: bytes) -> str:
    return f"http://h/{folder}/by-hash/SHA256/{hashlib.sha256(content).hexdigest()}"


EMPTY, ONE = b"empty", b"one package"
CONTRIB, NON_FREE, NEWER = (
    by_hash("contrib", EMPTY),
    by_hash("non-free", EMPTY),
    by_hash("contrib", ONE),
)
PAGES = {CONTRIB: EMPTY, NON_FREE: EMPTY, NEWER: ONE}


def test_an_index_that_another_folder_has_too_stays(tmp_path: Path) -> None:
    Web.pages = PAGES
    for urls in ((CONTRIB, NON_FREE), (NEWER, NON_FREE)):
        remembered = Remembered(Web(tmp_path))
        for url in urls:
            remembered.read(url)
        remembered.keep()
    offline = Remembered(Web(tmp_path, offline=True))
    assert [offline.read(url) for url in (NEWER, NON_FREE)] == [ONE, EMPTY]


def test_a_folder_that_finds_its_index_in_the_cache_counts(tmp_path: Path) -> None:
    """One has it, then the other, then the first gets a newer one."""
    Web.pages = PAGES
    for url in (CONTRIB, NON_FREE, NEWER):
        remembered = Remembered(Web(tmp_path))
        remembered.read(url)
        remembered.keep()
    assert Remembered(Web(tmp_path, offline=True)).read(NON_FREE) == EMPTY


def test_without_a_lock_it_is_kept_all_the_same(tmp_path: Path) -> None:
    """The file of another user's run, or a file system that has no locks."""
    (tmp_path / "index.lock").mkdir()
    Web.pages = {"http://h/key": b"key"}
    remembered = Remembered(Web(tmp_path))
    remembered.read("http://h/key")
    remembered.keep()
    assert Remembered(Web(tmp_path, offline=True)).read("http://h/key") == b"key"


def test_what_two_runs_keep_is_not_mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second comes while the first has one step left."""
    release = "http://h/InRelease"

    def run(number: bytes) -> Remembered:
        index = b"index " + number
        Web.pages = {release: b"release " + number, by_hash("main", index): index}
        remembered = Remembered(Web(tmp_path))
        for url in Web.pages:
            remembered.read(url)
        return remembered

    first, second = run(b"1"), run(b"2")
    late = threading.Thread(target=second.keep)
    real = first._drop_older  # noqa: SLF001 - the test comes in between on purpose

    def drop(folder: str, digest: str) -> None:
        late.start()
        late.join(0.3)
        real(folder, digest)

    monkeypatch.setattr(first, "_drop_older", drop)
    first.keep()
    late.join()
    offline = Remembered(Web(tmp_path, offline=True))
    number = offline.read(release)[-1:]
    index = b"index " + number
    assert offline.read(by_hash("main", index)) == index
