"""The netrc file: what is written comes back, and nothing in it is a crash."""

from __future__ import annotations

import netrc
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmenv.fetch.accounts import Accounts

WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Z"]), min_size=1, max_size=8
)
KEYWORDS = ("machine", "login", "password", "account", "default", "macdef")
PLAIN = WORDS.filter(lambda word: word not in KEYWORDS and word[0] not in '#"')
ANYTHING = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=12)
HOSTS = st.from_regex(r"[a-z][a-z0-9.-]{0,10}", fullmatch=True).filter(
    lambda host: host not in KEYWORDS
)


def read(tmp_path: Path, text: str) -> dict[str, tuple[str, str]]:
    path = tmp_path / "netrc"
    path.write_text(text, encoding="utf-8", newline="")
    path.chmod(0o600)
    found = Accounts(path).read()
    assert found.problem == ""
    return dict(found.accounts)


def quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@settings(deadline=None)  # a file for each example
@given(entries=st.dictionaries(HOSTS, st.tuples(PLAIN, ANYTHING), max_size=5), data=st.data())
def test_what_was_written_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    entries: dict[str, tuple[str, str]],
    data: st.DataObject,
) -> None:
    text = ""
    for host, (login, password) in entries.items():
        gap = data.draw(st.sampled_from([" ", "\n", "\n\t", "\r\n  "]))
        comment = data.draw(st.sampled_from(["", "# machine x login y\n", "macdef m\nput x\n\n"]))
        text += f"{comment}machine {host}{gap}login {login}{gap}password {quoted(password)}\n"
    assert read(tmp_path_factory.getbasetemp(), text) == entries


@pytest.mark.skipif(sys.version_info < (3, 11), reason="reads no quotes before Python 3.11")
@settings(deadline=None)  # a file for each example
@given(entries=st.dictionaries(HOSTS, st.tuples(PLAIN, PLAIN), min_size=1, max_size=5))
def test_pythons_own_reader_sees_the_same(
    tmp_path_factory: pytest.TempPathFactory, entries: dict[str, tuple[str, str]]
) -> None:
    folder = tmp_path_factory.getbasetemp()
    text = "".join(
        f"machine {host} login {quoted(login)} password {quoted(password)}\n"
        for host, (login, password) in entries.items()
    )
    ours = read(folder, text)
    theirs = netrc.netrc(str(folder / "netrc")).hosts
    assert ours == {host: (login, password) for host, (login, _, password) in theirs.items()}


@settings(deadline=None)  # a file for each example
@given(st.lists(st.sampled_from([*KEYWORDS, "x", '"', '"a b"', "#", "\n", "\n\n", "\\"])))
def test_no_text_is_a_crash(tmp_path_factory: pytest.TempPathFactory, words: list[str]) -> None:
    for login, password in read(tmp_path_factory.getbasetemp(), " ".join(words)).values():
        assert isinstance(login + password, str)


def test_no_file_and_a_folder_are_no_accounts(tmp_path: Path) -> None:
    assert Accounts().read().accounts == {}
    assert Accounts(tmp_path / "none").read() == ({}, "")
    found = Accounts(tmp_path).read()
    assert found.accounts == {}
    assert "cannot be read" in found.problem
