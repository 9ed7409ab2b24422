"""`rocmenv lock` of wheels that nobody has installed, and `install --locked` of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rocmenv.model.version import Version
from rocmenv.ops import lock as ops
from rocmenv.store import locks, registry
from rocmenv.store.paths import Root
from tests.cli.runner import Result, Runner
from tests.fetch.server import Site, serving
from tests.wheelhouse import Index, text, wheel

Call = Callable[..., Result]
LOCK = ("lock", "10.0.0", "--channel", "wheels", "--gpu", "gfx1100")


@pytest.fixture
def index(site: Site) -> Index:
    """An index with one release, one of whose wheels needs a further one."""
    found = Index(site)
    found.has_release()
    found.wheel("rocm-bootstrap", "0.3.0", {"rocm_bootstrap.py": text("")}, tag="py3-none-any")
    found.files["rocm-sdk-libraries"].clear()
    found.wheel(
        "rocm-sdk-libraries",
        "10.0.0",
        {
            "rocm_sdk_libraries/__init__.py": text(""),
            "_rocm_sdk_libraries/__init__.py": text(""),
            "_rocm_sdk_libraries/lib/librocblas.so.5": text("rocblas"),
        },
        needs=("rocm-bootstrap>=0.2", "numpy; extra == 'more'"),
    )
    return found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str], tmp_path: Path, project: Path, index: Index) -> Call:
    def run(*words: str, root: str = "one", **environ: str) -> Result:
        given = {"ROCMENV_THEROCK_MIRROR": f"{index.site.url}/rocm", **environ}
        return Runner(capfd, Root(tmp_path / root), project)(*words, **given)

    return run


def digests(tmp_path: Path, root: str) -> dict[str, str]:
    found = registry.find(Root(tmp_path / root), Version.parse("10.0.0")).receipt
    return {item.name: item.sha256 for item in found.items}


def edited(project: Path, old: str, new: str) -> None:
    lock = project / "rocm.lock"
    text = lock.read_text()
    assert old in text
    lock.write_text(text.replace(old, new))


def files_asked(site: Site) -> list[str]:
    """The paths of wheels and sources that were asked for whole."""
    return [
        r.path for r in site.seen if r.path.endswith((".whl", ".gz")) and "Range" not in r.headers
    ]


def test_wheels_are_locked_before_they_are_installed(
    call: Call, index: Index, tmp_path: Path
) -> None:
    told = json.loads(call(*LOCK, "--json").fine())
    assert [f["name"] for f in told["files"]] == [
        "rocm",
        "rocm-bootstrap",
        "rocm-sdk-core",
        "rocm-sdk-devel",
        "rocm-sdk-device-gfx1100",
        "rocm-sdk-libraries",
    ]
    for file in told["files"]:
        name = file["url"].rpartition("/")[2]
        data = index.files[file["name"]][name]
        assert (file["sha256"], file["size"]) == (hashlib.sha256(data).hexdigest(), len(data))
    pages = [path for path in index.site.files if path.endswith("/")]
    for path in pages:
        del index.site.files[path]
    call("install", "--locked", root="two").fine()
    assert digests(tmp_path, "two") == {f["name"]: f["sha256"] for f in told["files"]}


def test_what_was_locked_is_what_an_install_takes(
    call: Call, tmp_path: Path, project: Path
) -> None:
    call(*LOCK).fine()
    before = (project / "rocm.lock").read_bytes()
    call("install", *LOCK[1:], root="two").fine()
    call("install", "--locked", "--reinstall", root="three").fine()
    assert digests(tmp_path, "two") == digests(tmp_path, "three")
    call(*LOCK, root="two").fine()
    assert (project / "rocm.lock").read_bytes() == before


@pytest.mark.parametrize("form", ["html", "json"])
def test_digests_of_the_index_save_the_download(
    call: Call, index: Index, tmp_path: Path, form: str
) -> None:
    index.with_digests() if form == "html" else index.as_json()
    call(*LOCK).fine()
    if form == "json":  # which tells sizes, too
        assert files_asked(index.site) == []
    assert not list(Root(tmp_path / "one").cache.rglob("sha256/*"))
    call("install", "--locked", root="two").fine()
    assert "rocm-bootstrap" in digests(tmp_path, "two")


def test_a_server_that_sends_no_parts(call: Call, index: Index, tmp_path: Path) -> None:
    index.as_json()
    for path in index.site.files:
        if path.endswith(".whl"):
            index.site.always[path] = ("whole",)
    call(*LOCK).fine()
    assert len(list(Root(tmp_path / "one").cache.rglob("sha256/*"))) == 5
    assert "rocmenv: reading what the wheels need\n" in call(*LOCK).err
    call("install", "--locked", root="two").fine()


def test_a_lock_again_without_a_connection(call: Call, index: Index, project: Path) -> None:
    for prepare in (index.write, index.with_digests, index.as_json):
        prepare()
        call(*LOCK).fine()
        before = (project / "rocm.lock").read_bytes()
        index.site.seen.clear()
        call(*LOCK, "--offline", "--check").fine()
        assert (project / "rocm.lock").read_bytes() == before
        assert index.site.seen == []


def test_the_public_index_is_not_asked_for_a_lock(call: Call, index: Index) -> None:
    del index.site.files[f"{index.path}/rocm-bootstrap/"]
    with serving(Site()) as site:
        public = Index(site, "/simple")
        public.wheel("rocm-bootstrap", "0.3.0", {"x.py": text("")}, tag="py3-none-any")
        names = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL")
        result = call(*LOCK, "-q", **dict.fromkeys(names, f"{public.url}/"))
        assert result.status == 1
        assert "needs `rocm-bootstrap>=0.2`, which" in result.err
        assert site.seen == []


@pytest.mark.parametrize("words", [("install", *LOCK[1:]), ("install", "--locked")])
def test_several_are_downloaded_at_once(call: Call, index: Index, words: tuple[str, ...]) -> None:
    index.as_json()  # which tells sizes, so that nothing else is asked
    if "--locked" in words:
        call(*LOCK).fine()
        index.site.seen.clear()
    for path in index.site.files:
        if path.endswith((".whl", ".gz")):
            index.site.always[path] = ("drip", 0.2)
    call(*words, root="two").fine()
    ports = {r.port for r in index.site.seen if r.path.endswith((".whl", ".gz"))}
    assert len(ports) > 1, "one connection was enough"


# What is in a lock is not believed.


def test_a_lock_that_lacks_a_wheel(call: Call, project: Path, tmp_path: Path) -> None:
    call(*LOCK).fine()
    lock = locks.read(project / "rocm.lock")
    (entry,) = lock.platforms
    items = tuple(item for item in entry.items if item.name != "rocm-bootstrap")
    ops.write(project / "rocm.lock", replace(entry, items=items))
    result = call("install", "--locked", "-q", root="two")
    assert "needs `rocm-bootstrap>=0.2`, which is not among the files" in result.refused()
    assert result.hint == "lock anew: `rocmenv lock`"
    assert not (tmp_path / "two/versions/10.0.0").exists()


@pytest.mark.parametrize(
    ("new", "words"),
    [
        ("rocm_bootstrap-0.3.0-cp27-none-any.whl", "is not for the Python that rocmenv runs on"),
        ("rocm_bootstrap-0.3.0-py3-none-win_amd64.whl", "is not for the Python"),
        ("rocm_bootstrap.whl", "`rocm_bootstrap.whl` is not the name of a wheel"),
        ("..", "`..` is not the name of a wheel"),
        ("", "`` is not the name of a wheel"),
    ],
)
def test_a_lock_with_a_file_that_this_python_cannot_use(
    call: Call, project: Path, index: Index, new: str, words: str
) -> None:
    call(*LOCK).fine()
    edited(project, "rocm_bootstrap-0.3.0-py3-none-any.whl", new)
    index.site.seen.clear()
    assert words in call("install", "--locked", "-q", root="two").refused()
    assert index.site.seen == []


def test_a_wheel_that_needs_another_python(call: Call, index: Index, tmp_path: Path) -> None:
    """The wheel says so itself, and the index does not."""
    index.has_release()
    name, data = wheel("rocm-sdk-core", "10.0.0", {"rocm_sdk_core/x.py": text("")}, python=">=3.99")
    index.files["rocm-sdk-core"].clear()
    index.add("rocm-sdk-core", name, data)
    for words in (LOCK, ("install", *LOCK[1:])):
        result = call(*words)
        assert (result.status, "needs Python `>=3.99`" in result.err) == (1, True), result
    assert not (tmp_path / "one/versions/10.0.0").exists()


def test_what_was_taken_back_is_told(call: Call, index: Index) -> None:
    name = next(iter(index.files["rocm-sdk-core"]))
    index.links[name] = f'<a href="{name}" data-yanked="">{name}</a>'
    index.write()
    assert f"`{name}` was taken back by its maker" in call(*LOCK).err
