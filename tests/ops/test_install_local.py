"""`install --from`: tarballs, folders and addresses (R02, R05, R14, R15, R16)."""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from rocmenv.model.version import Version
from rocmenv.store import registry, trash
from rocmenv.store.paths import Root
from tests.builders import clean_environ, fake_prefix, root_with
from tests.cli.runner import COMMAND, Result, Runner, run, run_command
from tests.fetch.server import Site


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return root_with(tmp_path)


def nothing_made(root: Root) -> bool:
    folders = (root.versions, root.staging, root.journal, root.trash)
    files = [p for p in root.cache.rglob("*") if p.is_file()] if root.cache.exists() else []
    return not any(os.listdir(f) for f in folders if f.exists()) and not files


@pytest.mark.parametrize("name", ["flat-good", "wrapped-good", "dot-slash-good"])
def test_good_archives_give_the_same_tree(
    rocmenv: Runner, root: Root, cases: Path, name: str
) -> None:
    """R16."""
    archive = cases / f"archives/{name}.tar.gz"
    result = rocmenv("install", "6.3.0", "--from", str(archive))
    assert result.fine() == ""
    assert result.err.splitlines()[-1].startswith("rocmenv: 6.3.0 (")
    prefix = root.versions / "6.3.0"
    assert sorted(os.listdir(prefix)) == [".info", ".rocmenv", "bin", "lib", "llvm"]
    assert os.readlink(prefix / "lib/libamdhip64.so") == "libamdhip64.so.6"
    assert os.readlink(prefix / "lib/libamdhip64.so.6") == "libamdhip64.so.6.3.60300"
    assert os.readlink(prefix / "llvm") == "lib/llvm"
    assert os.access(prefix / "bin/hipcc", os.X_OK)
    item = registry.find(root, Version.parse("6.3.0"))
    assert item.receipt.items[0].name == archive.name
    assert item.receipt.items[0].size == archive.stat().st_size
    assert item.receipt.origin == str(archive)
    assert run(root, "+6.3", "exec", "hipcc").status == 0
    assert not root.cache.exists(), "a file at hand needs no cache"


def test_gpus_that_choose_nothing_are_told(rocmenv: Runner, root: Root, cases: Path) -> None:
    archive = str(cases / "archives/flat-good.tar.gz")
    result = rocmenv("install", "6.3.0", "--from", archive, "--gpu", "gfx1100")
    result.fine()
    assert "note: `--gpu` has no effect: nothing in it is chosen by GPU" in result.err
    assert registry.find(root, Version.parse("6.3.0")).receipt.targets == ()


def test_hard_links_have_the_same_content(rocmenv: Runner, root: Root, cases: Path) -> None:
    """R16."""
    rocmenv("install", "6.3.0", "--from", str(cases / "archives/hard-link.tar.gz")).fine()
    folder = root.versions / "6.3.0/lib/llvm/bin"
    assert (folder / "clang").read_bytes() == (folder / "clang-18").read_bytes() != b""


def test_a_link_to_the_archives_own_place_ends_inside(
    rocmenv: Runner, root: Root, cases: Path
) -> None:
    """R16."""
    archive = cases / "archives/absolute-link-own-prefix.tar.gz"
    rocmenv("install", "6.3.0", "--from", str(archive)).fine()
    link = root.versions / "6.3.0/bin/amdclang"
    assert os.readlink(link) == "../lib/llvm/bin/clang-18"
    assert link.exists()


def test_a_link_elsewhere_is_left_out_and_noted(rocmenv: Runner, root: Root, cases: Path) -> None:
    """R16."""
    archive = cases / "archives/absolute-link-elsewhere.tar.gz"
    rocmenv("install", "6.3.0", "--from", str(archive)).fine()
    assert not os.path.lexists(root.versions / "6.3.0/bin/python3")
    notes = registry.find(root, Version.parse("6.3.0")).receipt.notes
    assert any("bin/python3" in note and "/usr/bin/python3" in note for note in notes)


def test_a_truncated_archive_is_refused(rocmenv: Runner, root: Root, cases: Path) -> None:
    """R15."""
    archive = cases / "archives/truncated.tar.gz"
    result = rocmenv("install", "-q", "6.3.0", "--from", str(archive))
    assert "truncated.tar.gz" in result.refused()
    assert nothing_made(root)


