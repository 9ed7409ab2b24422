"""Keeping once what two installs have in common: bytes saved and time spent.

The second version is written as an unpacker would, then shared, then brought to the disk.
`same` is a release again (a variant with other packages), `90 %` one in which every tenth
file differs by a byte; then come pairs of real releases, as far as the cache of the tests
on real ROCm has them. Images of btrfs and xfs are used where they can be mounted.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from rocmenv.fetch.digest import sha256_of
from rocmenv.model.receipt import Shared
from rocmenv.store.share import HARDLINK, OFF, REFLINK, Tree, share
from tests.real.amdrepo import default_cache

_SUITES = ("bookworm", "trixie", "sid", "experimental")
_OURS = ("libamd", "libhsa", "rocm", "hip", "libhip", "libroc", "libllvm", "clang", "libclang")
_IMAGES = {"btrfs": ["mkfs.btrfs", "-q"], "xfs": ["mkfs.xfs", "-q", "-m", "reflink=1"]}
_PIECE = 1 << 20


def run(folder: Path, *, quick: bool) -> Iterator[str]:
    """Lines of the report. Goal: newly written <= 1.15 x what differs, time <= 1.1 x."""
    trees = _real(folder / "real", quick=quick)
    base = next(iter(trees.values()), None) or _synthetic(folder / "made", quick=quick)
    files = sorted(p for p in base.rglob("*") if p.is_file() and not p.is_symlink())
    size = sum(p.stat().st_size for p in files)
    yield f"a tree of {len(files)} files, {size / 1e6:.0f} MB"
    with _disks(folder, 4 * size + (1 << 29)) as disks:
        for name, place in disks.items():
            for every in (0, 10):
                yield from _series(name, place, base, every=every, rounds=1 if quick else 3)
    for (old, first), (new, second) in pairwise(trees.items()):
        yield from _pair(f"{old} -> {new}", first, second)


@dataclass(frozen=True, slots=True)
class _Taken:
    """One way to have the second version: seconds of it all and of sharing, bytes of the disk."""

    seconds: float
    sharing: float
    written: int
    shared: Shared | None


def _series(name: str, place: Path, base: Path, *, every: int, rounds: int) -> Iterator[str]:
    old = place / f"old-{every}"
    _write(base, old, 0)
    first = Tree(str(old), _digests(old), since=time.time())
    ways = (OFF, HARDLINK, REFLINK)
    taken: dict[str, list[_Taken]] = {way: [] for way in ways}
    differs = 0
    for number in range(rounds):
        for way in ways:
            new = place / f"{way}-{every}-{number}"
            found = _once(base, new, first, way, every)
            if way == OFF or found.shared is not None:
                taken[way].append(found)
            if way == OFF and not differs:
                differs = _differing(new, old)
            _empty(new)
    whole = statistics.median(t.seconds for t in taken[OFF])
    title = "same" if not every else "90 %"
    for way in ways[1:]:
        if not taken[way]:
            yield f"{name:<6} {title:<5} {way:<9} not here"
            continue
        ratio = statistics.median(
            t.seconds / o.seconds for t, o in zip(taken[way], taken[OFF], strict=True)
        )
        written = statistics.median(t.written for t in taken[way])
        copied = statistics.median(t.written for t in taken[OFF])
        step = statistics.median(t.sharing for t in taken[way])
        over = f", {written / differs:.2f} x what differs" if differs else ""
        yield (
            f"{name:<6} {title:<5} {way:<9} time {ratio:.2f} x of copies ({whole:.2f} s), "
            f"of it {step:.2f} s to share, "
            f"written {written / 1e6:.0f} of {copied / 1e6:.0f} MB{over}"
        )


def _once(base: Path, new: Path, first: Tree, way: str, every: int) -> _Taken:
    digests = _known(first, every)
    before = _free(new.parent)
    start = time.perf_counter()
    _write(base, new, every)
    middle = time.perf_counter()
    found = share(Tree(str(new), digests), [first], way)
    sharing = time.perf_counter() - middle
    _sync(new)
    seconds = time.perf_counter() - start
    if way != REFLINK:  # others may write to the disk where we are
        return _Taken(seconds, sharing, _own_blocks(new), found)
    time.sleep(1)  # xfs frees what was deleted by and by
    return _Taken(seconds, sharing, before - _free(new.parent), found)


def _own_blocks(tree: Path) -> int:
    """The bytes on the disk of the files that have one name."""
    found = (p.lstat() for p in tree.rglob("*"))
    return sum(f.st_blocks * 512 for f in found if f.st_nlink == 1)


def _write(base: Path, to: Path, every: int) -> None:
    """Write the tree anew; of every so many files one byte is another."""
    for folder, _, names in os.walk(base):
        here = to / os.path.relpath(folder, base)
        here.mkdir(parents=True, exist_ok=True)
        for name in names:
            source = os.path.join(folder, name)
            if os.path.islink(source):
                continue
            with open(source, "rb") as old, open(here / name, "xb") as new:
                while piece := old.read(_PIECE):
                    new.write(piece)
                if every and _is_changed(os.path.relpath(source, base), every):
                    new.seek(0)
                    new.write(b"~")
            os.chmod(here / name, os.stat(source).st_mode & 0o777)


def _is_changed(path: str, every: int) -> bool:
    return sum(path.encode("utf-8", "surrogateescape")) % every == 0


def _digests(tree: Path) -> dict[str, str]:
    files = (p for p in tree.rglob("*") if p.is_file() and not p.is_symlink())
    return {str(p.relative_to(tree)): sha256_of(p).hexdigest() for p in files}


def _known(first: Tree, every: int) -> dict[str, str]:
    """What an install knows of its files, which it has hashed while it wrote them."""
    return {
        path: "changed" if every and _is_changed(path, every) else digest
        for path, digest in first.digests.items()
    }


def _differing(new: Path, old: Path) -> int:
    files = (p for p in new.rglob("*") if p.is_file())
    return sum(
        p.stat().st_blocks * 512
        for p in files
        if sha256_of(p).hexdigest() != sha256_of(old / p.relative_to(new)).hexdigest()
    )


def _pair(title: str, old: Path, new: Path) -> Iterator[str]:
    """What two real releases have in common."""
    start = time.perf_counter()
    found = share(Tree(str(new)), [Tree(str(old))], HARDLINK)
    seconds = time.perf_counter() - start
    size = sum(p.stat().st_size for p in new.rglob("*") if p.is_file() and not p.is_symlink())
    shared, files = (found.size, found.files) if found else (0, 0)
    yield (
        f"{title}: {shared / 1e6:.0f} of {size / 1e6:.0f} MB in {files} files are the same "
        f"({100 * shared / size:.1f} %), found in {seconds:.2f} s"
    )


def _real(folder: Path, *, quick: bool) -> dict[str, Path]:
    """The ROCm and LLVM packages of each suite, unpacked."""
    out = {}
    for suite in _SUITES[:2] if quick else _SUITES:
        debs = sorted((default_cache() / f"apt/{suite}/debs").glob("*.deb"))
        debs = [deb for deb in debs if deb.name.startswith(_OURS)]
        if not debs or not shutil.which("dpkg-deb"):
            continue
        (folder / suite).mkdir(parents=True)
        for deb in debs:
            subprocess.run(["dpkg-deb", "-x", deb, folder / suite], check=True)
        out[suite] = folder / suite
    return out


def _synthetic(folder: Path, *, quick: bool) -> Path:
    """Files of the sizes that a release has, of random bytes."""
    for number in range(60 if quick else 3000):
        path = folder / f"lib/{number % 40}/{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(((number * 7919) % 1000) ** 2 + 100))
    return folder


@contextlib.contextmanager
def _disks(folder: Path, size: int) -> Iterator[dict[str, Path]]:
    """A folder on each file system that can be had here; the first is where we are."""
    found = {"here": folder / "here"}
    found["here"].mkdir()
    with contextlib.ExitStack() as held:
        for name, command in _IMAGES.items():
            if os.geteuid() != 0 or not shutil.which(command[0]):
                continue
            image, place = folder / f"{name}.image", folder / name
            with image.open("wb") as file:
                file.truncate(size)
            place.mkdir()
            subprocess.run([*command, image], check=True, capture_output=True)
            mount = subprocess.run(
                ["mount", "-o", "loop", image, place], check=False, capture_output=True
            )
            if mount.returncode == 0:
                held.callback(_unmount, place)
                found[name] = place
        yield found


def _unmount(place: Path) -> None:
    subprocess.run(["umount", place], check=True)


def _empty(tree: Path) -> None:
    """Free the blocks without deleting names, which would slow the next round on ext4."""
    for path in tree.rglob("*"):
        if path.is_file() and path.stat().st_nlink == 1:
            os.truncate(path, 0)


def _sync(place: Path) -> None:
    subprocess.run(["sync", "-f", place], check=True)


def _free(place: Path) -> int:
    _sync(place)
    found = os.statvfs(place)
    return found.f_bfree * found.f_frsize
