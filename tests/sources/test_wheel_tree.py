"""Unpacking wheels: whatever is in one, files are made in the environment or it is refused."""

from __future__ import annotations

import errno
import os
import stat
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmenv.errors import (
    ArchiveError,
    HostError,
    RepositoryError,
    RocmenvError,
    SpaceError,
)
from rocmenv.sources.simple_index import is_same_place, read_names, read_project
from rocmenv.sources.wheel_tree import Venv
from tests.wheelhouse import packed, sources, text, wheel

NAME, WHOLE = wheel(
    "rocm-sdk-core",
    "10.0.0",
    {
        "rocm_sdk_core/_cli.py": text("def hipcc(): ...\n"),
        "_rocm_sdk_core/bin/hipcc": text("#!/bin/sh\n", 0o755),
        "rocm_sdk_core-10.0.0.data/scripts/tell": text("#!python\n", 0o755),
    },
    scripts=("hipcc",),
)


def venv(folder: Path) -> Venv:
    """An environment as far as unpacking needs one, with something outside of it."""
    (folder / "outside").write_text("as it was")
    tree = folder / "tree"
    (tree / "bin").mkdir(parents=True)
    (tree / "bin/python").symlink_to(folder / "outside")
    (tree / "lib64").symlink_to("lib")
    return Venv(tree, "/final/10.0.0", threading.Event())


def assert_all_inside(folder: Path) -> None:
    assert sorted(os.listdir(folder)) == ["outside", "tree", "x.whl"]
    assert (folder / "outside").read_text() == "as it was"
    links = [p for p in (folder / "tree").rglob("*") if p.is_symlink()]
    assert {p.name for p in links} == {"python", "lib64"}


def unpack(data: bytes, name: str = NAME) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        environment = venv(folder)
        (folder / "x.whl").write_bytes(data)
        try:
            environment.add_wheel(folder / "x.whl", name)
        finally:
            assert_all_inside(folder)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=8)
)
def test_damaged_bytes_are_refused_or_harmless(changes: list[tuple[int, int]]) -> None:
    data = bytearray(WHOLE)
    for place, byte in changes:
        data[place] = byte
    try:
        unpack(bytes(data))
    except RocmenvError as error:
        assert NAME in error.message  # noqa: PT017 - either is right


parts = st.sampled_from(
    ["..", ".", "", "/", "bin", "python", "lib64", "outside", "a\\b", "\0", "é", "x" * 300, "data"]
)
paths = st.lists(parts, min_size=1, max_size=6).map("/".join)


@settings(max_examples=200, deadline=None)
@given(paths, st.sampled_from(["", "rocm_sdk_core-10.0.0.data/"]), st.sampled_from([0o644, 0o755]))
def test_no_name_leads_outside(path: str, start: str, mode: int) -> None:
    try:
        name, data = wheel("rocm-sdk-core", "10.0.0", {f"{start}{path}": text("new", mode)})
    except ValueError:
        return  # not even zipfile writes it
    try:
        unpack(data, name)
    except RocmenvError as error:
        assert name in error.message  # noqa: PT017 - either is right


def test_links_and_special_bits_of_a_wheel_are_plain_files(tmp_path: Path) -> None:
    environment = venv(tmp_path)
    name, data = wheel("x", "1.0", {"x/link": text("/etc/passwd", 0o4777), "x/m": text("", 0o200)})
    # The mode of a link in place of a file's.
    data = data.replace((0o104777).to_bytes(2, "little"), (0o120777).to_bytes(2, "little"))
    (tmp_path / "x.whl").write_bytes(data)
    environment.add_wheel(tmp_path / "x.whl", name)
    for path, mode in (("x/link", 0o644), ("x/m", 0o644)):
        assert stat.S_IMODE((environment.site / path).lstat().st_mode) == mode
    assert (environment.site / "x/link").read_text() == "/etc/passwd"


def test_a_command_with_a_path_for_a_name_is_refused(tmp_path: Path) -> None:
    environment = venv(tmp_path)
    commands = text("[console_scripts]\n../../outside2 = x._cli:main\n")
    files = {"x/_cli.py": text(""), "x-1.0.dist-info/entry_points.txt": commands}
    name, data = wheel("x", "1.0", files)
    (tmp_path / "x.whl").write_bytes(data)
    with pytest.raises(ArchiveError, match="lies outside"):
        environment.add_wheel(tmp_path / "x.whl", name)
    assert_all_inside(tmp_path)