def test_a_truncated_download_is_named_as_its_address_names_it(
    rocmenv: Runner, root: Root, cases: Path, site: Site
) -> None:
    site.files["/a.tar.gz"] = (cases / "archives/truncated.tar.gz").read_bytes()
    result = rocmenv("install", "-q", "6.3.0", "--from", f"{site.url}/a.tar.gz")
    assert result.refused() == "the archive `a.tar.gz` is damaged: it ends too early"
    assert registry.versions(root) == []


# R14: something else than the archive.

BODIES: dict[str, tuple[object, tuple[str, ...]]] = {
    "200-error-page": ("text/html", ("a web page instead of gzip", "HTTP 200", "text/html")),
    "200-redirect-text": ("text/plain", ("text instead of gzip", "HTTP 200", "text/plain")),
    "200-empty": ("application/gzip", ("0 bytes came", "empty instead of gzip")),
    "403": (403, ("is not there or not allowed (HTTP 403)",)),
}


@pytest.mark.parametrize("name", BODIES)
def test_what_came_instead_is_said_and_not_kept(
    rocmenv: Runner, root: Root, cases: Path, site: Site, name: str
) -> None:
    kind, words = BODIES[name]
    kept = "therock-dist-linux-gfx110X-all-10.0.0.tar.gz"
    file = "therock-dist-linux-gfx110X-all-6.3.0.tar.gz"
    good = (cases / "archives/flat-good.tar.gz").read_bytes()
    site.files[f"/{file}"] = good
    body = b""
    if isinstance(kind, int):
        site.script[f"/{file}"] = [kind]
    else:
        body = (cases / "http" / name / kept).read_bytes()
        site.script[f"/{file}"] = [("say", body, kind)]
    install = ("install", "-q", "6.3.0", "--from", f"{site.url}/{file}")
    message = rocmenv(*install).refused()
    assert f"{site.url}/{file}" in message
    for word in words:
        assert word in message
    if name not in ("403", "200-empty"):
        assert f"{len(body)} bytes" in message
    assert nothing_made(root)
    assert rocmenv(*install).fine() == ""
    assert registry.versions(root) == [Version.parse("6.3.0")]


def test_a_good_download_is_not_kept_unless_asked_for(
    rocmenv: Runner, root: Root, cases: Path, site: Site
) -> None:
    site.files["/a.tar.gz"] = (cases / "archives/flat-good.tar.gz").read_bytes()
    words = ("install", "-q", "6.3.0", "--from", f"{site.url}/a.tar.gz")
    rocmenv(*words).fine()
    assert os.listdir(root.cache / "sha256") == []
    rocmenv(*words, "--reinstall", "--keep-downloads").fine()
    (kept,) = (root.cache / "sha256").iterdir()
    assert kept.read_bytes() == site.files["/a.tar.gz"]
    seen = len(site.seen)
    rocmenv(*words, "--reinstall", "--offline", "--keep-downloads").fine()
    assert len(site.seen) == seen
    kept.write_bytes(b"x")
    message = rocmenv(*words, "--reinstall", "--offline").refused()
    assert "this run is offline" in message
    assert registry.versions(root) == [Version.parse("6.3.0")]


# What is refused before or after unpacking.


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: fake_prefix(p, "6.4.0"), "6.3.0 was asked for, but the text `.info/version`"),
        (lambda p: p.mkdir(), "does not hold a ROCm: there is no `bin`"),
        (os.mkfifo, "is neither a file nor a folder"),
        (lambda p: p.write_bytes(b"<html>"), "`x` is a web page, and nothing that ROCm is"),
        (lambda _: None, "cannot be read (No such file or directory)"),
    ],
)
def test_what_is_not_the_release_is_refused(
    rocmenv: Runner, root: Root, tmp_path: Path, make: Callable[[Path], object], message: str
) -> None:
    make(tmp_path / "x")
    status = 2 if "asked for" in message else 1
    assert message in rocmenv("install", "-q", "6.3.0", "--from", "x").refused(status)
    assert nothing_made(root)


def test_the_version_must_be_full(rocmenv: Runner) -> None:
    for spec in ("6", "latest", ">=6", "work", "system"):
        result = rocmenv("install", spec, "--from", "x")
        assert "needs the version in full" in result.refused(2)
    rocmenv("install", "6.3.0", "--as", "6.3", "--from", "x").refused(2)
    rocmenv("install", "../x", "--from", "x").refused(2)


