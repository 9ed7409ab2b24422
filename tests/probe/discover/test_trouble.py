"""What cannot be looked at: said once, and never in the way of the rest."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from rocmenv.probe.discover import base, inside
from rocmenv.probe.discover.base import Clue, How
from rocmenv.probe.discover.gather import Form, discover
from tests.builders import fake_prefix, put
from tests.probe.discover.hosts import host, hows, look, only
from tests.store.nobody import IS_ROOT


def test_a_link_to_nothing_and_links_in_a_circle(tmp_path: Path) -> None:
    fake_prefix(tmp_path / "opt/rocm-6.3.0", "6.3.0")
    (tmp_path / "opt/rocm").symlink_to("rocm-6.2.0")
    (tmp_path / "opt/rocm-6.4.0").symlink_to("rocm-6.5.0")
    (tmp_path / "opt/rocm-6.5.0").symlink_to("rocm-6.4.0")
    good, *bad = look(tmp_path, ROCM_PATH=f"{tmp_path}/opt/rocm").findings
    assert good.form is Form.WHOLE
    assert {f.form for f in bad} == {Form.BROKEN}
    assert [f.why for f in bad] == [
        f"it leads to {tmp_path}/opt/rocm-6.2.0, which is not there",
        "its links lead in a circle",
        "its links lead in a circle",
    ]
    assert hows(bad[0]) == ["variable", "folder"], "two names for it are one finding"


@pytest.mark.skipif(IS_ROOT, reason="rights count for nothing")
def test_a_folder_that_may_not_be_read(tmp_path: Path) -> None:
    prefix = fake_prefix(tmp_path / "opt/rocm-6.3.0", "6.3.0")
    prefix.chmod(0)
    try:
        finding = only(look(tmp_path))
    finally:
        prefix.chmod(0o755)
    assert (finding.form, finding.why) == (Form.BROKEN, "it cannot be read (Permission denied)")


def test_a_folder_that_fails_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one of another user, also for root."""
    fake_prefix(tmp_path / "opt/rocm-6.3.0", "6.3.0")
    hidden = fake_prefix(tmp_path / "usr/local/rocm-6.4.0", "6.4.0")
    listdir, scandir = os.listdir, os.scandir

    def refusing(path: str) -> None:
        if str(path) in (str(hidden), f"{tmp_path}/usr/local", f"{tmp_path}/etc/alternatives"):
            raise PermissionError(13, "Permission denied", path)

    def fake_listdir(path: str) -> list[str]:
        refusing(path)
        return listdir(path)

    def fake_scandir(path: str) -> object:
        refusing(path)
        return scandir(path)

    monkeypatch.setattr(os, "listdir", fake_listdir)
    monkeypatch.setattr(os, "scandir", fake_scandir)
    clue = Clue(str(hidden), How.VARIABLE, "ROCM_PATH")
    good, bad = look(tmp_path, more=[clue, clue]).findings
    assert str(good.version) == "6.3.0"
    assert (bad.form, bad.why) == (Form.BROKEN, "it cannot be read (Permission denied)")
    assert look(tmp_path, inside=[f"{tmp_path}/usr"]).notes == (
        f"{tmp_path}/usr/local cannot be read (Permission denied)",
        f"{tmp_path}/etc/alternatives cannot be read (Permission denied)",
    )


def test_a_folder_with_very_many_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crowd = tmp_path / "crowd"
    crowd.mkdir()
    for number in range(50_000):
        (crowd / f"n{number}").touch()
    fake_prefix(tmp_path / "near/rocm", "6.3.0")
    found = look(tmp_path, inside=[crowd, tmp_path / "near"])
    assert str(only(found).version) == "6.3.0"
    words = f"{crowd} has more than 20000 entries; name a folder further down"
    assert found.notes == (words,)
    # By names alone all of them are read: the one that counts may be any of them.
    fake_prefix(crowd / "rocm-6.4.0", "6.4.0")
    found = discover(host(tmp_path, search=[str(crowd)]))
    assert (str(only(found).version), found.notes) == ("6.4.0", ())
    monkeypatch.setattr(base.Look.names, "__defaults__", (1000,))
    notes = discover(host(tmp_path, search=[str(crowd)])).notes
    assert notes == (f"{crowd} has more than 1000 names; not all were read",)


