"""Debian packages: dpkg-deb as builder and as oracle."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from typing import TYPE_CHECKING

import pytest

from rocmenv.errors import ArchiveError
from rocmenv.fetch.archive import Settled, Tree
from tests.sources.apt.builders import PREFIX, Deb, build_deb
from tests.tools import tool

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SAMPLE = Deb(
    "rocm-llvm6.3.0",
    files={
        f"{PREFIX}/lib/llvm/bin/clang-18": b"clang\n" * 50_000,
        f"{PREFIX}/share/empty": b"",
        "usr/share/doc/ä b": b"text",
    },
    links={
        f"{PREFIX}/llvm": "lib/llvm",
        f"{PREFIX}/lib/llvm/bin/clang": "clang-18",
        f"{PREFIX}/bin/up": "../lib/llvm/bin/clang",
        "usr/bin/clang": f"../../{PREFIX}/bin/up",
    },
    programs=frozenset({f"{PREFIX}/lib/llvm/bin/clang-18"}),
)


def strip(member: str) -> str | None:
    if member == PREFIX:
        return ""
    return member.removeprefix(f"{PREFIX}/") if member.startswith(f"{PREFIX}/") else None


def unpack(root: Path, *debs: Path, mapping: Callable[[str], str | None] = str) -> Settled:
    tree = Tree(root)
    for deb in debs:
        tree.add_deb(deb, owner=deb.name, mapping=mapping)
    return tree.settle()


def facts(root: Path) -> dict[str, tuple[object, ...]]:
    """Kind, permissions of the owner, time and content of everything below `root`."""
    found: dict[str, tuple[object, ...]] = {}
    for path in root.rglob("*"):
        name, status = path.relative_to(root).as_posix(), path.lstat()
        if path.is_symlink():
            found[name] = ("link", os.readlink(path))
        elif path.is_dir():
            found[name] = ("folder",)
        else:
            executable = bool(stat.S_IMODE(status.st_mode) & 0o100)
            found[name] = ("file", executable, int(status.st_mtime), path.read_bytes())
    return found


@pytest.mark.parametrize("compression", ["gzip", "xz", "zstd", "none"])
def test_the_content_is_what_dpkg_deb_unpacks(tmp_path: Path, compression: str) -> None:
    tool("dpkg-deb")
    deb = build_deb(SAMPLE, tmp_path, compression)
    settled = unpack(tmp_path / "ours", deb)
    subprocess.run(["dpkg-deb", "-x", deb, tmp_path / "theirs"], check=True)
    assert facts(tmp_path / "ours") == facts(tmp_path / "theirs")
    assert not settled.notes
    assert not settled.left_out


def test_the_mapping_takes_the_prefix_off(tmp_path: Path) -> None:
    tool("dpkg-deb")
    more = Deb("more", files={f"{PREFIX}/x": b"1"}, links={f"{PREFIX}/abs": f"/{PREFIX}/x"})
    other = Deb("other", links={f"{PREFIX}/py": "/usr/bin/python3", f"{PREFIX}/l": "/opt/other"})
    debs = [build_deb(d, tmp_path) for d in (SAMPLE, more, other)]
    settled = unpack(tmp_path / "t", *debs, mapping=strip)
    root = tmp_path / "t"
    assert os.readlink(root / "llvm") == "lib/llvm"
    assert os.readlink(root / "abs") == "x"
    assert (root / "bin/up").resolve() == (root / "lib/llvm/bin/clang-18").resolve()
    left = [x.member.removeprefix(PREFIX) for x in settled.left_out]
    assert left == ["usr/bin/clang", "usr/share/doc/ä b"]
    assert [note.split("`")[1] for note in settled.notes] == [f"{PREFIX}/l", f"{PREFIX}/py"]


def test_a_hard_link_to_documentation_has_its_content(tmp_path: Path) -> None:
    """Debian's packages have examples that are hard links to programs, and the other way."""
    stage = tmp_path / "stage"
    for folder in ("DEBIAN", "usr/share/p", "usr/share/doc/p"):
        (stage / folder).mkdir(parents=True)
    control = "Package: p\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b.invalid>\n"
    (stage / "DEBIAN/control").write_text(f"{control}Description: x\n")
    for name in "abcdefgh":
        (stage / "usr/share/doc/p" / name).write_text(name)
        os.link(stage / "usr/share/doc/p" / name, stage / "usr/share/p" / name)
    deb = tmp_path / "p.deb"
    subprocess.run([tool("dpkg-deb"), "-b", stage, deb], check=True, capture_output=True)
    mappings: list[Callable[[str], str | None]] = [
        lambda m: None if "share/p" in m else m,
        lambda m: None if "share/doc" in m else m,
    ]
    for number, mapping in enumerate(mappings):
        root = tmp_path / str(number)
        settled = unpack(root, deb, mapping=mapping)
        assert settled.files == len(settled.left_out) == 8
        found = {p.name: p.read_text() for p in root.rglob("*") if p.is_file()}
        assert found == {name: name for name in "abcdefgh"}


def test_a_real_package_is_what_dpkg_deb_unpacks(tmp_path: Path) -> None:
    tool("apt-get")
    run = subprocess.run(
        ["apt-get", "-qq", "-o", "Acquire::Retries=0", "download", "libdb5.3", "tzdata"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        timeout=60,
    )
    debs = sorted(tmp_path.glob("*.deb"))
    if run.returncode or not debs:
        pytest.skip("the distribution's mirror is not reachable")
    for number, deb in enumerate(debs):
        unpack(tmp_path / f"ours{number}", deb)
        theirs = tmp_path / f"theirs{number}"
        subprocess.run(["dpkg-deb", "-x", deb, theirs], check=True)
        mine, wanted = facts(tmp_path / f"ours{number}"), facts(theirs)
        # Debian's few absolute links are made relative.
        absolute = {p for p, f in wanted.items() if f[0] == "link" and str(f[1])[0] == "/"}
        for path in absolute:
            mine.pop(path, None)
            wanted.pop(path)
        assert mine == wanted


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not a Debian package"),
        (b"<html>", "not a Debian package"),
        (b"!<arch>\n", "ends before its content"),
        (b"!<arch>\n" + b"x" * 60, "header is not one"),
        (
            b"!<arch>\n" + b"control.tar/    0           0     0     100644  4         `\n",
            "starts with",
        ),
        (
            b"!<arch>\n" + b"debian-binary   0           0     0     100644  4         `\n3.0\n",
            "format",
        ),
        (
            b"!<arch>\n" + b"debian-binary   0           0     0     100644  4         `\n2.0\n",
            "content",
        ),
    ],
)
def test_what_is_no_package_is_named(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "bad.deb"
    path.write_bytes(data)
    with pytest.raises(ArchiveError, match=r"`bad\.deb` is damaged") as caught:
        unpack(tmp_path / "t", path)
    assert words in caught.value.message


@pytest.mark.parametrize("compression", ["gzip", "xz", "zstd", "none"])
def test_a_package_cut_anywhere_is_damaged(tmp_path: Path, compression: str) -> None:
    tool("dpkg-deb")
    deb = build_deb(SAMPLE, tmp_path, compression)
    data = deb.read_bytes()
    for number, end in enumerate((70, 200, len(data) // 2, len(data) - 9)):
        cut = tmp_path / "cut.deb"
        cut.write_bytes(data[:end])
        with pytest.raises(ArchiveError, match=r"`cut\.deb` is damaged"):
            unpack(tmp_path / f"t{number}", cut)
        shutil.rmtree(tmp_path / f"t{number}")
