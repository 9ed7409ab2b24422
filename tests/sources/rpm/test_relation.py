"""Dependencies: what overlaps, and how rich ones are read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmenv.errors import RepositoryError
from rocmenv.sources.rpm.relation import Need, Relation, Rich, parse_need
from rocmenv.sources.rpm.version import Evr, parse_evr

OPERATORS = ("<", "<=", "=", ">=", ">")
RELATIONS = st.builds(
    lambda operator, number: Relation("a", operator, Evr(0, str(number), "")),
    st.sampled_from(OPERATORS),
    st.integers(1, 5).map(lambda n: n * 10),
)


def is_in(number: int, relation: Relation) -> bool:
    assert relation.evr is not None
    bound = int(relation.evr.version)
    order = (number > bound) - (number < bound)
    return {-1: "<", 0: "=", 1: ">"}[order] in relation.operator


@given(RELATIONS, RELATIONS)
def test_ranges_overlap_where_a_version_is_in_both(wanted: Relation, offer: Relation) -> None:
    common = [n for n in range(100) if is_in(n, wanted) and is_in(n, offer)]
    assert wanted.accepts(offer) == bool(common)
    assert offer.accepts(wanted) == bool(common)


def test_a_provide_without_a_version_meets_only_needs_without_one() -> None:
    plain, bound = Relation("a"), Relation("a", ">=", parse_evr("1"))
    assert plain.accepts(plain)
    assert plain.accepts(bound)
    assert not bound.accepts(plain)
    assert not plain.accepts(Relation("b"))


LEAVES = st.one_of(
    st.sampled_from(["foo", "libfoo.so.1()(64bit)", "pkgconfig(foo)", "/usr/bin/foo", "a+b-c"]).map(
        Relation
    ),
    st.builds(
        lambda operator, version: Relation("foo", operator, parse_evr(version)),
        st.sampled_from(OPERATORS),
        st.sampled_from(["1", "1:2.0-3.el9", "1~rc1", "1^git"]),
    ),
)


def _rich(parts: st.SearchStrategy[Need]) -> st.SearchStrategy[Need]:
    def build(words: list[str], count: tuple[int, int]) -> st.SearchStrategy[Need]:
        return st.builds(
            lambda word, found: Rich(word, tuple(found)),
            st.sampled_from(words),
            st.lists(parts, min_size=count[0], max_size=count[1]),
        )

    return st.one_of(
        build(["and", "or", "with"], (2, 4)),
        build(["if", "unless"], (2, 3)),
        build(["without"], (2, 2)),
    )


@given(st.recursive(LEAVES, _rich, max_leaves=8))
def test_what_is_written_is_read_again(need: Need) -> None:
    assert parse_need(str(need)) == need
    assert parse_need(str(need).replace(" (", "  ( ").replace("(( ", "(  (")) == need


def test_operators_need_no_blanks() -> None:
    assert parse_need("foo>=1.0-2") == Relation("foo", ">=", Evr(0, "1.0", "2"))
    assert parse_need("(foo>=1 or bar)") == parse_need("(foo >= 1 or bar)")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "foo bar",
        "foo >=",
        "(foo or",
        "(foo or)",
        "(foo",
        "(foo and bar or baz)",
        "(foo if bar if baz)",
        "(foo if bar else baz else qux)",
        "(foo else bar)",
        "(foo without bar without baz)",
        "(foo xor bar)",
        "(foo or bar) baz",
        "(" * 30 + "foo" + ")" * 30,
    ],
)
def test_what_is_no_relation_is_shown(text: str) -> None:
    with pytest.raises(RepositoryError, match="is not a package relation"):
        parse_need(text)
