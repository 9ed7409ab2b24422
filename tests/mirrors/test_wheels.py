"""Static mirrors of AMD's wheels: pages with digests, and what wheels turn out to need."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rocmenv.model.version import Version
from rocmenv.sources.base import Kept
from rocmenv.sources.mirror_page import Text
from rocmenv.sources.simple_index import Offered, read_project
from rocmenv.sources.wheels_mirror import ProjectPage
from rocmenv.store import registry
from tests.cli.runner import Result, Runner
from tests.fetch.server import Site
from tests.mirrors.ways import address_of, contents, copier, each_way, installs
from tests.wheelhouse import Index, text

PLACE = "whl-next"
SDK = ["rocm", "rocm-sdk-core", "rocm-sdk-devel", "rocm-sdk-libraries"]
DEVICES = ["rocm-sdk-device-gfx1100", "rocm-sdk-device-gfx942"]


@pytest.fixture
def index(site: Site) -> Index:
    """The index of releases from 10.0 on, with 10.0.0, and one wheel that needs two more."""
    index = Index(site)
    index.has_release()
    index.wheel("rocm-profiler", "10.0.0", {"p/__init__.py": text("")}, needs=("rocm-one>=1",))
    index.wheel("rocm-one", "1.5", {"one.py": text("")}, needs=("rocm-two", "rocm-sdk-core"))
    index.wheel("rocm-two", "2.0", {"two.py": text("")})
    return index


@pytest.fixture
def copied(rocmenv: Runner, site: Site, folder: Path) -> Callable[..., Result]:
    """`rocmenv mirror --channel wheels`, from the server into the folder."""
    server = f"{site.url}/rocm"
    return copier(rocmenv, folder, "--channel", "wheels", ROCMENV_THEROCK_MIRROR=server)


def projects(folder: Path, place: str = PLACE) -> list[str]:
    return sorted(path.parent.name for path in (folder / place).glob("*/*-*") if path.is_file())


def offered(folder: Path, project: str) -> tuple[Offered, ...]:
    page = (folder / PLACE / project / "index.html").read_bytes()
    return read_project(Text(page), "http://m/", project)


@pytest.mark.parametrize("form", ["plain", "digests", "json"])
@pytest.mark.parametrize(
    ("words", "names"),
    [
        ((), [*SDK, *DEVICES]),
        (("--all-gpus",), [*SDK, *DEVICES]),
        (("--gpu", "gfx942"), [*SDK, DEVICES[1]]),
        (("--gpu", "gfx942", "--profile", "runtime"), SDK[:2]),
        (
            ("--gpu", "gfx942", "--profile", "full"),
            [*SDK, DEVICES[1], "rocm-profiler", "rocm-one", "rocm-two"],
        ),
    ],
)
def test_the_wheels_and_what_they_need(
    copied: Callable[..., Result],
    index: Index,
    folder: Path,
    words: tuple[str, ...],
    names: list[str],
    form: str,
) -> None:
    if form != "plain":
        (index.with_digests if form == "digests" else index.as_json)()
    copied("10.0.0", *words).fine()
    assert projects(folder) == sorted(names)
    for project in names:
        (file,) = offered(folder, project)
        body = (folder / PLACE / project / file.name).read_bytes()
        assert body == index.files[project][file.name]
        assert file.sha256 == hashlib.sha256(body).hexdigest()


@each_way
@pytest.mark.parametrize(
    "words", [("--profile", "full"), ("--gpu", "gfx942"), ("--with", "profiler")]
)
def test_another_rocmenv_installs_from_it(
    copied: Callable[..., Result],
    index: Index,
    folder: Path,
    rocmenv: Runner,
    words: tuple[str, ...],
    way: str,
) -> None:
    told = copied("10.0.0", *words).fine()
    index.site.files.clear()
    index.site.seen.clear()
    with address_of(folder, way) as url:
        (call,) = installs(told, url)
        rocmenv(*call).fine()
        item = registry.find(rocmenv.root, Version.parse("10.0.0"))
        assert item.receipt.origin == f"{url}/{PLACE}/"
        assert sorted(part.name for part in item.receipt.items) == projects(folder)
    assert index.site.seen == []


@each_way
def test_what_it_lacks_is_told_before_a_download(
    copied: Callable[..., Result], index: Index, folder: Path, rocmenv: Runner, way: str
) -> None:
    assert index.files
    copied("10.0.0", "--gpu", "gfx1100").fine()
    with address_of(folder, way) as url:
        words = ("install", "--channel", "wheels", "--mirror", url, "-q", "--gpu", "gfx942")
        assert "has no wheels of 10.0.0 for gfx942" in rocmenv(*words, "10.0.0").refused()
        assert "there are no wheels of 10.0.1" in rocmenv(*words, "10.0.1").refused()
        assert not (rocmenv.root.cache / "sha256").exists()


def test_early_releases_have_an_index_for_each_family(
    copied: Callable[..., Result], site: Site, folder: Path, rocmenv: Runner
) -> None:
    for family in ("gfx110X-all", "gfx94X-dcgpu"):
        Index(site, f"/rocm/whl/{family}").has_release("7.12.0", family=family)
    assert "which GPU is 7.12.0 for?" in copied("7.12.0", "-q").refused()
    told = copied("7.12.0", "--all-gpus").fine()
    for family in ("gfx110X-all", "gfx94X-dcgpu"):
        library = f"rocm-sdk-libraries-{family.lower()}"
        assert library in projects(folder, f"whl/{family}")
    site.files.clear()
    calls = installs(told, folder.as_uri())
    assert len(calls) == 2
    for call in calls:
        rocmenv(*call, "--reinstall").fine()


def test_further_releases_join_the_pages(
    copied: Callable[..., Result], index: Index, folder: Path
) -> None:
    copied("10.0.0").fine()
    before = offered(folder, "rocm-sdk-core")
    index.files.clear()
    index.has_release("10.0.1")
    copied("10.0.1").fine()
    after = offered(folder, "rocm-sdk-core")
    assert len(after) == 2
    assert set(before) < set(after)


def test_a_second_run_fetches_what_is_wrong_and_nothing_else(
    copied: Callable[..., Result], index: Index, folder: Path
) -> None:
    assert index.files
    copied("10.0.0", "--profile", "full").fine()
    right = contents(folder)
    assert json.loads(copied("10.0.0", "--profile", "full", "--json").fine())["fetched"] == 0
    for project in ("rocm-sdk-core", "rocm-two"):
        path = next((folder / PLACE / project).glob("*.whl"))
        path.write_bytes(bytes(path.stat().st_size))
    assert json.loads(copied("10.0.0", "--profile", "full", "--json").fine())["fetched"] == 2
    assert contents(folder) == right


def test_a_stop_in_between_is_continued(
    copied: Callable[..., Result], site: Site, index: Index, folder: Path
) -> None:
    """While it fetches what the wheels need."""
    large = next(path for path in site.files if "/rocm_two-" in path)
    size = len(index.files["rocm-two"][large.rpartition("/")[2]])
    site.always[large] = ("cut", size // 2)
    message = copied("10.0.0", "--profile", "full", "-q", ROCMENV_RETRIES="0").refused()
    assert f"ended after {size // 2} of {size} bytes" in message
    assert not list(folder.rglob("index.html"))  # nothing announces what is not there
    del site.always[large]
    copied("10.0.0", "--profile", "full").fine()
    assert f"bytes={size // 2}-" in {r.headers.get("Range") for r in site.seen}


def test_what_no_page_has_is_told(
    copied: Callable[..., Result], index: Index, folder: Path
) -> None:
    index.wheel("rocm-one", "1.6", {"one.py": text("")}, needs=("numpy>=2",))
    result = copied("10.0.0", "--profile", "full", "-q")
    assert "needs `numpy>=2`, which" in result.refused()
    assert not list(folder.rglob("index.html"))


def test_an_index_is_not_copied_whole(copied: Callable[..., Result], folder: Path) -> None:
    assert "is not for wheels" in copied("10.0.0", "--whole", "-q").refused(2)
    assert not folder.exists()


def test_a_page_of_somebody_else_stays(
    copied: Callable[..., Result], index: Index, folder: Path
) -> None:
    assert index.files
    page = folder / PLACE / "rocm-sdk-core/index.html"
    page.parent.mkdir(parents=True)
    page.write_text('<a href="rocm_sdk_core-1-py3-none-any.whl">x</a>')
    assert "rocmenv did not make it" in copied("10.0.0", "-q").refused()
    assert page.read_text().startswith("<a href=")
    assert not list(folder.rglob("*.whl"))


def test_an_index_by_itself_is_copied_into_amds_layout(
    copied: Callable[..., Result], index: Index, folder: Path
) -> None:
    copied("10.0.0", "--mirror", index.url).fine()
    assert projects(folder) == sorted([*SDK, *DEVICES])


def test_what_a_page_says_of_a_file_is_kept() -> None:
    odd = Offered('a&"<-1-py3-none-any.whl', "http://x/y", python='>=3.9,<"', yanked=True)
    page = ProjectPage("whl/a", (odd,))
    path = f"whl/a/{odd.name}"
    text_ = page.render(b"", {path: Kept(1, "0" * 64)}, lambda _path: True)
    (row,) = read_project(Text(text_), "http://m/whl", "a")
    assert (row.name, row.python, row.yanked, row.sha256) == (odd.name, odd.python, True, "0" * 64)
    assert page.known(text_) == {path: "0" * 64}
    assert page.render(text_, {}, lambda _path: True) == text_
    assert b"<a " not in page.render(text_, {}, lambda _path: False)
