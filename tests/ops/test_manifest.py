"""The manifest of an install: written before the version appears, about its final content."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from rocmenv.model.manifest import FILE, FOLDER, LINK, Entry, parse
from rocmenv.model.version import Version
from rocmenv.store.paths import Root
from tests.builders import fake_prefix, put
from tests.cli.runner import Runner

V630 = Version.parse("6.3.0")


def entries(root: Root) -> dict[str, Entry]:
    path = root.manifest(V630)
    with path.open(encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        return {entry.path: entry for entry in parse(file, str(path))}


def agree(root: Root) -> dict[str, Entry]:
    """The entries, once each has been compared with the disk."""
    found = entries(root)
    prefix = root.version(V630)
    there = {p.relative_to(prefix).as_posix() for p in prefix.rglob("*")}
    assert set(found) == {path for path in there if path.split("/")[0] != ".rocmenv"}
    for path, entry in found.items():
        disk = prefix / path
        if disk.is_symlink():
            assert (entry.kind, entry.target) == (LINK, os.readlink(disk))
        elif disk.is_dir():
            assert (entry.kind, entry.mode) == (FOLDER, disk.stat().st_mode & 0o777)
        else:
            content = disk.read_bytes()
            wanted = (FILE, disk.stat().st_mode & 0o7777, len(content))
            assert (entry.kind, entry.mode, entry.size) == wanted
            assert entry.sha256 == hashlib.sha256(content).hexdigest()
    return found


def test_a_tarball_owns_its_files(rocmenv: Runner, root: Root, cases: Path) -> None:
    archive = str(cases / "archives/wrapped-good.tar.gz")
    rocmenv("install", "6.3.0", "--reinstall", "--from", archive).fine()
    found = agree(root)
    owners = {entry.owner for entry in found.values() if entry.kind != FOLDER}
    assert owners == {"wrapped-good.tar.gz"}


def test_a_text_that_was_relocated_has_the_hash_of_what_it_is_now(
    rocmenv: Runner, root: Root, tmp_path: Path
) -> None:
    source = fake_prefix(tmp_path / "x", "6.3.0")
    put(source, "bin/where", "#!/bin/sh\necho /opt/rocm-6.3.0/lib\n", 0o755)
    put(source, os.fsdecode(b"share/caf\xe9\nx"), "odd")
    rocmenv("install", "6.3.0", "--reinstall", "--from", "x").fine()
    found = agree(root)
    text = f"#!/bin/sh\necho {root.version(V630)}/lib\n".encode()
    assert found["bin/where"].sha256 == hashlib.sha256(text).hexdigest()
    assert os.fsdecode(b"share/caf\xe9\nx") in found


def test_what_an_archive_brings_under_the_name_of_ours_does_not_count(
    rocmenv: Runner, root: Root, tmp_path: Path
) -> None:
    source = fake_prefix(tmp_path / "x", "6.3.0")
    put(source, ".rocmenv/manifest", "rocmenv-manifest 1\n")
    rocmenv("install", "6.3.0", "--reinstall", "--from", "x").fine()
    assert ".rocmenv" not in agree(root)


def test_a_link_has_no_manifest(rocmenv: Runner, root: Root, tmp_path: Path) -> None:
    fake_prefix(tmp_path / "x", "6.4.0")
    rocmenv("link", "x").fine()
    assert not root.manifest(Version.parse("6.4.0")).exists()
