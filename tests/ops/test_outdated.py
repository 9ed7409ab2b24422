"""`outdated`: installed versions against the catalogue and against a server's list."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocmenv.fetch.transfer import Downloads
from rocmenv.model.version import Version
from rocmenv.ops import outdated
from rocmenv.ops.listing import Servers
from rocmenv.ops.outdated import Known
from rocmenv.sources.base import Request
from rocmenv.sources.catalog_file import load
from rocmenv.store.paths import Root
from tests.builders import add, fake_prefix
from tests.cli.runner import Runner
from tests.fetch.server import Site


@pytest.fixture
def root(tmp_path: Path) -> Root:
    root = Root(tmp_path / "root")
    for version, channel in (
        ("6.3.0", "legacy"),
        ("6.3.0+site", "legacy"),
        ("7.2.4", "legacy"),
        ("5.7.1", "distro"),
        ("7.14.0", "local"),
        ("10.2.0a20260901", "local"),
    ):
        release = version.partition("+")[0].partition("a")[0]
        add(root, version, fake_prefix(tmp_path / version, release))
        path = root.receipt(Version.parse(version))
        path.write_text(path.read_text().replace('"local"', f'"{channel}"'))
    return root


def rows(rocmenv: Runner, *words: str, **environ: str) -> dict[str, dict[str, object]]:
    value = json.loads(rocmenv("outdated", "--json", *words, **environ).fine())
    return {row["version"]: row for row in value["versions"]}


def test_each_version_against_its_channel(rocmenv: Runner) -> None:
    found = rows(rocmenv)
    legacy = {"series": "6.3.3", "newest": "7.2.4", "outdated": True, "channel": "legacy"}
    for version in ("6.3.0", "6.3.0+site"):
        assert legacy.items() <= found[version].items()
        assert found[version]["elsewhere"] == "10.1.0"
        assert found[version]["preview"] == "10.2.0"
    assert {"series": "7.2.4", "outdated": False}.items() <= found["7.2.4"].items()
    # Where a tree is from says nothing of what is out: all channels count.
    assert {"series": "7.14.1", "newest": "10.1.0"}.items() <= found["7.14.0"].items()
    assert found["10.2.0a20260901"]["newest"] == "10.2.0a20260901", "newer than what is out"
    assert {"series": None, "newest": None, "outdated": False}.items() <= found["5.7.1"].items()


def test_a_table(rocmenv: Runner) -> None:
    result = rocmenv("outdated")
    lines = [line.split() for line in result.fine().splitlines()]
    assert lines[0] == ["VERSION", "SERIES", "NEWEST", "CHANNEL"]
    assert ["6.3.0", "6.3.3", "*", "7.2.4", "legacy"] in lines
    assert ["5.7.1", "-", "-", "distro"] in lines
    assert "note: 10.2.0 is a pre-release" in result.err
    assert "note: 10.1.0 is out, from another channel than 6.3.0, 6.3.0+site, 7.2.4\n" in result.err


def test_the_servers_list(site: Site, downloads: Downloads) -> None:
    page = "".join(f'<a href="{name}/">{name}/</a>\n' for name in ("6.3", "6.3.9", "7.2.4"))
    site.files["/rocm/apt/"] = f"<html><body>{page}</body></html>".encode()
    data, at = load(), Servers(Request(mirror=f"{site.url}/rocm"))
    known = outdated.known(data, ["legacy"], downloads, online=True, at=at)
    assert list(map(str, known.channels["legacy"])) == ["6.3.0", "6.3.9", "7.2.4"]
    again = outdated.known(data, ["local"], downloads, online=True, at=at)
    assert len(again.channels["legacy"]) > 3, "nobody's channel is not asked"
    assert site.count("/rocm/apt/") == 1


def test_what_one_channel_lacks_is_not_taken_from_another(site: Site, downloads: Downloads) -> None:
    for place, names in (("apt", ("6.3", "7.2.4")), ("el9", ("6.3",))):
        page = "".join(f'<a href="{name}/">{name}/</a>\n' for name in names)
        site.files[f"/rocm/{place}/"] = page.encode()
    at = Servers(Request(mirror=f"{site.url}/rocm"), Request(mirror=f"{site.url}/none"))
    known = outdated.known(load(), ["legacy", "rpm"], downloads, online=True, at=at)
    assert list(map(str, known.channels["legacy"])) == ["6.3.0", "7.2.4"]
    assert list(map(str, known.channels["rpm"])) == ["6.3.0"]


def test_nothing_is_installed(rocmenv: Runner, tmp_path: Path) -> None:
    rocmenv.root = Root(tmp_path / "empty")
    result = rocmenv("outdated")
    assert result.fine() == ""
    assert result.err == "rocmenv: nothing is installed\n"


def test_a_pre_release_is_never_the_newest_of_a_series() -> None:
    versions = tuple(map(Version.parse, ("6.3.0", "6.3.1rc1")))
    found = Known({"legacy": versions}).newest_in_series(Version.parse("6.3.0"), "legacy")
    assert str(found) == "6.3.0"
