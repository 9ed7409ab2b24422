"""Files on a server that are read here and there."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import pytest

from rocmenv.errors import TransferError
from rocmenv.fetch import parts
from rocmenv.fetch.parts import NoPartsError
from rocmenv.fetch.transfer import Downloads, NotThereError
from tests.fetch.server import Site

BODY = os.urandom(300_000)


@pytest.fixture
def url(site: Site) -> str:
    site.files["/file"] = BODY
    return f"{site.url}/file"


def test_reads_are_those_of_a_file(downloads: Downloads, url: str, tmp_path: Path) -> None:
    local = tmp_path / "file"
    local.write_bytes(BODY)
    for address in (url, local.as_uri()):
        with downloads.parts(address) as file:
            assert file.seek(0, os.SEEK_END) == len(BODY)
            for place, count in ((0, 10), (5, 200_000), (250_000, 20), (299_990, 99), (400_000, 1)):
                file.seek(place)
                assert file.read(count) == BODY[place : place + count]
            file.seek(100)
            assert file.read() == BODY[100:]


def test_of_an_archive_only_a_little_comes(site: Site, downloads: Downloads) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number in range(3000):
            archive.writestr(f"a/long/name/of/a/file/{number}", os.urandom(2000))
        archive.writestr("wanted", "this")
    site.files["/x.whl"] = out.getvalue()
    with downloads.parts(f"{site.url}/x.whl") as file, zipfile.ZipFile(file) as archive:
        assert archive.read("wanted") == b"this"
    assert 1 <= site.count("/x.whl") < 8


@pytest.mark.parametrize(
    "action", [("whole",), ("say", BODY, "text/html"), ("part", 5), 403, 405, 416, 501]
)
def test_a_server_without_parts(site: Site, downloads: Downloads, url: str, action: object) -> None:
    site.always["/file"] = action
    with pytest.raises(NoPartsError):
        downloads.parts(url)


def test_a_file_that_is_empty(site: Site, downloads: Downloads) -> None:
    site.files["/file"] = b""
    with pytest.raises(NoPartsError):
        downloads.parts(f"{site.url}/file")


def test_a_file_that_becomes_another(site: Site, downloads: Downloads, url: str) -> None:
    with downloads.parts(url) as file:
        site.files["/file"] = BODY + b"more"
        file.seek(0)
        with pytest.raises(NoPartsError):
            file.read(10)


def test_a_connection_that_breaks_is_tried_again(
    site: Site, downloads: Downloads, url: str
) -> None:
    site.script["/file"] = [("cut", 10), 503]
    with downloads.parts(url) as file:
        site.script["/file"] = [("cut", 3)]
        file.seek(0)
        assert file.read(100) == BODY[:100]
    site.always["/file"] = ("cut", 3)
    with pytest.raises(TransferError):
        downloads.parts(url)


def test_whoever_reads_all_of_a_large_file_is_told_to_fetch_it(
    downloads: Downloads, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "_MOST", len(BODY) // 2)
    with downloads.parts(url) as file:
        file.seek(0)
        with pytest.raises(NoPartsError):
            file.read()


def test_what_is_not_there(site: Site, downloads: Downloads, tmp_path: Path) -> None:
    with pytest.raises(NotThereError):
        downloads.parts((tmp_path / "nothing").as_uri())
    with pytest.raises(NoPartsError, match="is not there or not allowed"):
        downloads.parts(f"{site.url}/nothing")
    offline = Downloads(tmp_path / "cache", offline=True)
    with pytest.raises(NoPartsError, match="this run is offline"):
        offline.parts(f"{site.url}/file")