def test_a_walk_goes_so_deep_and_no_link_is_walked(tmp_path: Path) -> None:
    top = tmp_path / "top"
    deep = top / "/".join("abcde")
    fake_prefix(deep.parent / "rocm", "6.3.0")
    fake_prefix(deep / "rocm", "6.4.0")
    (top / "again").symlink_to(top)
    (top / "link").symlink_to(deep / "rocm")
    near, linked = look(tmp_path, inside=[top]).findings
    assert near.prefix == f"{deep.parent}/rocm"
    assert linked.names == (f"{top}/link",), "a link to a prefix is followed"
    (top / "link").unlink()
    assert only(look(tmp_path, inside=[top])).prefix == near.prefix
    assert len("abcde") == inside.DEEPEST


def test_a_named_folder_may_be_the_prefix_itself(tmp_path: Path) -> None:
    prefix = fake_prefix(tmp_path / "x", "6.3.0")
    fake_prefix(prefix / "inner", "6.4.0")
    assert only(look(tmp_path, inside=[prefix])).prefix == str(prefix)


def test_pipes_and_folders_in_place_of_files(tmp_path: Path) -> None:
    prefix = fake_prefix(tmp_path / "opt/rocm-6.3.0", "6.3.0")
    (prefix / ".info/version").unlink()
    os.mkfifo(prefix / ".info/version")
    (tmp_path / "var/lib/dpkg/alternatives/rocm").mkdir(parents=True)
    registry = tmp_path / "home/.rocm/runtimes/registry"
    registry.mkdir(parents=True)
    os.mkfifo(registry / "x.json")
    finding = only(look(tmp_path))
    assert (str(finding.version), finding.form) == ("6.3.0", Form.WHOLE)


def test_a_file_that_is_too_long_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base.Look.text, "__defaults__", (1000,))
    monkeypatch.setattr(base.Look.json, "__defaults__", (1000,))
    file = put(tmp_path, "home/.rocm/runtimes/registry/x.json", " " * 1001)
    deep = put(tmp_path, "home/.rocm/runtimes/registry/y.json", "[" * 1000)
    assert look(tmp_path).notes == (
        f"{file} has more than 1000 characters; it was not read",
        f"{deep} is not JSON",
    )


def test_nothing_that_is_found_is_started(tmp_path: Path) -> None:
    """Every program, and every file with a name that somebody might start, would leave a mark."""
    mark = tmp_path / "mark"
    script = f"#!/bin/sh\n: > {mark}\n"
    tools = ("hipcc", "rocminfo", "hipconfig", "rocm-sdk", "python", "amd-smi", "spack")
    prefix = fake_prefix(tmp_path / "opt/rocm-6.3.0", "6.3.0", tools, script)
    venv = tmp_path / "venv"
    put(venv, "pyvenv.cfg", "")
    fake_prefix(venv / "lib/python3.11/site-packages/_rocm_sdk_devel", "10.0.0", tools, script)
    put(venv, "bin/python", script, 0o755)
    put(venv, "bin/rocm-sdk", script, 0o755)
    put(venv, "lib/python3.11/site-packages/x.pth", f"import os; os.mknod({str(mark)!r})\n")
    put(tmp_path, "opt/spack/bin/spack", script, 0o755)
    found = look(
        tmp_path,
        inside=[tmp_path],
        VIRTUAL_ENV=str(venv),
        SPACK_ROOT=f"{tmp_path}/opt/spack",
        PATH=f"{prefix}/bin",
    )
    assert len(found.findings) == 2
    assert not mark.exists()
    subprocess.run([str(prefix / "bin/hipcc")], check=True)
    assert mark.exists(), "the mark works"


def test_names_that_do_not_print_are_escaped(tmp_path: Path) -> None:
    odd = tmp_path / "a\nb"
    odd.mkdir()
    found = look(tmp_path, ROCM_PATH=f"{odd}/x", HIP_PATH="a\tb")
    assert only(found).why == "it is not there"
    assert found.notes == ("HIP_PATH names `a\\tb`, which is not an absolute path",)


def test_a_bind_mount_is_the_same_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two real paths with one number of device and file."""
    one = fake_prefix(tmp_path / "opt/rocm-6.3.0", "6.3.0")
    two = fake_prefix(tmp_path / "usr/local/rocm", "6.3.0")
    assert len(look(tmp_path).findings) == 2
    stat = os.stat

    def same(path: str) -> os.stat_result:
        return stat(one if str(path) == str(two) else path)

    monkeypatch.setattr("rocmenv.probe.discover.gather.os.stat", same)
    finding = only(look(tmp_path))
    assert finding.prefix == str(one)
    assert finding.names == (str(two),)


def test_a_host_keeps_its_places_apart(tmp_path: Path) -> None:
    fake_prefix(tmp_path / "opt/rocm-6.3.0", "6.3.0")
    windows = replace(host(tmp_path), windows=True)
    assert discover(windows).findings == (), "no place of Linux is looked at on Windows"
