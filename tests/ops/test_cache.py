"""`cache`: what is in it and who needs it; clearing while others download."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import threading
import time
from pathlib import Path

import pytest

from rocmenv.errors import LockedError, UsageError
from rocmenv.fetch import cache
from rocmenv.model.version import Version
from rocmenv.ops.cache import age_of
from rocmenv.store.paths import Root
from tests.builders import clean_environ, fake_prefix, put
from tests.cli.runner import COMMAND, Runner, run
from tests.fetch.server import Site
from tests.ops.test_stopped import wait_for

PLACE = "/rocm-7.0.0.tar.gz"


@pytest.fixture
def archive(tmp_path: Path) -> bytes:
    """An archive of 7.0.0 that does not fit into a few pieces."""
    source = fake_prefix(tmp_path / "rocm-7.0.0", "7.0.0")
    (source / "lib/big").write_bytes(os.urandom(300_000))
    packed = tmp_path / "rocm.tar.gz"
    subprocess.run(["tar", "-C", str(tmp_path), "-czf", packed, source.name], check=True)
    return packed.read_bytes()


@pytest.fixture
def filled(rocmenv: Runner, root: Root, site: Site, archive: bytes) -> str:
    """A cache with the archive that 7.0.0 was made from, one of nobody's, a part; its digest."""
    site.files[PLACE] = archive
    words = ("install", "7.0.0", "--from", f"{site.url}{PLACE}", "--keep-downloads")
    rocmenv(*words).fine()
    content = b"nobody's"
    put(root.cache, f"sha256/{hashlib.sha256(content).hexdigest()}", content)
    put(root.cache, f"partial/{'cd' * 32}.part", b"half")
    put(root.cache, "index/" + "e" * 64, b"signed")
    return hashlib.sha256(archive).hexdigest()


def names(root: Root, folder: str) -> list[str]:
    return sorted(os.listdir(root.cache / folder))


def test_the_folder(rocmenv: Runner, root: Root) -> None:
    assert rocmenv("cache", "dir").fine() == f"{root.cache}\n"


def test_it_is_listed_with_its_users(rocmenv: Runner, filled: str) -> None:
    files = json.loads(rocmenv("cache", "list", "--json").fine())["files"]
    kinds = {f["kind"]: f for f in files}
    assert set(kinds) == {"package", "partial", "index", "note"}
    ours = next(f for f in files if f["sha256"] == filled)
    assert (ours["name"], ours["versions"]) == ("rocm-7.0.0.tar.gz", ["7.0.0"])
    out = rocmenv("cache", "list").fine()
    assert re.search(r"package  rocm-7\.0\.0\.tar\.gz \(7\.0\.0\)$", out.splitlines()[0])
    assert "note" not in out


def test_an_empty_cache_is_no_failure(rocmenv: Runner) -> None:
    assert rocmenv("cache", "list").fine() == ""
    assert "deleted 0 files" in rocmenv("cache", "clear").err
    assert "0 files checked" in rocmenv("cache", "verify").err


def test_it_is_cleared_but_for_indexes(rocmenv: Runner, root: Root, filled: str) -> None:
    before = names(root, "sha256")
    rocmenv("cache", "clear", "--dry-run").fine()
    assert names(root, "sha256") == before
    rocmenv("cache", "clear").fine()
    assert names(root, "sha256") == names(root, "partial") == []
    assert names(root, "index") == ["e" * 64]
    rocmenv("cache", "clear", "--all").fine()
    assert names(root, "index") == []


def test_an_index_that_is_kept_by_its_digest_is_one(rocmenv: Runner, root: Root) -> None:
    digest = hashlib.sha256(b"index").hexdigest()
    put(root.cache, f"sha256/{digest}", b"index")
    put(root.cache, "index/" + "a" * 32, digest)
    rocmenv("cache", "clear").fine()
    assert names(root, "sha256") == [digest]