@pytest.mark.parametrize("typed", ["6.3", "6.3.0", "v6.3.0", "rocm-6.3.0"])
def test_the_folder_is_named_in_full_whatever_was_typed(
    rocmenv: Runner, root: Root, tmp_path: Path, typed: str
) -> None:
    """R02."""
    fake_prefix(tmp_path / "x", "6.3.0")
    assert "rocmenv: 6.3.0 (" in rocmenv("install", typed, "--from", "x").err
    assert os.listdir(root.versions) == ["6.3.0"]
    again = rocmenv("install", typed, "--from", "x")
    assert again.fine() == ""
    assert again.err == f"rocmenv: 6.3.0 is installed already: {root.versions}/6.3.0\n"


def test_it_can_have_a_name_of_its_own(rocmenv: Runner, root: Root, tmp_path: Path) -> None:
    fake_prefix(tmp_path / "x", "6.3.0")
    rocmenv("install", "6.3.0", "--from", "x", "--as", "6.3.0+test").fine()
    assert os.listdir(root.versions) == ["6.3.0+test"]
    assert rocmenv("prefix", "6.3").fine() == f"{root.versions}/6.3.0+test\n"


def test_a_reinstall_replaces_what_is_there(rocmenv: Runner, root: Root, tmp_path: Path) -> None:
    fake_prefix(tmp_path / "x", "6.3.0")
    rocmenv("install", "6.3.0", "--from", "x").fine()
    (root.versions / "6.3.0/bin/mine").touch()
    fake_prefix(tmp_path / "y", "6.3.0", ("new-tool",))
    rocmenv("install", "6.3.0", "--from", "y", "--reinstall").fine()
    assert os.listdir(root.versions / "6.3.0/bin") == ["new-tool"]
    assert (root.shims / "new-tool").exists()
    assert not (root.shims / "hipcc").exists()


def test_a_dry_run_tells_and_makes_nothing(rocmenv: Runner, root: Root, tmp_path: Path) -> None:
    fake_prefix(tmp_path / "x", "6.3.0")
    root.path.rmdir()
    out = rocmenv("install", "6.3.0", "--from", "x", "--dry-run").fine()
    assert f"6.3.0 from local ({tmp_path}/x): 0 B to download" in out
    value = json.loads(rocmenv("install", "6.3.0", "--from", "x", "-n", "--json").fine())
    assert (value["version"], value["channel"], value["download"]) == ("6.3.0", "local", 0)
    assert not root.path.exists()


def test_json_and_quiet(rocmenv: Runner, root: Root, tmp_path: Path) -> None:
    fake_prefix(tmp_path / "x", "6.3.0")
    words = ("install", "6.3.0", "--from", "x")
    done = {"schema": 1, "version": "6.3.0", "prefix": f"{root.versions}/6.3.0"}
    result = rocmenv(*words, "--json")
    assert (json.loads(result.fine()), result.err) == (done, "")
    result = rocmenv(*words, "--json")
    assert (json.loads(result.fine()), result.err) == (done, "")
    for more in ((), ("--reinstall",)):
        result = rocmenv(*words, "--quiet", *more)
        assert (result.fine(), result.err) == ("", "")


# A folder as it is.


def test_a_folder_is_copied_with_its_links(rocmenv: Runner, root: Root, tmp_path: Path) -> None:
    source = fake_prefix(tmp_path / "real", "6.3.0")
    (tmp_path / "named").symlink_to("real")
    (source / "lib/deep").mkdir()
    (source / "lib/deep/real").symlink_to(source / "bin/hipcc")
    (source / "lib/deep/named").symlink_to(tmp_path / "named/bin/hipcc")
    (source / "lib/deep/folder").symlink_to(source / "lib/llvm")
    (source / "lib/outside").symlink_to("/usr/bin/env")
    (source / "lib/nowhere").symlink_to("not/there")
    rocmenv("install", "6.3.0", "--from", "named").fine()
    lib = root.versions / "6.3.0/lib"
    assert os.readlink(lib / "deep/real") == os.readlink(lib / "deep/named") == "../../bin/hipcc"
    assert os.readlink(lib / "deep/folder") == "../llvm"
    assert os.readlink(lib / "outside") == "/usr/bin/env"
    assert os.readlink(lib / "nowhere") == "not/there"
    receipt = registry.find(root, Version.parse("6.3.0")).receipt
    assert receipt.files == 4
    assert receipt.size == sum(
        p.stat().st_size for p in source.rglob("*") if p.is_file() and not p.is_symlink()
    )


