"""Version order and dependency fields, with dpkg and python-debian as oracles."""

from __future__ import annotations

import subprocess

import pytest
from debian.deb822 import PkgRelation
from debian.debian_support import NativeVersion
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmenv.errors import RepositoryError
from rocmenv.sources.apt.relation import Relation, compare, parse_relations
from tests.tools import tool

PAIRS = [
    ("1.0", "1.0~"),
    ("2.0~rc1", "2.0"),
    ("1.0-1", "1.0-0"),
    ("1.0", "1.0-0"),
    ("0:1", "1"),
    ("1:0", "99"),
    ("1.0a", "1.0+"),
    ("6.3.0.60300-39~22.04", "6.3.0.60300-40~22.04"),
    ("6.3.0.60300-39~22.04", "6.3.0.60300-39"),
    ("7.14.0", "7.9.0"),
    ("10.0.0~pre4", "10.0.0"),
    ("1.0-1-2", "1.0-1-1"),
    ("2.36~", "2.36"),
    ("1.00", "1.0"),
    ("1.0.", "1.0"),
]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_versions_are_ordered_as_dpkg_does(one: str, other: str) -> None:
    dpkg = tool("dpkg")
    operator = {-1: "lt", 0: "eq", 1: "gt"}[compare(one, other)]
    subprocess.run([dpkg, "--compare-versions", one, operator, other], check=True)
    assert compare(other, one) == -compare(one, other)


VERSION = st.from_regex(
    r"(?:[0-9]:)?[0-9][A-Za-z0-9.+~]{0,6}(?:-[A-Za-z0-9.+~]{1,4})?", fullmatch=True
)


@settings(max_examples=400, deadline=None)
@given(VERSION, VERSION)
def test_versions_are_ordered_as_python_debian_does(one: str, other: str) -> None:
    theirs = NativeVersion(one)._compare(NativeVersion(other))  # noqa: SLF001 - the test reaches inside on purpose
    assert compare(one, other) == (theirs > 0) - (theirs < 0)


@pytest.mark.parametrize("text", ["", " ", "1 2", "1_0", "a:1", "é", "1\n2", "1" * 5000])
def test_what_is_no_version_is_an_error(text: str) -> None:
    with pytest.raises(RepositoryError, match="not a package version"):
        compare(text, "1")


@pytest.mark.parametrize(
    ("operator", "accepted"),
    [
        ("<<", "1"),
        ("<=", "12"),
        ("=", "2"),
        (">=", "23"),
        (">>", "3"),
        ("<", "12"),
        (">", "23"),
        ("", "123"),
    ],
)
def test_each_operator_accepts_what_it_says(operator: str, accepted: str) -> None:
    relation = Relation("x", operator, "2")
    assert "".join(v for v in "123" if relation.accepts(v)) == accepted


def test_fields_are_cut_into_groups() -> None:
    text = (
        "a, b (>= 1.0~) | c(<<2) , d:any, e [amd64 arm64] <!nocheck>, f [!i386], g:amd64 (= 1:2-3)"
    )
    assert parse_relations(text) == (
        (Relation("a"),),
        (Relation("b", ">=", "1.0~"), Relation("c", "<<", "2")),
        (Relation("d"),),
        (Relation("e", architectures=("amd64", "arm64")),),
        (Relation("f", architectures=("!i386",)),),
        (Relation("g", "=", "1:2-3"),),
    )
    assert parse_relations("") == ()
    assert parse_relations(" , a,,") == ((Relation("a"),),)


def test_architectures_restrict() -> None:
    assert Relation("x").applies("amd64")
    assert Relation("x", architectures=("amd64",)).applies("amd64")
    assert not Relation("x", architectures=("arm64",)).applies("amd64")
    assert Relation("x", architectures=("!i386",)).applies("amd64")
    assert not Relation("x", architectures=("!amd64",)).applies("amd64")


@pytest.mark.parametrize(
    "text", ["|", "a|", "(>= 1)", "a (>= )", "a (1)", "a (~ 1)", "a (>= 1 2) b (", "[x]"]
)
def test_what_is_no_relation_is_an_error(text: str) -> None:
    with pytest.raises(RepositoryError):
        [r.accepts("1") for group in parse_relations(text) for r in group]


NAME = st.from_regex(r"[a-z][a-z0-9+.-]{1,6}", fullmatch=True)
CONSTRAINT = st.just("") | st.tuples(st.sampled_from(["<<", "<=", "=", ">=", ">>"]), VERSION).map(
    lambda p: f" ({p[0]} {p[1]})"
)
ONE = st.tuples(NAME, CONSTRAINT).map("".join)
GROUP = st.lists(ONE, min_size=1, max_size=3).map(" | ".join)


@settings(max_examples=200, deadline=None)
@given(st.lists(GROUP, min_size=1, max_size=4))
def test_fields_are_read_as_python_debian_does(groups: list[str]) -> None:
    text = ", ".join(groups)
    theirs = [
        [(r["name"], *(r["version"] or ("", ""))) for r in group]
        for group in PkgRelation.parse_relations(text)
    ]
    ours = [[(r.name, r.operator, r.version) for r in group] for group in parse_relations(text)]
    assert ours == theirs
