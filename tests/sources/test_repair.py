"""`verify --repair`: only the packages of what is damaged come again, and all is as before."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import signal
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rocmenv.fetch.transfer import Downloads
from rocmenv.model.version import Version
from rocmenv.ops import verify
from rocmenv.ops.report import Silent
from rocmenv.sources import archive_again, legacy_rules
from rocmenv.sources.base import Lost, Work
from rocmenv.sources.relocate import Relocated, relocate
from rocmenv.store import registry
from rocmenv.store.lock import locked
from rocmenv.store.paths import Root
from tests.builders import fake_prefix, put
from tests.cli.runner import Result, Runner, run_and_stop
from tests.fetch.server import Site
from tests.sources import test_legacy, test_tarball
from tests.sources.apt.builders import build_deb
from tests.sources.test_legacy import (
    Mirror,
    _machine,  # noqa: F401 - a fixture
    deb,
)
from tests.sources.test_tarball import Vendor
from tests.sources.test_tarball import name as tarball_name

# Fixtures of theirs. Imported, each parameter of that name would seem to hide one.
made, mirror, install = test_legacy.made, test_legacy.mirror, test_legacy.install
vendor = test_tarball.vendor

V630 = Version.parse("6.3.0")
Install = Callable[..., Result]
MORE = (
    # Lies behind a link of rocm-llvm.
    deb("behind", "rocm-llvm6.3.0", llvm__bin__behind=b"behind"),
    deb("rocm-opencl-runtime", "rocm-core6.3.0", **{"lib__libamdocl64.so": b"opencl"}),
    deb("both", "rocm-core6.3.0", lib__librocblas__so=b"blas"),
)


@pytest.fixture
def prefix(install: Install, mirror: Mirror, root: Root, tmp_path: Path) -> Path:
    """6.3.0 with more packages than usual; what the server was asked for is forgotten."""
    for one in MORE:
        mirror.debs[one.name] = build_deb(one, tmp_path / "more", "xz")
    mirror.publish()
    names = ("behind", "rocm-opencl-runtime", "rocblas", "both")
    install("-q", "6.3.0", *(word for name in names for word in ("--with", name))).fine()
    mirror.site.seen.clear()
    return root.version(V630)


def state(prefix: Path) -> dict[str, object]:
    """Every path of a tree with all that should stay."""
    found: dict[str, object] = {}
    for path in sorted(prefix.rglob("*")):
        mode = path.lstat().st_mode
        content = os.readlink(path) if path.is_symlink() else path.is_file() and path.read_bytes()
        found[path.relative_to(prefix).as_posix()] = (mode, content)
    return found


def fetched(mirror: Mirror) -> set[str]:
    """The packages that were asked for, without suffix and version."""
    return {Path(r.path).name.split("6.3.0_")[0] for r in mirror.site.seen}


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[0] ^= 255
    path.write_bytes(content)


def instead(path: Path) -> Path:
    """The path, at which there is nothing any more."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
    return path


def lock_up(path: Path) -> Path:
    path.chmod(0o700)
    return path


def left_over(root: Root) -> list[str]:
    """What a change has left in the root's own folders, notes and stages."""
    kept = list((root.cache / "sha256").glob("*"))
    return [p.name for f in (root.journal, root.staging) for p in f.iterdir()] + [
        p.name for p in kept
    ]


