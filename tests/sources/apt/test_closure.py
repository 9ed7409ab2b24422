"""The closure: what is chosen, why, and the sentence when nothing is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmenv.errors import ResolveError
from rocmenv.sources.apt.closure import Closure, Need, close
from rocmenv.sources.apt.dpkg import UNKNOWN, Host, read_host
from rocmenv.sources.apt.index import Index
from rocmenv.sources.apt.relation import Relation, parse_relations

if TYPE_CHECKING:
    from pathlib import Path


def index(*packages: str) -> Index:
    """An index from lines such as `a 1 Depends: b; Provides: c`."""
    texts = []
    for line in packages:
        name, version, rest = (*line.split(" ", 2), "")[:3]
        fields = "".join(f"{field.strip()}\n" for field in rest.split(";") if field.strip())
        architecture = "" if "Architecture:" in fields else "Architecture: amd64\n"
        texts.append(f"Package: {name}\nVersion: {version}\n{architecture}{fields}")
    return Index("\n".join(texts))


def on_nothing(_relation: Relation) -> bool:
    return False


def closed(*packages: str, roots: tuple[str, ...] = ("root",), host: object = None) -> Closure:
    on_host = host.meets if isinstance(host, Host) else on_nothing
    return close(roots, index(*packages), architecture="amd64", on_host=on_host)


def need(text: str, *chain: str, is_known: bool = True) -> Need:
    return Need(parse_relations(text)[0], chain, is_known)


def versions(closure: Closure) -> dict[str, str]:
    return {p.name: p.version for p in closure.packages}


def test_what_is_needed_is_chosen_with_its_chain() -> None:
    closure = closed("root 1 Depends: b", "b 2 Pre-Depends: c", "c 3", "unrelated 1")
    assert versions(closure) == {"b": "2", "c": "3", "root": "1"}
    assert closure.chains["c"] == ("root", "b", "c")
    assert closure.unmet == ()


def test_the_newest_candidate_that_fits_is_chosen() -> None:
    assert versions(closed("root 1 Depends: x", "x 1.9", "x 1.10", "x 1.10~rc"))["x"] == "1.10"
    found = closed("root 1 Depends: x (<< 1.10)", "x 1.9", "x 1.10", "x 1.10~rc")
    assert versions(found)["x"] == "1.10~rc"


def test_other_architectures_are_no_candidates() -> None:
    found = closed("root 1 Depends: x", "x 2 Architecture: arm64", "x 1 Architecture: all")
    assert versions(found)["x"] == "1"


def test_circles_end() -> None:
    assert set(versions(closed("root 1 Depends: a", "a 1 Depends: root"))) == {"a", "root"}


def test_alternatives_prefer_chosen_then_host_then_first() -> None:
    packages = ("a 1", "b 1")
    assert "a" in versions(closed("root 1 Depends: a | b", *packages))
    chosen = closed("root 1 Depends: c, a | b", "c 1", *packages, roots=("b", "root"))
    assert "a" not in versions(chosen)
    hosted = closed("root 1 Depends: a | b | h", *packages, host=Host({"h": ("1",)}))
    assert set(versions(hosted)) == {"root"}
    assert list(map(str, hosted.from_host)) == ["a | b | h"]
    late = closed("root 1 Depends: missing | b", *packages)
    assert "b" in versions(late)


def test_providers_stand_in() -> None:
    assert "p" in versions(closed("root 1 Depends: v", "p 1 Provides: v"))
    assert "p" in versions(closed("root 1 Depends: v (>= 2)", "p 1 Provides: v (= 2)"))
    with_chosen = closed("root 1 Depends: p, v", "p 1 Provides: v", "q 1 Provides: v")
    assert "q" not in versions(with_chosen)
    real = closed("root 1 Depends: v", "p 1 Provides: v", "v 1")
    assert "v" in versions(real)


def test_providers_of_other_architectures_are_no_candidates() -> None:
    other = "p 2 Architecture: arm64; Provides: v"
    assert "q" in versions(closed("root 1 Depends: v", other, "q 1 Provides: v"))
    assert closed("root 1 Depends: v", other).unmet == (need("v", "root"),)


@pytest.mark.parametrize("provides", ["v", "v (= 1)"])
def test_a_provider_must_have_the_version(provides: str) -> None:
    closure = closed("root 1 Depends: v (>= 2)", f"p 1 Provides: {provides}")
    assert closure.unmet == (need("v (>= 2)", "root"),)


def test_what_only_the_host_has_is_unmet_with_its_chain() -> None:
    closure = closed("root 1 Depends: b", "b 1 Depends: libc6 (>= 2.38) | musl")
    assert closure.unmet == (need("libc6 (>= 2.38) | musl", "root", "b"),)


def test_a_host_that_cannot_be_asked_is_said_so() -> None:
    closure = closed("root 1 Depends: libc6", host=UNKNOWN)
    assert closure.unmet == (need("libc6", "root", is_known=False),)


@pytest.mark.parametrize(
    ("need", "more"),
    [
        ("hipcc6.3.0 (= 1.1.1.60300-39~22.04)", ()),
        ("hipcc6.3.0", ()),
        ("hipcc (= 1)", ()),
        ("hipcc (>= 2)", ("hipcc 1",)),
    ],
)
def test_a_package_that_must_be_here_is_missed_by_name(need: str, more: tuple[str, ...]) -> None:
    with pytest.raises(ResolveError) as caught:
        closed(f"sdk6.3.0 1 Depends: {need}", *more, roots=("sdk6.3.0",))
    assert f"`sdk6.3.0` needs `{need}`, which the repository does not have" in caught.value.message
    assert caught.value.hint


def test_code_for_a_gpu_must_be_here_too() -> None:
    with pytest.raises(ResolveError, match="`amdrocm-blas10.0-gfx942`, which the repository"):
        closed(
            "amdrocm10.0-gfx1100 1 Depends: amdrocm-blas10.0-gfx942",
            roots=("amdrocm10.0-gfx1100",),
        )


def test_the_chain_of_what_is_missing_is_whole() -> None:
    with pytest.raises(ResolveError, match="`root` → `b` → `c` needs `d"):
        closed("root 1 Depends: b", "b 1 Depends: c", "c 1 Depends: d (= 1)")


def test_a_missing_root_is_told_with_its_neighbour() -> None:
    with pytest.raises(ResolveError, match="no such package") as caught:
        closed("rocm-hip-sdk6.3.0 1", roots=("rocm-hip-sdk6.3.1",))
    assert caught.value.hint == "did you mean `rocm-hip-sdk6.3.0`?"
    with pytest.raises(ResolveError, match="only rocm `1`"):
        closed("rocm 1", roots=("rocm (= 2)",))
    with pytest.raises(ResolveError, match="not the name of one package"):
        closed("a 1", "b 1", roots=("a, b",))


def test_a_later_bound_narrows_an_earlier_choice() -> None:
    """R17: two builds of `comgr`, and one package that wants the older."""
    closure = closed(
        "root 1 Depends: free, exact", "free 1 Depends: x", "exact 1 Depends: x (= 1)", "x 1", "x 2"
    )
    assert versions(closure)["x"] == "1"


def test_bounds_that_exclude_each_other_name_both_chains() -> None:
    with pytest.raises(ResolveError) as caught:
        closed(
            "root 1 Depends: a, b", "a 1 Depends: x (= 1)", "b 1 Depends: x (>= 2)", "x 1", "x 2"
        )
    message = caught.value.message
    assert "`root` → `a` needs `x (= 1)`" in message
    assert "`root` → `b` needs `x (>= 2)`" in message
    assert "no version of `x` is both" in message


@pytest.mark.parametrize("field", ["Conflicts: b", "Breaks: b (<< 2)", "Conflicts: v"])
def test_conflicts_are_explained(field: str) -> None:
    with pytest.raises(ResolveError, match=r"`a` (conflicts with|breaks) .* both are needed"):
        closed("root 1 Depends: a, b", f"a 1 {field}", "b 1 Provides: v")


@pytest.mark.parametrize("field", ["Conflicts: b (<< 1)", "Breaks: c", "Conflicts: a, v"])
def test_conflicts_with_what_is_not_here_do_not_count(field: str) -> None:
    assert len(closed("root 1 Depends: a, b", f"a 1 {field}; Provides: v", "b 1").packages) == 3


def test_relations_of_other_architectures_do_not_count() -> None:
    closure = closed("root 1 Depends: a [arm64], b [!i386]", "a 1", "b 1")
    assert set(versions(closure)) == {"b", "root"}


def test_the_sample_release_closes(cases: Path) -> None:
    """R17: `rocm` wants exact builds of which two exist."""
    text = (cases / "apt/in-step/dists/jammy/main/binary-amd64/Packages").read_text()
    closure = close(["rocm"], Index(text), architecture="amd64", on_host=UNKNOWN.meets)
    assert versions(closure)["comgr"].startswith("2.8.0.60300-40")
    assert list(map(str, closure.unmet)) == ["cmake", "libc6", "python3"]


NAMES = st.sampled_from("abcdef")
NEED = st.tuples(NAMES, st.sampled_from(["", " (>= 2)", " (= 1)", " (<< 3)"])).map("".join)
FIELD = st.lists(st.lists(NEED, min_size=1, max_size=2).map(" | ".join), max_size=3).map(", ".join)
PACKAGE = st.tuples(NAMES, st.sampled_from("123"), FIELD)


@settings(max_examples=300, deadline=None)
@given(st.lists(PACKAGE, min_size=1, max_size=9))
def test_a_closure_is_closed_and_its_order_is_fixed(packages: list[tuple[str, str, str]]) -> None:
    lines = [f"{n} {v} Depends: {f}" for n, v, f in packages]
    root = packages[0][0]
    try:
        closure = closed(*lines, roots=(root,))
    except ResolveError:
        return
    chosen = versions(closure)
    open_needs = set(map(str, closure.unmet))
    for package in closure.packages:
        for group in parse_relations(package.depends):
            met = any(r.name in chosen and r.accepts(chosen[r.name]) for r in group)
            assert met or " | ".join(map(str, group)) in open_needs
    assert closed(*lines, roots=(root,)) == closure
    assert list(chosen) == sorted(chosen)


# The host.

STATUS = """\
Package: libc6
Status: install ok installed
Version: 2.36-9
Architecture: amd64
Multi-Arch: same
Provides: libc6-virtual (= 2.36-9), plain

Package: removed
Status: deinstall ok config-files
Version: 1

Package: libc6
Status: install ok installed
Version: 2.35-1
Architecture: i386

Package: broken
Status: install ok installed
Version: 1
Size: many

"""


def test_the_host_meets_what_it_has_installed(tmp_path: Path) -> None:
    path = tmp_path / "status"
    path.write_text(STATUS)
    host = read_host(path)
    answers = {
        "libc6": True,
        "libc6 (>= 2.36)": True,
        "libc6 (>= 2.38)": False,
        "libc6-virtual (>= 2.0)": True,
        "plain": True,
        "plain (>= 1)": False,
        "removed": False,
        "broken": False,
        "absent": False,
    }
    for text, answer in answers.items():
        assert host.meets(parse_relations(text)[0][0]) is answer, text


def test_a_host_without_dpkg_is_unknown(tmp_path: Path) -> None:
    host = read_host(tmp_path / "missing")
    assert not host.is_known
    assert host.meets(Relation("libc6")) is None