def test_a_python_without_venv_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "venv", None)
    with pytest.raises(HostError, match="has no module venv") as caught:
        Venv.make(tmp_path / "tree", "/final", threading.Event())
    assert "python3-venv" in (caught.value.hint or "")


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = venv(tmp_path)
    (tmp_path / "x.whl").write_bytes(WHOLE)

    def full(*_given: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fchmod", full)
    with pytest.raises(SpaceError, match=f"no space is left while unpacking `{NAME}`"):
        environment.add_wheel(tmp_path / "x.whl", NAME)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"rocm-1.0/PKG-INFO": "Name: rocm"}, "has no Python modules in `src`"),
        ({"rocm-1.0/src/x.egg-info/a.py": ""}, "has no Python modules in `src`"),
        ({"../src/rocm_sdk/x.py": ""}, "lies outside"),
        ({"rocm-1.0/src/../../x/y.py": ""}, "lies outside"),
        ({"rocm-1.0/src/rocm_sdk/x.py": " " * (65 << 20)}, "more than 67108864 bytes"),
    ],
    ids=["no modules", "only metadata", "above", "through", "large"],
)
def test_sources_in_another_form(tmp_path: Path, files: dict[str, str], words: str) -> None:
    environment = venv(tmp_path)
    (tmp_path / "x.whl").write_bytes(packed(files))
    with pytest.raises(ArchiveError, match=words):
        environment.add_sources(tmp_path / "x.whl", "rocm-1.0.tar.gz", "1.0")
    assert_all_inside(tmp_path)


def test_sources_are_unpacked_and_not_run(tmp_path: Path) -> None:
    environment = venv(tmp_path)
    (tmp_path / "x.whl").write_bytes(sources("10.0.0", {}))
    environment.add_sources(tmp_path / "x.whl", "rocm-10.0.0.tar.gz", "10.0.0")
    assert_all_inside(tmp_path)
    assert (environment.site / "rocm_sdk/__main__.py").is_file()
    assert not (environment.site / "setup.py").exists()
    metadata = environment.site / "rocm-10.0.0.dist-info"
    assert sorted(path.name for path in metadata.iterdir()) == [
        "INSTALLER",
        "METADATA",
        "RECORD",
        "WHEEL",
        "entry_points.txt",
    ]
    first = (environment.tree / "bin/rocm-sdk").read_text().splitlines()[0]
    assert first == "#!/final/10.0.0/bin/python"


# Pages.


class Fixed:
    """A reader that always has the same page."""

    def __init__(self, page: bytes) -> None:
        self.page = page

    def read(self, url: str, *, limit: int) -> bytes:
        assert url.startswith("http://x/")
        assert limit
        return self.page


@given(st.binary(max_size=200) | st.text(alphabet='<a href="x">/#&;:[]{}\'', max_size=80))
def test_any_page_is_read_or_refused(page: bytes | str) -> None:
    data = page.encode() if isinstance(page, str) else page
    for start in (b"", b"{", b'{"files": ', b'{"files": [{"filename": "x", "url": ', b"<a href="):
        for read in (lambda r: read_project(r, "http://x/simple", "rocm"), read_names_of):
            try:
                read(Fixed(start + data))
            except RepositoryError as error:
                assert "http://x/simple/" in error.message  # noqa: PT017 - either is right


def read_names_of(reader: Fixed) -> object:
    return read_names(reader, "http://x/simple")


def test_where_a_link_leads() -> None:
    page = b"""<base href="../files/"><a href="rocm-1.tar.gz#md5=0&amp;sha256=%s">r</a>
    <a href="/abs/rocm-2.tar.gz">r</a><a href="http://y/rocm-3%%2Bx.tar.gz">r</a>""" % (b"Ab" * 32)
    first, second, third = read_project(Fixed(page), "http://x/simple/", "rocm")
    assert (first.url, first.sha256) == ("http://x/simple/files/rocm-1.tar.gz", "ab" * 32)
    assert second.url == "http://x/abs/rocm-2.tar.gz"
    assert third.name == "rocm-3+x.tar.gz"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://a/x", "https://a:443/y", True),
        ("https://a/x", "http://a/x", False),
        ("https://a/x", "https://b/x", False),
        ("http://a/x", "http://a:8080/x", False),
        ("https://A/x", "https://u:p@a/x", True),
        ("https://a/x", "https://a@b/x", False),
        ("file:///a/x", "file:///b/y", True),
        ("file:///a/x", "https://a/x", False),
    ],
)
def test_one_server(one: str, other: str, same: bool) -> None:  # noqa: FBT001 - a column of the table
    assert is_same_place(one, other) is same
