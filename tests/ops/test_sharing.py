"""Installs that have files in common: what is shared, and that each stays whole by itself."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from rocmenv.fetch.transfer import Downloads
from rocmenv.model.version import Version
from rocmenv.ops.install import Options, install
from rocmenv.ops.report import Silent
from rocmenv.sources import local
from rocmenv.store import registry, share
from rocmenv.store.paths import Root
from rocmenv.store.share import HARDLINK, SMALLEST
from tests.builders import fake_prefix, process, put
from tests.cli.runner import Runner, run
from tests.store.test_trash import empty_soon

KERNELS = os.urandom(SMALLEST + 1)


@pytest.fixture
def sources(tmp_path: Path) -> dict[str, Path]:
    """Trees of two releases with one file in common, and one that only looks so."""
    out = {}
    for number, version in enumerate(("6.2.0", "6.2.4")):
        tree = fake_prefix(tmp_path / version, version)
        put(tree, "lib/kernels.dat", KERNELS)
        put(tree, "lib/own.dat", bytes([number]) * SMALLEST)
        out[version] = tree
    return out


def inode(root: Root, version: str, name: str = "lib/kernels.dat") -> int:
    return (root.versions / version / name).stat().st_ino


def install_both(rocmenv: Runner, sources: dict[str, Path], way: str = HARDLINK) -> None:
    for version, tree in sources.items():
        rocmenv("install", version, "--from", str(tree), ROCMENV_SHARE=way).fine()


def test_the_second_one_has_the_files_of_the_first(
    rocmenv: Runner, root: Root, sources: dict[str, Path]
) -> None:
    install_both(rocmenv, sources)
    assert inode(root, "6.2.0") == inode(root, "6.2.4")
    assert inode(root, "6.2.0", "lib/own.dat") != inode(root, "6.2.4", "lib/own.dat")
    first, second = (registry.read_receipt(root, Version.parse(v)).shared for v in sources)
    assert first is None
    assert second is not None
    assert (second.method, second.files, second.size) == (HARDLINK, 1, len(KERNELS))


def test_it_can_be_off(rocmenv: Runner, root: Root, sources: dict[str, Path]) -> None:
    install_both(rocmenv, sources, "off")
    assert inode(root, "6.2.0") != inode(root, "6.2.4")
    assert stat.S_IMODE((root.versions / "6.2.0/lib/kernels.dat").stat().st_mode) == 0o644


def test_a_way_that_nobody_knows_is_refused(rocmenv: Runner, sources: dict[str, Path]) -> None:
    result = rocmenv("install", "6.2.0", "--from", str(sources["6.2.0"]), ROCMENV_SHARE="copy")
    assert "`share` should be one of `auto`" in result.refused()


@pytest.mark.parametrize("gone", ["6.2.0", "6.2.4"])
def test_one_goes_and_the_other_stays_whole(
    rocmenv: Runner, root: Root, sources: dict[str, Path], gone: str
) -> None:
    install_both(rocmenv, sources)
    rocmenv("uninstall", gone).fine()
    assert empty_soon(root.trash)
    (stays,) = set(sources) - {gone}
    place = root.versions / stays / "lib/kernels.dat"
    assert place.read_bytes() == KERNELS
    assert place.stat().st_nlink == 1
    assert run(root, f"+{stays}", "exec", "hipcc").status == 0


def test_a_version_is_replaced_by_one_that_shares_with_it(
    rocmenv: Runner, root: Root, sources: dict[str, Path]
) -> None:
    install_both(rocmenv, sources)
    words = ("install", "6.2.4", "--reinstall", "--from", str(sources["6.2.4"]))
    rocmenv(*words, ROCMENV_SHARE=HARDLINK).fine()
    assert empty_soon(root.trash)
    assert inode(root, "6.2.0") == inode(root, "6.2.4")
    assert (root.versions / "6.2.4/lib/own.dat").read_bytes() == b"\1" * SMALLEST


def test_a_text_that_names_the_prefix_is_never_another_versions(
    rocmenv: Runner, root: Root, sources: dict[str, Path]
) -> None:
    """A copy of an install that shares: the texts in it are changed, and only there."""
    text = b"ROCM = /opt/rocm-6.2.0\n" + b"# same\n" * SMALLEST
    put(sources["6.2.0"], "lib/config.txt", text)
    install_both(rocmenv, sources)
    first = root.versions / "6.2.0"
    words = ("install", "6.2.0", "--from", str(first), "--as", "6.2.0+copy")
    rocmenv(*words, ROCMENV_SHARE=HARDLINK).fine()
    copy = root.versions / "6.2.0+copy"
    assert inode(root, "6.2.0+copy") == inode(root, "6.2.0")
    assert str(first).encode() in (first / "lib/config.txt").read_bytes()
    assert str(copy).encode() in (copy / "lib/config.txt").read_bytes()


def test_known_digests_save_the_reading(
    root: Root, sources: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(share, "same_content", lambda *_: pytest.fail("it was read"))
    for version, tree in sources.items():
        os.utime(tree / "lib/kernels.dat", (1_600_000_000, 1_600_000_000))
        plan = local.plan(Version.parse(version), str(tree), "/")
        how = Options(jobs=2, share=HARDLINK)
        install(process(root.path), root, plan, Downloads(root.cache), how, Silent())
    assert inode(root, "6.2.0") == inode(root, "6.2.4")


@pytest.mark.parametrize("content", [None, b"", b"rocmenv-manifest 1\nf 644", b"\xff"])
def test_without_a_readable_manifest_files_are_compared(
    rocmenv: Runner, root: Root, sources: dict[str, Path], content: bytes | None
) -> None:
    first, second = sources.items()
    rocmenv("install", first[0], "--from", str(first[1])).fine()
    path = root.manifest(Version.parse(first[0]))
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    rocmenv("install", second[0], "--from", str(second[1]), ROCMENV_SHARE=HARDLINK).fine()
    assert inode(root, "6.2.0") == inode(root, "6.2.4")


# Damage: what is written into one is written into both.


def test_verify_minds_neither_the_rights_of_shared_files_nor_of_what_was_shared(
    rocmenv: Runner, root: Root, sources: dict[str, Path]
) -> None:
    install_both(rocmenv, sources)
    rocmenv("verify", "--deep", "6.2.0", "6.2.4").fine()
    rocmenv("uninstall", "6.2.0").fine()
    assert empty_soon(root.trash)
    rocmenv("verify", "--deep", "6.2.4").fine()


def test_an_edit_in_place_is_noticed_in_both_and_mended_in_each(
    rocmenv: Runner, root: Root, sources: dict[str, Path]
) -> None:
    install_both(rocmenv, sources)
    place = root.versions / "6.2.0/lib/kernels.dat"
    place.chmod(0o644)
    place.write_bytes(b"EDITED" + KERNELS[6:])
    for version in sources:
        assert "lib/kernels.dat" in rocmenv("verify", "--deep", version).out
    rocmenv("verify", "--deep", "--repair", "6.2.4").fine()
    assert (root.versions / "6.2.4/lib/kernels.dat").read_bytes() == KERNELS
    assert place.read_bytes().startswith(b"EDITED"), "the other one is not touched"
    rocmenv("verify", "--deep", "--repair", "6.2.0").fine()
    assert place.read_bytes() == KERNELS


def test_mending_the_rights_of_a_shared_file_leaves_it_read_only(
    rocmenv: Runner, root: Root, sources: dict[str, Path]
) -> None:
    install_both(rocmenv, sources)
    place = root.versions / "6.2.0/lib/kernels.dat"
    place.chmod(0o755)
    rocmenv("verify", "--repair", "6.2.4").fine()
    assert stat.S_IMODE(place.stat().st_mode) == 0o444


def test_what_was_edited_is_not_handed_on(
    rocmenv: Runner, root: Root, sources: dict[str, Path]
) -> None:
    """Neither by the digest that it once had nor by its name and size."""
    (first, tree), (second, other) = sources.items()
    rocmenv("install", first, "--from", str(tree)).fine()
    place = root.versions / first / "lib/kernels.dat"
    with place.open("r+b") as file:
        file.write(b"EDITED")
    os.utime(place, (4_000_000_000, 4_000_000_000))
    rocmenv("install", second, "--from", str(other), ROCMENV_SHARE=HARDLINK).fine()
    assert (root.versions / second / "lib/kernels.dat").read_bytes() == KERNELS
    assert inode(root, first) != inode(root, second)


@pytest.mark.parametrize("damaged", ["6.2.0", "6.2.4"])
def test_a_reinstall_does_not_bring_damage_back(
    rocmenv: Runner, root: Root, sources: dict[str, Path], damaged: str
) -> None:
    """As a failing disk makes it: no time tells."""
    install_both(rocmenv, sources)
    place = root.versions / damaged / "lib/kernels.dat"
    status = place.stat()
    place.chmod(0o644)
    place.write_bytes(b"DAMAGE" + KERNELS[6:])
    place.chmod(0o444)
    os.utime(place, ns=(status.st_atime_ns, status.st_mtime_ns))
    words = ("install", damaged, "--reinstall", "--from", str(sources[damaged]))
    rocmenv(*words, ROCMENV_SHARE=HARDLINK).fine()
    assert place.read_bytes() == KERNELS
