"""What a wish needs: made-up repositories, and the program rpm as judge of a real one."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmenv.errors import ResolveError
from rocmenv.sources.rpm.closure import Closure, close
from rocmenv.sources.rpm.index import Index, Package, parse_primary
from rocmenv.sources.rpm.relation import Need, Relation, Rich, parse_need
from rocmenv.sources.rpm.version import parse_evr
from tests.sources.rpm.builders import Package as Built
from tests.sources.rpm.builders import build_rpm, index
from tests.tools import tool


def package(
    name: str,
    requires: Sequence[str] = (),
    version: str = "1-1",
    provides: Sequence[str] = (),
    conflicts: Sequence[str] = (),
    files: Sequence[str] = (),
) -> Package:
    def relations(texts: Sequence[str]) -> tuple[Relation, ...]:
        found = (Relation(text) if text.startswith("(") else parse_need(text) for text in texts)
        return tuple(need for need in found if isinstance(need, Relation))

    evr = parse_evr(version)
    return Package(
        name=name,
        evr=evr,
        architecture="x86_64",
        href=f"{name}.rpm",
        size=1,
        installed_size=1,
        digest_kind="sha256",
        sha256="0" * 64,
        requires=relations(requires),
        provides=(Relation(name, "=", evr), *relations(provides)),
        conflicts=relations(conflicts),
        files=tuple(files),
    )


def closed(
    *packages: Package, roots: Sequence[str] = ("root",), host: Sequence[str] = ()
) -> Closure:
    """The closure on a host that has the names in `host` and nothing else."""
    return close(roots, Index(packages), on_host=lambda relation: relation.name in host)


def names(closure: Closure) -> list[str]:
    return [p.name for p in closure.packages]


def test_needs_are_followed_and_chains_kept() -> None:
    closure = closed(
        package("root", ["a", "libc.so.6()(64bit)"]),
        package("a", ["/usr/bin/tool"]),
        package("b", files=["/usr/bin/tool"]),
        package("unrelated"),
        host=["libc.so.6()(64bit)"],
    )
    assert names(closure) == ["a", "b", "root"]
    assert closure.chains["b"] == ("root", "a", "b")
    assert closure.unmet == ()


def test_the_newest_version_that_fits_is_taken() -> None:
    versions = [package("a", version=v) for v in ("1-1", "3-1", "10-1", "2:0-1")]
    found = closed(package("root", ["a < 2:0"]), *versions)
    assert [p.version for p in found.packages] == ["10-1", "1-1"]


def test_a_later_need_narrows_an_earlier_choice() -> None:
    found = closed(
        package("root", ["a", "b"]),
        package("b", ["a = 1"]),
        package("a", version="1-1"),
        package("a", version="2-1"),
    )
    assert found.packages[0].identity == ("a", "1-1", "x86_64")


def test_versions_that_exclude_each_other_name_both_chains() -> None:
    with pytest.raises(ResolveError, match="no version of `a` is both") as caught:
        closed(
            package("root", ["a = 2", "b"]),
            package("b", ["a = 1"]),
            package("a", version="1-1"),
            package("a", version="2-1"),
        )
    assert "`root` needs `a = 2`" in caught.value.message
    assert "`root` → `b` needs `a = 1`" in caught.value.message


def test_of_two_providers_the_one_of_the_release_is_taken() -> None:
    """AMD's packages are there twice, with and without the release in their names."""
    library = ["libamdhip64.so.6()(64bit)"]
    for order in (1, -1):
        twins = [
            package("hip-runtime-amd", version="9-1", provides=library),
            package("hip-runtime-amd6.3.0", provides=library),
        ][::order]
        found = closed(package("rocblas6.3.0", library), *twins, roots=["rocblas6.3.0"])
        assert names(found) == ["hip-runtime-amd6.3.0", "rocblas6.3.0"]


@pytest.mark.parametrize("gpu", ["gfx1100", "gfx90a"])
def test_of_providers_for_each_gpu_the_wanted_one_is_taken(gpu: str) -> None:
    library = ["librocblas.so.5()(64bit)"]
    others = ("10.0-gfx1100", "10.0-gfx942", "10.0-gfx90a", "10.0", "")
    found = closed(
        package(f"amdrocm-fft10.0-{gpu}", library),
        *(package(f"amdrocm-blas{name}", provides=library) for name in others),
        roots=[f"amdrocm-fft10.0-{gpu}"],
    )
    assert names(found) == [f"amdrocm-blas10.0-{gpu}", f"amdrocm-fft10.0-{gpu}"]


