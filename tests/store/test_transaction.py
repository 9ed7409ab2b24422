"""An install appears whole or not at all, wherever it is stopped."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from rocmenv.errors import LockedError, RocmenvError, SpaceError, StoreError
from rocmenv.fetch.transfer import Downloads
from rocmenv.model.layout import Kind, Layout
from rocmenv.model.receipt import Receipt
from rocmenv.model.version import Version
from rocmenv.ops.install import Options, check_space, install
from rocmenv.ops.rehash import tidy
from rocmenv.ops.report import Silent
from rocmenv.ops.uninstall import uninstall
from rocmenv.sources import local
from rocmenv.sources.local import LocalPlan
from rocmenv.store import registry, transaction, trash
from rocmenv.store.lock import WRITERS, locked
from rocmenv.store.paths import Root
from tests.builders import add, clean_environ, fake_prefix, process, root_with
from tests.cli.runner import run_command
from tests.fetch.server import Site, serving
from tests.store.nobody import IS_ROOT, give_away, start
from tests.store.test_trash import dig

REPOSITORY = Path(__file__).parent.parent.parent
V700 = Version.parse("7.0.0")


def receipt(version: Version) -> Receipt:
    return Receipt(version, Layout(Kind.LEGACY), "local", "/x", "2026-01-01", "0")


# Every other step each, so that together they are few enough to run each time. Renames are few.
@pytest.mark.parametrize(
    ("scenario", "mode", "first"),
    [
        ("fresh", "interrupt after", None),
        ("fresh", "kill after", None),
        ("replace", "interrupt after", None),
        ("replace", "kill after", None),
        ("replace in two steps", "interrupt after", None),
        ("fresh", "interrupt", 2),
        ("fresh", "error", 1),
        ("fresh", "kill", 2),
        ("replace", "error", 1),
        ("replace", "kill", 2),
        ("replace in two steps", "error", 2),
        ("replace", "interrupt", 1),
    ],
)
def test_a_step_may_fail_or_be_the_last(scenario: str, mode: str, first: int | None) -> None:
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    steps = ["1", "1"] if first is None else [str(first), "2"]
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        done = subprocess.run(
            [sys.executable, "-m", "tests.store.faults", folder, scenario, mode, *steps],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert len(results) > (50 if first else 0)
    visible = {step["visible"] for step in results}
    assert visible <= {"before", "complete"}
    assert first is None or len(visible) == 2
    for step in results:
        assert step["noted"], step
        assert step["next"] == "complete", step
        assert step["left"] == [], step
        assert step["shims"], step
        assert step["ended"] != "wrong", step
        # Only where the clearing up itself is hit does something stay, for the next install.
        assert not step.get("staged") or "/staging" in step["event"], step


def test_a_replacement_killed_between_its_two_renames_is_undone(
    tmp_path: Path,
) -> None:
    """Where two folders cannot change places in one step, and another writer comes between."""
    root = root_with(tmp_path, "6.3.0")
    version = Version.parse("6.3.0")
    script = f"""
import os, signal
from pathlib import Path
from rocmenv.store import transaction
from rocmenv.store.paths import Root
from tests.store.test_transaction import receipt, Version
transaction._exchange = lambda *_: False
rename = os.rename
def last(one, other):
    rename(one, other)
    os.kill(os.getpid(), signal.SIGKILL)
os.rename = last
with transaction.staging(Root(Path({str(root.path)!r})), Version.parse("6.3.0")) as stage:
    stage.commit(receipt(stage.version))
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=REPOSITORY, check=False)
    assert done.returncode == -9
    assert registry.versions(root) == []
    # One that had tidied up before this happened.
    trash.empty_now(str(root.trash), str(root.journal))
    assert tidy(process(root.path), root) == ["6.3.0"]
    item = registry.find(root, version)
    assert item.receipt.source == "local"
    assert item.receipt.files > 0, "the old install is back"
    for folder in (root.staging, root.trash, root.journal):
        assert os.listdir(folder) == []


