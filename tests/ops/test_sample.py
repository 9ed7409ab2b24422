"""`verify --compile`: what the compiler and the GPU say, with a compiler that is a script.

Real compilers are in tests/real.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocmenv.ops import sample
from rocmenv.store.paths import Root
from tests.builders import add, fake_prefix, put
from tests.cli.runner import Runner
from tests.probe.test_codeobjects import HOST, bundle, code

COMPILER = """#!/bin/sh
printf '%s\\n' "$@" >"{log}"
printf 'HIP_PLATFORM=%s\\n' "$HIP_PLATFORM" >>"{log}"
for last; do :; done
{body}
"""
RUNS = "#!/bin/sh\n{body}\nexit 0\n"


@pytest.fixture
def here(root: Root, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without a GPU; a file that the compiler notes its words in."""
    monkeypatch.setattr(sample, "_NODES", tmp_path / "nowhere")
    monkeypatch.setattr(sample, "_DEVICES", ())
    return tmp_path / "log"


def compiler(
    root: Root,
    tmp_path: Path,
    body: str,
    log: Path,
    tool: str = "bin/hipcc",
    version: str = "6.4.0",
) -> None:
    """A version whose compiler does `body`."""
    source = fake_prefix(tmp_path / version, version, ["rocminfo"])
    put(source, tool, COMPILER.format(log=log, body=body), 0o755)
    (source / "lib/llvm/bin/clang++").unlink(missing_ok=tool != "lib/llvm/bin/clang++")
    if tool == "lib/llvm/bin/clang++":
        put(source, tool, COMPILER.format(log=log, body=body), 0o755)
    add(root, version, source)


def makes(tmp_path: Path, *targets: str, runs: str = "") -> str:
    """A body that writes a program with code for these targets, which does `runs`."""
    program = tmp_path / "made"
    program.write_bytes(RUNS.format(body=runs).encode() + bundle(HOST, *map(code, targets)))
    return f'cp "{program}" "$last"; chmod +x "$last"'


def test_the_versions_own_compiler_gets_its_environment(
    rocmenv: Runner, root: Root, here: Path, tmp_path: Path
) -> None:
    compiler(root, tmp_path, makes(tmp_path, "gfx90a"), here)
    result = rocmenv("verify", "--compile", "-q", "6.4.0")
    assert result.fine().splitlines() == [
        "6.4.0: all 10 paths are as they were installed",
        "6.4.0: compiles for gfx90a; not run: this machine has no AMD GPU",
    ]
    words = here.read_text().splitlines()
    assert words[0] == "--offload-arch=gfx90a"
    assert words[1].endswith("/sample.hip")
    assert words[-1] == "HIP_PLATFORM=amd"
    assert not Path(words[1]).exists()


def test_targets_can_be_named(rocmenv: Runner, root: Root, here: Path, tmp_path: Path) -> None:
    compiler(root, tmp_path, makes(tmp_path, "gfx1100", "gfx90a:xnack-"), here)
    words = ("verify", "--compile", "--gpu", "gfx1100", "--gpu", "gfx90a", "--json", "6.4.0")
    (row,) = json.loads(rocmenv(*words).fine())["versions"]
    assert row["compile"] == {
        "compiler": f"{root.versions}/6.4.0/bin/hipcc",
        "targets": ["gfx1100", "gfx90a"],
        "problem": None,
        "ran": "not run: this machine has no AMD GPU",
    }
    assert here.read_text().splitlines()[:2] == ["--offload-arch=gfx1100", "--offload-arch=gfx90a"]


@pytest.mark.parametrize(
    ("word", "targets"),
    [
        ("gfx1100,gfx90a:xnack-", ["gfx1100", "gfx90a:xnack-"]),
        ("GFX120X-all", ["gfx1200", "gfx1201"]),
        ("gfx11-generic", ["gfx11-generic"]),
    ],
)
def test_targets_are_named_as_for_an_install(
    rocmenv: Runner, root: Root, here: Path, tmp_path: Path, word: str, targets: list[str]
) -> None:
    compiler(root, tmp_path, makes(tmp_path, *targets), here)
    rocmenv("verify", "--compile", "--gpu", word, "6.4.0").fine()
    given = [word for word in here.read_text().splitlines() if word.startswith("--offload")]
    assert given == [f"--offload-arch={target}" for target in targets]


