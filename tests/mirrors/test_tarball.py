"""Static mirrors of archives: what is copied, the page that lists it, installs from it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rocmenv.model.version import Version
from rocmenv.sources.base import Kept
from rocmenv.sources.index_page import read_page
from rocmenv.sources.tarball_mirror import ArchivePage
from rocmenv.store import registry
from tests.cli.runner import Result, Runner
from tests.mirrors.ways import address_of, copier, each_way, installs
from tests.sources.test_tarball import Vendor, name

PLACE = "core/tarball"
GROUPS = ("multiarch", "gfx110X-all", "gfx94X-dcgpu")


@pytest.fixture
def copied(rocmenv: Runner, vendor: Vendor, folder: Path) -> Callable[..., Result]:
    """`rocmenv mirror`, from a vendor with three archives of 10.0.1 into the folder."""
    vendor.has(PLACE, *(name(group, "10.0.1") for group in GROUPS))
    return copier(rocmenv, folder, ROCMENV_THEROCK_MIRROR=vendor.url)


def archives(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*.tar.gz"))


def rows(folder: Path, place: str = PLACE) -> dict[str, dict[str, object]]:
    text = (folder / place / "index.html").read_text()
    start = text.index("const files = ") + len("const files = ")
    found, _ = json.JSONDecoder().raw_decode(text, start)
    return {row["name"]: row for row in found}


# What is copied.


@pytest.mark.parametrize(
    ("words", "environ", "groups"),
    [
        ((), {}, ["multiarch"]),
        (("--all-gpus",), {}, ["multiarch"]),
        (("--gpu", "all"), {"ROCMENV_TARGETS": "gfx942"}, ["multiarch"]),
        ((), {"ROCMENV_TARGETS": "gfx942"}, ["gfx94X-dcgpu"]),
        (("--gpu", "gfx1100"), {}, ["gfx110X-all"]),
        (("--gpu", "gfx1100", "--gpu", "gfx942"), {}, ["gfx110X-all", "gfx94X-dcgpu"]),
        (("--gpu", "gfx1010"), {}, ["multiarch"]),
        (("--whole",), {}, sorted(GROUPS)),
    ],
)
def test_the_archives_of_the_gpus(
    copied: Callable[..., Result],
    vendor: Vendor,
    folder: Path,
    words: tuple[str, ...],
    environ: dict[str, str],
    groups: list[str],
) -> None:
    copied("10.0.1", *words, **environ).fine()
    wanted = sorted(name(group, "10.0.1") for group in groups)
    assert archives(folder) == wanted
    assert sorted(rows(folder)) == wanted
    for path, row in rows(folder).items():
        body = vendor.site.files[f"/rocm/{PLACE}/{path}"]
        assert (folder / PLACE / path).read_bytes() == body
        assert row["sha256"] == hashlib.sha256(body).hexdigest()
        assert (row["size"], row["mtime"]) == (len(body), 1_790_000_000.0)


def test_all_gpus_where_no_archive_is_for_every_one(
    copied: Callable[..., Result],
    vendor: Vendor,
    folder: Path,
) -> None:
    vendor.has(PLACE, name("gfx110X-all", "10.0.2"), name("gfx94X-dcgpu", "10.0.2"))
    result = copied("10.0.2", "-q")
    assert "which GPU is 10.0.2 for?" in result.refused()
    told = copied("10.0.2", "--all-gpus").fine()
    assert len(archives(folder)) == 2
    assert "--gpu gfx110X-all" in told
    assert "--gpu gfx94X-dcgpu" in told


def test_a_gpu_without_an_archive_is_told(
    copied: Callable[..., Result],
    vendor: Vendor,
    folder: Path,
) -> None:
    vendor.has(PLACE, name("gfx110X-all", "10.0.2"))
    message = copied("10.0.2", "-q", "--gpu", "gfx942").refused()
    assert message == "no archive of 10.0.2 has code for gfx942; there are `gfx110X-all`"
    assert "both given" in copied("10.0.1", "-q", "--gpu", "gfx942", "--all-gpus").refused(2)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("typed", "text", "place"),
    [("7.9", "7.9.0rc1", "tarball"), ("10.2.0a20261001", "10.2.0a20261001", PLACE)],
)
def test_each_line_has_its_place(
    copied: Callable[..., Result],
    vendor: Vendor,
    folder: Path,
    typed: str,
    text: str,
    place: str,
) -> None:
    vendor.has(place, name("multiarch", text))
    copied(typed).fine()
    assert (folder / place / name("multiarch", text)).is_file()
    assert list(rows(folder, place)) == [name("multiarch", text)]


# Installing from it.


@each_way
@pytest.mark.parametrize("words", [(), ("--gpu", "gfx1100", "--gpu", "gfx942")])
def test_another_rocmenv_installs_from_it(
    copied: Callable[..., Result],
    vendor: Vendor,
    folder: Path,
    rocmenv: Runner,
    words: tuple[str, ...],
    way: str,
) -> None:
    told = copied("10.0.1", *words).fine()
    vendor.site.files.clear()  # the first server has nothing any more
    vendor.site.seen.clear()
    with address_of(folder, way) as url:
        calls = installs(told, url)
        assert len(calls) == max(1, len(words) // 2)
        for call in calls:
            rocmenv(*call, "--reinstall").fine()
            item = registry.find(rocmenv.root, Version.parse("10.0.1"))
            assert item.receipt.origin.startswith(url)
            assert (Path(item.prefix) / "bin/hipcc").is_file()
        listed = rocmenv("install", "--list", "--online", ROCMENV_THEROCK_MIRROR=url).fine()
        assert listed.splitlines()[-1].split()[:2] == ["*", "10.0.1"]
    assert vendor.site.seen == []


@each_way
def test_what_it_lacks_is_told_before_a_download(
    copied: Callable[..., Result], folder: Path, rocmenv: Runner, way: str
) -> None:
    copied("10.0.1", "--gpu", "gfx1100").fine()
    with address_of(folder, way) as url:
        given = ("--mirror", url, "-q")
        result = rocmenv("install", "10.0.1", "--gpu", "gfx942", *given)
        assert "has code for gfx942; there are `gfx110X-all`" in result.refused()
        result = rocmenv("install", "10.0.2", "--gpu", "gfx1100", *given)
        assert f"no archive of 10.0.2 for Linux at {url}" in result.refused()


@each_way
def test_a_mirror_that_was_damaged_is_refused(
    copied: Callable[..., Result], folder: Path, rocmenv: Runner, way: str
) -> None:
    """Also where a server has no listings: the page with the digests is asked for by name."""
    copied("10.0.1").fine()
    path = folder / PLACE / name("multiarch", "10.0.1")
    content = bytearray(path.read_bytes())
    content[4] ^= 1  # the time in the head of a gzip file, which no check sum covers
    path.write_bytes(content)
    with address_of(folder, way) as url:
        assert "sha256" in rocmenv("install", "10.0.1", "-q", "--mirror", url).refused()
    assert not rocmenv.root.version(Version.parse("10.0.1")).exists()


def test_a_mirror_is_copied_on(
    copied: Callable[..., Result], folder: Path, rocmenv: Runner
) -> None:
    """Without a network, and with what the first one recorded."""
    copied("10.0.1", "--whole").fine()
    again = folder.with_name("again")
    words = ("--whole", "--offline", "--mirror", folder.as_uri(), "--to", str(again))
    rocmenv("mirror", "10.0.1", *words).fine()
    assert rows(again) == rows(folder)
    assert archives(again) == archives(folder)


# Doing it again.


def test_further_releases_and_groups_join_the_page(
    copied: Callable[..., Result],
    vendor: Vendor,
    folder: Path,
) -> None:
    copied("10.0.1").fine()
    before = rows(folder)
    vendor.names.clear()
    vendor.has(PLACE, name("multiarch", "10.1.0"), name("gfx94X-dcgpu", "10.1.0"))
    copied("10.1.0", "--gpu", "gfx942").fine()
    after = rows(folder)
    assert sorted(after) == [name("gfx94X-dcgpu", "10.1.0"), name("multiarch", "10.0.1")]
    assert after.items() >= before.items()
    (folder / PLACE / name("multiarch", "10.0.1")).unlink()
    copied("10.1.0").fine()
    assert sorted(rows(folder)) == [name("gfx94X-dcgpu", "10.1.0"), name("multiarch", "10.1.0")]


def test_a_second_run_fetches_and_writes_nothing(
    copied: Callable[..., Result],
    vendor: Vendor,
    folder: Path,
) -> None:
    copied("10.0.1").fine()
    before = {p: p.stat().st_mtime_ns for p in folder.rglob("*") if p.suffix in (".html", ".gz")}
    asked = sum(r.path.endswith(".gz") for r in vendor.site.seen)
    assert json.loads(copied("10.0.1", "--json").fine())["fetched"] == 0
    after = {p: p.stat().st_mtime_ns for p in folder.rglob("*") if p.suffix in (".html", ".gz")}
    assert after == before
    again = sum(r.path.endswith(".gz") for r in vendor.site.seen)
    assert (asked, again) == (2, 3), "the size is asked for once more, the content is not"


@pytest.mark.parametrize("damage", ["content", "size", "page"])
def test_what_is_wrong_is_replaced(
    copied: Callable[..., Result], folder: Path, damage: str
) -> None:
    copied("10.0.1").fine()
    path, page = folder / PLACE / name("multiarch", "10.0.1"), folder / PLACE / "index.html"
    right, listed = path.read_bytes(), page.read_bytes()
    if damage == "page":
        page.unlink()  # and with it what was recorded of the archive
    else:
        path.write_bytes(bytes(len(right)) if damage == "content" else right[:-1])
    assert json.loads(copied("10.0.1", "--json").fine())["fetched"] == 1
    assert (path.read_bytes(), page.read_bytes()) == (right, listed)


def test_what_was_published_anew_is_fetched_anew(
    copied: Callable[..., Result],
    vendor: Vendor,
    folder: Path,
) -> None:
    copied("10.0.1").fine()
    place = f"/rocm/{PLACE}/{name('multiarch', '10.0.1')}"
    vendor.names.clear()
    vendor.has(PLACE, name("multiarch", "10.0.1"), time=1_790_000_007.0)
    other = bytearray(vendor.site.files[place])
    other[4] ^= 1  # the time in the head of gzip
    vendor.site.files[place] = bytes(other)
    copied("10.0.1").fine()
    assert (folder / PLACE / name("multiarch", "10.0.1")).read_bytes() == bytes(other)


def test_a_stop_in_between_leaves_no_half_file_and_is_continued(
    copied: Callable[..., Result],
    vendor: Vendor,
    folder: Path,
) -> None:
    place = f"/rocm/{PLACE}/{name('multiarch', '10.0.1')}"
    size = len(vendor.site.files[place])
    vendor.site.always[place] = ("cut", size // 2)
    message = copied("10.0.1", "-q", ROCMENV_RETRIES="0").refused()
    assert f"ended after {size // 2} of {size} bytes" in message
    assert archives(folder) == []
    assert not (folder / PLACE / "index.html").exists()  # nothing announces what is not there
    del vendor.site.always[place]
    copied("10.0.1").fine()
    assert f"bytes={size // 2}-" in {r.headers.get("Range") for r in vendor.site.seen}
    assert archives(folder) == [name("multiarch", "10.0.1")]
    assert not (folder / ".rocmenv-parts").exists()


def test_a_known_digest_is_held_to(
    copied: Callable[..., Result],
    vendor: Vendor,
    folder: Path,
) -> None:
    vendor.has(PLACE, name("multiarch", "10.0.0"))
    assert "sha256" in copied("10.0.0", "-q").refused()
    assert archives(folder) == []


# The page.


def test_a_page_of_the_vendor_is_added_to(copied: Callable[..., Result], folder: Path) -> None:
    other = name("gfx90a", "10.0.1")
    place = folder / PLACE
    place.mkdir(parents=True)
    (place / other).write_bytes(b"x")
    (place / "index.html").write_text(
        f'<script>const files = [{{"name": "{other}", "mtime": 7}}, {{"name": "gone"}}];</script>'
    )
    copied("10.0.1").fine()
    assert rows(folder)[other] == {"name": other, "mtime": 7.0}
    assert sorted(rows(folder)) == [other, name("multiarch", "10.0.1")]


def test_a_page_of_somebody_else_stays(
    copied: Callable[..., Result],
    vendor: Vendor,
    folder: Path,
) -> None:
    page = folder / PLACE / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text('<a href="x">Ours</a>')
    result = copied("10.0.1", "-q")
    assert "rocmenv did not make it" in result.refused()
    assert page.read_text() == '<a href="x">Ours</a>'
    assert not [r for r in vendor.site.seen if "Range" in r.headers]
    assert archives(folder) == []


def test_a_name_cannot_end_the_script() -> None:
    page = ArchivePage("t", {"</script><b>.tar.gz": None})
    have = {"t/</script><b>.tar.gz": Kept(1, "0" * 64)}
    text = page.render(b"", have, lambda _path: True)
    assert text.count(b"</script>") == 1

    class One:
        def read(self, _url: str, *, limit: int) -> bytes:
            return text[:limit]

    (row,) = read_page(One(), "x").files
    assert (row.name, row.size, row.sha256) == ("</script><b>.tar.gz", 1, "0" * 64)
    assert page.render(text, {}, lambda _path: True) == text
    assert page.known(text) == {"t/</script><b>.tar.gz": "0" * 64}


def test_the_plan_alone(copied: Callable[..., Result], folder: Path) -> None:
    out = copied("10.0.1", "--dry-run").fine()
    assert f"{PLACE}/{name('multiarch', '10.0.1')}" in out
    assert out.splitlines()[-1].startswith("1 files, ")
    assert not folder.exists()
