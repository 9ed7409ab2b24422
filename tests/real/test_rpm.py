"""A real release as RPM packages: planned from a signed repository, installed, compiled with."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from rocmenv.fetch.transfer import Downloads
from rocmenv.model.version import Version
from rocmenv.ops.install import Options, install
from rocmenv.ops.report import Silent
from rocmenv.sources.base import Request
from rocmenv.sources.rpm_channel import RpmPlace, plan
from rocmenv.store import registry
from rocmenv.store.paths import Root
from tests.builders import process
from tests.fetch.keys import Keys, key_folder
from tests.real import debian
from tests.real.amdrepo import BuiltRepository
from tests.real.world import World, build_all, served
from tests.sources.rpm.builders import Package, build_rpm, index, sign

pytestmark = pytest.mark.real

HIP = re.compile(r"HIP version: \d+\.\d+")
PAYLOADS = ("zstd", "xz", "gzip")


@dataclass
class Release:
    """A release as a repository of RPM packages at `address`."""

    version: str
    address: str
    folder: Path
    fingerprint: str


def rpm_name(deb: str, version: str) -> str:
    """AMD's name of a package in its RPM repositories."""
    bare = deb.removesuffix(version)
    return (f"{bare}el" if bare.endswith("-dev") else bare) + version


def as_rpm(deb: Path, version: str, work: Path) -> Package:
    """The Debian package as an RPM package; libraries are found by rpmbuild."""
    fields = debian.control_fields(deb)
    content = work / deb.stem
    debian.unpack_each([(deb, content)])
    requires = []
    for relation in fields.get("Depends", "").split(","):
        match = re.fullmatch(rf"\s*(\S+{re.escape(version)})(?: \((=) (\S+)\))?\s*", relation)
        if match is not None:  # what is not AMD's has other names in other distributions
            bound = f" = {match[3]}" if match[2] else ""
            requires.append(f"Requires: {rpm_name(match[1], version)}{bound}")
    upstream, _, release = fields["Version"].rpartition("-")
    return Package(
        rpm_name(fields["Package"], version),
        upstream,
        release,
        fields=requires,
        trees={path.name: path for path in sorted(content.iterdir())},
        automatic=True,
    )


def repackaged(built: BuiltRepository, folder: Path, keys: Keys) -> None:
    """Write the release's packages, signed, and their index into `folder`."""
    pool = built.root / built.base_url_path / "pool"
    debs = sorted(
        deb for deb in pool.rglob("*.deb") if deb.name.partition("_")[0].endswith(built.version)
    )
    work = folder.with_name("work")

    def write(pair: tuple[int, Path]) -> None:
        number, deb = pair
        package = as_rpm(deb, built.version, work)
        large = deb.stat().st_size > 8 << 20
        path = build_rpm(package, work, "zstd" if large else PAYLOADS[number % 3])
        sign(path, keys, "rocm")
        path.rename(folder / path.name)

    with ThreadPoolExecutor(debian.WORKERS) as pool_of_threads:
        list(pool_of_threads.map(write, enumerate(debs)))
    shutil.rmtree(work)
    index(folder)


def _first(out: Path) -> BuiltRepository:
    """The release of the first suite that can be had."""
    reasons: dict[str, str] = {}
    for suite in debian.SUITES:
        built, missing = build_all(out, [suite])
        if built:
            return built[0]
        reasons |= missing
    message = f"no real release: {reasons}"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Release]:
    folder = tmp_path_factory.mktemp("rpm")
    oldest = _first(folder / "served")
    packages = folder / "served/rocm/el8" / oldest.version / "main"
    packages.mkdir(parents=True)
    with key_folder() as keys:
        fingerprint = keys.make("rocm", kind="rsa2048")
        repackaged(oldest, packages, keys)
        (folder / "served/rpm.key").write_bytes(keys.export("rocm", armour=True))
    with served(folder / "served") as address:
        yield Release(oldest.version, address, folder, fingerprint)


def test_a_release_of_rpm_packages_compiles_and_runs(release: Release) -> None:
    """From packages that are signed each, under an index that is not."""
    version = Version.parse(release.version)
    place = RpmPlace(
        channel="legacy-rpm",
        bases=(f"{release.address}/rocm/el8/{release.version}/main",),
        keys=(f"{release.address}/rpm.key",),
        fingerprints=frozenset({release.fingerprint}),
        prefix=f"/opt/rocm-{release.version}",
        is_legacy=True,
    )
    root = Root(release.folder / "root")
    downloads = Downloads(root.cache)
    made = plan(place, version, version, Request(), downloads)
    assert f"hip-devel{release.version}" in {package.name for package in made.packages}
    assert all(".so" not in need for need in made.host), "every library is here or in the release"
    install(process(root.path), root, made, downloads, Options(jobs=2), Silent())
    receipt = registry.find(root, version).receipt
    assert receipt.source == "legacy-rpm"
    world = World(release.folder, release.address, release.fingerprint, [release.version])
    folder = world.project("rpm", release.version)
    done = world.rocmenv("exec", "hipcc", "--version", cwd=folder)
    assert HIP.search(done.out), done.err
    words = ("hipcc", "--offload-arch=gfx90a", "vector_add.hip", "-o", "vector_add")
    done = world.rocmenv("exec", *words, cwd=folder)
    assert done.status == 0, done.err
    ran = world.rocmenv("exec", "./vector_add", cwd=folder)
    assert "runtime " in ran.out, ran.err
    assert (ran.status, "hipErrorNoDevice" in ran.out) == (2, True) or ran.status == 0
