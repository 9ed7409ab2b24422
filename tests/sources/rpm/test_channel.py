"""Plans for small releases in the shape of AMD's RPM repositories, built into trees."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from rocmenv.errors import HostError, RepositoryError, ResolveError, SignatureError, TransferError
from rocmenv.fetch.transfer import Downloads
from rocmenv.model.version import Version
from rocmenv.probe.prefix import find_version
from rocmenv.sources import rpm_channel
from rocmenv.sources.base import Built, Request, Work
from rocmenv.sources.packages import PackagePlan
from rocmenv.sources.rpm.host import Host
from rocmenv.sources.rpm_channel import RpmPlace, plan
from tests.fetch.server import Site
from tests.sources.rpm.builders import HIPCC, Package, build_rpm, index, serve, sign
from tests.sources.rpm.conftest import KEY, PLACE, Made, Mirror

RELEASE = Version.parse("6.3.0")
LIBC = "/lib/x86_64-linux-gnu/libc.so.6"


@pytest.fixture(autouse=True)
def _machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without rpm's database, and with no library but a C library of glibc 2.36."""
    library = tmp_path / "libc.so.6"
    library.write_bytes(b"\0GLIBC_2.14\0GLIBC_2.36\0")
    host = Host(libraries={"libc.so.6": (str(library),)})
    monkeypatch.setattr(rpm_channel, "read_host", lambda: host)
    monkeypatch.setattr(rpm_channel, "debian_architecture", lambda: "amd64")


def place(mirror: Mirror, *bases: str) -> RpmPlace:
    return RpmPlace(
        channel="legacy-rpm",
        bases=bases or (mirror.url,),
        keys=(f"{mirror.site.url}{KEY}",),
        fingerprints=frozenset({mirror.made.fingerprint}),
        prefix="/opt/rocm-6.3.0",
        is_legacy=True,
    )


def names(made: PackagePlan) -> list[str]:
    return [package.name.removesuffix("6.3.0") for package in made.packages]


def build(made: PackagePlan, root: Path, downloads: Downloads) -> Built:
    counted: list[int] = []
    tree = root / "tree"
    built = made.build(Work(tree, "/srv/rocm/6.3.0", downloads, 2, counted.append))
    assert sum(counted) == made.download
    return built


HIP = ["hip-runtime-amd", "hipcc", "rocm-core", "rocm-hip-runtime-devel", "rocm-llvm", "rocminfo"]


@pytest.mark.parametrize("packages", [False, True])
def test_a_release_is_planned_and_built(
    mirror: Mirror, downloads: Downloads, tmp_path: Path, *, packages: bool
) -> None:
    """From a signed index, and from signed packages."""
    mirror.publish(packages=packages, key=None if packages else "rocm")
    made = plan(place(mirror), RELEASE, RELEASE, Request(), downloads)
    assert names(made) == HIP
    assert made.channel == "legacy-rpm"
    assert made.origin == mirror.url
    assert made.host == ()
    unsigned = ["the index is not signed: each package's own signature is checked"]
    doubt = (
        "this machine has no RPM database, so it is not known whether it has "
        "(numactl-libs or libnuma.so.1()(64bit))"
    )
    assert list(made.notes) == [*(unsigned if packages else []), doubt]
    built = build(made, tmp_path, downloads)
    tree = tmp_path / "tree"
    assert (tree / "bin/hipcc").read_bytes() == HIPCC.replace(
        b"/opt/rocm-6.3.0", b"/srv/rocm/6.3.0"
    )
    assert os.access(tree / "bin/hipcc", os.X_OK)
    assert (tree / "lib/pkgconfig/hip.pc").read_text() == "prefix=${pcfiledir}/../..\n"
    assert (tree / "lib/llvm/bin/aa").read_bytes() == b"clang\n" * 50_000
    assert os.readlink(tree / "llvm") == "lib/llvm"
    assert os.readlink(tree / "bin/amdclang") == "../lib/llvm/bin/amdclang"
    assert (tree / "lib/libamdhip64.so.6").read_bytes() == b"hip"
    assert not (tree / "usr").exists()
    assert not (tree / "etc").exists()
    assert built.notes == ("made bin/amdclang, as AMD's maintainer scripts do",)
    assert [item.name.removesuffix("6.3.0") for item in built.items] == HIP
    assert {item.version for item in built.items} == {"6.3.0.60300-39.el8"}
    assert built.size - made.installed > 500_000  # RPM counts the content of hard links once
    assert find_version(str(tree)) == RELEASE