CASES: dict[str, tuple[Callable[[Path], object], set[str]]] = {
    "a program": (lambda p: (p / "bin/rocminfo").unlink(), {"rocminfo"}),
    "a text that was made to fit": (lambda p: (p / "bin/hipcc").write_text("x"), {"hipcc"}),
    "a file that a recipe made relative": (
        lambda p: (p / "lib/pkgconfig/hip.pc").unlink(),
        {"rocm-core"},
    ),
    "a file behind another package's link": (
        lambda p: (p / "lib/llvm/bin/behind").unlink(),
        {"behind"},
    ),
    "a file of two packages": (lambda p: flip(p / "lib/librocblas/so"), {"both"}),
    "what rocmenv made": (lambda p: shutil.rmtree(p / "etc"), set()),
    "links": (lambda p: [instead(p / n) for n in ("llvm", "bin/amdclang")], set()),
    "modes": (lambda p: list(map(lock_up, (p / "bin", p / "bin/hipcc"))), set()),
    "a link to elsewhere": (lambda p: instead(p / "llvm").symlink_to("/tmp"), set()),
    "a folder of several packages": (
        lambda p: shutil.rmtree(p / "lib"),
        {"rocm-core", "rocm-llvm", "behind", "rocm-opencl-runtime", "both"},
    ),
    "a folder in place of a file": (
        lambda p: put(instead(p / "bin/hipcc"), "x", "x"),
        {"hipcc"},
    ),
    "a file in place of a folder": (
        lambda p: instead(p / ".info").write_text("x"),
        {"rocm-core"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_all_is_as_before_and_only_its_packages_came(
    rocmenv: Runner,
    root: Root,
    prefix: Path,
    mirror: Mirror,
    name: str,
) -> None:
    damage, packages = CASES[name]
    put(prefix, "share/mine", "mine")
    before = state(prefix)
    untouched = (prefix / "bin/rocminfo").stat().st_ino if "program" not in name else 0
    damage(prefix)
    assert state(prefix) != before
    result = rocmenv("verify", "-q", "--deep", "--repair", "6.3.0")
    assert result.fine().endswith("paths are as they were installed\n")
    assert ": repaired `" in result.out
    assert state(prefix) == before
    assert fetched(mirror) == packages
    assert left_over(root) == []
    if untouched:
        assert (prefix / "bin/rocminfo").stat().st_ino == untouched
    rocmenv("verify", "--deep", "6.3.0").fine()


def test_what_is_right_is_left_alone(
    rocmenv: Runner,
    prefix: Path,
    mirror: Mirror,
) -> None:
    before = {p: p.lstat().st_ctime_ns for p in prefix.rglob("*")}
    assert "repaired" not in rocmenv("verify", "--repair", "6.3.0").fine()
    assert {p: p.lstat().st_ctime_ns for p in prefix.rglob("*")} == before
    assert fetched(mirror) == set()


def test_json_names_what_was_repaired(rocmenv: Runner, prefix: Path) -> None:
    (prefix / "bin/hipcc").unlink()
    (row,) = json.loads(rocmenv("verify", "--repair", "--json").fine())["versions"]
    assert (row["fine"], row["repaired"], row["missing"]) == (True, ["bin/hipcc"], [])


def test_a_command_that_comes_back_has_its_shim_again(
    rocmenv: Runner, root: Root, prefix: Path
) -> None:
    (prefix / "bin/rocminfo").unlink()
    rocmenv("rehash").fine()
    assert not (root.shims / "rocminfo").exists()
    rocmenv("verify", "--repair", "6.3.0").fine()
    assert (root.shims / "rocminfo").exists()


def test_a_file_with_another_name_elsewhere_is_not_edited(
    rocmenv: Runner, prefix: Path, tmp_path: Path
) -> None:
    os.link(prefix / "bin/hipcc", tmp_path / "other")
    flip(prefix / "bin/hipcc")
    content = (tmp_path / "other").read_bytes()
    rocmenv("verify", "--deep", "--repair", "6.3.0").fine()
    assert (tmp_path / "other").read_bytes() == content
    assert (prefix / "bin/hipcc").read_bytes() != content


# What cannot be repaired.


def gone(mirror: Mirror, name: str) -> None:
    (path,) = [p for p in mirror.site.files if f"/{name}6.3.0_" in p]
    del mirror.site.files[path]


def test_a_package_that_is_gone_is_named_with_the_way_out(
    rocmenv: Runner,
    root: Root,
    prefix: Path,
    mirror: Mirror,
) -> None:
    flip(prefix / "bin/hipcc")
    gone(mirror, "hipcc")
    before = state(prefix)
    result = rocmenv("verify", "-q", "--deep", "--repair", "6.3.0")
    assert "hipcc6.3.0" in result.refused()
    assert result.hint.startswith("install it again: `rocmenv install --reinstall 6.3.0 --channel ")
    assert state(prefix) == before
    assert left_over(root) == []


def test_another_package_of_the_same_name_is_not_taken(
    rocmenv: Runner,
    prefix: Path,
    mirror: Mirror,
    tmp_path: Path,
) -> None:
    flip(prefix / "bin/hipcc")
    other = build_deb(deb("hipcc", "", bin__hipcc=b"evil"), tmp_path / "other", "gzip")
    (path,) = [p for p in mirror.site.files if "/hipcc6.3.0_" in p]
    mirror.site.files[path] = other.read_bytes()
    assert "hipcc" in rocmenv("verify", "-q", "--deep", "--repair", "6.3.0").refused()


def test_what_a_recipe_makes_otherwise_now_is_told_and_the_rest_is_mended(
    rocmenv: Runner, root: Root, prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flip(prefix / "bin/hipcc")  # which only a deep look sees
    (prefix / "bin/rocminfo").unlink()

    def otherwise(tree: Path, old: str, _new: str, paths: list[str], jobs: int) -> Relocated:
        return relocate(tree, old, "/x", paths, jobs)

    monkeypatch.setattr(legacy_rules, "relocate", otherwise)
    rocmenv("rehash").fine()
    result = rocmenv("verify", "-q", "--deep", "--repair", "6.3.0")
    assert result.status == 1
    assert result.message == "1 files of 6.3.0 cannot be made as they were: bin/hipcc"
    assert result.hint.startswith("install it again: ")
    assert result.out.splitlines() == [
        "6.3.0: repaired `bin/rocminfo`",
        "6.3.0: changed `bin/hipcc` (other content of the same size)",
    ]
    assert (root.shims / "rocminfo").exists()
    assert left_over(root) == []
    (row,) = json.loads(rocmenv("verify", "--deep", "--repair", "--json").out)["versions"]
    assert (row["fine"], [one["path"] for one in row["changed"]]) == (False, ["bin/hipcc"])
    assert row["repaired"] == []
    assert row["error"]["code"] == "store"


def test_offline_it_takes_what_is_kept_and_nothing_else(
    rocmenv: Runner,
    install: Install,
    prefix: Path,
    mirror: Mirror,
) -> None:
    (prefix / "bin/hipcc").unlink()
    words = ("verify", "-q", "--repair", "--offline", "6.3.0")
    result = rocmenv(*words)
    assert "this run is offline" in result.refused()
    assert result.hint == "run the command once without `--offline`"
    install("-q", "6.3.0", "--reinstall", "--keep-downloads").fine()
    (prefix / "bin/hipcc").unlink()
    mirror.site.files.clear()
    rocmenv(*words).fine()


def test_while_the_version_is_changed_it_is_refused(
    rocmenv: Runner, root: Root, prefix: Path
) -> None:
    (prefix / "bin/hipcc").unlink()
    with locked(root, "6.3.0", "a test"):
        assert "another rocmenv is at work" in rocmenv("verify", "--repair", "6.3.0").refused()


def test_what_cannot_be_put_in_place_is_named(
    rocmenv: Runner, root: Root, prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (prefix / "bin/hipcc").unlink()
    rename = os.rename

    def on_another_disk(old: object, new: object) -> None:
        if str(new).endswith("bin/hipcc"):
            raise OSError(errno.EXDEV, "Invalid cross-device link", str(old), None, str(new))
        rename(str(old), str(new))

    monkeypatch.setattr(os, "rename", on_another_disk)
    result = rocmenv("verify", "-q", "--repair", "6.3.0")
    message = f"{prefix}/bin/hipcc cannot be put right (Invalid cross-device link)"
    assert result.refused() == message
    assert result.hint.endswith(f"`ls -ld {prefix}/bin`")
    assert list(root.staging.iterdir()) == list(root.journal.iterdir()) == []


def test_what_was_hidden_is_read_when_its_folder_is_mended(
    root: Root, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rocmenv: Runner
) -> None:
    """A folder that its owner may not enter; as root, who may, by an error of the same kind."""
    fake_prefix(tmp_path / "x", "6.3.0")
    rocmenv("install", "6.3.0", "--from", "x").fine()
    prefix = root.version(V630)
    flip(prefix / "lib/llvm/bin/clang++")
    (prefix / "lib").chmod(0)
    scandir = os.scandir

    def may_enter(path: str) -> object:
        if str(path) == f"{prefix}/lib" and not os.stat(path).st_mode & 0o111:
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", may_enter)
    result = rocmenv("verify", "-q", "--deep", "--repair", "6.3.0")
    assert result.out.splitlines() == [
        "6.3.0: repaired `lib`",
        "6.3.0: changed `lib/llvm/bin/clang++` (other content of the same size)",
    ]
    assert result.status == 1
    assert result.err.startswith("hint: `rocmenv verify --deep --repair 6.3.0`")
    assert "repaired `lib/llvm" in rocmenv("verify", "-q", "--deep", "--repair", "6.3.0").fine()


# Stopped half-way.

PLACES = (
    "rocmenv.fetch.archive:Tree.settle",
    "rocmenv.sources.packages:complete",
    "rocmenv.store.mend:sync",
    "rocmenv.store.mend:_let_in",
    "rocmenv.ops.repair:rehash",
)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("place", PLACES)
def test_stopped_anywhere_nothing_is_half(
    rocmenv: Runner, root: Root, prefix: Path, place: str, how: signal.Signals
) -> None:
    before = state(prefix)
    (prefix / "bin/hipcc").unlink()
    flip(prefix / "lib/llvm/bin/clang")
    (prefix / "llvm").unlink()
    damaged = state(prefix)
    run_and_stop(root, place, how, "verify", "--deep", "--repair", "6.3.0")
    for path, now in state(prefix).items():
        assert now in (before.get(path), damaged.get(path)), path
    rocmenv("verify", "--deep", "--repair", "6.3.0").fine()
    assert list(root.staging.iterdir()) == list(root.journal.iterdir()) == []
    assert state(prefix) == before


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.data())
def test_any_set_of_damaged_files_is_repaired(
    rocmenv: Runner, root: Root, prefix: Path, data: st.DataObject
) -> None:
    before = state(prefix)
    item = registry.find(root, V630)
    files = [e.path for e in verify.read_manifest(root, item) if e.kind == "file"]
    # All is drawn before anything is damaged: a draw may end the example.
    wanted = st.dictionaries(st.sampled_from(files), st.booleans(), min_size=1)
    for path, is_gone in data.draw(wanted).items():
        if is_gone:
            (prefix / path).unlink()
        else:
            flip(prefix / path)
    rocmenv("verify", "--deep", "--repair", "6.3.0").fine()
    assert state(prefix) == before
    assert verify.check(root, item, deep=True, jobs=2, report=Silent()).faults == ()


# What was installed with `--from`.


def test_a_tarball_is_unpacked_again(
    rocmenv: Runner, root: Root, cases: Path, tmp_path: Path
) -> None:
    archive = str(tmp_path / "a.tar.gz")
    shutil.copy(cases / "archives/wrapped-good.tar.gz", archive)
    rocmenv("install", "6.3.0", "--from", archive).fine()
    prefix = root.version(V630)
    before = state(prefix)
    (prefix / "bin/hipcc").unlink()
    result = rocmenv("verify", "--repair", "6.3.0")
    assert "repaired" in result.fine()
    assert "to download" not in result.err
    assert state(prefix) == before
    (prefix / "bin/hipcc").unlink()
    shutil.copy(cases / "archives/flat-good.tar.gz", archive)
    result = rocmenv("verify", "-q", "--repair", "6.3.0")
    assert result.refused() == (
        f"`{archive}` is not the file any more that the version was installed from"
    )
    assert result.hint.startswith("install it again: `rocmenv install --reinstall 6.3.0 --from ")


def test_a_tarball_at_an_address_is_fetched_again(
    rocmenv: Runner, root: Root, cases: Path, site: Site
) -> None:
    content = (cases / "archives/hard-link.tar.gz").read_bytes()
    site.files["/a.tar.gz"] = content
    rocmenv("install", "6.3.0", "--from", f"{site.url}/a.tar.gz").fine()
    prefix = root.version(V630)
    before = state(prefix)
    (prefix / "lib/llvm/bin/clang").unlink()
    flip(prefix / "bin/hipcc")
    rocmenv("verify", "--deep", "--repair", "6.3.0").fine()
    assert state(prefix) == before
    assert left_over(root) == []
    site.files["/a.tar.gz"] = (cases / "archives/flat-good.tar.gz").read_bytes()
    (prefix / "bin/hipcc").unlink()
    message = rocmenv("verify", "-q", "--repair", "6.3.0").refused()
    assert message.endswith(f"{len(content)} bytes were announced")


def test_a_folder_is_copied_from_again_where_it_is_as_it_was(
    rocmenv: Runner, root: Root, tmp_path: Path
) -> None:
    source = fake_prefix(tmp_path / "x", "6.3.0")
    put(source, "bin/where", f"#!/bin/sh\necho {source}/lib\n", 0o755)
    rocmenv("install", "6.3.0", "--from", "x").fine()
    prefix = root.version(V630)
    before = state(prefix)
    for name in ("bin/where", "bin/hipcc"):
        (prefix / name).unlink()
    rocmenv("verify", "--repair", "6.3.0").fine()
    assert state(prefix) == before
    for name in ("bin/where", "bin/hipcc"):
        (prefix / name).unlink()
    (source / "bin/where").write_text("other")
    result = rocmenv("verify", "-q", "--repair", "6.3.0")
    assert result.message == "1 files of 6.3.0 cannot be made as they were: bin/where"
    assert (prefix / "bin/hipcc").exists()


@pytest.mark.parametrize("words", [(), ("--prune-targets", "--gpu", "gfx942")])
def test_an_archive_of_the_channel_is_fetched_again(
    rocmenv: Runner,
    root: Root,
    vendor: Vendor,
    words: tuple[str, ...],
) -> None:
    vendor.has("tarball-multi-arch", tarball_name("multiarch", "7.14.0"))
    server = {"ROCMENV_THEROCK_MIRROR": vendor.url}
    rocmenv("install", "7.14.0", "--as", "7.14.0+own", *words, **server).fine()
    prefix = root.version(Version.parse("7.14.0+own"))
    before = state(prefix)
    (prefix / "lib/llvm/bin/clang++").unlink()
    flip(prefix / "bin/hipcc")
    instead(prefix / "lib/libamdhip64.so").symlink_to("nowhere")
    vendor.site.seen.clear()
    rocmenv("verify", "--deep", "--repair", "7.14.0+own").fine()
    assert state(prefix) == before
    assert [Path(r.path).name for r in vendor.site.seen] == [tarball_name("multiarch", "7.14.0")]
    assert left_over(root) == []


def packed(path: Path) -> Path:
    """An archive with a folder around all, a member below a link, and a hard link."""
    with tarfile.open(path, "w:gz") as tar:
        for name, content in (
            ("rocm-6.3.0/bin/hipcc", b"hipcc"),
            ("rocm-6.3.0/lib/llvm/bin/clang", b"clang"),
            ("rocm-6.3.0/llvm/bin/lld", b"lld"),
            ("rocm-6.3.0/share/large", b"large"),
            ("rocm-6.3.0/.info/version", b"6.3.0-1\n"),
        ):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for kind, name, target in (
            (tarfile.SYMTYPE, "rocm-6.3.0/llvm", "lib/llvm"),
            (tarfile.LNKTYPE, "rocm-6.3.0/bin/clang-17", "rocm-6.3.0/lib/llvm/bin/clang"),
        ):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            tar.addfile(member)
    return path


@pytest.mark.parametrize(
    "lost", [("bin/hipcc",), ("lib/llvm/bin/lld",), ("bin/clang-17",), ("bin/hipcc", "share/large")]
)
def test_of_an_archive_only_what_is_lost_is_written(
    rocmenv: Runner, root: Root, tmp_path: Path, lost: tuple[str, ...]
) -> None:
    archive = packed(tmp_path / "rocm-6.3.0.tar.gz")
    rocmenv("install", "--from", str(archive)).fine()
    prefix = root.version(V630)
    item = registry.find(root, V630)
    work = Work(tmp_path / "again", str(prefix), Downloads(root.cache), 2, lambda _count: None)
    work.tree.mkdir()
    entries = verify.read_manifest(root, item)
    missing = Lost(prefix, entries, frozenset(lost), item.receipt.items, item.receipt.origin)
    archive_again.unpack(work, missing, path=archive)
    files = [p for p in work.tree.rglob("*") if p.is_file() and not p.is_symlink()]
    assert {str(p.relative_to(work.tree)) for p in files} == set(lost)
    assert all((prefix / name).read_bytes() == (work.tree / name).read_bytes() for name in lost)
    before = state(prefix)
    for name in lost:
        (prefix / name).unlink()
    rocmenv("verify", "--repair", "6.3.0").fine()
    assert state(prefix) == before
