"""One table of cases, held against the Python code, the shim and every shell's hook (R01)."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from rocmenv.store.paths import Root
from tests.builders import clean_environ, root_with
from tests.shells.harness import STARTS, find

GOOD = "6.3.0"
# The folders of the reports' samples, with the version that holds there; None: an error.
SAMPLES: dict[str, str | None] = {
    **dict.fromkeys(
        (
            "plain", "no-final-newline", "crlf", "trailing-space-tab", "leading-space", "utf8-bom",
            "utf8-bom-crlf", "comment-first", "comment-inline", "comment-crlf-mixed", "prefix-v",
            "prefix-rocm", "nested", "nested/inner", "nested/inner/deeper",
        ),
        GOOD,
    ),
    **dict.fromkeys(
        ("empty", "blank-lines-only", "comments-only", "is-a-directory", "system"), "system"
    ),
    **dict.fromkeys(
        (
            "traversal", "absolute", "shell-meta", "nul-inside", "very-long-line", "rc", "nightly",
            "dev-local", "two-lines-fallback", "two-on-a-line",
        )
    ),
    "two-part": "6.3.4",
}  # fmt: skip
MORE: dict[str, tuple[bytes, str | None]] = {
    "latest": (b"latest\n", "7.2.4"),
    "one number": (b"6\n", "6.4.1"),
    "range": (b">=6.3,<6.4\n", "6.3.4"),
    "alias": (b"work\n", "6.3.4"),
    "alias of system": (b"none\n", "system"),
    "unknown alias": (b"nowhere\n", None),
    "not installed": (b"9.9.9\n", None),
    "not installed prefix": (b"9\n", None),
    "utf-16": ("\ufeff6.3.0\r\n".encode("utf-16-le"), GOOD),
    "comment not ascii": ("# größer\n6.3.0 # schön\n".encode(), GOOD),
    "form feed": (b"\x0c6.3.0\x0b\n", GOOD),
    "old mac": (b"6.3.0\r6.4.1\r", None),
    "dots": (b"..\n", None),
    "dash": (b"-6.3.0\n", None),
    "quote": (b"'6.3.0'\n", None),
    "glob": (b"6.*\n", None),
    "variable": (b"$HOME\n", None),
    "backslash": (b"6.3.0\\\n", None),
    "activation file": (b"6.3.0.sh\n", None),
    "trailing nul": (b"6.3.0\x00\n", None),
    "nul in a comment": (b"# a\x00b\n6.3.0\n", GOOD),
    "no read right": (b"6.3.0\n", GOOD),
}


@dataclass
class World:
    """A root with versions, a tree of projects, and the three readers."""

    root: Root
    projects: Path
    default: str = ""

    def environ(self, **more: str) -> dict[str, str]:
        path = f"{self.root.shims}:{self.projects / 'system'}:/usr/bin:/bin"
        return clean_environ(self.root, PATH=path, **more)

    def by_python(self, folder: Path, **more: str) -> str | None:
        done = run(
            [sys.executable, "-m", "rocmenv", "version", "--bare"], self.environ(**more), folder
        )
        assert "Traceback" not in done.stderr
        assert (done.returncode == 0) == (done.stdout != "")
        return done.stdout.strip() if done.returncode == 0 else None

    def by_shim(self, folder: Path, **more: str) -> str | None:
        done = run([str(self.root.shims / "hipcc"), "x y"], self.environ(**more), folder)
        if done.returncode:
            assert done.stdout == ""
            assert done.stderr.startswith("rocmenv: ")
            return None
        program, rocm, version, count, *arguments = done.stdout.rstrip("\n").split("\n")
        assert (count, arguments) == ("1", ["x y"])
        if program == str(self.projects / "system" / "hipcc"):
            return "system"
        assert rocm == str(self.root.versions / version)
        assert program == f"{rocm}/bin/hipcc"
        return version

    def by_hook(self, name: str, folder: Path, **more: str) -> str | None:
        shell = find(name)
        end = "; " if shell.is_fish else "\n"
        script = f"{shell.setup(self.root)}{end}" + 'echo "<$ROCM_PATH>"'
        ran = shell.run(script, self.environ(**more), folder)
        assert ran.status == 0
        rocm = ran.out.strip().split("\n")[-1][1:-1]
        if ran.err:
            assert rocm == ""
            assert ran.err.startswith("rocmenv: ")
            assert ran.err.count("\n") == 1, "at most one line"
            return None
        return rocm.rpartition("/")[2] or "system"


def run(
    command: list[str], environ: dict[str, str], folder: Path
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=environ, cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("table")
    root = root_with(folder, "6.3.0", "6.3.4", "6.4.1", "7.2.4")
    root.config.write_text('[aliases]\nwork = "6.3"\nnone = "system"\n')
    environ = clean_environ(root)
    subprocess.run([sys.executable, "-m", "rocmenv", "rehash"], env=environ, check=True)
    projects = folder / "projects"
    shutil.copytree(Path(__file__).parent.parent / "cases" / "version-files", projects)
    for name, (content, _) in MORE.items():
        (projects / name).mkdir()
        (projects / name / ".rocm-version").write_bytes(content)
    (projects / "system" / "hipcc").write_text((root.versions / "6.3.0/bin/hipcc").read_text())
    (projects / "system" / "hipcc").chmod(0o755)
    return World(root, projects)


READERS = ["python", "shim", *STARTS]


def answer(world: World, reader: str, folder: Path, **more: str) -> str | None:
    if reader == "python":
        return world.by_python(folder, **more)
    if reader == "shim":
        return world.by_shim(folder, **more)
    return world.by_hook(reader, folder, **more)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", list(SAMPLES))
def test_each_sample_has_one_answer(world: World, name: str, reader: str) -> None:
    assert answer(world, reader, world.projects / name) == SAMPLES[name]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", list(MORE))
def test_each_further_pin_has_one_answer(world: World, name: str, reader: str) -> None:
    assert answer(world, reader, world.projects / name) == MORE[name][1]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("6.4.1", "6.4.1"),
        ("6.4", "6.4.1"),
        ("work", "6.3.4"),
        ("system", "system"),
        ("", GOOD),
        ("9.9", None),
        ("../x", None),
        ("$(id)", None),
        (">=7", "7.2.4"),
        ("v6.4.1", "6.4.1"),
        (" ", None),
        ("<=6.3.0", "6.3.0"),
        (">7.2.4", None),
    ],
)
def test_the_variable_comes_before_the_pin(
    world: World, reader: str, value: str, expected: str | None
) -> None:
    folder = world.projects / "plain"
    assert answer(world, reader, folder, ROCMENV_VERSION=value) == expected


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("6.4.1\n", "6.4.1"),
        ("# nothing\n", "system"),
        ("6.4.1\r\n", "6.4.1"),
        ("6 7\n", None),
        ("9.9.9\n", None),
        (None, "system"),
    ],
)
def test_the_default_comes_after_the_pin(
    world: World, reader: str, content: str | None, expected: str | None
) -> None:
    if content is not None:
        world.root.default.write_bytes(content.encode())
    try:
        assert answer(world, reader, world.projects / "empty") == expected
        assert answer(world, reader, world.projects / "plain") == GOOD
    finally:
        world.root.default.unlink(missing_ok=True)


@pytest.mark.parametrize("reader", READERS)
def test_a_pin_in_the_root_directory_and_a_folder_with_odd_names(world: World, reader: str) -> None:
    for name in ("with blank", 'it\'s "quoted"', "dollar $HOME", "größe", "-n", "#hash", "[x]*"):
        folder = world.projects / name
        folder.mkdir(exist_ok=True)
        (folder / ".rocm-version").write_text("6.4.1\n")
        assert answer(world, reader, folder) == "6.4.1"


@pytest.mark.parametrize("reader", READERS)
def test_in_a_folder_that_was_deleted_the_default_holds(world: World, reader: str) -> None:
    """Some shells call such a folder `.`, and a walk upward from there had no end."""
    world.root.default.write_text("6.4.1\n")
    gone = world.projects / "deleted"
    gone.mkdir(exist_ok=True)
    if reader == "python":
        words = [sys.executable, "-m", "rocmenv", "version", "--bare"]
    elif reader == "shim":
        words = ["sh", "-c", f"'{world.root.shims}/hipcc' | sed -n 3p"]
    else:
        shell = find(reader)
        end = "; " if shell.is_fish else "\n"
        script = f"{shell.setup(world.root)}{end}_rocmenv_hook{end}" + 'basename "$ROCM_PATH"'
        words = [shell.program, *STARTS[reader], "-c", script]
    try:
        done = subprocess.run(
            ["sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", *words],
            env=world.environ(), cwd=gone, capture_output=True, text=True, check=False, timeout=20,
        )  # fmt: skip
        assert done.stdout == "6.4.1\n", done.stderr
    finally:
        world.root.default.unlink()


@pytest.mark.parametrize("reader", READERS)
def test_a_version_that_is_gone_is_an_error_everywhere(tmp_path: Path, reader: str) -> None:
    """R04, last part: removed behind the manager's back."""
    root = root_with(tmp_path, "6.3.0")
    projects = tmp_path / "projects"
    (projects / "system").mkdir(parents=True)
    (projects / ".rocm-version").write_text("6.3.0\n")
    shutil.rmtree(root.versions / "6.3.0")
    assert answer(World(root, projects), reader, projects) is None
