"""The host's source files, well-formed and not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from debian.deb822 import Deb822
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmenv.sources.apt.sourcelist import (
    SourceEntry,
    SourceList,
    parse_deb822,
    parse_list,
    read_sources,
)
from rocmenv.sources.apt.stanza import commented, fields

if TYPE_CHECKING:
    from pathlib import Path

URI = "https://repo.example.invalid/rocm/apt/6.3"
BLOCK = "-----BEGIN PGP PUBLIC KEY BLOCK-----"


def test_a_plain_line() -> None:
    found = parse_list(f"# comment\n\ndeb {URI} jammy main proprietary # end\n", "f")
    assert found.notes == ()
    assert found.entries == (SourceEntry(f"{URI}/", "jammy", ("main", "proprietary"), "f:3"),)


def test_a_line_with_options() -> None:
    line = f"deb\t[ arch=amd64,i386 signed-by=/etc/a.gpg,/etc/b.asc trusted=yes lang=x ] {URI}/ ./"
    entry = parse_list(line, "f").entries[0]
    assert entry.architectures == ("amd64", "i386")
    assert entry.keyrings == ("/etc/a.gpg", "/etc/b.asc")
    assert entry.is_trusted
    assert (entry.uri, entry.suite, entry.components) == (f"{URI}/", "./", ())


def test_a_fingerprint_is_no_path() -> None:
    entry = parse_list(f"deb [signed-by={'ab' * 20}] {URI} jammy main", "f").entries[0]
    assert entry.fingerprints == frozenset({"AB" * 20})
    assert entry.keyrings == ()


def test_source_packages_are_passed_over() -> None:
    found = parse_list(f"deb-src {URI} jammy main", "f")
    assert (found.entries, found.notes) == ((), ())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("debian x y z", "neither"),
        (f"deb [arch=amd64 {URI} jammy main", "not closed"),
        ("deb", "address"),
        ("deb cdrom:[x]/ jammy main", "address"),
        (f"deb {URI}", "no suite"),
        (f"deb {URI} jammy", "no component"),
        (f"deb {URI} ./ main", "ends in `/`"),
    ],
)
def test_a_malformed_line_is_a_note_with_its_place(line: str, words: str) -> None:
    found = parse_list(f"\n{line}\n", "/etc/apt/sources.list")
    assert found.entries == ()
    assert found.notes[0].startswith("/etc/apt/sources.list:2: ")
    assert words in found.notes[0]


@pytest.mark.parametrize(
    "line",
    [
        "deb ftp://{}h/debian bookworm main",
        "deb [arch=amd64]http://{}h/debian bookworm",
        "deb [arch=amd64 https://{}h/debian bookworm main",
        "http://{}h/debian bookworm main http://{}i/",
    ],
)
def test_a_note_shows_no_account(line: str) -> None:
    (note,) = parse_list(line.replace("{}", "joe:secret@"), "f").notes
    assert note.endswith(f"`{line.replace('{}', '')}`")


DEB822 = f"""\
# ROCm
Types: deb deb-src
URIs: {URI} file:/srv/mirror
Suites: jammy noble
Components: main
 extra
Architectures: amd64
Signed-By: /usr/share/keyrings/rocm.gpg

Enabled: no
Types: deb
URIs: {URI}
Suites: off
Components: main

Types: deb
URIs: {URI}
Suites: flat/
Signed-By:
 {BLOCK}
 .
 mQENBF
 =abcd
 -----END PGP PUBLIC KEY BLOCK-----
Trusted: yes
"""


def test_paragraphs() -> None:
    found = parse_deb822(DEB822, "f.sources")
    assert found.notes == ()
    assert [(e.uri, e.suite) for e in found.entries] == [
        (f"{URI}/", "jammy"),
        (f"{URI}/", "noble"),
        ("file:/srv/mirror/", "jammy"),
        ("file:/srv/mirror/", "noble"),
        (f"{URI}/", "flat/"),
    ]
    assert found.entries[0].components == ("main", "extra")
    assert found.entries[0].keyrings == ("/usr/share/keyrings/rocm.gpg",)
    assert found.entries[0].origin == "f.sources:2"
    assert found.entries[4].key_block.startswith(f"{BLOCK}\n\nmQENBF\n=abcd\n-----END")
    assert found.entries[4].keyrings == ()
    assert found.entries[4].origin == "f.sources:16"
    assert found.entries[4].is_trusted


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"URIs: {URI}\nSuites: x\n", "no `Types`"),
        (f"Types: rpm\nURIs: {URI}\nSuites: x\n", "not known"),
        ("Types: deb\nSuites: x\nComponents: main\n", "no `URIs`"),
        (f"Types: deb\nURIs: {URI}\nComponents: main\n", "no `Suites`"),
        (f"Types: deb\nURIs: {URI}\nSuites: jammy\n", "no component"),
        (f"Types: deb\nURIs: {URI}\nSuites: ./\nComponents: main\n", "ends in `/`"),
    ],
)
def test_a_malformed_paragraph_is_a_note(text: str, words: str) -> None:
    found = parse_deb822(text, "f")
    assert found.entries == ()
    assert words in found.notes[0]


UBUNTU = """\
# See http://help.ubuntu.com/community/UpgradeNotes for how to upgrade to
# newer versions of the distribution.