def test_a_provider_that_is_chosen_already_is_enough() -> None:
    found = closed(
        package("root", ["chosen", "capability >= 2"]),
        package("chosen", provides=["capability = 2"]),
        package("another", provides=["capability = 3"]),
    )
    assert names(found) == ["chosen", "root"]


def test_what_nobody_has_is_unmet_once_with_its_shortest_chain() -> None:
    found = closed(package("root", ["a", "perl"]), package("a", ["perl", "libx.so.1()(64bit)"]))
    assert [(str(need), need.chain, need.is_known) for need in found.unmet] == [
        ("libx.so.1()(64bit)", ("root", "a"), True),
        ("perl", ("root",), True),
    ]
    unknown = close(["root"], Index([package("root", ["perl"])]), on_host=lambda _: None)
    assert [need.is_known for need in unknown.unmet] == [False]


@pytest.mark.parametrize(
    ("need", "words"),
    [
        ("lost6.3.0", "`root6.3.0` needs `lost6.3.0`, which the repository does not have"),
        ("lost6.3.0-gfx942", "needs `lost6.3.0-gfx942`, which the repository does not have"),
        ("lost = 1", "needs `lost = 1`, which the repository does not have"),
        ("a >= 2", r"needs `a >= 2`, which the repository does not have \(it has `a 1-1`\)"),
    ],
)
def test_what_must_be_the_repositorys_is_an_error(need: str, words: str) -> None:
    with pytest.raises(ResolveError, match=words):
        closed(package("root6.3.0", [need]), package("a"), roots=["root6.3.0"])


def test_a_missing_root_has_a_suggestion() -> None:
    with pytest.raises(ResolveError, match="no such package") as caught:
        closed(package("hipcc6.3.0"), roots=["hipc6.3.0"])
    assert caught.value.hint == "did you mean `hipcc6.3.0`?"
    with pytest.raises(ResolveError, match="only a `1-1`"):
        closed(package("a"), roots=["a = 2"])


def test_conflicts_name_both_chains() -> None:
    with pytest.raises(ResolveError, match="`a` conflicts with `b < 2`") as caught:
        closed(package("root", ["a", "b"]), package("a", conflicts=["b < 2"]), package("b"))
    assert "`root` → `a`; `root` → `b`" in caught.value.message
    closed(package("root", ["a", "b"]), package("a", conflicts=["b < 1"]), package("b"))


@pytest.mark.parametrize(
    ("need", "host", "wanted"),
    [
        ("(a or b)", [], ["a"]),
        ("(lost or b)", [], ["b"]),
        ("(lost or b)", ["lost"], []),
        ("(a and b)", [], ["a", "b"]),
        ("(a or (b and c))", ["b", "c"], []),
        ("((lost and a) or (b and c))", [], ["b", "c"]),
        ("(a if b)", [], []),
        ("(a if b)", ["b"], ["a"]),
        ("(a if b else c)", [], ["c"]),
        ("(a if c6)", [], ["a"]),  # `c6` is chosen for another reason
        ("(a unless b)", [], ["a"]),
        ("(a unless b)", ["b"], []),
        ("(a unless b else c)", ["b"], ["c"]),
        ("(virtual with virtual = 2)", [], ["c"]),
        ("(virtual without a)", [], ["b"]),
        ("((a if b) or c)", [], []),
    ],
)
def test_rich_dependencies(need: str, host: list[str], wanted: list[str]) -> None:
    found = closed(
        package("root", [need, "c6"]),
        package("a", provides=["virtual = 1"]),
        package("b", provides=["virtual = 1"], version="2-1"),
        package("c", provides=["virtual = 2"]),
        package("c6"),
        host=host,
    )
    assert [name for name in names(found) if name not in ("root", "c6")] == wanted
    assert found.unmet == ()


@pytest.mark.parametrize(
    ("need", "unmet"),
    [
        ("(lost or gone)", "(lost or gone)"),
        ("(lost with gone)", "(lost with gone)"),
        ("(lost if c6)", "lost"),
        ("(lost unless gone)", "lost"),
    ],
)
def test_a_rich_dependency_that_nobody_meets_is_unmet(need: str, unmet: str) -> None:
    found = closed(package("root", [need, "c6"]), package("c6"))
    assert [str(n) for n in found.unmet] == [unmet]


