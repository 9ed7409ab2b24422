"""`rocmenv install --list --online --channel rpm`: folders of older releases, indexes of newer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rocmenv.store.paths import Root
from tests.cli.runner import Result, Runner
from tests.sources.rpm import test_channel, test_mirror
from tests.sources.rpm.conftest import Mirror
from tests.sources.rpm.test_mirror import NEWER, _el9  # noqa: F401 - a fixture

# Fixtures of theirs. Imported, each parameter of that name would seem to hide one.
therock, newer = test_channel.therock, test_mirror.newer

PAGE = '<html><a href="?C=N">Name</a> <a href="../">..</a> {} <a href="latest/">latest/</a></html>'


def page(*folders: str) -> bytes:
    return PAGE.format(" ".join(f'<a href="{name}/">{name}/</a>' for name in folders)).encode()


@pytest.fixture
def server(newer: Mirror) -> Mirror:
    """6.3 for two systems, 7.2.4 for one, 10.0.0 and 10.0.1."""
    newer.site.files["/rocm/el8/"] = page("6.3", "7.2.9", "5.5.2")
    newer.site.files["/rocm/el9/"] = page("6.3", "7.2.4")
    return newer


@pytest.fixture
def listed(rocmenv: Runner, server: Mirror) -> Callable[..., Result]:
    """The list of a mirror, or with `mirror=""` of AMD's servers as the catalogue has them."""

    def call(*words: str, mirror: str = f"{server.site.url}/rocm") -> Result:
        given = ("--mirror", mirror) if mirror else ()
        key = ("--fingerprint", server.made.fingerprint)
        base = ("install", "--list", "--online", "--channel", "rpm")
        return rocmenv(*base, *given, *key, *words)

    return call


def own_servers(root: Root, server: Mirror) -> None:
    """The catalogue with this server in the place of AMD's."""
    url = f"{server.site.url}/rocm"
    places = ("stable-7.9", "stable-7.14", "stable-10", "stable-10.1")
    table = {
        "channels": {"rpm": {"mirror": url}},
        "places": [{"name": name, "mirror": url} for name in places],
    }
    root.path.mkdir(parents=True, exist_ok=True)
    root.catalog.write_text(json.dumps(table))


def versions(result: Result) -> list[str]:
    return [row["version"] for row in json.loads(result.fine())["releases"]]


def test_the_list_is_that_of_the_channels_own_indexes(
    listed: Callable[..., Result], server: Mirror
) -> None:
    found = listed("--json")
    assert versions(found) == ["6.3.0", "7.2.4", "7.2.9", "10.0.0", "10.0.1"]
    rows = {row["version"]: row for row in json.loads(found.out)["releases"]}
    assert (rows["7.2.9"]["status"], rows["7.2.9"]["channels"]) == ("new", ["rpm"])
    assert (rows["7.2.4"]["status"], rows["7.2.4"]["date"]) == ("released", "2026-05-28")
    asked = {request.path for request in server.site.seen}
    assert not [path for path in asked if "/apt/" in path or "tarball" in path]
    assert versions(listed("--json", "--all"))[0] == "5.5.2"
    assert listed("latest").fine().split()[0] == "10.0.1"


def test_one_folder_may_be_named(listed: Callable[..., Result]) -> None:
    found = listed("--json", "--suite", "el9")
    assert versions(found) == ["6.3.0", "7.2.4"]
    assert "core/packages/el9" in found.err


def test_what_is_gone_is_told_with_its_status(
    listed: Callable[..., Result], server: Mirror
) -> None:
    """R14: 403 is absent, or not allowed."""
    repomd = f"/rocm/{NEWER}/repodata/repomd.xml"
    server.site.always[repomd] = 403
    found = listed("--json")
    assert versions(found) == ["6.3.0", "7.2.4", "7.2.9"]
    assert f"{repomd}` is not there or not allowed (HTTP 403)" in found.err
    assert "el10" not in found.err, "a mirror may be for some systems only"
    for path in ("/rocm/el8/", "/rocm/el9/"):
        server.site.always[path] = 403
    assert "HTTP 40" in listed().refused()


def test_a_page_that_is_no_list_is_told(listed: Callable[..., Result], server: Mirror) -> None:
    server.site.files["/rocm/el9/"] = b"<html>Moved, for good</html>"
    found = listed("--json")
    assert versions(found) == ["6.3.0", "7.2.9", "10.0.0", "10.0.1"]
    assert "is not a listing in any known form; it begins `<html>Moved, for good" in found.err
    server.site.files["/rocm/el8/"] = page()
    del server.site.files[f"/rocm/{NEWER}/repodata/repomd.xml"]
    message = listed().refused()
    assert "/rocm/el9/` is not a listing" in message or "/rocm/el8/ has no releases" in message


def test_a_newer_index_that_is_not_signed_by_the_key_is_not_listed(
    listed: Callable[..., Result], server: Mirror
) -> None:
    repomd = f"/rocm/{NEWER}/repodata/repomd.xml"
    changed = server.site.files[repomd].replace(b"<revision>", b"<revision>1")
    server.site.files[repomd] = changed
    found = listed("--json")
    assert versions(found) == ["6.3.0", "7.2.4", "7.2.9"]
    assert "the text is not the one that key" in found.err


def test_a_stale_server_and_a_folder_that_has_moved_are_told(
    listed: Callable[..., Result], root: Root, server: Mirror
) -> None:
    """Of AMD's own servers it is known what they have."""
    own_servers(root, server)
    for name in ("el8", "el9"):
        server.site.files[f"/rocm/{name}/"] = page("6.3")
    found = listed("--json", mirror="")
    assert versions(found) == ["6.3.0", "10.0.0", "10.0.1"]
    older, gone = f"{server.site.url}/rocm is 6.3.0", f"`{server.site.url}/rocm/el10/`"
    assert f"the newest release at {older}, and 7.2.4 came out on 2026-05-28" in found.err
    assert f"{gone} is not there or not allowed (HTTP 404)" in found.err
    assert "is 10.0.1, and 10.1.0 came out on 2026-10-05" in found.err
    assert "the newest release" not in listed("--json").err, "a mirror may have some only"


def test_a_mirror_made_by_rocmenv_is_listed(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, listed: Callable[..., Result], server: Mirror
) -> None:
    server.publish()
    folder = tmp_path / "copy"
    words = ("--mirror", f"{server.site.url}/rocm", "--fingerprint", server.made.fingerprint)
    runner = Runner(capfd, Root(tmp_path / "other"), tmp_path)
    runner("mirror", "6.3.0", "--channel", "rpm", *words, "--to", str(folder)).fine()
    found = listed(mirror=folder.as_uri()).fine()
    assert found.split()[:2] == ["6.3.0", "2024-12-03"]


def test_offline_opens_no_connection(listed: Callable[..., Result], server: Mirror) -> None:
    before = len(server.site.seen)
    assert "this run is offline" in listed("--offline").refused()
    assert len(server.site.seen) == before
