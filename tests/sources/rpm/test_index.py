"""The `primary` index: what is read of it, and what is refused."""

from __future__ import annotations

import gzip
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocmenv.errors import RepositoryError
from rocmenv.sources.rpm.index import Index, Package, parse_primary
from rocmenv.sources.rpm.relation import Relation
from rocmenv.sources.rpm.version import Evr, parse_evr
from tests.sources.rpm.builders import Package as Built
from tests.sources.rpm.builders import build_rpm, index
from tests.sources.rpm.conftest import Made

X86 = frozenset({"x86_64", "noarch"})
HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<metadata xmlns="http://linux.duke.edu/metadata/common" '
    'xmlns:rpm="http://linux.duke.edu/metadata/rpm" packages="1">\n'
)


def entry(name: str, *, arch: str = "x86_64", more: str = "", **other: str) -> str:
    """One package of an index, in createrepo_c's form."""
    ver = other.get("ver", "6.3.0")
    location = other.get("location", f'href="{name}.rpm"')
    checksum = other.get("checksum", f'type="sha256" pkgid="YES">{"0" * 64}')
    size = other.get("size", 'package="5" installed="7" archive="9"')
    return (
        f'<package type="rpm"><name>{name}</name><arch>{arch}</arch>'
        f'<version epoch="0" ver="{ver}" rel="1"/><checksum {checksum}</checksum>'
        f"<summary>x</summary><size {size}/><location {location}/><format>"
        f'<rpm:provides><rpm:entry name="{name}" flags="EQ" epoch="0" ver="{ver}" rel="1"/>'
        f"</rpm:provides>{more}</format></package>\n"
    )


def parse(*entries: str, head: str = HEAD) -> list[Package]:
    text = f"{head}{''.join(entries)}</metadata>"
    return parse_primary([text.encode()], "primary.xml", X86)


def test_what_createrepo_writes_is_read(tmp_path: Path) -> None:
    built = Built(
        "sample",
        "1.2~rc1",
        "3.el9",
        fields=[
            "Epoch: 2",
            "Requires: foo >= 1:2-3",
            "Requires: (bar if baz)",
            "Requires(post): /sbin/ldconfig",
            "Provides: other = 5",
            "Conflicts: enemy < 2",
        ],
        files={"usr/bin/tool": b"x", "opt/data": b"y"},
    )
    path = build_rpm(built, tmp_path)
    (primary,) = index(tmp_path).glob("*primary.xml.gz")
    (package,) = parse_primary([gzip.decompress(primary.read_bytes())], "primary", X86)
    assert package.identity == ("sample", "2:1.2~rc1-3.el9", "x86_64")
    assert package.href == path.name
    assert package.size == path.stat().st_size
    assert package.installed_size is not None
    assert [str(need) for need in package.needs()] == [
        "(bar if baz)",
        "/sbin/ldconfig",
        "foo >= 1:2-3",
    ]
    assert Relation("other", "=", Evr(0, "5", "")) in package.provides
    assert Relation("sample", "=", parse_evr("2:1.2~rc1-3.el9")) in package.provides
    assert [str(need) for need in package.excludes()] == ["enemy < 2"]
    assert package.files == ("/usr/bin/tool",)


def test_packages_are_found_by_name_capability_and_file(made: Made) -> None:
    (primary,) = (made.plain / "repodata").glob("*primary.xml.gz")
    packages = Index(parse_primary([gzip.decompress(primary.read_bytes())], "primary", X86))
    assert len(packages) == 11
    assert [p.name for p in packages.providing("libamdhip64.so.6()(64bit)")] == [
        "hip-runtime-amd",
        "hip-runtime-amd6.3.0",
    ]
    assert [p.name for p in packages.providing("/opt/rocm-6.3.0/bin/hipcc")] == ["hipcc6.3.0"]
    assert packages.named("hipcc6.3.0")[0].name == "hipcc6.3.0"
    assert packages.named("hipcc") == ()


def test_other_architectures_are_passed_over() -> None:
    found = parse(entry("a", arch="i686"), entry("b", arch="src"), entry("c", arch="noarch"))
    assert [package.name for package in found] == ["c"]


BOMB = (
    '<?xml version="1.0"?><!DOCTYPE metadata [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'
    "<metadata>&b;</metadata>"
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BOMB, "document type"),
        ('<!DOCTYPE m SYSTEM "file:///etc/passwd"><m/>', "document type"),
        ('<!DOCTYPE m [<!ENTITY x SYSTEM "file:///etc/passwd">]><m>&x;</m>', "document type"),
        ("<metadata><package>", "not XML that can be read"),
        ("<metadata>&x;</metadata>", "not XML that can be read"),
        ("no XML", "not XML that can be read"),
        ('<?xml version="1.0" encoding="none"?><metadata/>', "unknown encoding: none"),
        ('<?xml version="1.0" encoding="shift_jis"?><metadata/>', "multi-byte encodings"),
        ("", "not XML that can be read"),
        ("<html/>", "not the index of an RPM repository"),
        ("<a>" * 40 + "</a>" * 40, "nested too deep"),
        (f"<metadata><package><name>{'x' * (2 << 20)}</name></package></metadata>", "no end"),
    ],
)
def test_what_is_no_index_is_refused(text: str, words: str) -> None:
    with pytest.raises(RepositoryError, match=words):
        parse_primary([text.encode()], "primary.xml", X86)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (entry("a").replace("<name>a</name>", ""), "without name, version or file"),
        (entry("a", ver=""), "without name, version or file"),
        (entry("a", location=""), "without name, version or file"),
        (entry("a", location='xml:base="http://x.invalid/" href="a.rpm"'), "another address"),
        (entry("a", size='package="-1"'), "as size of `a`"),
        (entry("a", size=f'package="{"9" * 5000}"'), "as size of `a`"),
        (entry("a", checksum='type="sha256">xyz'), "as SHA-256 of `a`"),
        (
            entry("a", more='<rpm:requires><rpm:entry name="b" flags="XX"/></rpm:requires>'),
            "as relation of `a`",
        ),
        (
            entry(
                "a",
                more='<rpm:requires><rpm:entry name="b" flags="EQ" epoch="x"/></rpm:requires>',
            ),
            "as epoch",
        ),
    ],
)
def test_an_odd_package_is_named(text: str, words: str) -> None:
    with pytest.raises(RepositoryError, match=words):
        parse(text)


def test_what_rpm_itself_must_be_able_to_do_is_no_need() -> None:
    more = (
        '<rpm:requires><rpm:entry name="rpmlib(PayloadIsZstd)" flags="LE" epoch="0" ver="5"/>'
        '<rpm:entry name="b"/><rpm:entry name="b"/></rpm:requires>'
    )
    (package,) = parse(entry("a", more=more))
    assert package.needs() == [Relation("b")]


def test_a_large_index_needs_little_memory() -> None:
    """A package costs what is its own; relations that all have are kept once."""
    count = 3000
    names = [f"lib{n}.so.1()(64bit)" for n in range(60)]
    needs = "".join(f'<rpm:entry name="{name}"/>' for name in names)
    more = f"<rpm:requires>{needs}</rpm:requires>"

    def pieces() -> Iterator[bytes]:
        yield HEAD.encode()
        for number in range(count):
            yield entry(f"package{number}", more=more).encode()
        yield b"</metadata>"

    tracemalloc.start()
    try:
        packages = parse_primary(pieces(), "primary", X86)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(packages) == count
    assert len(packages[-1].requires) == 60
    assert peak / count < 3000, "bytes for each package; its text has 3 kB"
