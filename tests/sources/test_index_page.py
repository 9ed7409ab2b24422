"""Folder listings of web servers."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocmenv.errors import RepositoryError
from rocmenv.model.version import Version
from rocmenv.sources.index_page import release_folders


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
    ],
)
def test_links_that_are_releases(link: str, version: list[str]) -> None:
    assert found(f'<A HREF="{link}">x</A><a name="6.4">y</a>') == version


def test_a_release_is_listed_once() -> None:
    assert found('<a href="6.3/">6.3</a> <a href="6.3.0/">6.3.0</a>') == ["6.3.0"]


@pytest.mark.parametrize("page", ["", "{}", "<html>Moved</html>", "<a>x</a>"])
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