## Ubuntu distribution repository
##
## Types: Append deb-src to enable the fetching of source package.
## URIs: A URL to the repository (you may add multiple URLs)
Types: deb
URIs: http://archive.example.invalid/ubuntu/
Suites: noble noble-updates
# Suites: noble-backports
 noble-proposed
#
# noble-more
 noble-security
Components: main universe
Signed-By: /usr/share/keyrings/ubuntu-archive-keyring.gpg

## Ubuntu security updates. Aside from URIs and Suites,
## this should mirror your choices in the previous section.

Types: deb
Suites: noble
Components: main
# the end: nothing
"""


def test_comments_are_no_fields_and_end_none() -> None:
    found = parse_deb822(UBUNTU, "ubuntu.sources")
    assert [entry.suite for entry in found.entries] == [
        "noble",
        "noble-updates",
        "noble-proposed",
        "noble-security",
    ]
    assert {entry.origin for entry in found.entries} == {"ubuntu.sources:8"}
    assert {entry.components for entry in found.entries} == {("main", "universe")}
    assert found.notes == ("ubuntu.sources:22: the paragraph has no `URIs`",)


@pytest.mark.parametrize("text", ["", "# Types: deb\n", "\n\n#\n\n# a: b\n \n#"])
def test_comments_alone_are_no_paragraph(text: str) -> None:
    assert parse_deb822(text, "f") == SourceList((), ())


@pytest.mark.parametrize("between", ["\n", "\n\n\n", " \n", "\t \n", "\r\n"])
def test_the_line_of_a_paragraph_is_its_own(between: str) -> None:
    paragraph = "Types: rpm\n"
    found = parse_deb822(paragraph + between + paragraph, "f")
    second = 2 + between.count("\n")
    assert [note.partition(": ")[0] for note in found.notes] == ["f:1", f"f:{second}"]


COMMENTS = st.lists(st.sampled_from(["#", "# F{n}: no", "#x", "##"]), max_size=3)
INSIDE = st.lists(st.sampled_from(["F{n}: b", " c", "\td", " # no comment", "#x", "# F{n}: no"]))
PARAGRAPH = st.builds(lambda before, inside: [*before, "F{n}: a", *inside, ""], COMMENTS, INSIDE)


@settings(max_examples=300, deadline=None)
@given(st.lists(PARAGRAPH, min_size=1, max_size=4), COMMENTS)
def test_comments_are_read_as_python_debian_does(parts: list[list[str]], end: list[str]) -> None:
    pieces = [*(piece for part in parts for piece in part), *end]
    lines = [piece.format(n=number) for number, piece in enumerate(pieces)]
    theirs = [
        {name.lower(): value.split() for name, value in paragraph.items()}
        for paragraph in Deb822.iter_paragraphs(lines)
    ]
    ours = [
        {name: value.split() for name, value in fields(stanza).items()}
        for _, stanza in commented("\n".join(lines))
    ]
    assert ours == [paragraph for paragraph in theirs if paragraph]


def test_only_a_line_feed_ends_a_comment() -> None:
    hidden = f"# x\x0cdeb {URI} jammy main\x85deb {URI} jammy main\u2028deb {URI} jammy main\n"
    assert parse_list(hidden, "f") == SourceList((), ())


def test_all_files_are_read_in_order(tmp_path: Path) -> None:
    folder = tmp_path / "sources.list.d"
    folder.mkdir()
    (tmp_path / "sources.list").write_text(f"deb {URI} one main\n")
    (folder / "b.list").write_text(f"deb {URI} three main\nnonsense\n")
    (folder / "a.sources").write_text(f"Types: deb\nURIs: {URI}\nSuites: two\nComponents: main\n")
    (folder / "c.list.save").write_text(f"deb {URI} never main\n")
    (folder / "d.list").write_bytes(b"deb \xff\xfe\x00 x\n")
    (folder / "e.list").mkdir()
    found = read_sources(tmp_path)
    assert [e.suite for e in found.entries] == ["one", "two", "three"]
    assert len(found.notes) == 3
    assert read_sources(tmp_path / "missing").entries == ()


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("deb [=],/.:#\n\tTypesURI-xé"), max_size=120))
def test_no_text_raises(text: str) -> None:
    parse_list(text, "f")
    parse_deb822(text, "f")