def test_an_old_version_that_cannot_be_moved_away_is_replaced_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The two have changed places then, and the new one counts."""
    root = root_with(tmp_path, "6.3.0")
    version = Version.parse("6.3.0")
    rename = os.rename

    def full(one: Path, other: Path) -> None:
        if root.trash in other.parents:
            raise OSError(errno.ENOSPC, "No space left on device", str(one))
        rename(one, other)

    monkeypatch.setattr(os, "rename", full)
    with transaction.staging(root, version) as stage:
        stage.commit(receipt(version))
    assert registry.read_receipt(root, version) == receipt(version)
    for folder in (root.staging, root.trash, root.journal):
        assert os.listdir(folder) == []


@pytest.mark.parametrize("again", [False, True])
def test_a_replacement_that_cannot_be_taken_back_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, again: bool
) -> None:
    """The second rename fails, and so do one or two attempts to undo the first."""
    root = root_with(tmp_path, "6.3.0")
    before = registry.find(root, Version.parse("6.3.0"))
    rename, failing = os.rename, [False, True, True, again]

    def broken(one: Path, other: Path) -> None:
        if failing and failing.pop(0):
            raise OSError(errno.EIO, "Input/output error", str(one))
        rename(one, other)

    monkeypatch.setattr(transaction, "_exchange", lambda *_: False)
    monkeypatch.setattr(os, "rename", broken)
    with (
        pytest.raises((StoreError, OSError, RocmenvError), match="Input/output error"),
        transaction.staging(root, before.version) as stage,
    ):
        stage.commit(receipt(before.version))
    assert failing == []
    trash.empty_now(str(root.trash), str(root.journal))
    assert tidy(process(root.path), root) == ["6.3.0"]
    assert registry.find(root, before.version) == before
    for folder in (root.staging, root.trash, root.journal):
        assert os.listdir(folder) == []


def test_a_version_is_on_the_disk_when_its_install_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files before the rename, and the rename itself: a power cut may come right after."""
    root = root_with(tmp_path, "6.3.0")
    written: list[tuple[str, bool]] = []
    sync, fsync = transaction.sync, os.fsync  # a power cannot be cut here

    def watched_sync(tree: Path) -> None:
        assert (tree / ".rocmenv/receipt.json").stat().st_size > 0
        written.append(("tree", root.version(V700).exists()))
        sync(tree)

    def watched_fsync(number: int) -> None:
        if os.path.sameopenfile(number, folder):
            written.append(("versions", root.version(V700).exists()))
        fsync(number)

    monkeypatch.setattr(transaction, "sync", watched_sync)
    monkeypatch.setattr(os, "fsync", watched_fsync)
    folder = os.open(root.versions, os.O_RDONLY)
    with transaction.staging(root, V700) as stage:
        stage.commit(receipt(V700))
    os.close(folder)
    assert written == [("tree", False), ("versions", True)]


def test_what_is_staged_is_not_seen_and_goes_when_the_block_ends(tmp_path: Path) -> None:
    root = root_with(tmp_path)

    def stop() -> None:
        with transaction.staging(root, V700) as stage:
            (stage.tree / "bin").mkdir()
            assert registry.load(root) == registry.Listing({})
            assert stage.tree.stat().st_dev == root.versions.stat().st_dev
            assert os.listdir(root.journal) == [stage.folder.name]
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        stop()
    assert os.listdir(root.staging) == os.listdir(root.journal) == os.listdir(root.versions) == []


def test_a_running_install_is_not_cleared_away(tmp_path: Path) -> None:
    root = root_with(tmp_path)
    with transaction.staging(root, V700) as stage:
        script = (
            "import sys; from pathlib import Path; from rocmenv.store import transaction; "
            "from rocmenv.store.paths import Root; "
            "print(transaction.recover(Root(Path(sys.argv[1]))))"
        )
        out = subprocess.run(
            [sys.executable, "-c", script, str(root.path)], capture_output=True, check=True
        ).stdout
        assert out == b"[]\n"
        assert stage.tree.is_dir()
        stage.commit(receipt(V700))
    assert registry.versions(root) == [V700]


def test_a_stage_is_noted_before_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process that clears up between the two steps must not take it for nobody's."""
    root = root_with(tmp_path, "6.3.0")
    mkdir = Path.mkdir
    noted: list[list[str]] = []

    def watched(path: Path, mode: int = 0o777, **named: bool) -> None:
        if path.parent.parent == root.staging:
            noted.append(os.listdir(root.journal))
        mkdir(path, mode, **named)

    monkeypatch.setattr(Path, "mkdir", watched)
    with transaction.staging(root, V700) as stage:
        assert noted
        assert all(names == [stage.folder.name] for names in noted)


def test_what_nobody_noted_is_cleared_away(tmp_path: Path) -> None:
    root = root_with(tmp_path, "6.3.0")
    (root.staging / "6.2.0.abc" / "tree").mkdir(parents=True)
    (root.journal / "odd").touch()
    assert transaction.recover(root) == ["unnamed"]
    assert os.listdir(root.staging) == os.listdir(root.journal) == []


