"""Folder listings of web servers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocmenv.errors import RepositoryError
from rocmenv.model.version import Version
from rocmenv.sources.index_page import read_page, release_folders
from rocmenv.sources.tarball import archives


def found(page: str) -> list[str]:
    return [str(version) for version in release_folders(page.encode(), "http://m/")]


@pytest.mark.parametrize("name", ["apt-autoindex.html", "apt-table.html"])
def test_both_shapes_give_the_same_releases(cases: Path, name: str) -> None:
    """R02."""
    versions = release_folders((cases / "listings" / name).read_bytes(), "http://m/")
    texts = [str(version) for version in versions]
    assert len(texts) == 17
    assert texts[0] == "3.10.0"
    assert texts[-1] == "7.2.4"
    assert "7.0.0" not in texts or "7.0" in (cases / "listings" / name).read_text()
    assert versions == sorted(versions)
    assert Version.parse("3.10.0") < Version.parse("4.5.0")


@pytest.mark.parametrize(
    ("link", "version"),
    [
        ("6.3/", ["6.3.0"]),
        ("6.3.1/", ["6.3.1"]),
        ("/rocm/apt/6.3/", ["6.3.0"]),
        ("http://m/rocm/apt/6.3", ["6.3.0"]),
        ("6%2E3/", ["6.3.0"]),
        ("7.0_beta/", []),
        ("latest/", []),
        ("rocm.gpg.key", []),
        ("?C=N;O=D", []),
        ("../", []),
        ("6.3.1.2/", []),
        ("6/", []),
        ("99999.1/", []),
        ("6.12345678901234567890/", []),
        ("%00/", []),
    ],
)
def test_links_that_are_releases(link: str, version: list[str]) -> None:
    assert found(f'<A HREF="{link}">x</A><a name="6.4">y</a>') == version


def test_a_release_is_listed_once() -> None:
    assert found('<a href="6.3/">6.3</a> <a href="6.3.0/">6.3.0</a>') == ["6.3.0"]


@pytest.mark.parametrize(
    "page",
    [
        "",
        "{}",
        "<html>Moved</html>",
        "<a>x</a>",
        "<![odd[x]]><a href='6.3/'>6.3</a>",
        "<![ x><a href='6.3/'>6.3</a>",
    ],
)
def test_a_page_without_links_is_no_listing(page: str) -> None:
    with pytest.raises(RepositoryError, match="`http://m/` is not a listing in any known form"):
        found(page)


def test_a_message_shows_no_account() -> None:
    with pytest.raises(RepositoryError) as caught:
        release_folders(b"Moved", "http://joe:secret@m/apt/")
    assert (
        caught.value.message
        == "`http://m/apt/` is not a listing in any known form; it begins `Moved`"
    )


class Served:
    """One page for every address."""

    def __init__(self, text: str) -> None:
        self.content = text.encode()

    def read(self, _url: str, *, limit: int) -> bytes:
        assert limit
        return self.content


@pytest.mark.parametrize("time", ["1e400", "NaN", "1e18", "-1e18", "1" + "0" * 400, "true", '""'])
def test_a_time_that_is_none_is_left_out(time: str) -> None:
    time = time.replace("true", "true")
    page = f'const files = [{{"name": "a", "mtime": {time}}}];'
    (file,) = read_page(Served(page), "http://m/").files
    assert file.time in (None, 1.0)


@pytest.mark.parametrize(
    "rest",
    [
        "<Size>" + "9" * 400 + "</Size>",
        "<Size>" + "9" * 5000 + "</Size>",
        "<Size>-1</Size>",
        "<LastModified>0001-01-01T00:00:00</LastModified>",
        "<LastModified>0001-01-01T00:00:00+23:59</LastModified>",
        "<LastModified>99999-01-01</LastModified>",
    ],
)
def test_a_size_or_date_of_a_bucket_that_is_none_is_left_out(rest: str) -> None:
    page = f"<ListBucketResult><Contents><Key>a</Key>{rest}</Contents></ListBucketResult>"
    (file,) = read_page(Served(page), "http://m/").files
    assert (file.time, file.size) == (None, None)


@pytest.mark.parametrize("encoding", ["none", "shift_jis", "idna"])
def test_a_bucket_in_an_odd_encoding_is_no_listing(encoding: str) -> None:
    page = f'<?xml version="1.0" encoding="{encoding}"?><ListBucketResult>é</ListBucketResult>'
    with pytest.raises(RepositoryError, match="is not a listing in any known form"):
        read_page(Served(page), "http://m/")


@pytest.mark.parametrize(
    "middle",
    [
        "multiarch-99999.0.0",
        "multiarch-10.0.0a" + "9" * 20,
        "multiarch-10.0.0.dev0+" + "a" * 90,
        "../../x-10.0.0",
        "\x1b[31mx-10.0.0",
        "a b-10.0.0",
        "x" * 1000 + "-10.0.0",
    ],
)
def test_a_name_that_is_no_archives_hides_no_other(middle: str) -> None:
    names = [f"therock-dist-linux-{m}.tar.gz" for m in (middle, "multiarch-10.0.7")]
    page = f"const files = {json.dumps([{'name': n} for n in names])};"
    found = archives(read_page(Served(page), "http://m/").files, "http://m/")
    assert [str(a.version) for a in found] == ["10.0.7"]
