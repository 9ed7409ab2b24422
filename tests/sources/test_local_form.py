"""What a path that is named to install from turns out to be, and what is said of other things."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from rocmenv.errors import ArchiveError, HostError
from rocmenv.sources import local
from rocmenv.sources.local_form import absolute, form_of
from rocmenv.store import registry
from rocmenv.store.paths import Root
from tests.builders import fake_prefix, put, root_with
from tests.cli.runner import Runner
from tests.fetch.server import Site
from tests.sources.apt.builders import ROCM, build_deb
from tests.tools import tool


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return root_with(tmp_path)


def a_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("bin/hipcc", "x")


FILES: dict[str, tuple[bytes | Callable[[Path], None], str]] = {
    "page.run": (b"<!DOCTYPE html><html><body>Not Found", "is a web page"),
    "page.deb": (b"\n<html>", "is a web page"),
    "program.run": (b"\x7fELF\x02\x01\x01" + bytes(99), "is a program"),
    "setup.exe": (b"MZ\x90\0\x03" + bytes(99), "is a program for Windows"),
    "rocm.zip": (a_zip, "is a zip file"),
    "empty.run": (b"", "is an empty file"),
    "list.json": (b'{"a": 1}', "is JSON"),
    "notes.txt": (b"hello\n", "is text"),
    "libx.a": (b"!<arch>\n" + b"x.o/".ljust(48) + b"0         `\n", "is an ar archive"),
    "tool.run": (b"#!/bin/sh\necho hello\n", "is a shell script, and no installer made by"),
    "prog": (b"#!/usr/bin/env python3\nprint(1)\n", "is a shell script, and no installer"),
}


@pytest.mark.parametrize("name", FILES)
def test_other_files_are_named_for_what_they_are(
    rocmenv: Runner, root: Root, tmp_path: Path, name: str
) -> None:
    content, words = FILES[name]
    path = tmp_path / name
    if callable(content):
        content(path)
    else:
        path.write_bytes(content)
    for version in (("6.3.0",), ()):
        result = rocmenv("install", "-q", *version, "--from", str(path))
        assert f"`{name}` {words}" in result.refused()
        assert result.hint
    assert registry.versions(root) == []


@pytest.mark.parametrize("end", [".tar.gz", ".run", ".deb", ".exe", ""])
def test_names_do_not_matter(
    rocmenv: Runner, root: Root, cases: Path, tmp_path: Path, end: str
) -> None:
    shutil.copy(cases / "archives/flat-good.tar.gz", tmp_path / f"x{end}")
    rocmenv("install", "-q", "6.3.0", "--from", str(tmp_path / f"x{end}")).fine()
    assert len(registry.versions(root)) == 1


def test_a_folder_that_is_a_repository(rocmenv: Runner, tmp_path: Path) -> None:
    put(tmp_path, "mirror/apt/6.3/dists/jammy/InRelease", "x")
    put(tmp_path, "rpm/repodata/repomd.xml", "x")
    for folder, mirror in (
        ("mirror", "mirror"),
        ("mirror/apt/6.3", "mirror"),
        ("rpm", "rpm"),
    ):
        result = rocmenv("install", "-q", "6.3.0", "--from", str(tmp_path / folder))
        assert result.refused() == (
            f"{tmp_path}/{folder} is a repository of packages, or a part of one"
        )
        assert result.hint == f"name its top as a mirror: `--mirror file://{tmp_path}/{mirror}`"


def test_a_folder_with_packages_beside_an_index_is_one_of_packages(tmp_path: Path) -> None:
    tool("dpkg-deb")
    put(tmp_path, "Packages", "x")
    build_deb(ROCM[0], tmp_path, "gzip")
    assert form_of(str(tmp_path)) == "packages"


def test_a_folder_that_holds_a_rocm_is_a_tree_whatever_else_is_in_it(tmp_path: Path) -> None:
    tree = fake_prefix(tmp_path / "x", "6.3.0")
    put(tree, "a.deb", "!<arch>\ndebian-binary")
    put(tree, "Packages", "x")
    assert form_of(str(tree)) == "folder"


def test_an_unpacked_installer_is_told(tmp_path: Path) -> None:
    put(tmp_path, "component-rocm/a/b", "x")
    put(tmp_path, "bin/xz-static", "x")
    with pytest.raises(HostError) as caught:
        form_of(str(tmp_path))
    assert "`.run` file itself" in str(caught.value.hint)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="cannot be read"):
        form_of(str(tmp_path / "none"))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(HostError, match="neither a file nor a folder"):
        form_of(str(tmp_path / "pipe"))
    assert absolute("a/../b", "/x") == "/x/b"


# Which release it is.


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("therock-dist-linux-gfx110X-all-10.0.0.tar.gz", "10.0.0"),
        ("therock-dist-linux-multiarch-10.1.0a20260901.tar.gz", "10.1.0a20260901"),
        ("therock-dist-linux-gfx94X-dcgpu-7.9.0rc1.tar.gz", "7.9.0rc1"),
        ("therock-dist-windows-gfx1151-10.1.0.dev0+0f1e2d.tar.gz", "10.1.0.dev0+0f1e2d"),
        ("rocm-6.3.0.tar.xz", "6.3.0"),
        ("rocm_6.3.0.tgz", "6.3.0"),
        ("gcc-12.2.0.tar.gz", None),
        ("rocm-6.3.tar.gz", None),
        ("rocm-99999.0.0.tar.gz", None),
        ("a.tar.gz", None),
    ],
)
def test_a_tarball_says_its_release_by_its_name(
    rocmenv: Runner, root: Root, cases: Path, tmp_path: Path, name: str, version: str | None
) -> None:
    shutil.copy(cases / "archives/flat-good.tar.gz", tmp_path / name)
    result = rocmenv("install", "-n", "--from", str(tmp_path / name))
    if version is None:
        assert "does not say which release it is" in result.refused(2)
        assert result.hint == "name it in front: `rocmenv install 6.3.0 --from FILE`"
        return
    assert f"{version} from local" in result.fine()
    assert f"rocmenv: it is {version}, says the name of {tmp_path}/{name}" in result.err
    other = rocmenv("install", "-q", "1.2.3", "--from", str(tmp_path / name))
    assert other.refused(2) == f"1.2.3 was asked for, but the name of `{name}` says {version}"
    assert not root.versions.exists()


def test_a_folder_says_its_release(rocmenv: Runner, root: Root, tmp_path: Path) -> None:
    fake_prefix(tmp_path / "x", "6.3.0")
    result = rocmenv("install", "--from", "../x")
    assert result.err.splitlines()[0] == (
        "rocmenv: it is 6.3.0, says the text `.info/version` of ../x"
    )
    assert os.listdir(root.versions) == ["6.3.0"]
    again = rocmenv("install", "--from", "../x").err
    assert f"rocmenv: 6.3.0 is installed already: {root.versions}/6.3.0\n" in again
    assert rocmenv("install", "-q", "--from", "../x").err == ""
    (tmp_path / "x/.info/version").unlink()
    assert "does not say which release" in rocmenv("install", "--from", "../x").refused(2)
    assert "a version is missing" in rocmenv("install").refused(2)


@pytest.fixture
def rocmenv(capfd: pytest.CaptureFixture[str], root: Root, tmp_path: Path) -> Runner:
    (tmp_path / "project").mkdir()
    return Runner(capfd, root, tmp_path / "project")


def test_a_name_for_what_is_told(rocmenv: Runner, root: Root, tmp_path: Path) -> None:
    fake_prefix(tmp_path / "x", "6.3.0")
    rocmenv("install", "-q", "--from", "../x", "--as", "6.3.0+mine").fine()
    assert os.listdir(root.versions) == ["6.3.0+mine"]
    assert "names another release" in rocmenv("install", "--from", "../x", "--as", "6.4.0").err


def test_an_address_says_its_release_by_its_name(
    rocmenv: Runner, root: Root, cases: Path, site: Site
) -> None:
    site.files["/rocm-6.3.0.tar.gz"] = (cases / "archives/flat-good.tar.gz").read_bytes()
    address = f"{site.url}/rocm-6.3.0.tar.gz?token=secret"
    site.files["/rocm-6.3.0.tar.gz?token=secret"] = site.files["/rocm-6.3.0.tar.gz"]
    result = rocmenv("install", "--from", address)
    assert result.fine() == ""
    assert "secret" not in result.err
    assert os.listdir(root.versions) == ["6.3.0"]
    result = rocmenv("install", "-q", "6.4.0", "--from", address)
    assert "says 6.3.0" in result.refused(2)
    assert "secret" not in result.err


def test_from_an_address_only_archives(rocmenv: Runner, site: Site) -> None:
    for name, content, words in (
        ("x.run", b"#!/bin/sh\n", "an installer"),
        ("x.deb", b"!<arch>\ndebian-binary   ", "a package"),
    ):
        site.files[f"/{name}"] = content
        result = rocmenv("install", "-q", "6.3.0", "--from", f"{site.url}/{name}")
        assert result.refused() == (
            f"`{name}` is {words}, and only archives are installed from an address"
        )


def test_options_for_packages_have_no_effect_on_a_tree(tmp_path: Path) -> None:
    fake_prefix(tmp_path / "x", "6.3.0")
    told = local.told("x", str(tmp_path))
    assert local.NO_CHOICE in local.plan(told.version, "x", str(tmp_path), whole=False).notes
    assert not local.plan(told.version, "x", str(tmp_path)).notes