def test_a_deep_tree_that_was_staged_is_in_nobodys_way(tmp_path: Path) -> None:
    root = root_with(tmp_path, "6.3.0")
    dig(root.staging / "6.2.0.abc", 1300)
    (root.journal / "6.2.0.abc").touch()
    with transaction.staging(root, V700) as stage:
        dig(stage.tree / "deep", 1300)
    assert transaction.recover(root) == ["6.2.0"]
    assert os.listdir(root.staging) == os.listdir(root.journal) == []


def test_a_deep_folder_in_place_of_the_receipts_is_replaced(tmp_path: Path) -> None:
    root = root_with(tmp_path)
    with transaction.staging(root, V700) as stage:
        dig(stage.tree / ".rocmenv", 1300)
        stage.commit(receipt(V700))
    assert os.listdir(root.version(V700) / ".rocmenv") == ["receipt.json"]


def test_what_cannot_be_cleared_away_does_not_keep_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = root_with(tmp_path, "6.3.0")
    for name in ("6.1.0.abc", "6.2.0.abc"):
        (root.staging / name).mkdir()
        (root.trash / name).mkdir()
        (root.journal / name).touch()
    rename = os.rename

    def broken(one: Path, other: Path) -> None:
        if one.name == "6.1.0.abc":
            raise OSError(errno.EIO, "Input/output error", str(one))
        rename(one, other)

    monkeypatch.setattr(os, "rename", broken)
    assert transaction.recover(root) == ["6.2.0"]
    assert os.listdir(root.journal) == os.listdir(root.trash) == ["6.1.0.abc"]


def test_the_same_version_twice_at_once_is_refused(tmp_path: Path) -> None:
    root = root_with(tmp_path)
    with (
        transaction.staging(root, V700),
        pytest.raises(LockedError, match=f"process {os.getpid()}: install 7.0.0"),
        transaction.staging(root, V700),
    ):
        pass


def test_a_removal_that_stops_is_finished_by_the_next_change(tmp_path: Path) -> None:
    root = root_with(tmp_path, "6.3.0", "6.4.1")
    with pytest.raises(KeyboardInterrupt), transaction.removal(root, Version.parse("6.3.0")):
        raise KeyboardInterrupt
    assert (root.activations / "6.3.0.sh").exists(), "not yet"
    assert tidy(process(root.path), root) == ["6.3.0"]
    assert not (root.activations / "6.3.0.sh").exists()
    assert [str(v) for v in registry.versions(root)] == ["6.4.1"]
    assert tidy(process(root.path), root) == []


def test_a_removal_that_fails_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = root_with(tmp_path, "6.3.0")
    item = registry.find(root, Version.parse("6.3.0"))

    def broken(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(root.versions))

    monkeypatch.setattr(os, "rename", broken)
    with pytest.raises(RocmenvError, match=r"versions/6.3.0 cannot be written \(Permission"):
        uninstall(process(root.path), root, item.version)
    assert os.listdir(root.journal) == []
    assert registry.find(root, item.version) == item


def test_other_writers_do_not_wait_while_a_version_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = root_with(tmp_path, "6.3.0")
    looked = []

    def slow(path: str) -> None:
        with locked(root, WRITERS, "another change", wait=0):
            looked.append(path)

    monkeypatch.setattr(trash, "first_foreign", slow)
    version = Version.parse("6.3.0")
    with transaction.staging(root, version) as stage:
        stage.commit(receipt(version))
    with transaction.removal(root, version):
        pass
    assert looked == [str(root.version(version))] * 2


@pytest.mark.skipif(not IS_ROOT, reason="only root may give files away")
def test_a_link_to_a_version_of_another_user_is_told_another_name(tmp_path: Path) -> None:
    """In a root that several share: nothing is to be replaced, whoever it is of."""
    begin = start()
    root = root_with(tmp_path, "6.3.0")
    source = fake_prefix(tmp_path / "rocm", "6.3.0")
    give_away(tmp_path)
    for path in [root.version(Version.parse("6.3.0")), *root.versions.rglob("*")]:
        os.chown(path, 0, 0, follow_symlinks=False)
    environ = clean_environ(root, **begin.environ)
    result = run_command([*begin.before, *begin.words, "link", str(source)], environ, "/")
    assert result.refused() == f"version 6.3.0 is already there: {root.versions}/6.3.0"
    assert result.hint == f"give it another name: `rocmenv link {source} 6.3.0+site`"