@pytest.mark.parametrize(
    ("profile", "extra", "more"),
    [
        ("runtime", (), None),
        ("sdk", (), ["rocblas", "rocm-hip-sdk"]),
        ("full", (), ["rocblas", "rocm-hip-sdk"]),
        ("hip", ("rccl",), ["rccl"]),
        ("hip", ("rccl6.3.0",), ["rccl"]),
        ("hip", ("rocm-hip-runtime-dev",), []),
        ("hip", ("hip-runtime-amd",), None),
    ],
)
def test_profiles_and_single_packages(
    mirror: Mirror,
    downloads: Downloads,
    profile: str,
    extra: tuple[str, ...],
    more: list[str] | None,
) -> None:
    mirror.publish()
    made = plan(place(mirror), RELEASE, RELEASE, Request(profile, extra), downloads)
    if more is not None:
        assert names(made) == sorted([*HIP, *more])
    elif profile == "runtime":
        assert names(made) == ["rocm-core", "rocminfo"]
    else:
        assert [p.name for p in made.packages].count("hip-runtime-amd6.3.0") == 1


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (Request("all"), "`all` is not a profile"),
        (Request("hip", ("rcl",)), "`rcl6.3.0` is wanted, but the repository has no such package"),
    ],
)
def test_wrong_words_are_refused(
    mirror: Mirror, downloads: Downloads, request_: Request, words: str
) -> None:
    mirror.publish()
    with pytest.raises(ResolveError, match=words) as caught:
        plan(place(mirror), RELEASE, RELEASE, request_, downloads)
    assert caught.value.hint


def test_a_repository_of_another_release_is_told(mirror: Mirror, downloads: Downloads) -> None:
    mirror.publish()
    other = Version.parse("6.4.0")
    with pytest.raises(ResolveError, match="none of the packages of release 6.4.0"):
        plan(place(mirror), other, other, Request(), downloads)


def test_folders_are_tried_in_their_order(mirror: Mirror, downloads: Downloads) -> None:
    mirror.publish()
    absent = f"{mirror.site.url}/rocm/el9/6.3/main"
    made = plan(place(mirror, absent, mirror.url), RELEASE, RELEASE, Request(), downloads)
    assert made.origin == mirror.url
    asked = [request.path for request in mirror.site.seen]
    assert "/rocm/el9/6.3/main/repodata/repomd.xml" in asked
    with pytest.raises(RepositoryError, match=r"was found \(tried: `http.*/rocm/el9") as caught:
        plan(place(mirror, absent), RELEASE, RELEASE, Request(), downloads)
    assert "--suite" in str(caught.value.hint)


def test_a_folder_with_a_bad_signature_ends_the_search(
    mirror: Mirror, downloads: Downloads
) -> None:
    mirror.publish(key="other")
    with pytest.raises(SignatureError):
        plan(place(mirror, mirror.url, mirror.url), RELEASE, RELEASE, Request(), downloads)


def test_keys_may_be_elsewhere_or_the_users_own(
    mirror: Mirror, downloads: Downloads, tmp_path: Path
) -> None:
    mirror.publish(key="other")
    mine = tmp_path / "mine.asc"
    mine.write_bytes(mirror.made.keys.export("other", armour=True))
    (pin,) = mirror.made.keys.fingerprints("other")
    request = Request(keyring=str(mine), fingerprint=pin)
    assert names(plan(place(mirror), RELEASE, RELEASE, request, downloads)) == HIP
    mirror.publish()
    second = replace(place(mirror), keys=(f"{mirror.site.url}/gone", f"{mirror.site.url}{KEY}"))
    assert names(plan(second, RELEASE, RELEASE, Request(), downloads)) == HIP
    none = replace(second, keys=(f"{mirror.site.url}/gone",))
    with pytest.raises(SignatureError, match="the signing key .* is not there"):
        plan(none, RELEASE, RELEASE, Request(), downloads)


def test_what_was_read_is_kept_for_runs_that_are_offline(
    mirror: Mirror, downloads: Downloads, tmp_path: Path
) -> None:
    mirror.publish()
    made = plan(place(mirror), RELEASE, RELEASE, Request(), downloads)
    build(made, tmp_path, downloads)
    offline = Downloads(downloads.cache, offline=True)
    again = plan(place(mirror), RELEASE, RELEASE, Request(), offline)
    assert names(again) == HIP
    build(again, tmp_path / "again", offline)
    mirror.site.seen.clear()
    plan(place(mirror), RELEASE, RELEASE, Request(), downloads)
    # An index whose name has its digest is not read twice.
    assert not [r.path for r in mirror.site.seen if "primary" in r.path]
    nothing = Downloads(tmp_path / "empty", offline=True)
    with pytest.raises((TransferError, SignatureError), match="offline"):
        plan(place(mirror), RELEASE, RELEASE, Request(), nothing)


