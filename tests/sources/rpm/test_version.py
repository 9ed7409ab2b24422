"""Version order, held to the program rpm."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from rocmenv.sources.rpm.version import Evr, compare, compare_texts, parse_evr
from tests.tools import tool

# Digits, letters, both marks, and some of what only separates.
TEXTS = st.text("0019azAZ~^._+", min_size=1, max_size=7)
PAIRS = st.lists(st.tuples(TEXTS, TEXTS), min_size=200, max_size=400)
WHOLE = st.builds(
    lambda epoch, version, release: f"{epoch}{version}{release}",
    st.sampled_from(["", "0:", "1:", "12:"]),
    TEXTS,
    st.one_of(st.just(""), TEXTS.map("-{}".format)),
)
_LUA = """%{{lua:
local file = io.open("{path}")
while true do
  local one = file:read("l")
  if not one then break end
  print(rpm.vercmp(one, file:read("l")) .. "\\n")
end}}"""


def as_rpm_does(pairs: list[tuple[str, str]]) -> list[int]:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "pairs"
        path.write_text("".join(f"{one}\n{other}\n" for one, other in pairs))
        words = [tool("rpm"), "--eval", _LUA.format(path=path)]
        run = subprocess.run(words, capture_output=True, text=True, check=True)
    return [int(line) for line in run.stdout.split()]


@settings(max_examples=30, deadline=None)
@given(PAIRS)
def test_texts_are_ordered_as_rpm_does(pairs: list[tuple[str, str]]) -> None:
    assert [compare_texts(one, other) for one, other in pairs] == as_rpm_does(pairs)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(WHOLE, WHOLE), min_size=200, max_size=400))
def test_whole_versions_are_ordered_as_rpm_does(pairs: list[tuple[str, str]]) -> None:
    # Where one has no release, rpm's program takes it for the older; its dependencies do not.
    alike = [(a, b) for a, b in pairs if ("-" in a) == ("-" in b)]
    ours = [compare(parse_evr(one), parse_evr(other)) for one, other in alike]
    assert ours == as_rpm_does(alike)


@given(TEXTS, TEXTS)
def test_the_order_is_the_same_from_both_sides(one: str, other: str) -> None:
    assert compare_texts(one, other) == -compare_texts(other, one)


def test_a_missing_release_fits_any() -> None:
    assert compare(parse_evr("1.0"), parse_evr("1.0-5.el9")) == 0
    assert compare(parse_evr("1.0"), parse_evr("1.1-5.el9")) == -1
    assert compare(parse_evr("2:1.0"), parse_evr("1:3.0-1")) == 1


def test_a_version_is_taken_apart_and_written() -> None:
    assert parse_evr("1:6.3.0-39.el9") == Evr(1, "6.3.0", "39.el9")
    assert parse_evr("6.3.0") == Evr(0, "6.3.0", "")
    assert parse_evr(":6.3.0-1") == Evr(0, "6.3.0", "1")
    assert str(parse_evr("1:6.3.0-39.el9")) == "1:6.3.0-39.el9"
    assert str(parse_evr("0:6.3.0")) == "6.3.0"