def test_a_failed_reinstall_leaves_the_old_one(tmp_path: Path) -> None:
    root = root_with(tmp_path, "6.3.0")
    before = registry.find(root, Version.parse("6.3.0"))
    wrong = fake_prefix(tmp_path / "wrong", "6.3.0")
    plan = local.plan(before.version, str(wrong), "/")
    (wrong / ".info/version").write_text("6.4.0\n")  # it changes between plan and copy
    options = Options(jobs=1, reinstall=True)
    with pytest.raises(StoreError, match="says it is 6.4.0, not 6.3.0"):
        install(process(root.path), root, plan, Downloads(root.cache), options, Silent())
    assert registry.find(root, before.version) == before
    assert os.listdir(root.staging) == os.listdir(root.trash) == os.listdir(root.journal) == []


# Space.


def test_space_is_checked_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = root_with(tmp_path)
    source = fake_prefix(tmp_path / "rocm", "7.0.0")
    (source / "lib/big").write_bytes(bytes(100_000))
    plan = local.plan(V700, str(source), "/")
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=90_000))
    with pytest.raises(SpaceError, match=r"7.0.0 needs 0.0 GB .* has 0.0 GB free"):
        install(process(root.path), root, plan, Downloads(root.cache), Options(jobs=1), Silent())
    assert os.listdir(root.versions) == os.listdir(root.staging) == []
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=200_000))
    install(process(root.path), root, plan, Downloads(root.cache), Options(jobs=1), Silent())


@dataclass(frozen=True)
class Large(LocalPlan):
    """A plan with sizes of its own, as one from a repository."""

    download: int = 60_000
    installed: int | None = 50_000


@pytest.mark.parametrize(
    ("free", "elsewhere", "words"),
    [
        (120_000, None, ""),
        (100_000, None, "(packages and installed files)"),
        (59_000, 120_000, "(packages)"),
        (120_000, 49_000, "(installed files)"),
        (61_000, 51_000, ""),
    ],
)
def test_room_is_needed_where_packages_and_files_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, elsewhere: int | None, words: str
) -> None:
    """`free` is where the cache is; with `elsewhere` installs are on another file system."""
    root = root_with(tmp_path)
    memory = Path("/dev/shm")
    if elsewhere is not None:
        if not os.access(memory, os.W_OK) or memory.stat().st_dev == tmp_path.stat().st_dev:
            pytest.skip("there is but one file system")
        root.cache.symlink_to(memory)
    usage = shutil.disk_usage(tmp_path)

    def room(place: Path) -> object:
        here = elsewhere is None or place.resolve() == memory
        return usage._replace(free=free if here else elsewhere or 0)

    monkeypatch.setattr(shutil, "disk_usage", room)
    plan = Large(V700, str(tmp_path))
    if words:
        with pytest.raises(SpaceError, match=re.escape(words)):
            check_space(root, plan)
    else:
        check_space(root, plan)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small file system")
@pytest.mark.parametrize("kind", ["folder", "tarball", "address"])
def test_a_full_disk_is_said_and_leaves_nothing(tmp_path: Path, kind: str) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)], check=False
    )
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        root = Root(small / "root")
        add(root, "6.3.0", fake_prefix(tmp_path / "rocm-6.3.0", "6.3.0"))
        source = fake_prefix(tmp_path / "rocm-7.0.0", "7.0.0")
        # Well packed, so that the guess of a tarball's size is too small; or not at all.
        (source / "lib/big").write_bytes(
            b"x" * 3_000_000 if kind != "address" else os.urandom(1_200_000)
        )
        subprocess.run(["tar", "-C", str(source), "-czf", f"{source}.tar.gz", "."], check=True)
        site = Site({"/a.tar.gz": Path(f"{source}.tar.gz").read_bytes()})
        with serving(site):
            places = {"folder": str(source), "tarball": f"{source}.tar.gz"}
            place = places.get(kind, f"{site.url}/a.tar.gz")
            plan = (Boundless if kind == "folder" else LocalPlan)(V700, place)
            downloads = Downloads(root.cache)
            with pytest.raises(SpaceError, match=r"no space is left|there is no space left"):
                install(process(root.path), root, plan, downloads, Options(jobs=1), Silent())
        assert [str(v) for v in registry.versions(root)] == ["6.3.0"]
        assert os.listdir(root.staging) == os.listdir(root.journal) == []
        assert list(root.cache.rglob("*.part")) == []
        assert shutil.disk_usage(small).free > 500_000
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


class Boundless(LocalPlan):
    """A plan that does not know its size, as one from an address."""

    @property
    def installed(self) -> int | None:
        return None