def test_an_index_that_is_not_signed_stays_so_offline(
    mirror: Mirror, downloads: Downloads, tmp_path: Path
) -> None:
    mirror.publish(packages=True, key=None)
    build(plan(place(mirror), RELEASE, RELEASE, Request(), downloads), tmp_path, downloads)
    offline = Downloads(downloads.cache, offline=True)
    again = plan(place(mirror), RELEASE, RELEASE, Request(), offline)
    assert "not signed" in again.notes[0]
    build(again, tmp_path / "again", offline)


def test_what_the_machine_lacks_is_told(
    mirror: Mirror, downloads: Downloads, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror.publish()
    known = Host(provided={}, libraries={"libc.so.6": (LIBC,)})
    monkeypatch.setattr(rpm_channel, "read_host", lambda: known)
    made = plan(place(mirror), RELEASE, RELEASE, Request(), downloads)
    assert made.host == ("(numactl-libs or libnuma.so.1()(64bit))",)
    assert made.notes == ()


def test_a_c_library_that_is_too_old_is_told(mirror: Mirror, downloads: Downloads) -> None:
    mirror.publish()
    request = Request("hip", ("needs-new",))
    for oldest, hint in (
        ((), "`rocmenv install --list --channel rpm`"),
        (("el7", "yum"), "`--suite el7`"),
        (("el8", "rhel8"), "`rocmenv install --list --channel rpm`"),  # that is the one in use
    ):
        here = replace(place(mirror), oldest=oldest)
        with pytest.raises(HostError, match=r"needs libc.so.6\(GLIBC_99.0\)\(64bit\)") as caught:
            plan(here, RELEASE, RELEASE, request, downloads)
        assert hint in str(caught.value.hint)


def test_another_rocm_on_the_host_does_not_stand_in(
    mirror: Mirror, downloads: Downloads, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror.publish()
    host = Host(libraries={"libamdhip64.so.6": (LIBC,), "libc.so.6": (LIBC,)})
    monkeypatch.setattr(rpm_channel, "read_host", lambda: host)
    made = plan(place(mirror), RELEASE, RELEASE, Request(), downloads)
    assert "hip-runtime-amd" in names(made)


# The `amdrocm` packages.

CORE = "opt/rocm/core-10.0"
LIBRARY = "libbase.so.1()(64bit)"


def amdrocm(name: str, version: str, *requires: str, **files: bytes) -> Package:
    return Package(
        name,
        version,
        "1",
        fields=[f"Requires: {text}" for text in requires],
        files={f"{CORE}/{key.replace('__', '/')}": value for key, value in files.items()},
        programs=frozenset(f"{CORE}/{k.replace('__', '/')}" for k in files if k.startswith("bin")),
    )


@pytest.fixture(scope="module")
def therock(tmp_path_factory: pytest.TempPathFactory, made: Made) -> Path:
    """Two patch levels in one repository, with packages for two GPUs; signed packages.

    A newer series in it has a library that both provide.
    """
    folder = tmp_path_factory.mktemp("therock")
    later = amdrocm("amdrocm-base10.1", "10.1.0", bin__tool=b"10.1.0")
    sign(build_rpm(replace(later, fields=[f"Provides: {LIBRARY}"]), folder), made.keys, "rocm")
    newest = amdrocm("amdrocm-blas", "10.1.0", "amdrocm-blas10.1")
    sign(build_rpm(newest, folder), made.keys, "rocm")
    for version in ("10.0.0", "10.0.1"):
        base = amdrocm("amdrocm-base10.0", version, bin__tool=version.encode())
        packages = [replace(base, fields=[f"Provides: {LIBRARY}"])]
        for gpu in ("gfx1100", "gfx942"):
            content = f"{gpu} {version}".encode()
            packages += [
                amdrocm(
                    f"amdrocm-blas10.0-{gpu}",
                    version,
                    LIBRARY,
                    **{f"lib__{gpu}": content},
                ),
                amdrocm(f"amdrocm-core-sdk10.0-{gpu}", version, f"amdrocm-blas10.0-{gpu}"),
            ]
        both = ["amdrocm-core-sdk10.0-gfx1100", "amdrocm-core-sdk10.0-gfx942"]
        packages += [
            amdrocm("amdrocm-core-sdk10.0", version, *both),
            amdrocm("amdrocm-llvm10.0", version, lib__llvm__bin__clang=b"clang"),
        ]
        for package in packages:
            path = build_rpm(package, folder)
            sign(path, made.keys, "rocm")
    index(folder)
    return folder


def spelled(targets: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(target.split(" or ")) for target in targets)


@pytest.fixture
def stable(therock: Path, mirror: Mirror) -> RpmPlace:
    serve(mirror.site, therock, PLACE)
    mirror.site.files[KEY] = mirror.made.keys.export("rocm")
    mirror.sign()
    return replace(place(mirror), channel="stable", prefix=f"/{CORE}", is_legacy=False)


@pytest.mark.parametrize(
    ("profile", "targets", "extra", "wanted"),
    [
        ("sdk", ("gfx1100",), (), "base blas-gfx1100 core-sdk-gfx1100 llvm"),
        (
            "sdk",
            (),
            (),
            "base blas-gfx1100 blas-gfx942 core-sdk core-sdk-gfx1100 core-sdk-gfx942 llvm",
        ),
        (
            "sdk",
            ("gfx942", "gfx1100"),
            (),
            "base blas-gfx1100 blas-gfx942 core-sdk-gfx1100 core-sdk-gfx942 llvm",
        ),
        ("sdk", ("gfx94x or gfx942",), (), "base blas-gfx942 core-sdk-gfx942 llvm"),
        ("sdk", ("gfx942", "gfx94x or gfx942"), (), "base blas-gfx942 core-sdk-gfx942 llvm"),
        ("hip", ("gfx942",), (), "base llvm"),
        ("hip", ("gfx942",), ("amdrocm-blas",), "base blas-gfx942 llvm"),
        ("hip", (), ("amdrocm-blas10.0-gfx1100",), "base blas-gfx1100 llvm"),
    ],
)
def test_packages_for_gpus(
    stable: RpmPlace,
    downloads: Downloads,
    profile: str,
    targets: tuple[str, ...],
    extra: tuple[str, ...],
    wanted: str,
) -> None:
    release = Version.parse("10.0.0")
    here = replace(stable, targets=spelled(targets))
    made = plan(here, release, release, Request(profile, extra), downloads)
    found = [p.name.removeprefix("amdrocm-").replace("10.0", "") for p in made.packages]
    assert found == wanted.split()
    # The newer patch level in the same repository is another release.
    assert {package.version for package in made.packages} == {"10.0.0-1"}


def test_without_a_gpu_the_packages_of_one_are_taken(
    stable: RpmPlace, downloads: Downloads
) -> None:
    release = Version.parse("10.0.0")
    made = plan(stable, release, release, Request("sdk", bare=True, prune=True), downloads)
    names = [p.name.removeprefix("amdrocm-").replace("10.0", "") for p in made.packages]
    assert names == ["base", "blas-gfx1100", "core-sdk-gfx1100", "llvm"]


def test_a_core_tree_is_built(stable: RpmPlace, downloads: Downloads, tmp_path: Path) -> None:
    release = Version.parse("10.0.1")
    made = plan(
        replace(stable, targets=(("gfx942",),)), release, release, Request("sdk"), downloads
    )
    built = build(made, tmp_path, downloads)
    assert (tmp_path / "tree/bin/tool").read_bytes() == b"10.0.1"
    assert (tmp_path / "tree/lib/gfx942").read_bytes() == b"gfx942 10.0.1"
    assert built.files == 3
    assert built.notes == ()


@pytest.mark.parametrize(
    ("request_", "targets", "words"),
    [
        (Request("sdk"), ("gfx90a",), "`amdrocm-core-sdk10.0` has no packages for `gfx90a`"),
        (Request("sdk"), ("gfx90x or gfx90a",), "has no packages for `gfx90x` or `gfx90a`"),
        (Request("all"), (), "`all` is not a profile"),
        (Request("runtime"), (), "none of the packages of release 10.0.0"),
        (Request("profilers"), (), "none of the packages of release 10.0.0"),
        (Request("sdk", ("amdrocm-nothing",)), (), "`amdrocm-nothing` is wanted"),
    ],
)
def test_wrong_words_for_amdrocm_are_refused(
    stable: RpmPlace,
    downloads: Downloads,
    request_: Request,
    targets: tuple[str, ...],
    words: str,
) -> None:
    release = Version.parse("10.0.0")
    with pytest.raises(ResolveError, match=words):
        plan(replace(stable, targets=spelled(targets)), release, release, request_, downloads)


def test_a_site_without_anything_is_told(site: Site, made: Made, downloads: Downloads) -> None:
    nowhere = RpmPlace(
        channel="x",
        bases=(),
        keys=(),
        fingerprints=frozenset(),
        prefix="/opt/rocm",
        is_legacy=True,
    )
    with pytest.raises(SignatureError, match="no signing key is known"):
        plan(nowhere, RELEASE, RELEASE, Request(), downloads)
    site.files[KEY] = made.keys.export("rocm")
    with pytest.raises(RepositoryError, match=r"tried: none"):
        plan(replace(nowhere, keys=(f"{site.url}{KEY}",)), RELEASE, RELEASE, Request(), downloads)
