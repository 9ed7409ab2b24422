"""What the host has: rpm's database, the loader's cache, files."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from rocmenv.sources.rpm import host as module
from rocmenv.sources.rpm.host import Host, parse_cache, parse_provides, read_host
from rocmenv.sources.rpm.relation import Relation, parse_need
from tests.sources.rpm.builders import Package, build_rpm
from tests.tools import tool


def relation(text: str) -> Relation:
    need = parse_need(text)
    assert isinstance(need, Relation)
    return need


@pytest.fixture(scope="module")
def here() -> Host:
    """This machine, without what its rpm database says."""
    return Host(libraries=read_host().libraries)


@pytest.mark.parametrize(
    ("need", "wanted"),
    [
        ("libc.so.6()(64bit)", True),
        ("libc.so.6(GLIBC_2.14)(64bit)", True),
        ("libc.so.6(GLIBC_99.1)(64bit)", False),
        ("libstdc++.so.6(GLIBCXX_3.4.20)(64bit)", True),
        ("libstdc++.so.6(GLIBCXX_9.9.9)(64bit)", False),
        ("libnothing-of-the-kind.so.1()(64bit)", False),
        ("rtld(GNU_HASH)", True),
        ("/bin/sh", True),
        ("/usr/bin/nothing-of-the-kind", False),
        ("numactl-libs", None),
        ("libc.so.6", None),  # without `(64bit)` it is the 32-bit one
    ],
)
def test_a_host_without_a_database_can_be_asked_for_libraries_and_files(
    here: Host,
    need: str,
    wanted: bool | None,  # noqa: FBT001 - a table
) -> None:
    assert here.meets(relation(need)) is wanted


def test_a_host_with_nothing_to_ask_knows_only_files() -> None:
    assert Host().meets(relation("libc.so.6()(64bit)")) is None
    assert Host().meets(relation("/")) is True


def test_rpms_database_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real database, with two packages in it."""
    fields = ["Epoch: 1", "Provides: capability = 2:3.4", "Provides: plain"]
    rpms = [
        build_rpm(Package("one", "1.5", fields=fields), tmp_path),
        build_rpm(Package("two", files={"opt/two": b"2"}), tmp_path),
    ]
    rpm = tool("rpm")
    database = ["--dbpath", str(tmp_path / "db")]
    words = [rpm, *database, "-i", "--justdb", "--nodeps", "--ignoreos", *map(str, rpms)]
    subprocess.run(words, check=True)
    wrapper = tmp_path / "rpm"
    wrapper.write_text(f'#!/bin/sh\nexec {rpm} {" ".join(database)} "$@"\n')
    wrapper.chmod(0o755)
    which = shutil.which
    monkeypatch.setattr(
        shutil,
        "which",
        lambda name, path=None: str(wrapper) if name == "rpm" else which(name, path=path),
    )
    host = read_host()
    for need, wanted in (
        ("one", True),
        ("one = 1:1.5", True),
        ("one >= 1:2", False),
        ("capability > 2:3", True),
        ("plain", True),
        ("plain = 1", False),
        ("three", False),
        ("two(x86-64)", True),
    ):
        assert host.meets(relation(need)) is wanted, need


def test_an_empty_database_knows_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian has the program, and a database that nothing is in."""
    monkeypatch.setattr(module, "_output", lambda name, *_: "\n" if name == "rpm" else None)
    assert read_host() == Host(None, None)


def test_a_program_that_fails_or_is_absent_knows_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    assert read_host() == Host(None, None)
    monkeypatch.setattr(shutil, "which", lambda *_, **__: "/bin/false")
    assert read_host() == Host(None, None)
    monkeypatch.setattr(shutil, "which", lambda *_, **__: str(tmp_path / "gone"))
    assert read_host() == Host(None, None)


def test_texts_of_both_programs_are_read() -> None:
    cache = (
        "2 libs found in cache `/etc/ld.so.cache'\n"
        "\tlibz.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libz.so.1\n"
        "\tlibz.so.1 (libc6) => /lib/i386-linux-gnu/libz.so.1\n"
        "\tlibc.so.6 (libc6,x86-64, OS ABI: Linux 3.2.0) => /lib/x86_64-linux-gnu/libc.so.6\n"
    )
    assert parse_cache(cache) == {
        "libz.so.1": ("/lib/x86_64-linux-gnu/libz.so.1",),
        "libc.so.6": ("/lib/x86_64-linux-gnu/libc.so.6",),
    }
    found = parse_provides(["a\t = \t1:2-3", "b\t\t", "a\t\t"])
    assert found == {"a": (relation("a = 1:2-3"), Relation("a")), "b": (Relation("b"),)}
