"""`upgrade`: the new one first, then the default, then the old one goes; stopped anywhere."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import pytest

from rocmenv.model.version import Version
from rocmenv.store import registry
from rocmenv.store.paths import Root
from tests.builders import add, clean_environ, fake_prefix
from tests.cli.runner import COMMAND, Result, run_and_stop, run_command
from tests.fetch.server import Site
from tests.ops.mirror import NEW, OLD, Mirror, mirrored
from tests.store.test_trash import empty_soon
from tests.tools import tool

Call = Callable[..., Result]

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="AMD's are for x86-64")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirror]:
    tool("dpkg-deb")
    with mirrored(tmp_path_factory.mktemp("debs")) as mirror:
        yield mirror


@pytest.fixture
def variables(made: Mirror, site: Site) -> dict[str, str]:
    return made.publish(site)


def as_it_is(root: Root, variables: dict[str, str], *words: str, cwd: Path | str = "/") -> Result:
    return run_command([*COMMAND, *words], clean_environ(root, **variables), cwd)


@pytest.fixture
def root(tmp_path: Path, variables: dict[str, str]) -> Root:
    """A root with the old release, from the mirror, with a package more than the default."""
    root = Root(tmp_path / "root")
    as_it_is(root, variables, "install", OLD, "--with", "rocblas", "-q").fine()
    return root


@pytest.fixture
def call(root: Root, variables: dict[str, str]) -> Call:
    def run_here(*words: str, cwd: Path | str = "/") -> Result:
        return as_it_is(root, variables, *words, cwd=cwd)

    return run_here


def versions(root: Root) -> list[str]:
    return [str(v) for v in registry.load(root).installed]


def test_the_newest_of_the_series_takes_its_place(call: Call, root: Root) -> None:
    root.default.write_text("# mine\n6.3.0\n")
    result = call("upgrade", "6.3")
    assert result.fine() == ""
    assert versions(root) == [NEW]
    assert root.default.read_text() == "# mine\n6.3.3\n"
    assert f"{NEW} is installed in place of {OLD}" in result.err
    receipt = registry.read_receipt(root, Version.parse(NEW))
    assert (receipt.source, receipt.profile, receipt.extra) == ("legacy", "hip", ("rocblas",))
    assert {i.name for i in receipt.items} >= {"rocblas6.3.3", "hipcc6.3.3"}
    assert receipt.shared is not None
    assert receipt.shared.files == 1, "the kernels are those of the old one"
    assert empty_soon(root.trash)
    assert "6.3.3 is the newest of 6.3" in call("upgrade", "--all").err


def test_a_dry_run_changes_nothing(call: Call, root: Root) -> None:
    out = call("upgrade", "--all", "--dry-run").fine()
    assert out.startswith("6.3.0 -> 6.3.3 (legacy, hip, rocblas): ")
    assert versions(root) == [OLD]
    row = json.loads(call("upgrade", "--all", "--dry-run", "--json").fine())["upgrades"][0]
    assert (row["from"], row["to"], row["profile"], row["extra"]) == (OLD, NEW, "hip", ["rocblas"])


def test_a_request_follows_by_itself_and_keeps_nothing(
    call: Call, root: Root, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    call("local", "6.3", cwd=project).fine()
    call("upgrade", "6.3.0").fine()
    assert versions(root) == [NEW]
    assert (project / ".rocm-version").read_text() == "6.3\n"


def test_a_pin_in_full_keeps_the_old_one(call: Call, root: Root, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    call("local", OLD, cwd=project).fine()
    result = call("upgrade", OLD)
    assert result.fine() == ""
    assert f"{OLD} stays: pinned by {project}/.rocm-version" in result.err
    assert versions(root) == [OLD, NEW]
    assert (project / ".rocm-version").read_text() == f"{OLD}\n"

    result = call("upgrade", OLD, "--pins")
    assert f"{project}/.rocm-version now says {NEW}" in result.err
    assert versions(root) == [NEW]
    assert (project / ".rocm-version").read_text() == f"{NEW}\n"


@pytest.mark.parametrize(("answer", "says", "there"), [("y", NEW, [NEW]), ("n", OLD, [OLD, NEW])])
def test_a_terminal_is_asked_about_pins(
    call: Call,
    root: Root,
    tmp_path: Path,
    variables: dict[str, str],
    answer: str,
    says: str,
    there: list[str],
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    call("local", OLD, cwd=project).fine()
    environ = clean_environ(root, TERM="xterm", **variables)
    child = pexpect.spawn(COMMAND[0], [*COMMAND[1:], "upgrade", OLD], env=environ, cwd="/")
    child.expect_exact(f"Let them name {NEW}?")
    child.sendline(answer)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert (project / ".rocm-version").read_text() == f"{says}\n"
    assert versions(root) == there


@pytest.mark.parametrize(
    ("words", "environ", "reason"),
    [
        (["--keep-old"], {}, "`--keep-old` was given"),
        ([], {"ROCMENV_VERSION": OLD}, "selected by ROCMENV_VERSION"),
    ],
)
def test_what_is_in_use_stays(
    root: Root, variables: dict[str, str], words: list[str], environ: dict[str, str], reason: str
) -> None:
    result = as_it_is(root, {**variables, **environ}, "upgrade", OLD, *words)
    assert result.status == 0
    assert f"{OLD} stays: {reason}" in result.err
    assert versions(root) == [OLD, NEW]


def test_an_alias_keeps_what_it_means(call: Call, root: Root) -> None:
    call("config", "set", "aliases.work", OLD).fine()
    assert "what the alias `work` means" in call("upgrade", OLD).err
    assert versions(root) == [OLD, NEW]


def test_what_cannot_be_read_may_ask_for_the_old_one(call: Call, root: Root) -> None:
    root.projects.write_text("{")
    told = f"{OLD} stays: {root.projects} cannot be read, and may ask for it"
    assert told in call("upgrade", OLD).err
    assert versions(root) == [OLD, NEW]


def test_a_variant_stays_one(call: Call, root: Root) -> None:
    call("install", OLD, "--as", f"{OLD}+blas", "--with", "rocblas6.3.0", "-q").fine()
    call("upgrade", f"{OLD}+blas").fine()
    assert versions(root) == [OLD, f"{NEW}+blas"]
    receipt = registry.read_receipt(root, Version.parse(f"{NEW}+blas"))
    assert "rocblas6.3.3" in {i.name for i in receipt.items}


def test_an_old_receipt_has_no_profile_and_that_is_said(call: Call, root: Root) -> None:
    path = root.receipt(Version.parse(OLD))
    value = json.loads(path.read_text())
    for name in ("profile", "extra"):
        del value[name]
    path.write_text(json.dumps(value))
    result = call("upgrade", OLD)
    assert f"note: the receipt of {OLD} does not tell its profile: `hip` is taken" in result.err
    assert versions(root) == [NEW]


def test_what_has_no_channel_is_refused_by_name_and_passed_over_otherwise(
    call: Call, root: Root, tmp_path: Path
) -> None:
    add(root, "6.2.0", fake_prefix(tmp_path / "tree", "6.2.0"))
    assert "6.2.0 was made from" in call("upgrade", "6.2.0").refused()
    site = fake_prefix(tmp_path / "site", "6.1.0")
    call("link", str(site)).fine()
    assert f"6.1.0 is linked to {site}" in call("upgrade", "6.1").refused()
    call("upgrade", "--all").fine()
    assert versions(root) == ["6.1.0", "6.2.0", NEW]


@pytest.mark.parametrize("words", [[], ["--all", "6.3"]])
def test_it_must_be_said_what(call: Call, words: list[str]) -> None:
    assert call("upgrade", *words).refused(2) == "name versions, or give `--all`; not both"


def test_a_mirror_without_the_new_one_leaves_everything(call: Call, root: Root, site: Site) -> None:
    for path in [path for path in site.files if "/6.3.3/" in path]:
        del site.files[path]
    result = call("upgrade", OLD)
    assert (result.status, "Traceback" in result.err) == (1, False)
    assert "has no suite" in result.err
    assert versions(root) == [OLD]
    error = json.loads(call("upgrade", OLD, "--json").out)["upgrades"][0]["error"]
    assert error["code"] == "repository"


def test_two_at_once_leave_the_new_one(call: Call, root: Root, variables: dict[str, str]) -> None:
    environ = clean_environ(root, **variables)
    children = [
        subprocess.Popen([*COMMAND, "upgrade", OLD], env=environ, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    ended = [(*child.communicate(timeout=60), child.returncode) for child in children]
    assert 0 in [status for *_, status in ended], ended
    assert all("Traceback" not in err for _, err, _ in ended)
    assert NEW in versions(root)
    if OLD in versions(root):
        call("upgrade", OLD).fine()
    assert versions(root) == [NEW]
    assert os.listdir(root.staging) == os.listdir(root.journal) == []


POINTS = {
    "while it is made": "rocmenv.ops.install:find_layout",
    "before it appears": "rocmenv.store.transaction:Stage._put_in_place",
    "before the shims": "rocmenv.ops.install:rehash",
    "before the default": "rocmenv.ops.upgrade:settle",
    "before the old one goes": "rocmenv.ops.upgrade:uninstall",
    "while the old one goes": "rocmenv.ops.uninstall:rehash",
}


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("point", POINTS)
def test_stopped_anywhere_there_is_a_whole_version_and_the_next_one_goes_on(
    call: Call,
    root: Root,
    variables: dict[str, str],
    point: str,
    how: signal.Signals,
) -> None:
    root.default.write_text(f"{OLD}\n")
    stopped = run_and_stop(root, POINTS[point], how, "upgrade", OLD, **variables)
    assert stopped.status == (-signal.SIGKILL if how == signal.SIGKILL else 130)
    assert "Traceback" not in stopped.err
    assert registry.load(root).broken == ()
    assert versions(root) in ([OLD], [OLD, NEW], [NEW])
    assert call("exec", "hipcc").fine() == "hipcc\n", "the default means something whole"
    if versions(root) != [NEW]:
        call("upgrade", OLD).fine()
    call("prune", "--staging", "--yes")
    assert versions(root) == [NEW]
    assert root.default.read_text() == f"{NEW}\n"
    assert call("exec", "hipcc").fine() == "hipcc\n"
    assert os.listdir(root.staging) == os.listdir(root.journal) == []
