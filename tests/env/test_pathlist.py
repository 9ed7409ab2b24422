"""Lists of folders: nothing added but what was asked for, nothing lost (case R09)."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from rocmenv.env import pathlist
from tests.strategies import entry, path_list

folder = entry.filter(bool)


def nothing(_: str) -> bool:
    return False


def test_no_empty_entry_is_added(cases: Path) -> None:
    for row in json.loads((cases / "env" / "path-with-empties.json").read_text()):
        before = row["before"]
        after = pathlist.put(before, ["/new"], nothing)
        assert after is not None
        if not before:
            assert after == "/new"
        else:
            assert after == f"/new:{before}"
        assert pathlist.undo(after, before, after) == before


@given(path_list)
def test_split_and_join_are_inverse(value: str) -> None:
    assert pathlist.join(pathlist.split(value)) == (value or None)


@given(path_list, st.lists(folder, max_size=2))
def test_a_value_that_gains_and_loses_nothing_is_kept(value: str, front: list[str]) -> None:
    assert pathlist.put(value, [], nothing) == value
    assert pathlist.put(None, [], nothing) is None
    put = pathlist.put(value, front, nothing)
    assert pathlist.split(put) == front + pathlist.split(value)


@given(
    path_list, st.lists(folder, min_size=1, max_size=2), st.lists(folder, min_size=1, max_size=2)
)
def test_what_the_user_put_at_the_ends_survives(
    before: str, front: list[str], mine: list[str]
) -> None:
    after = pathlist.put(before, front, lambda e: e.startswith("/opt/rocm"))
    assert after is not None
    first = ":".join(mine + pathlist.split(after))
    last = ":".join(pathlist.split(after) + mine)
    if f":{after}:" not in f":{':'.join(mine)}:":  # the user's own text is not taken for ours
        assert sorted(pathlist.split(pathlist.undo(first, before, after))) == sorted(
            mine + pathlist.split(before)
        )
        assert sorted(pathlist.split(pathlist.undo(last, before, after))) == sorted(
            mine + pathlist.split(before)
        )


def test_an_edit_in_the_middle_is_kept_and_what_was_removed_comes_back_in_its_place() -> None:
    before, after = "/a:/opt/rocm/bin:/b", "/new:/a:/b"
    assert pathlist.undo("/new:/a:/mine:/b", before, after) == "/a:/opt/rocm/bin:/mine:/b"
    assert pathlist.undo("/new:/b", before, after) == "/opt/rocm/bin:/b"
    assert pathlist.undo("/x", before, after) == "/opt/rocm/bin:/x"


def test_a_variable_that_the_user_unset_stays_unset() -> None:
    assert pathlist.undo(None, "/a", "/new:/a") is None


def test_a_variable_that_activation_unset_takes_its_entries_back() -> None:
    assert pathlist.undo("/mine", "/opt/rocm/lib", None) == "/opt/rocm/lib:/mine"