def test_only_what_is_old(rocmenv: Runner, root: Root, filled: str) -> None:
    old = time.time() - 31 * 86400
    os.utime(root.cache / "sha256" / filled, (old, old))
    rocmenv("cache", "clear", "--older-than", "30d").fine()
    assert filled not in names(root, "sha256")
    assert len(names(root, "sha256")) == 1


@pytest.mark.parametrize(("text", "seconds"), [("12h", 43200), ("30d", 2592000), ("4W", 2419200)])
def test_ages(text: str, seconds: int) -> None:
    assert age_of(text) == seconds


@pytest.mark.parametrize("text", ["", "30", "d", "-1d", "1.5d", "30 days", "٣d"])
def test_other_ages_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not an age"):
        age_of(text)


def test_prune_leaves_what_an_install_was_made_from(
    rocmenv: Runner, root: Root, filled: str
) -> None:
    rocmenv("prune", "--cache", "--yes").fine()
    assert names(root, "sha256") == [filled]
    assert names(root, "partial") == []
    assert names(root, "index") == ["e" * 64]


# Damage.


def test_damage_is_found_and_removed_when_asked(rocmenv: Runner, root: Root, filled: str) -> None:
    assert "2 files checked" in rocmenv("cache", "verify").err
    path = root.cache / "sha256" / filled
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    result = rocmenv("cache", "verify")
    assert (result.status, result.out) == (1, f"{path}\n")
    assert "1 of 2 files in the cache are damaged" in result.err
    assert path.exists()
    rocmenv("cache", "verify", "--remove").fine()
    assert not path.exists()


# While others use it.


def test_it_is_not_cleared_under_a_running_install(
    rocmenv: Runner, root: Root, site: Site, archive: bytes
) -> None:
    site.files[PLACE] = archive
    site.script[PLACE] = [("drip", 0.2)]
    words = ["install", "7.0.0", "--from", f"{site.url}{PLACE}"]
    with subprocess.Popen(
        [*COMMAND, *words], env=clean_environ(root), stderr=subprocess.PIPE, text=True
    ) as child:
        wait_for(lambda: any(p.stat().st_size for p in root.cache.rglob("*.part")))
        message = rocmenv("cache", "clear").refused()
        assert message == f"another rocmenv uses the cache {root.cache}"
        pruned = rocmenv("prune", "--cache", "--yes")
        assert pruned.status == 1
        assert "cache stays: another rocmenv uses the cache" in pruned.err
        _, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    rocmenv("cache", "clear").fine()
    assert run(root, "+7", "exec", "hipcc").status == 0


def test_who_downloads_waits_for_who_clears(root: Root) -> None:
    root.cache.mkdir()
    order = []

    def download() -> None:
        with cache.in_use(root.cache, threading.Event()):
            order.append("used")

    with cache.alone(root.cache):
        thread = threading.Thread(target=download)
        thread.start()
        time.sleep(0.3)
        order.append("cleared")
    thread.join(timeout=10)
    assert order == ["cleared", "used"]


def test_several_may_download_and_none_may_clear_then(root: Root) -> None:
    never = threading.Event()
    with (
        cache.in_use(root.cache, never),
        cache.in_use(root.cache, never),
        pytest.raises(LockedError),
        cache.alone(root.cache),
    ):
        pytest.fail("both hold it")
    with cache.alone(root.cache):
        pass


def test_an_interrupt_ends_the_wait(root: Root) -> None:
    root.cache.mkdir()
    stop = threading.Event()
    stop.set()
    with (
        cache.alone(root.cache),
        pytest.raises(KeyboardInterrupt),
        cache.in_use(root.cache, stop),
    ):
        pytest.fail("it did not wait")


def test_a_package_of_a_removed_version_is_nobodys(
    rocmenv: Runner, root: Root, filled: str
) -> None:
    assert root.receipt(Version.parse("7.0.0")).exists()
    rocmenv("uninstall", "7.0.0").fine()
    rocmenv("prune", "--cache", "--yes").fine()
    assert names(root, "sha256") == []