@pytest.mark.parametrize("word", ["all", "gfx", "", "x; rm"])
def test_what_is_no_target_is_refused_before_anything_is_looked_at(
    rocmenv: Runner, root: Root, here: Path, tmp_path: Path, word: str
) -> None:
    compiler(root, tmp_path, makes(tmp_path, "gfx90a"), here)
    rocmenv("verify", "--compile", "--gpu", word).refused(2)
    assert not here.exists()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("echo note; echo 'x: error: bad GPU'; exit 1", "does not compile: `x: error: bad GPU`"),
        ("exit 3", "does not compile: `exit status 3, and no word`"),
        ("exit 0", "does not compile: `exit status 0, and no word`"),
        ("MAKES gfx906", "the program has no code for gfx90a, but for: gfx906"),
        ("MAKES", "the program has no code for gfx90a, but for: no GPU at all"),
    ],
)
def test_what_goes_wrong_is_said(
    rocmenv: Runner, root: Root, here: Path, tmp_path: Path, body: str, words: str
) -> None:
    made = body if not body.startswith("MAKES") else makes(tmp_path, *body.split()[1:])
    compiler(root, tmp_path, made, here)
    result = rocmenv("verify", "--compile", "-q", "6.4.0")
    assert result.status == 1
    assert words in result.out.splitlines()[-1]


@pytest.mark.parametrize(
    ("runs", "status", "words"),
    [
        ("echo target gfx90a:sramecc+", 0, "gfx90a; gfx90a:sramecc+ gave the right result"),
        # As with a generic target, or one that passes for another.
        ("echo target gfx90c", 0, "gfx90a; gfx90c gave the right result"),
        ("echo target gfx90a; exit 1", 1, "the GPU gfx90a gave a wrong result"),
        ("echo error launch: no code; exit 2", 1, "cannot be used: launch: no code"),
        ("echo target gfx1100; echo error x; exit 2", 0, "gfx1100 is not what it was compiled for"),
        ("exit 139", 1, "cannot be used: `exit status 139, and no word`"),
    ],
)
def test_a_gpu_runs_it(
    rocmenv: Runner,
    root: Root,
    here: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    runs: str,
    status: int,
    words: str,
) -> None:
    monkeypatch.setattr(sample, "_DEVICES", (str(tmp_path),))
    compiler(root, tmp_path, makes(tmp_path, "gfx90a", runs=runs), here)
    result = rocmenv("verify", "--compile", "-q", "6.4.0")
    assert (result.status, words in result.out.splitlines()[-1]) == (status, True), result


def test_without_hipcc_the_compiler_itself_is_taken(
    rocmenv: Runner, root: Root, here: Path, tmp_path: Path
) -> None:
    compiler(root, tmp_path, makes(tmp_path, "gfx90a"), here, tool="bin/amdclang++")
    rocmenv("verify", "--compile", "6.4.0").fine()
    words = here.read_text().splitlines()
    assert words[:3] == ["-x", "hip", "--hip-link"]


def test_a_version_without_a_compiler_is_told(
    rocmenv: Runner, root: Root, here: Path, tmp_path: Path
) -> None:
    source = fake_prefix(tmp_path / "6.4.0", "6.4.0", ["rocminfo"])
    (source / "lib/llvm/bin/clang++").unlink()
    add(root, "6.4.0", source)
    result = rocmenv("verify", "--compile", "6.4.0")
    assert result.refused() == "version 6.4.0 has no compiler for HIP"


def test_a_link_is_tried_though_nothing_is_known_of_its_files(
    rocmenv: Runner, root: Root, here: Path, tmp_path: Path
) -> None:
    source = fake_prefix(tmp_path / "x", "6.4.0")
    put(source, "bin/hipcc", COMPILER.format(log=here, body=makes(tmp_path, "gfx90a")), 0o755)
    rocmenv("link", "x").fine()
    result = rocmenv("verify", "--compile", "6.4.0")
    assert result.fine().startswith("6.4.0: compiles for gfx90a; ")


@pytest.mark.parametrize(
    ("name", "targets"),
    [
        ("cpu-only", ()),
        ("workstation", ("gfx1100", "gfx1036")),
        ("server-hex-targets", ("gfx90a", "gfx942", "gfx950")),
        ("old-kernel-without-target", ()),
        ("node-with-empty-properties", ()),
    ],
)
def test_the_machines_targets(cases: Path, name: str, targets: tuple[str, ...]) -> None:
    """R19."""
    nodes = cases / "kfd" / name / "topology/nodes"
    found = sample.machine_targets(nodes)
    assert found == targets
