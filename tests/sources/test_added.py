"""`add-target`: only what lacks is fetched, the rest is what was there, and it is whole at once."""

from __future__ import annotations

import io
import json
import os
import signal
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rocmenv.cli.commands import add_target
from rocmenv.model.receipt import Receipt
from rocmenv.model.version import Version
from rocmenv.ops.install import install
from rocmenv.sources import added
from rocmenv.store import registry
from rocmenv.store.paths import Root
from tests.builders import put
from tests.cli.runner import Result, Runner, run_and_stop
from tests.fetch.server import Site, serving
from tests.sources import test_legacy
from tests.sources.apt.builders import build_deb
from tests.sources.test_legacy import (
    Mirror,
    _machine,  # noqa: F401 - a fixture
    deb,
)
from tests.sources.test_repair import flip, left_over, state

# Fixtures of theirs. Imported, each parameter of that name would seem to hide one.
made, mirror = test_legacy.made, test_legacy.mirror

V630, V1010 = Version.parse("6.3.0"), Version.parse("10.1.0")
LIBRARY = "lib__rocblas__library"
TEXT = b"#!/bin/sh\necho /opt/rocm-6.3.0/lib\n"
LARGE = os.urandom(100_000)
BLAS: dict[str, bytes | str] = {
    "bin__bench": TEXT,
    "lib__librocblas.so.4": LARGE,
    "lib__librocblas.so": "librocblas.so.4",
    f"{LIBRARY}__TensileLibrary_gfx1100.dat": b"c" * 700,
    f"{LIBRARY}__TensileLibrary_gfx90a.dat": b"a" * 500,
    f"{LIBRARY}__Kernels_gfx90a.hsaco": "TensileLibrary_gfx90a.dat",
    f"{LIBRARY}__TensileLibrary_gfx942.dat": b"d" * 300,
    f"{LIBRARY}__TensileManifest.txt": b"all",
}
MORE = (
    deb("rocblas", "rocm-core6.3.0", **BLAS),
    # Lies behind a link of rocm-llvm, and has a text that is made to fit.
    deb("miopen", "rocm-core6.3.0", llvm__bin__behind=TEXT, share__miopen__db__gfx90a__kdb=b"x"),
    deb("miopen-hip", "rocm-core6.3.0", **{"share__miopen__db__gfx90a68.kdb": b"kdb" * 99}),
    # Has one of its files, too.
    deb("miopen-more", "rocm-core6.3.0", **{"share__miopen__db__gfx90a68.kdb": b"kdb" * 99}),
    deb("rocm-opencl-runtime", "rocm-core6.3.0", **{"lib__libamdocl64.so": b"opencl"}),
)
NAMES = ("rocblas", "miopen", "miopen-hip", "miopen-more", "rocm-opencl-runtime")
WITH = tuple(word for name in NAMES for word in ("--with", name))
INSTALL = ("install", "-q", "6.3.0", "--prune-targets", *WITH)
ADD = ("add-target", "-q", "gfx90a", "--to", "6.3.0")
Call = Callable[..., Result]


@pytest.fixture
def environ(mirror: Mirror, tmp_path: Path) -> dict[str, str]:
    """What a call needs to find the server, which has more packages than usual."""
    for one in MORE:
        mirror.debs[one.name] = build_deb(one, tmp_path / "more", "xz")
    mirror.publish()
    return {"ROCMENV_MIRROR": mirror.url, "ROCMENV_FINGERPRINT": mirror.fingerprint}


@pytest.fixture
def call(
    capfd: pytest.CaptureFixture[str], root: Root, tmp_path: Path, environ: dict[str, str]
) -> Call:
    runner = Runner(capfd, root, tmp_path)
    return lambda *words, **more: runner(*words, **{**environ, **more})


def packages(mirror: Mirror) -> set[str]:
    """The packages that were asked for, without suffix and version."""
    asked = (Path(r.path).name for r in mirror.site.seen)
    return {name.split("6.3.0_")[0] for name in asked if name.endswith(".deb")}


def records(root: Root, version: Version = V630) -> list[object]:
    """What lies beside an install, but for the time and what is told of sharing."""
    receipt = registry.find(root, version).receipt
    left_out = root.left_out(version)
    return [
        root.manifest(version).read_text(),
        left_out.read_text() if left_out.exists() else "",
        replace(receipt, time="", shared=None),
    ]


