"""Static mirrors of exactly what a lock names."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rocmenv.errors import ResolveError
from rocmenv.model.lock import Lock, Locked
from rocmenv.model.receipt import Item
from rocmenv.model.version import Version
from rocmenv.sources.locked_mirror import plan
from rocmenv.store import locks
from tests.cli.runner import Result
from tests.mirrors.ways import address_of, contents, each_way, installs
from tests.ops import test_lock
from tests.ops.test_lock import HERE, receipt
from tests.sources.test_legacy import Mirror, _machine  # noqa: F401 - a fixture
from tests.sources.test_tarball import Vendor, name

# Fixtures of theirs. Imported, each parameter of that name would seem to hide one.
call, project = test_lock.call, test_lock.project

Call = Callable[..., Result]


def wanted(project: Path) -> dict[str, str]:
    """The files of the lock with their digests, by their names in a mirror."""
    entry = locks.read(project / "rocm.lock").platforms[0]
    return {item.url.rpartition("/")[2].replace("%2B", "+"): item.sha256 for item in entry.items}


@each_way
@pytest.mark.parametrize("version", ["6.3.0", "10.0.1"])
def test_another_machine_installs_the_lock_from_it(
    call: Call,
    tmp_path: Path,
    project: Path,
    origin: Mirror,
    vendor: Vendor,
    folder: Path,
    version: str,
    way: str,
) -> None:
    vendor.has("core/tarball", name("multiarch", "10.0.1"), name("gfx110X-all", "10.0.1"))
    (project / ".rocm-version").write_text(f"{version}\n")
    call("lock").fine()
    told = call("mirror", "--locked", "--to", str(folder)).fine()
    assert {path.rpartition("/")[2] for path in contents(folder)} == set(wanted(project))
    for site in (origin.site, vendor.site):
        site.files.clear()
        site.seen.clear()
    with address_of(folder, way) as url:
        (words,) = installs(told, url)
        assert words == ["install", "--locked", "--mirror", url]
        call(*words, root="two").fine()
    assert sorted(receipt(tmp_path, "two", version).values()) == sorted(wanted(project).values())
    assert origin.site.seen == vendor.site.seen == []


@each_way
def test_a_file_that_it_lacks_is_told_before_a_download(
    call: Call,
    tmp_path: Path,
    folder: Path,
    way: str,
) -> None:
    call("lock", "--profile", "runtime").fine()
    call("mirror", "--locked", "--to", str(folder)).fine()
    call("lock", "--profile", "hip").fine()
    with address_of(folder, way) as url:
        result = call("install", "--locked", "--mirror", url, "-q", root="two")
        assert result.refused().endswith("though the lock names it")
        assert "mirror --locked" in result.hint
        assert not (tmp_path / "two/cache").exists()
        call("mirror", "--locked", "--to", str(folder)).fine()
        call("install", "--locked", "--mirror", url, "-q", root="two").fine()


def test_the_files_of_all_platforms(
    call: Call,
    project: Path,
    folder: Path,
) -> None:
    call("lock", "--profile", "runtime").fine()
    path = project / "rocm.lock"
    path.write_text(path.read_text().replace(HERE, "linux-other"))
    call("lock", "--with", "rccl").fine()
    call("mirror", "--locked", "--to", str(folder)).fine()
    both = {item.sha256 for entry in locks.read(path).platforms for item in entry.items}
    assert len(list(folder.rglob("*.deb"))) == len(both)
    again = json.loads(call("mirror", "--locked", "--json", "--to", str(folder)).fine())
    assert (again["files"], again["fetched"]) == (len(both), 0)
    assert again["versions"] == ["6.3.0"]


def test_from_another_mirror(
    call: Call,
    origin: Mirror,
    folder: Path,
) -> None:
    call("lock").fine()
    call("mirror", "--locked", "--to", str(folder)).fine()
    origin.site.files.clear()
    again = folder.with_name("again")
    words = ("--offline", "--mirror", folder.as_uri(), "--to", str(again))
    call("mirror", "--locked", *words).fine()
    assert contents(again) == contents(folder)


def test_a_file_that_was_replaced_is_refused(
    call: Call,
    origin: Mirror,
    folder: Path,
) -> None:
    call("lock").fine()
    place = f"/rocm/apt/6.3/pool/{origin.debs['hipcc6.3.0'].name}"
    origin.site.files[place] = origin.site.files[place][:-1] + b"\x01"
    assert "sha256" in call("mirror", "--locked", "-q", "--to", str(folder)).refused()
    assert not list(folder.rglob("hipcc*"))


def test_wrong_words_are_refused(
    call: Call,
    folder: Path,
) -> None:
    to = ("-q", "--to", str(folder))
    assert call("mirror", *to).refused(2) == "a version is missing"
    assert call("mirror", "--locked", *to).refused(2) == "there is no rocm.lock here"
    call("lock").fine()
    assert "not a version of its own" in call("mirror", "6.3.0", "--locked", *to).refused(2)
    assert "address of a mirror" in call("mirror", "--locked", "--mirror", "x", *to).refused()
    assert not folder.exists()


@pytest.mark.parametrize("base", ["", "http://other.example/rocm", "http://m.example/rocm2"])
def test_a_file_at_another_server_is_refused(base: str) -> None:
    item = Item("a", "http://m.example/rocm/a.deb", 1, "0" * 64, "1")
    entry = Locked(
        platform=HERE,
        spec="6.3",
        version=Version.parse("6.3.0"),
        channel="legacy",
        origin="x",
        mirror=base,
        profile="hip",
        extra=(),
        targets=(),
        prune=False,
        items=(item,),
    )
    with pytest.raises(ResolveError, match=r"cannot stand in for `http://m\.example/rocm/a\.deb`"):
        plan(entry)
    assert Lock((entry,)).on(HERE) == entry
