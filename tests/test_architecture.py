"""What import-linter cannot see: I/O in the core, start-up imports, sizes."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocmenv.store.paths import Root
from tests.builders import clean_environ, root_with
from tests.cli.runner import COMMAND, REPOSITORY

PACKAGE = Path(REPOSITORY) / "rocmenv"
MODULES = sorted(PACKAGE.rglob("*.py"))
PURE = [
    path for path in MODULES if path.relative_to(PACKAGE).parts[0] in ("model", "env", "shells")
]
# What reads, writes or asks the machine; the core gets everything as arguments.
IMPURE = {
    "os", "io", "sys", "subprocess", "socket", "shutil", "tempfile", "urllib", "http", "glob",
    "time", "datetime", "random", "uuid", "platform", "pathlib", "logging", "threading", "fcntl",
    "importlib", "ctypes", "click", "filelock", "platformdirs", "tomlkit", "rich",
}  # fmt: skip
LONGEST_FUNCTION = 40
LONGEST_MODULE = 350
# Each with its reason.
LONG_MODULES = {
    "fetch/archive.py": "three kinds of archives go into one tree under one set of rules",
}
LONG_FUNCTIONS = {"sources/distro.py:plan": "one decision after the other, each with its words"}


def named(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def functions(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Each function with its lines, its docstring not counted."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            lines = node.end_lineno - node.lineno + 1
            if ast.get_docstring(node) is not None:
                text = node.body[0]
                assert text.end_lineno is not None
                lines -= text.end_lineno - text.lineno + 1
            yield node.name, lines


@pytest.mark.parametrize("path", PURE, ids=named)
def test_the_core_is_pure(path: Path) -> None:
    tree = parsed(path)
    assert not {name.partition(".")[0] for name in imported(tree)} & IMPURE
    calls = {
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not calls & {"open", "Path", "input", "print", "exec", "eval", "__import__"}


def test_the_core_is_there() -> None:
    assert len(PURE) > 10


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_only_fetch_opens_addresses(path: Path) -> None:
    network = {"urllib.request", "http.client", "socket", "ssl", "ftplib"}
    if path.parent.name != "fetch":
        assert not imported(parsed(path)) & network


# The way to a server has one door at each step, so that `offline` is asked in one place.
MAKERS = {
    "Web": {"fetch/connection.py"},
    "Connections": {"fetch/transfer.py"},
    "Downloads": {"fetch/transfer.py", "ops/connect.py"},
    "HTTPConnection": {"fetch/web.py"},
    "HTTPSConnection": {"fetch/web.py"},
    "create_connection": set(),
    "urlopen": set(),
}


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_nobody_goes_round_the_switch_for_offline(path: Path) -> None:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Call):
            called = node.func
            name = getattr(called, "id", None) or getattr(called, "attr", None)
            assert name not in MAKERS or named(path) in MAKERS[str(name)], f"{name}()"


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_functions_and_modules_stay_small(path: Path) -> None:
    name = named(path)
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= LONGEST_MODULE or name in LONG_MODULES, f"{name} has {lines} lines"
    for function, length in functions(parsed(path)):
        key = f"{name}:{function}"
        assert length <= LONGEST_FUNCTION or key in LONG_FUNCTIONS, f"{key}: {length} lines"


def test_the_lists_of_exceptions_have_no_strangers() -> None:
    assert set(LONG_MODULES) <= {named(path) for path in MODULES}
    assert {key.partition(":")[0] for key in LONG_FUNCTIONS} <= {named(path) for path in MODULES}


# What a start costs.

# `pathlib` itself loads urllib.parse up to Python 3.12.
SLOW = {
    "click", "tomlkit", "filelock", "rich", "urllib.request", "http.client", "platformdirs", "ssl",
    "hashlib", "subprocess",
}  # fmt: skip


def loaded(log: str) -> set[str]:
    """The slow ones of the modules in an import log, and rocmenv."""
    lines = [line for line in log.splitlines() if line.startswith("import time:")]
    names = {line.rpartition("|")[2].strip() for line in lines}
    assert "rocmenv.launch" in names
    return names & SLOW


def test_the_launcher_imports_little() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import rocmenv.launch"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    assert loaded(done.stderr) == set()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Root:
    root = root_with(tmp_path_factory.mktemp("start"), "6.3.0")
    root.default.write_text("6.3\n")
    root.config.write_text("jobs = 2\n")
    return root


@pytest.mark.parametrize(
    ("words", "more"),
    [
        (["version"], set()),
        (["resolve", "6.3"], set()),
        (["+6.3", "exec", "true"], set()),
        (["exec", "--shim", "hipcc", "--"], set()),
        (["versions"], {"click"}),
        (["which", "hipcc"], {"click"}),
        (["env", "--shell", "bash"], {"click"}),
    ],
)
def test_a_command_loads_no_more_than_it_needs(
    root: Root, words: list[str], more: set[str]
) -> None:
    """In a real process; the modules are told by the import log, as `exec` never returns."""
    python, *rest = COMMAND
    done = subprocess.run(
        [python, "-X", "importtime", *rest, *words],
        env=clean_environ(root),
        capture_output=True,
        text=True,
        check=True,
    )
    if sys.version_info < (3, 11):
        more = {*more, "tomlkit", "subprocess"}  # the library has no reader of TOML
    assert loaded(done.stderr) <= more


def test_the_import_contracts_are_kept() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    if not linter.exists():
        pytest.skip("import-linter is not installed")
    done = subprocess.run(
        [linter, "--no-cache"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
