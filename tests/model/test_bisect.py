"""The search finds where good turns into bad, and says what stayed open."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmenv.model.bisect import Search
from rocmenv.model.version import Version


def line(count: int) -> list[Version]:
    return [Version.parse(f"6.{number}.0") for number in range(count)]


def search(versions: list[Version], first_bad: int, skipped: set[int]) -> tuple[Search, int]:
    """A finished search, and how many versions were tried."""
    made = Search(versions)
    tried = 0
    while (version := made.next()) is not None:
        number = versions.index(version)
        made.tell(version, is_good=None if number in skipped else number < first_bad)
        tried += 1
    return made, tried


@given(st.integers(2, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n - 1))))
def test_it_finds_the_first_bad_one_in_few_steps(case: tuple[int, int]) -> None:
    count, first_bad = case
    versions = line(count)
    made, tried = search(versions, first_bad, set())
    assert (made.good, made.bad) == (versions[first_bad - 1], versions[first_bad])
    assert made.between == []
    assert tried <= math.ceil(math.log2(count - 1)) if count > 2 else tried == 0


@given(st.data())
def test_what_tells_nothing_is_left_open(data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 30))
    first_bad = data.draw(st.integers(1, count - 1))
    skipped = data.draw(st.sets(st.integers(1, count - 2))) if count > 2 else set()
    versions = line(count)
    made, tried = search(versions, first_bad, skipped)
    good, bad = versions.index(made.good), versions.index(made.bad)
    assert good < first_bad <= bad
    assert made.between == versions[good + 1 : bad]
    assert {versions.index(v) for v in made.between} <= skipped
    assert tried < count


def test_one_version_is_no_line() -> None:
    with pytest.raises(ValueError, match="two versions"):
        Search(line(1))
