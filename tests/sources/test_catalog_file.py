"""The user's catalogue over rocmenv's own, and its update."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rocmenv.errors import ConfigError
from rocmenv.model.version import Version
from rocmenv.ops import catalog as ops
from rocmenv.sources import catalog_file
from rocmenv.store.paths import Root
from tests.builders import clean_environ, root_with
from tests.cli.runner import Result, Runner
from tests.fetch.server import Site, serving


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return root_with(tmp_path / "root")


@pytest.fixture
def site() -> Iterator[Site]:
    with serving(Site()) as site:
        yield site


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str], root: Root, tmp_path: Path) -> Callable[..., Result]:
    return Runner(capfd, root, tmp_path)


def test_a_row_takes_the_place_of_its_version(root: Root) -> None:
    own = catalog_file.load()
    row = {"version": "10.0.0", "status": "unlisted"}
    root.catalog.write_text(json.dumps({"releases": [row]}))
    data = catalog_file.load(root.catalog)
    assert len(data.releases) == len(own.releases)
    release = data.release(Version.parse("10.0.0"))
    assert release is not None
    assert (release.status, release.date) == ("unlisted", "2026-08-26")


def test_a_place_moves(root: Root) -> None:
    place = {"name": "stable-7.9", "mirror": "https://archives.example.org/rocm"}
    root.catalog.write_text(json.dumps({"places": [place]}))
    data = catalog_file.load(root.catalog)
    assert data.place(Version.parse("7.12.0")).tarball_indexes() == (
        "https://archives.example.org/rocm/tarball/",
    )
    assert data.place(Version.parse("10.0.0")).mirror.startswith("https://stable.")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"schema": 99}',
        '{"releases": [{"version": "x"}]}',
        '{"releases": 1}',
        '{"places": [{"line": "stable"}]}',
        '{"channels": {"legacy": {"color": "red"}}}',
        '{"suites": {"jammy": "new"}}',
        '{"releases": [{"version": "10.0.0", "suites": "jammy"}]}',
        '{"releases": [{"version": "10.0.0", "groups": {"linux": "multiarch"}}]}',
        '{"places": [{"name": "stable-10", "tarballs": "{mirror}/x/"}]}',
        '{"places": [{"name": "stable-10", "tarballs": []}]}',
        '{"places": [{"name": "stable-10", "tarballs": ["{nope}/x/"]}]}',
        '{"places": [{"name": "stable-10", "tarballs": ["{mirror.__class__}/x/"]}]}',
        '{"places": [{"name": "stable-10", "tarballs": ["{mirror/x/"]}]}',
        '{"places": [{"name": "stable-10", "mirror": "m"}]}',
        '{"channels": {"legacy": {"base": "{mirror}/{0}"}}}',
        '{"channels": {"legacy": {"fingerprint": "AB"}}}',
        '{"schema": "x"}',
        '{"keys": 5}',
        '{"tarballs": [["1"]]}',
        "[" * 100_000,
    ],
)
def test_what_is_no_catalogue_is_named(root: Root, text: str) -> None:
    root.catalog.write_text(text)
    with pytest.raises(ConfigError, match="is not a catalogue") as caught:
        catalog_file.load(root.catalog)
    assert str(root.catalog) in caught.value.message
    assert caught.value.hint == f"mend it, or move it away: `mv {root.catalog} {root.catalog}.old`"


def test_a_command_says_so_too(root: Root, call: Callable[..., Result]) -> None:
    root.catalog.write_text("{")
    assert "is not a catalogue" in call("install", "--list").refused()
    assert "is not a catalogue" in call("install", "6.3", "-q").refused()
    for text in ('{"schema": 99}', '{"releases": [{}]}', '{"releases": [{"version": "x"}]}'):
        root.catalog.write_text(text)
        assert "is not a catalogue" in call("catalog", "show").refused()


def test_a_part_of_a_channel_is_enough(root: Root) -> None:
    root.catalog.write_text('{"channels": {"legacy": {"mirror": "http://m/rocm"}}}')
    channel, own = catalog_file.load(root.catalog).channels["legacy"], catalog_file.load()
    assert channel.mirror == "http://m/rocm"
    assert (channel.base, channel.fingerprint) == (
        own.channels["legacy"].base,
        own.channels["legacy"].fingerprint,
    )


def page(*names: str) -> bytes:
    array = json.dumps([{"name": n, "mtime": 1_790_000_000.0} for n in names])
    return f"<script>const files = {array};</script>".encode()


def test_new_releases_are_learnt_from_the_pages(
    root: Root, call: Callable[..., Result], site: Site
) -> None:
    site.files["/rocm/apt/"] = b'<a href="6.3/">x</a><a href="7.2.9/">x</a><a href="7.3_rc/">x</a>'
    site.files["/rocm/core/tarball/"] = page(
        "therock-dist-linux-gfx1151-10.3.0.tar.gz",
        "therock-dist-linux-multiarch-10.3.0.tar.gz",
        "therock-dist-linux-multiarch-10.4.0rc1.tar.gz",
    )
    words = ("catalog", "update", "--mirror", f"{site.url}/rocm")
    assert call(*words, "--dry-run").fine().split() == ["7.2.9", "10.3.0"]
    assert not root.catalog.exists()
    assert call(*words).fine().split() == ["7.2.9", "10.3.0"]
    assert call("install", "--list", "latest").fine().split()[:2] == ["10.3.0", "2026-09-21"]
    data = catalog_file.load(root.catalog)
    release = data.release(Version.parse("10.3.0"))
    assert release is not None
    assert release.groups == {"linux": ("gfx1151", "multiarch")}
    again = call(*words)
    assert (again.fine(), "no new releases" in again.err) == ("", True)


def test_a_mirrors_file_gives_places_but_no_keys(
    root: Root, call: Callable[..., Result], site: Site
) -> None:
    table = {
        "schema": 2,
        "keys": {"legacy": "AB" * 20},
        "places": [{"name": "stable-10", "mirror": "http://m/rocm"}],
        "releases": [{"version": "10.0.5", "stream": "therock", "status": "released"}],
    }
    site.files["/catalog.json"] = json.dumps(table).encode()
    result = call("catalog", "update", "--from", f"{site.url}/catalog.json")
    assert result.fine() == "10.0.5\n"
    assert "the addresses of `stable-10` are others now" in result.err
    data, own = catalog_file.load(root.catalog), catalog_file.load()
    assert data.channels["legacy"].fingerprint == own.channels["legacy"].fingerprint
    assert data.place(Version.parse("10.0.5")).mirror == "http://m/rocm"
    shown = json.loads(call("catalog", "show").fine())
    assert shown["keys"]["legacy"] == own.channels["legacy"].fingerprint


def test_a_mirrors_file_does_not_say_which_key_signs(
    root: Root, call: Callable[..., Result], tmp_path: Path
) -> None:
    own = catalog_file.load()
    for row in ({"fingerprint": "AB" * 20}, {"signed_by": "therock"}):
        channel = {"mirror": "http://m/rocm", "base": "{mirror}/apt/{dir}", **row}
        place = {"name": "stable-10", "mirror": "http://m/rocm", "signed_by": "legacy"}
        table = {"channels": {"legacy": channel}, "places": [place]}
        (tmp_path / "more.json").write_text(json.dumps(table))
        call("catalog", "update", "--from", "more.json")
        data = catalog_file.load(root.catalog)
        assert data.channels["legacy"].fingerprint == own.channels["legacy"].fingerprint
        version = Version.parse("10.0.0")
        assert data.place(version).fingerprint == own.place(version).fingerprint
    assert catalog_file.load(root.catalog).channels["legacy"].mirror == "http://m/rocm"


def test_a_mirrors_file_changes_no_digest_that_is_known(
    root: Root, call: Callable[..., Result], tmp_path: Path
) -> None:
    (name, digest), *_ = catalog_file.load().hashes.items()
    new = ("10.0.5", "linux", "multiarch")
    table = {"tarballs": [[*name, "0" * 64], [*new, "1" * 64]]}
    (tmp_path / "more.json").write_text(json.dumps(table))
    for _ in range(2):
        call("catalog", "update", "--from", "more.json").fine()
    hashes = catalog_file.load(root.catalog).hashes
    assert (hashes[name], hashes[new]) == (digest, "1" * 64)
    assert json.loads(root.catalog.read_text())["tarballs"] == [[*new, "1" * 64]]


def test_two_updates_at_once_lose_nothing(root: Root, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "rocmenv", "catalog", "update", "--from"]
    children = []
    for number in range(6):
        row = {"version": f"10.0.{number + 5}", "stream": "therock", "status": "released"}
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps({"releases": [row]}))
        children.append(subprocess.Popen([*words, str(file)], env=clean_environ(root)))
    assert [child.wait(60) for child in children] == [0] * 6
    data = catalog_file.load(root.catalog)
    missing = [n for n in range(5, 11) if data.release(Version.parse(f"10.0.{n}")) is None]
    assert missing == []


def test_a_full_disk_is_called_so(
    root: Root, call: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(ops, "replace_file", full)
    (tmp_path / "more.json").write_text("{}")
    result = call("catalog", "update", "--from", "more.json")
    assert result.refused() == f"there is no space left for {root.catalog}"


def test_what_the_user_wrote_stays(root: Root, call: Callable[..., Result], tmp_path: Path) -> None:
    root.catalog.write_text(json.dumps({"keys": {"legacy": "CD" * 20}, "mine": 1}))
    more = {"releases": [{"version": "10.0.5", "stream": "therock", "status": "released"}]}
    (tmp_path / "more.json").write_text(json.dumps(more))
    call("catalog", "update", "--from", "more.json").fine()
    table = json.loads(root.catalog.read_text())
    assert (table["keys"], table["mine"]) == ({"legacy": "CD" * 20}, 1)


@pytest.mark.parametrize("text", ["", "[1]", '{"releases": [{}]}', "\xff"])
def test_a_file_that_is_no_catalogue_changes_nothing(
    root: Root, call: Callable[..., Result], tmp_path: Path, text: str
) -> None:
    (tmp_path / "bad.json").write_bytes(text.encode("latin-1"))
    assert "is not a catalogue" in call("catalog", "update", "--from", "bad.json").refused()
    assert not root.catalog.exists()


def test_a_file_that_is_not_there(call: Callable[..., Result]) -> None:
    assert "cannot be read" in call("catalog", "update", "--from", "none.json").refused()