def test_a_folder_with_a_socket_or_that_holds_the_root_is_refused(
    rocmenv: Runner, root: Root, tmp_path: Path
) -> None:
    source = fake_prefix(tmp_path / "x", "6.3.0")
    with socket.socket(socket.AF_UNIX) as sock:
        os.chdir(source)
        sock.bind("sock")
        os.chdir("/")
    message = rocmenv("install", "-q", "6.3.0", "--from", "x").refused()
    assert message == f"{source}/sock is neither a file, a folder nor a link"
    message = rocmenv("install", "-q", "6.3.0", "--from", str(tmp_path)).refused()
    assert message == f"{tmp_path} does not hold a ROCm: there is no `bin` at its top"
    (tmp_path / "bin").mkdir()
    message = rocmenv("install", "-q", "6.3.0", "--from", str(tmp_path)).refused()
    assert "cannot be copied into itself" in message
    assert nothing_made(root)


def test_folders_that_lie_in_one_another_without_end_are_refused(
    rocmenv: Runner, root: Root, tmp_path: Path
) -> None:
    source = fake_prefix(tmp_path / "x", "6.3.0")
    here = os.getcwd()
    os.chdir(source)
    for _ in range(1500):
        os.mkdir("a")
        os.chdir("a")
    os.chdir(here)
    result = rocmenv("install", "-q", "6.3.0", "--from", "x")
    if result.status:  # Python 3.12 and later walk without end
        assert "too deep" in result.refused()
        assert nothing_made(root)
    trash.delete(source)  # pytest would not get rid of it
    if result.status == 0:
        trash.delete(root.version(Version.parse("6.3.0")))


def test_a_folder_that_cannot_be_read_whole_is_refused(
    rocmenv: Runner, root: Root, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_prefix(tmp_path / "x", "6.3.0")
    scandir = os.scandir

    def broken(path: str) -> object:
        if str(path).endswith("lib"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", broken)
    message = rocmenv("install", "-q", "6.3.0", "--from", "x").refused()
    assert message == f"{tmp_path}/x/lib: Permission denied"
    monkeypatch.undo()
    assert nothing_made(root)


# R05: a blank in the path.


def test_a_root_with_blanks_and_quotes_works(tmp_path: Path, cases: Path) -> None:
    root = Root(tmp_path / "with blank" / 'it\'s "root"' / "rocm")
    archive = shutil.copy(cases / "archives/flat-good.tar.gz", tmp_path / "a b.tar.gz")
    install = run(root, "install", "6.3.0", "--from", str(archive))
    assert install.fine() == ""
    warnings = [line for line in install.err.splitlines() if line.startswith("warning: ")]
    assert len(warnings) == 1
    assert f"`{root.path}` has a blank" in warnings[0]
    assert "ROCM_ROOT" in warnings[0]
    quiet = run(root, "install", "-q", "6.3.0", "--reinstall", "--from", str(archive))
    assert quiet.err.splitlines() == warnings
    run(root, "use", "--global", "6.3").fine()
    run(root, "rehash").fine()
    hipcc = root.versions / "6.3.0/bin/hipcc"
    hipcc.write_text("#!/bin/sh\nprintf '%s' \"$ROCM_PATH\"\n")
    prefix = str(root.versions / "6.3.0")
    shim = run_command([str(root.shims / "hipcc")], clean_environ(root), "/")
    assert (shim.fine(), shim.err) == (prefix, "")
    assert run(root, "exec", "hipcc").fine() == prefix
    assert run(root, "which", "hipcc").fine() == f"{prefix}/bin/hipcc\n"
    done = evaluated_in_bash(root)
    assert done.fine() == prefix
    run(root, "uninstall", "--yes", "6.3.0").fine()
    assert os.listdir(root.versions) == []


def test_no_warning_without_a_blank(rocmenv: Runner, tmp_path: Path) -> None:
    fake_prefix(tmp_path / "x", "6.3.0")
    err = rocmenv("install", "6.3.0", "--from", "x").err
    assert not [line for line in err.splitlines() if line.startswith("warning")]


def evaluated_in_bash(root: Root) -> Result:
    script = 'eval "$("$@" env --shell bash)" && printf %s "$ROCM_PATH"'
    return run_command(["bash", "--norc", "-c", script, "bash", *COMMAND], clean_environ(root), "/")


def test_a_machine_without_tar_needs_none(root: Root, cases: Path) -> None:
    archive = cases / "archives/flat-good.tar.gz"
    assert run(root, "install", "6.3.0", "--from", str(archive), PATH="/nowhere").fine() == ""


def test_the_machines_temporary_folder_is_not_used(root: Root, cases: Path) -> None:
    """R15: staging is under the root, whatever TMPDIR is."""
    archive = cases / "archives/flat-good.tar.gz"
    run(root, "install", "6.3.0", "--from", str(archive), TMPDIR="/nowhere").fine()