@pytest.mark.parametrize("targets", ["gfx1100", "gfx942,gfx1100"])
def test_it_is_what_an_install_for_all_of_them_is(
    call: Call,
    root: Root,
    mirror: Mirror,
    targets: str,
) -> None:
    call(*INSTALL, "--gpu", targets).fine()
    old = (root.version(V630) / "bin/hipcc").stat().st_ino
    mirror.site.seen.clear()
    call(*ADD).fine()
    assert packages(mirror) == {"rocblas", "miopen-hip"}
    prefix = root.version(V630)
    assert (prefix / "bin/hipcc").stat().st_ino == old
    assert (prefix / "lib/rocblas/library/Kernels_gfx90a.hsaco").is_symlink()
    call("verify", "--deep", "6.3.0").fine()
    added = state(prefix), records(root)
    call(*INSTALL, "--reinstall", "--gpu", f"{targets},gfx90a").fine()
    mirror.site.seen.clear()
    assert added[0] == {
        **state(prefix),
        ".rocmenv/receipt.json": added[0][".rocmenv/receipt.json"],
    }
    assert added[1][:2] == records(root)[:2]
    was, now = added[1][2], records(root)[2]
    assert isinstance(was, Receipt)
    assert isinstance(now, Receipt)
    # One has the sizes before texts were made to fit.
    assert replace(was, notes=(), size=0) == replace(now, notes=(), size=0)
    assert sorted(was.notes) == sorted(now.notes)
    assert left_over(root) == []


def test_one_after_the_other_and_then_all(call: Call, root: Root, mirror: Mirror) -> None:
    call(*INSTALL, "--gpu", "gfx1100").fine()
    assert root.left_out(V630).read_text().count("\n") == 5
    call(*ADD).fine()
    (line,) = root.left_out(V630).read_text().splitlines()
    assert line.startswith("300\trocblas6.3.0\t")
    mirror.site.seen.clear()
    call("add-target", "-q", "all", "--to", "6.3.0").fine()
    assert packages(mirror) == {"rocblas"}
    assert not root.left_out(V630).exists()
    receipt = registry.find(root, V630).receipt
    assert (receipt.pruned, receipt.targets) == (None, ())
    call("verify", "--deep", "6.3.0").fine()


def test_where_nothing_was_left_out_nothing_is_fetched(
    call: Call,
    root: Root,
    mirror: Mirror,
) -> None:
    words = [word for word in INSTALL if word != "--prune-targets"]
    call(*words, "--gpu", "gfx1100").fine()
    mirror.site.seen.clear()
    told = call("add-target", "gfx90a", "--to", "6.3.0", "--dry-run", "--json").fine()
    assert json.loads(told) == {
        "schema": 1,
        "version": "6.3.0",
        "added": ["gfx90a"],
        "download": 0,
    }
    call(*ADD).fine()
    assert packages(mirror) == set()
    assert registry.find(root, V630).receipt.targets == ("gfx90a", "gfx1100")
    call("verify", "--deep", "6.3.0").fine()


def test_what_people_put_there_stays(call: Call, root: Root, tmp_path: Path) -> None:
    call(*INSTALL, "--gpu", "gfx1100").fine()
    prefix = root.version(V630)
    put(prefix, "share/mine/a", "mine")
    put(prefix, "bin/own", "#!/bin/sh\n", 0o700)
    (prefix / "share/mine").chmod(0o750)
    (prefix / "share/link").symlink_to(tmp_path)
    put(prefix, "lib/rocblas/library/TensileLibrary_gfx90a.dat", "by hand")
    before = state(prefix / "share/mine")
    call(*ADD).fine()
    assert state(prefix / "share/mine") == before
    assert (prefix / "share/mine").stat().st_mode & 0o777 == 0o750
    assert (prefix / "bin/own").stat().st_mode & 0o777 == 0o700
    assert os.readlink(prefix / "share/link") == str(tmp_path)
    assert (prefix / "lib/rocblas/library/TensileLibrary_gfx90a.dat").read_bytes() == b"a" * 500
    told = call("verify", "--deep", "6.3.0")
    told.fine()
    assert [w for w in ("share/mine", "share/link", "bin/own") if w not in told.err] == []


def test_what_is_damaged_is_told_afterwards_as_well(call: Call, root: Root) -> None:
    call(*INSTALL, "--gpu", "gfx1100").fine()
    prefix = root.version(V630)
    (prefix / "bin/rocminfo").unlink()
    flip(prefix / "lib/librocblas.so.4")
    (prefix / "bin/hipcc").write_text("short")
    call(*ADD).fine()
    told = call("verify", "--deep", "6.3.0", "--json")
    (row,) = json.loads(told.out)["versions"]
    assert row["missing"] == ["bin/rocminfo"]
    assert [one["path"] for one in row["changed"]] == ["bin/hipcc", "lib/librocblas.so.4"]
    call("verify", "-q", "--deep", "--repair", "6.3.0").fine()