def test_a_condition_is_looked_at_again_when_more_is_chosen() -> None:
    found = closed(
        package("root", ["(a if z)", "(b unless z else c)", "(y if d)", "((e if z) or lost)", "d"]),
        *(package(name) for name in "abcde"),
        package("y", ["z"]),
        package("z"),
    )
    assert set(names(found)) >= {"a", "c", "d", "e", "root", "y", "z"}


NAMES = st.sampled_from("abcdef")
RELATIONS = st.one_of(
    NAMES.map(Relation),
    st.builds(
        lambda name, operator, number: Relation(name, operator, parse_evr(str(number))),
        NAMES,
        st.sampled_from([">=", "<", "<="]),
        st.integers(1, 3),
    ),
)
NEEDS: st.SearchStrategy[Need] = st.one_of(
    RELATIONS,
    st.builds(
        lambda word, parts: Rich(word, tuple(parts)),
        st.sampled_from(["and", "or", "if", "unless"]),
        st.lists(RELATIONS, min_size=2, max_size=2),
    ),
    st.builds(
        lambda word, parts: Rich(word, tuple(parts)),
        st.sampled_from(["if", "unless"]),
        st.lists(RELATIONS, min_size=3, max_size=3),
    ),
    st.builds(lambda a, b, c: Rich("or", (Rich("if", (a, b)), c)), RELATIONS, RELATIONS, RELATIONS),
)
REPOSITORIES = st.lists(
    st.builds(
        lambda name, number, needs: package(name, list(map(str, needs)), f"{number}-1"),
        NAMES,
        st.integers(1, 3),
        st.lists(NEEDS, max_size=3),
    ),
    min_size=1,
    max_size=10,
    unique_by=lambda p: (p.name, p.version),
)


def holds(need: Need, found: Closure, host: set[str], *, told: bool = True) -> bool:
    """Whether a need is met by a closure or the host, or `told` to be lacking."""
    if told and need in {unmet.need for unmet in found.unmet}:
        return True
    if isinstance(need, Relation):
        return need.name in host or any(p.meets(need) for p in found.packages)
    first, *others = (holds(part, found, host, told=told) for part in need.parts)
    if need.word in ("and", "or"):
        return (all if need.word == "and" else any)((first, *others))
    condition = holds(need.parts[1], found, host, told=False)
    return first if condition == (need.word == "if") else all(others[1:])


@settings(max_examples=400, deadline=None)
@given(REPOSITORIES, st.sets(NAMES, max_size=2))
def test_every_need_of_a_closure_is_met_or_told(packages: list[Package], host: set[str]) -> None:
    try:
        found = closed(*packages, roots=[packages[0].name], host=sorted(host))
    except ResolveError:
        return
    assert len({p.name for p in found.packages}) == len(found.packages)
    for one in found.packages:
        for need in one.needs():
            assert holds(need, found, host), f"{one.name} needs {need}"


def test_what_is_unmet_is_what_rpm_finds_missing(tmp_path: Path) -> None:
    """Rpm checks the packages of a closure against an empty database."""
    packages = [
        Built("root", fields=["Requires: a >= 2", "Requires: /bin/sh", "Requires: (x or y)"]),
        Built("a", "2.5", fields=["Requires: libm.so.6()(64bit)", "Requires: (b if c)"]),
        Built("b", fields=["Requires: perl >= 5", "Provides: beta = 3"]),
        Built("c", fields=["Requires: beta > 2", "Requires: (gone if absent)"]),
        Built("d", fields=["Requires: (c and lost)", "Requires: root"]),
        Built("a", "1.5"),
    ]
    for built in packages:
        build_rpm(built, tmp_path)
    (primary,) = index(tmp_path, "--compress-type=gz").glob("*primary.xml*")
    plain = subprocess.run(["zcat", primary], check=True, capture_output=True).stdout
    offered = Index(parse_primary([plain], "primary", frozenset({"x86_64"})))
    found = close(["d"], offered, on_host=lambda _: False)
    assert found.packages[0].version.startswith("2.5-")
    files = [tmp_path / p.href for p in found.packages]
    run = subprocess.run(
        [tool("rpm"), "--dbpath", tmp_path / "db", "-i", "--test", "--ignoreos", *files],
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line.strip() for line in run.stderr.splitlines() if " is needed by " in line]
    missing = {line.partition(" is needed by ")[0] for line in lines}
    ours = {str(need) for need in found.unmet}
    # rpm names the whole of `(c and lost)`, of which one half is there.
    assert missing == {n if n != "lost" else "(c and lost)" for n in ours}
    assert ours == {"/bin/sh", "(x or y)", "libm.so.6()(64bit)", "perl >= 5", "lost"}
