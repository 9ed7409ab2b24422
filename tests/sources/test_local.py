"""Plans for what is at hand."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

import pytest

from rocmenv.errors import ArchiveError, HostError
from rocmenv.fetch import partial, transfer
from rocmenv.fetch.copy import copy_tree, tree_size
from rocmenv.fetch.digest import Digest, sha256_of
from rocmenv.fetch.transfer import Downloads
from rocmenv.model.version import Version
from rocmenv.sources import local
from rocmenv.sources.base import Work
from tests.builders import fake_prefix
from tests.fetch.server import Site

V = Version.parse("6.3.0")


def test_a_path_counts_from_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "a.tar.gz").write_bytes(b"x" * 10)
    plan = local.plan(V, "b/../a.tar.gz", str(tmp_path))
    assert plan.origin == f"{tmp_path}/a.tar.gz"
    assert (plan.download, plan.installed) == (0, 40)
    assert [(p.name, p.version, p.size) for p in plan.parts] == [("a.tar.gz", "", 10)]


def test_a_folder_knows_its_size(tmp_path: Path) -> None:
    source = fake_prefix(tmp_path / "x", "6.3.0")
    plan = local.plan(V, "x", str(tmp_path))
    assert plan.installed == tree_size(str(source))
    assert plan.parts[0].size is None


def test_an_address_knows_nothing_yet() -> None:
    plan = local.plan(V, "https://h/a.tar.gz", "/")
    assert plan.is_remote
    assert (plan.download, plan.installed, plan.parts[0].size) == (None, None, None)
    assert plan.parts[0].name == "a.tar.gz"


def test_a_kept_download_is_read_once_for_its_digest(
    monkeypatch: pytest.MonkeyPatch, site: Site, downloads: Downloads, cases: Path, tmp_path: Path
) -> None:
    site.files["/a.tar.gz"] = content = (cases / "archives/flat-good.tar.gz").read_bytes()
    plan = local.plan(V, f"{site.url}/a.tar.gz", "/")
    read: list[Path] = []

    def counted(path: Path, *rest: threading.Event) -> Digest:
        read.append(path)
        return sha256_of(path, *rest)

    for module in (local, partial, transfer):
        monkeypatch.setattr(module, "sha256_of", counted)
    for number, count in enumerate((0, 1)):
        built = plan.build(Work(tmp_path / str(number), "/p", downloads, 1, lambda _n: None))
        assert built.items[0].sha256 == hashlib.sha256(content).hexdigest()
        assert len(read) == count


def test_what_is_not_there_or_odd_is_refused() -> None:
    with pytest.raises(ArchiveError, match="cannot be read"):
        local.plan(V, "nowhere", "/")
    with pytest.raises(HostError, match="neither a file nor a folder"):
        local.plan(V, "/dev/null", "/")


def test_a_copy_counts_what_it_copied(tmp_path: Path) -> None:
    source = fake_prefix(tmp_path / "x", "6.3.0")
    (source / "empty").mkdir()
    target = tmp_path / "y"
    target.mkdir()
    files, size = copy_tree(str(source), target)
    assert (files, size) == (4, tree_size(str(target)))
    assert (target / "empty").is_dir()
    assert (target / "bin/hipcc").stat().st_mode == (source / "bin/hipcc").stat().st_mode