def test_what_versions_share_stays_shared(call: Call, root: Root) -> None:
    for name in ((), ("--as", "6.3.0+b")):
        call(*INSTALL, "--gpu", "gfx1100", *name, ROCMENV_SHARE="hardlink").fine()
    call(*ADD, ROCMENV_SHARE="hardlink").fine()
    one, other = (root.versions / v / "lib/librocblas.so.4" for v in ("6.3.0", "6.3.0+b"))
    assert one.stat().st_ino == other.stat().st_ino
    assert one.stat().st_mode & 0o222 == 0
    call("verify", "--deep").fine()
    call(*ADD[:-1], "6.3.0+b", ROCMENV_SHARE="off").fine()
    receipts = registry.load(root).installed.values()
    assert [i.receipt.shared is not None for i in receipts] == [False, True]


def test_without_hard_links_there_are_copies(
    call: Call, root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    call(*INSTALL, "--gpu", "gfx1100").fine()

    def refuse(*_args: object, **_named: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    call(*ADD).fine()
    call("verify", "--deep", "6.3.0").fine()


def test_without_a_connection_the_cache_is_enough(
    call: Call,
    root: Root,
    mirror: Mirror,
) -> None:
    call(*INSTALL, "--gpu", "gfx1100", "--keep-downloads").fine()
    mirror.site.files.clear()
    kept = sorted((root.cache / "sha256").iterdir())
    call(*ADD, "--offline").fine()
    assert sorted((root.cache / "sha256").iterdir()) == kept
    call("verify", "--deep", "6.3.0").fine()


def test_what_may_not_be_carried_over_is_named(
    call: Call, root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    call(*INSTALL, "--gpu", "gfx1100").fine()
    before = records(root)
    put(root.version(V630), "share/mine/a", "mine")

    def refuse(old: Path, _new: Path) -> None:
        raise PermissionError(13, "Permission denied", str(old))

    monkeypatch.setattr(added, "name_again", refuse)
    result = call(*ADD)
    place = root.version(V630) / "share/mine/a"
    assert result.refused() == f"{place} cannot be carried over (Permission denied)"
    assert result.hint == f"see whose it is: `ls -ld {place}`"
    assert records(root) == before
    assert list(root.staging.iterdir()) == list(root.journal.iterdir()) == []


@pytest.mark.parametrize("name", ["manifest", "left-out"])
def test_without_its_lists_it_is_made_anew(
    call: Call,
    root: Root,
    mirror: Mirror,
    name: str,
) -> None:
    call(*INSTALL, "--gpu", "gfx1100").fine()
    (root.version(V630) / ".rocmenv" / name).write_text("nonsense\n")
    mirror.site.seen.clear()
    result = call("add-target", "gfx90a", "--to", "6.3.0")
    assert result.fine() == ""
    assert "all of 6.3.0 is fetched" in result.err
    assert len(packages(mirror)) > 5
    call("verify", "--deep", "6.3.0").fine()


def test_a_version_that_was_changed_meanwhile_is_left_alone(
    call: Call, root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    call(*INSTALL, "--gpu", "gfx1100").fine()

    def late(*args: Any) -> object:  # noqa: ANN401 - those of another function
        path = root.receipt(V630)
        path.write_text(path.read_text().replace('"rocblas"', '"other"'))
        return install(*args)

    monkeypatch.setattr(add_target, "install", late)
    assert call(*ADD).refused() == "version 6.3.0 was changed meanwhile"
    assert left_over(root) == []


PLACES = (
    "rocmenv.fetch.archive:Tree.add_file",
    "rocmenv.fetch.archive:Tree.settle",
    "rocmenv.sources.added:AddedPlan._inventory",
    "rocmenv.store.transaction:sync",
    "rocmenv.store.transaction:_exchange",
    "rocmenv.store.transaction:_sync_folder",
    "rocmenv.ops.install:rehash",
)


@pytest.mark.parametrize(
    ("place", "how"),
    [*((place, signal.SIGKILL) for place in PLACES), (PLACES[1], signal.SIGINT)],
)
def test_stopped_anywhere_it_is_old_or_new_as_a_whole(
    call: Call, root: Root, environ: dict[str, str], place: str, how: signal.Signals
) -> None:
    call(*INSTALL, "--gpu", "gfx1100").fine()
    prefix = root.version(V630)
    old = state(prefix), records(root)
    run_and_stop(root, place, how, *ADD, **environ)
    if (state(prefix), records(root)) != old:
        assert registry.find(root, V630).receipt.targets == ("gfx90a", "gfx1100")
    call("verify", "--deep", "6.3.0").fine()
    call(*ADD).fine()
    call("verify", "--deep", "6.3.0").fine()
    assert list(root.staging.iterdir()) == list(root.journal.iterdir()) == []
    assert not root.left_out(V630).read_text().count("gfx90a")


# Archives.

ARCHIVE = "/rocm/core/tarball/therock-dist-linux-multiarch-10.1.0.tar.gz"


def packed() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, text in (
            ("./bin/hipcc", b"#!/bin/sh\n"),
            ("./.info/version", b"10.1.0\n"),
            ("./lib/libamdhip64.so.7", LARGE),
            ("./.kpack/blas_gfx1100.kpack", b"KPAK"),
            ("./.kpack/blas_gfx90a.kpack", b"KPAK90a"),
            ("./.kpack/blas_gfx942.kpack", b"KPAK942"),
        ):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(text), 0o755
            tar.addfile(member, io.BytesIO(text))
        hard = tarfile.TarInfo("./.kpack/fft_gfx90a.kpack")
        hard.type, hard.linkname = tarfile.LNKTYPE, "./.kpack/blas_gfx90a.kpack"
        tar.addfile(hard)
    return out.getvalue()


@pytest.fixture
def archive(
    capfd: pytest.CaptureFixture[str], root: Root, tmp_path: Path
) -> Iterator[tuple[Site, Call]]:
    with serving(Site()) as site:
        site.files[ARCHIVE] = packed()
        row = [{"name": Path(ARCHIVE).name, "mtime": 1_790_000_000.0}]
        page = f"<html><script>const files = {json.dumps(row)};</script></html>"
        site.files["/rocm/core/tarball/"] = page.encode()
        runner = Runner(capfd, root, tmp_path)
        server = {"ROCMENV_THEROCK_MIRROR": f"{site.url}/rocm"}
        yield site, lambda *words: runner(*words, **server)


@pytest.mark.parametrize("kept", [False, True])
def test_an_archive_is_read_again_from_the_cache_where_it_is_there(
    archive: tuple[Site, Call], root: Root, *, kept: bool
) -> None:
    site, call = archive
    words = ("install", "-q", "10.1.0", "--gpu", "gfx1100", "--prune-targets")
    call(*words, *(("--keep-downloads",) if kept else ())).fine()
    prefix = root.version(V1010)
    assert sorted(p.name for p in (prefix / ".kpack").iterdir()) == ["blas_gfx1100.kpack"]
    old = (prefix / "lib/libamdhip64.so.7").stat().st_ino
    site.seen.clear()
    call("add-target", "-q", "gfx90a", "--to", "10.1.0").fine()
    asked = [r for r in site.seen if r.path == ARCHIVE]
    assert len(asked) == (1 if kept else 2), "one for its size"
    cached = list((root.cache / "sha256").iterdir())
    assert len(cached) == kept, "what was kept on purpose stays"
    assert (prefix / "lib/libamdhip64.so.7").stat().st_ino == old
    names = ["blas_gfx1100.kpack", "blas_gfx90a.kpack", "fft_gfx90a.kpack"]
    assert sorted(p.name for p in (prefix / ".kpack").iterdir()) == names
    assert "gfx942" in root.left_out(V1010).read_text()
    call("verify", "--deep", "10.1.0").fine()
    added = state(prefix), records(root, V1010)
    call(*words[:4], "gfx1100,gfx90a", "--prune-targets", "--reinstall").fine()
    assert added[1] == records(root, V1010)


def test_an_archive_that_is_another_one_now_is_refused(
    archive: tuple[Site, Call], root: Root
) -> None:
    site, call = archive
    call("install", "-q", "10.1.0", "--gpu", "gfx1100", "--prune-targets").fine()
    before = state(root.version(V1010))
    content = bytearray(packed())
    content[-1] ^= 255
    site.files[ARCHIVE] = bytes(content)
    result = call("add-target", "-q", "gfx90a", "--to", "10.1.0")
    assert result.status == 1
    assert "has not the content of" in result.err
    assert state(root.version(V1010)) == before
