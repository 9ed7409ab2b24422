"""The distribution's ROCm: from made-up `/etc/apt` and dpkg folders to a plan and a prefix."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rocmenv.errors import HostError, ResolveError, SignatureError
from rocmenv.fetch.network import Network
from rocmenv.fetch.transfer import Downloads
from rocmenv.model.layout import Kind
from rocmenv.model.version import Spec, Version
from rocmenv.probe.prefix import find_layout, find_version
from rocmenv.sources import distro
from rocmenv.sources.base import Built, Request, Work
from rocmenv.sources.distro_rules import is_rocm
from rocmenv.sources.distro_tree import Mapping, finish
from rocmenv.store.paths import Root
from tests.cli.runner import Runner
from tests.fetch.keys import Keys, key_folder
from tests.fetch.server import Site, serving
from tests.sources.apt.builders import Deb, build_deb, index_files, release_text, stanza
from tests.tools import tool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocmenv.sources.packages import PackagePlan

ARCH = "lib/x86_64-linux-gnu"
HOST = {
    "libc6": "2.36-9+deb12u14",
    "libstdc++6": "12.2.0-14",
    "libgcc-s1": "12.2.0-14",
    "perl-base": "5.36.0-7",
    "perl": "5.36.0-7",
    "binutils": "2.40-2",
    "libstdc++-12-dev": "12.2.0-14",
    "libc6-dev": "2.36-9+deb12u14",
    "libnuma1": "2.0.16-1",
    "file": "1:5.44-3",
    "zlib1g": "1:1.2.13-1",
}


def entry(name: str, version: str, depends: str = "", **more: str) -> str:
    """One paragraph of an index; its file does not exist."""
    fields = {
        "Package": name,
        "Version": version,
        "Architecture": "amd64",
        "Depends": depends,
        "Filename": f"pool/{name}_{version}_amd64.deb",
        "Size": "1000",
        "Installed-Size": "4",
        "SHA256": hashlib.sha256(f"{name} {version}".encode()).hexdigest(),
        **more,
    }
    return "".join(f"{key}: {value}\n" for key, value in fields.items() if value)


SYSTEM = (
    entry("libc6", "2.36-9+deb12u14"),
    entry("libc6-dev", "2.36-9+deb12u14", "libc6 (= 2.36-9+deb12u14)", Provides="libc-dev"),
    entry("libstdc++-12-dev", "12.2.0-14"),
    entry("libobjc-12-dev", "12.2.0-14"),
    entry("binutils", "2.40-2"),
    entry("file", "1:5.44-3"),
    entry("perl", "5.36.0-7", "perl-base"),
    entry("dpkg", "1.21.22", "zlib1g", Essential="yes"),
    entry("zlib1g", "1:1.2.13-1", "libc6"),
    entry("libnuma1", "2.0.16-1", "libc6"),
    entry("libnuma-dev", "2.0.16-1", "libnuma1 (= 2.0.16-1)"),
)


def rocm(version: str = "5.2.3-8", llvm: str = "15", libc: str = "2.34") -> tuple[str, ...]:
    """Debian's way to cut HIP into packages."""
    number = version.split(".", maxsplit=1)[0]
    return (
        entry(
            f"libamdhip64-{number}",
            version,
            f"libamd-comgr2, libc6 (>= {libc}), libnuma1 (>= 2.0.11)",
        ),
        entry("libamdhip64-dev", version, f"libamdhip64-{number} (= {version})"),
        entry("libamd-comgr2", version, "libc6"),
        entry("hipcc", version, f"clang-{llvm}, libamdhip64-dev (>= {version}), file, perl:any"),
        entry(
            f"clang-{llvm}",
            f"1:{llvm}.0.6-4+b1",
            f"libllvm{llvm}, libstdc++-12-dev, libobjc-12-dev, libc6-dev | libc-dev, binutils",
        ),
        entry(f"libllvm{llvm}", f"1:{llvm}.0.6-4+b1", "libc6 (>= 2.34), zlib1g"),
    )


OWN = {"clang-15", "hipcc", "libamd-comgr2", "libamdhip64-5", "libamdhip64-dev", "libllvm15"}


@dataclass
class Machine:
    """A folder with `/etc/apt`, dpkg's status and repositories on a `file:` address."""

    root: Path
    keys: Keys
    keyring: Path
    host: dict[str, str] = field(default_factory=lambda: dict(HOST))

    @property
    def etc(self) -> Path:
        return self.root / "etc/apt"

    def suite(self, name: str, *paragraphs: str, key: str | None = "archive") -> Path:
        """Publish a suite, signed by `key` or not at all; returns the repository's folder."""
        base = self.root / "mirror"
        files = index_files("\n".join(paragraphs))
        release = release_text(files).replace(b"jammy", name.encode())
        for path, data in {**files, "Release": release}.items():
            (base / "dists" / name / path).parent.mkdir(parents=True, exist_ok=True)
            (base / "dists" / name / path).write_bytes(data)
        signed = base / "dists" / name / "InRelease"
        if key is not None:
            signed.write_bytes(self.keys.clearsign(release, key))
        return base

    def source(self, text: str, name: str = "test.list") -> None:
        """Add a source; `{keyring}` and `{mirror}` are filled in."""
        path = self.etc / "sources.list.d" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        known = path.read_text() if path.exists() else ""
        mirror = (self.root / "mirror").as_uri()
        path.write_text(known + text.format(keyring=self.keyring, mirror=mirror) + "\n")

    def offer(self, name: str, *paragraphs: str, key: str | None = "archive") -> None:
        """A suite that the sources name."""
        self.suite(name, *paragraphs, key=key)
        self.source(f"deb [signed-by={{keyring}}] {{mirror}} {name} main")

    def plan(
        self,
        spec: str = "latest",
        name: str | None = None,
        *,
        profile: str = "hip",
        extra: tuple[str, ...] = (),
        suite: str | None = None,
    ) -> PackagePlan:
        status = self.root / "status"
        paragraphs = [
            f"Package: {package}\nStatus: install ok installed\nVersion: {version}\n"
            for package, version in self.host.items()
        ]
        status.write_text("\n".join(paragraphs))
        return distro.plan(
            Spec.parse(spec),
            Version.parse(name) if name else None,
            Request(profile, extra, suite),
            Downloads(self.root / "cache", network=Network(retries=0)),
            etc=self.etc,
            status=status,
        )


@pytest.fixture(scope="module")
def keys() -> Iterator[Keys]:
    with key_folder() as made:
        made.make("archive")
        made.make("stranger")
        yield made


@pytest.fixture
def machine(keys: Keys, tmp_path: Path) -> Machine:
    keyring = tmp_path / "archive.gpg"
    keyring.write_bytes(keys.export("archive"))
    return Machine(tmp_path, keys, keyring)


def names(plan: PackagePlan) -> set[str]:
    return {package.name for package in plan.packages}


# What is fetched


def test_only_rocm_is_fetched_when_the_host_has_the_rest(machine: Machine) -> None:
    machine.offer("bookworm", *SYSTEM, *rocm())
    plan = machine.plan()
    assert names(plan) == OWN
    assert plan.host == ()


def test_the_hosts_own_rocm_does_not_count(machine: Machine) -> None:
    machine.offer("bookworm", *SYSTEM, *rocm())
    machine.host |= dict.fromkeys(OWN, "1:99-1")
    assert names(machine.plan()) == OWN


def test_what_the_host_lacks_is_fetched(machine: Machine) -> None:
    machine.offer("bookworm", *SYSTEM, *rocm())
    del machine.host["libnuma1"]
    assert names(machine.plan()) == {*OWN, "libnuma1"}


def test_a_library_comes_with_its_development_package(machine: Machine) -> None:
    machine.offer("bookworm", *SYSTEM, *rocm())
    assert names(machine.plan(extra=("libnuma-dev",))) == {*OWN, "libnuma1", "libnuma-dev"}


def test_headers_of_the_system_and_its_tools_are_named_not_fetched(machine: Machine) -> None:
    machine.offer("bookworm", *SYSTEM, *rocm())
    for name in ("libc6-dev", "libstdc++-12-dev", "file"):
        del machine.host[name]
    plan = machine.plan()
    assert names(plan) == OWN
    assert plan.host == ("file", "libc6-dev | libc-dev", "libstdc++-12-dev")


def test_what_essential_packages_consist_of_is_never_fetched(machine: Machine) -> None:
    machine.offer("bookworm", *SYSTEM, *rocm())
    del machine.host["zlib1g"]
    plan = machine.plan()
    assert names(plan) == OWN
    assert plan.host == ("zlib1g",)


def test_needs_of_other_architectures_do_not_count(machine: Machine) -> None:
    other = entry("rocminfo", "5.2.3-2", "libthere1 [arm64], libgcc-13-dev [amd64] | libx [arm64]")
    machine.offer("bookworm", *SYSTEM, *rocm(), other)
    assert machine.plan().host == ("libgcc-13-dev",)


def test_a_need_that_nobody_meets_is_an_error(machine: Machine) -> None:
    broken = entry("rocminfo", "5.2.3-2", "libnowhere1")
    machine.offer("bookworm", *SYSTEM, *rocm(), broken)
    with pytest.raises(ResolveError, match="rocminfo needs `libnowhere1`"):
        machine.plan()


def test_a_provider_without_the_version_meets_no_need_for_it(machine: Machine) -> None:
    needs = entry("rocminfo", "5.2.3-1", "other, virt (>= 2)")
    machine.offer("bookworm", *SYSTEM, *rocm(), needs, entry("other", "1-1", Provides="virt"))
    with pytest.raises(ResolveError, match=r"rocminfo needs `virt \(>= 2\)`, which neither"):
        machine.plan()
    machine.suite("bookworm", *SYSTEM, *rocm(), needs, entry("other", "1-1", Provides="virt (= 2)"))
    assert "other" in names(machine.plan())


def test_the_runtime_profile_has_no_compiler(machine: Machine) -> None:
    machine.offer("bookworm", *SYSTEM, *rocm(), entry("rocminfo", "5.2.3-2"))
    assert names(machine.plan(profile="runtime")) == {"libamdhip64-5", "libamd-comgr2", "rocminfo"}


def test_sizes_are_sums(machine: Machine) -> None:
    machine.offer("bookworm", *SYSTEM, *rocm())
    plan = machine.plan()
    assert (plan.download, plan.installed) == (len(OWN) * 1000, len(OWN) * 4096)
    assert {(p.name, p.size) for p in plan.parts} == {(name, 1000) for name in OWN}
    assert plan.origin == f"{(machine.root / 'mirror').as_uri()} bookworm"


@pytest.mark.parametrize(
    "name", ["hipcc", "libamdhip64-6", "rocm-device-libs-17", "clang-tools-15"]
)
@pytest.mark.parametrize(
    "more", ["librocblas-dev", "libllvm17t64", "libclang-rt-21-dev", "lld-rocm"]
)
def test_names_of_rocms_own(name: str, more: str) -> None:
    assert is_rocm(name)
    assert is_rocm(more)


@pytest.mark.parametrize(
    "name", ["hipercontracer", "librocksdb-dev", "libroc-dev", "rocs", "libc6", "libhipi-perl"]
)
def test_names_that_only_look_like_it(name: str) -> None:
    assert not is_rocm(name)


# A host that is too old


def test_a_newer_libc_is_refused_with_the_chain(machine: Machine) -> None:
    newer = (
        entry("rocm-smi", "5.7.1-1", "librocm-smi64-1"),
        entry("librocm-smi64-1", "5.7.1-1", "libc6 (>= 2.38)"),
    )
    machine.offer("bookworm", *SYSTEM, *rocm(), *newer)
    with pytest.raises(HostError) as caught:
        machine.plan()
    assert caught.value.message == (
        "rocm-smi 5.7.1 needs libc6 (>= 2.38), and this machine has 2.36 "
        "(rocm-smi -> librocm-smi64-1 -> libc6)"
    )
    assert "--channel legacy" in str(caught.value.hint)


def test_a_newer_libc_in_the_sources_is_no_way_out(machine: Machine) -> None:
    system = [text for text in SYSTEM if not text.startswith("Package: libc6\n")]
    machine.offer("trixie", *system, *rocm("5.7.1-6", "17", "2.38"), entry("libc6", "2.41-12"))
    with pytest.raises(HostError, match=r"needs libc6 \(>= 2.38\), and this machine has 2.36"):
        machine.plan()


def test_a_library_that_is_too_new_is_no_reason(machine: Machine) -> None:
    """`libc6 (<< 2.40)` is met; one that is not met says nothing of an old machine."""
    machine.offer("bookworm", *SYSTEM, *rocm(), entry("rocminfo", "5.2.3-1", "libc6 (<< 2.20)"))
    plan = machine.plan()
    assert plan.host == ("libc6 (<< 2.20)",)


def test_an_update_of_the_same_libc_is_named(machine: Machine) -> None:
    machine.offer("bookworm", *SYSTEM, *rocm(libc="2.36-9+deb12u13"))
    machine.host["libc6"] = "2.36-9+deb12u1"
    with pytest.raises(HostError) as caught:
        machine.plan()
    assert caught.value.hint == "sudo apt-get install libc6"


def test_a_host_without_dpkg_is_refused(machine: Machine) -> None:
    machine.offer("bookworm", *SYSTEM, *rocm())
    with pytest.raises(HostError, match="no list of packages"):
        distro.plan(
            Spec.parse("latest"),
            None,
            Request(),
            Downloads(machine.root / "cache"),
            etc=machine.etc,
            status=machine.root / "nothing",
        )


# Versions


@pytest.mark.parametrize("spec", ["latest", "5", "5.2", "5.2.3", ">=5,<6"])
def test_the_runtimes_number_is_the_version(machine: Machine, spec: str) -> None:
    machine.offer("bookworm", *SYSTEM, *rocm("5.2.3+dfsg-8"))
    assert str(machine.plan(spec).version) == "5.2.3"


@pytest.mark.parametrize("spec", ["6", "5.2.4", ">=6", "stable"])
def test_another_version_is_refused_with_what_there_is(machine: Machine, spec: str) -> None:
    machine.offer("bookworm", *SYSTEM, *rocm())
    with pytest.raises(ResolveError, match=r"offer ROCm 5\.2\.3, not") as caught:
        machine.plan(spec)
    assert "rocmenv install 5.2.3 --channel distro" in str(caught.value.hint)


def test_a_name_takes_the_place_of_the_number(machine: Machine) -> None:
    machine.offer("bookworm", *SYSTEM, *rocm())
    assert str(machine.plan(name="5.2.3+debian").version) == "5.2.3+debian"


def test_of_two_suites_the_asked_one_is_taken_as_a_whole(machine: Machine) -> None:
    machine.offer("bookworm", *SYSTEM, *rocm())
    machine.offer("sid", *rocm("6.4.3-5", "21"))
    newest, older = machine.plan(), machine.plan("5.2")
    assert (str(newest.version), str(older.version)) == ("6.4.3", "5.2.3")
    assert "clang-21" in names(newest)
    assert names(older) == OWN
    assert {p.version for p in older.packages if "hip" in p.name} == {"5.2.3-8"}


def test_the_releases_are_those_that_a_plan_can_have(machine: Machine) -> None:
    machine.offer("bookworm", *SYSTEM, *rocm())
    machine.offer("sid", *rocm("6.4.3-5", "21"), entry("libamdhip64-5", "5.7.1-7"))
    downloads = Downloads(machine.root / "cache", network=Network(retries=0))
    found, notes = distro.releases(Request(), downloads, etc=machine.etc)
    assert (list(map(str, found)), notes) == (["5.2.3", "6.4.3"], ())
    assert [str(machine.plan(str(release)).version) for release in found] == ["5.2.3", "6.4.3"]
    only, _ = distro.releases(Request(suite="sid"), downloads, etc=machine.etc)
    assert list(map(str, only)) == ["6.4.3"]


def test_of_two_releases_in_one_suite_the_asked_one_is_taken(machine: Machine) -> None:
    newer = (entry("libamdhip64-6", "6.1.2-1", "libamd-comgr2, libc6"),)
    machine.offer("bookworm", *SYSTEM, *rocm(), *newer, entry("rocm-core", "6.1.2-1"))
    machine.host["libamdhip64-6"] = "6.1.2-1"
    assert names(machine.plan("5.2.3")) >= OWN


def test_a_library_without_its_headers_is_not_offered(machine: Machine) -> None:
    machine.offer("sid", *SYSTEM, *rocm("6.4.3-5", "21"), entry("libamdhip64-5", "5.7.1-7"))
    with pytest.raises(ResolveError, match=r"offer ROCm 6\.4\.3, not"):
        machine.plan("5.7")


@pytest.mark.parametrize(("core", "version"), [("7.2.4-1", "7.2.4"), ("7.9.0-1", "7.2.0")])
def test_rocms_own_number_counts_in_its_series(machine: Machine, core: str, version: str) -> None:
    machine.offer("sid", *SYSTEM, *rocm("7.2-5", "22"), entry("librocm-core1", core))
    assert str(machine.plan().version) == version


# Sources and signatures


def test_sources_of_both_forms_are_read_together(machine: Machine) -> None:
    machine.suite("bookworm", *SYSTEM)
    machine.suite("bookworm-updates", *rocm())
    machine.source(
        "Types: deb\nURIs: {mirror}\nSuites: bookworm bookworm-updates\nComponents: main\n"
        "Signed-By: {keyring}",
        "debian.sources",
    )
    machine.offer("extra", entry("rocminfo", "5.2.3-2"))
    assert names(machine.plan()) == {*OWN, "rocminfo"}


def test_the_hosts_trusted_keys_count_without_a_named_one(machine: Machine) -> None:
    machine.suite("bookworm", *SYSTEM, *rocm())
    machine.source("deb {mirror} bookworm main")
    folder = machine.etc / "trusted.gpg.d"
    folder.mkdir()
    shutil.copy(machine.keyring, folder / "archive.gpg")
    assert names(machine.plan()) == OWN


def test_sources_that_are_off_or_for_others_are_not_read(machine: Machine) -> None:
    machine.offer("bookworm", *SYSTEM, *rocm())
    machine.suite("sid", *rocm("6.4.3-5", "21"))
    machine.source("deb [arch=arm64 signed-by={keyring}] {mirror} sid main")
    machine.source(
        "Enabled: no\nTypes: deb\nURIs: {mirror}\nSuites: sid\nComponents: main", "off.sources"
    )
    plan = machine.plan()
    assert (str(plan.version), plan.notes) == ("5.2.3", ())


@pytest.mark.parametrize("key", [None, "stranger"])
def test_an_unsigned_or_wrongly_signed_source_is_refused(machine: Machine, key: str | None) -> None:
    machine.offer("bookworm", *SYSTEM, *rocm(), key=key)
    with pytest.raises(SignatureError):
        machine.plan()


def test_trusted_yes_is_refused(machine: Machine) -> None:
    machine.suite("bookworm", *SYSTEM, *rocm(), key=None)
    machine.source("deb [trusted=yes] {mirror} bookworm main")
    with pytest.raises(SignatureError, match="trusted=yes"):
        machine.plan()


def test_nothing_comes_from_an_unsigned_source_beside_a_signed_one(machine: Machine) -> None:
    machine.offer("bookworm", *SYSTEM, *rocm())
    machine.offer("local", *rocm("9.9.9-1", "99"), key=None)
    plan = machine.plan()
    assert str(plan.version) == "5.2.3"
    assert len(plan.notes) == 1
    assert "left out" in plan.notes[0]


def test_amds_own_repository_is_not_mixed_in(machine: Machine) -> None:
    machine.offer("bookworm", *SYSTEM, *rocm())
    amds = [entry(name, "6.3.0.60300-39~22.04") for name in ("hip-runtime-amd", "rocm-core")]
    machine.offer("jammy", *amds, entry("hipcc", "99.1.60300-39~22.04"))
    plan = machine.plan()
    assert names(plan) == OWN
    assert "AMD's own" in plan.notes[0]


def test_a_suite_can_be_chosen(machine: Machine) -> None:
    machine.offer("bookworm", *SYSTEM)
    machine.offer("bookworm-security", *rocm())
    machine.offer("sid", *rocm("6.4.3-5", "21"))
    assert str(machine.plan(suite="bookworm").version) == "5.2.3"
    with pytest.raises(ResolveError, match="no suite `trixie`") as caught:
        machine.plan(suite="trixie")
    assert caught.value.hint == "suites are bookworm, bookworm-security, sid"


def test_sources_without_rocm_say_what_to_do(machine: Machine) -> None:
    machine.offer("bookworm", *SYSTEM)
    with pytest.raises(ResolveError, match="offer no ROCm: no `libamdhip64` in bookworm") as caught:
        machine.plan()
    assert "--channel legacy" in str(caught.value.hint)


def test_a_runtime_without_a_compiler_is_not_enough(machine: Machine) -> None:
    machine.offer("bookworm", *SYSTEM, *(p for p in rocm() if "Package: hipcc\n" not in p))
    with pytest.raises(ResolveError, match="no `hipcc` in bookworm"):
        machine.plan()


def test_no_sources_at_all_is_an_error(machine: Machine) -> None:
    with pytest.raises(ResolveError, match="no package sources"):
        machine.plan()


# What is asked for


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("libamdhip64-dve", "no package `libamdhip64-dve`", "`libamdhip64-dev`"),
        ("libc6-dev", "belongs to the system", "sudo apt-get install libc6-dev"),
    ],
)
def test_packages_that_cannot_be_had(machine: Machine, name: str, message: str, hint: str) -> None:
    machine.offer("bookworm", *SYSTEM, *rocm())
    with pytest.raises(ResolveError, match=message) as caught:
        machine.plan(extra=(name,))
    assert hint in str(caught.value.hint)


def test_an_unknown_profile_is_refused_with_those_there_are(machine: Machine) -> None:
    machine.offer("bookworm", *SYSTEM, *rocm())
    with pytest.raises(ResolveError, match="`huge` is not a profile") as caught:
        machine.plan(profile="huge")
    assert "`runtime`, `hip`, `libraries`, `sdk`, `ml`, `profilers`, `full`" in str(
        caught.value.hint
    )


# The index is read once


def test_a_large_index_is_kept_and_replaced(machine: Machine) -> None:
    machine.suite("bookworm", *SYSTEM, *rocm())
    (machine.root / "cache").mkdir()
    site = Site()
    with serving(site) as running:
        first = _publish_by_hash(machine, running, "5.2.3-8")
        machine.source(f"deb [signed-by={{keyring}}] {running.url} bookworm main")
        assert [str(machine.plan().version) for _ in "12"] == ["5.2.3", "5.2.3"]
        assert running.count(first) == 1
        _publish_by_hash(machine, running, "5.2.4-1")
        assert str(machine.plan().version) == "5.2.4"
    assert len(list((machine.root / "cache/sha256").iterdir())) == 1


def _publish_by_hash(machine: Machine, site: Site, version: str) -> str:
    """Publish an index of 400 kB under its digest; its path."""
    padding = [entry(f"padding-{number}", "1-1") for number in range(2000)]
    data = "\n".join((*SYSTEM, *rocm(version), *padding)).encode()
    release = release_text({"main/binary-amd64/Packages": data}, "Acquire-By-Hash: yes\n")
    release = release.replace(b"jammy", b"bookworm")
    digest = hashlib.sha256(data).hexdigest()
    path = f"/dists/bookworm/main/binary-amd64/by-hash/SHA256/{digest}"
    signed = machine.keys.clearsign(release, "archive")
    site.files = {path: data, "/dists/bookworm/InRelease": signed}
    return path


# The prefix


@pytest.mark.parametrize(
    ("member", "place"),
    [
        ("usr", ""),
        ("usr/bin/hipcc", "bin/hipcc"),
        ("usr/lib/x86_64-linux-gnu/libamdhip64.so.5", f"{ARCH}/libamdhip64.so.5"),
        ("lib/x86_64-linux-gnu/libelf.so.1", f"{ARCH}/libelf.so.1"),
        ("usr/lib/llvm-15/bin/clang", "lib/llvm-15/bin/clang"),
        ("sbin/lsmod", "sbin/lsmod"),
        ("etc/OpenCL/vendors/amdocl64.icd", "etc/OpenCL/vendors/amdocl64.icd"),
        ("etc/default/rocm", None),
        ("var/lib/thing", None),
        ("opt/thing", None),
        ("usr/share/doc/hipcc/copyright", None),
        ("usr/share/lintian/overrides/hipcc", None),
        ("usr/share/docker/file", "share/docker/file"),
        ("usr/local/bin/thing", None),
        ("lib/udev/rules.d/70-kfd.rules", None),
    ],
)
def test_where_members_go(member: str, place: str | None) -> None:
    assert Mapping()(member) == place


def test_man_pages_are_kept_of_rocm_alone() -> None:
    page = "usr/share/man/man1/hipcc.1.gz"
    assert Mapping()(page) is None
    assert Mapping(with_man=True)(page) == "share/man/man1/hipcc.1.gz"


def test_a_plan_keeps_the_man_pages_of_rocm(machine: Machine) -> None:
    del machine.host["libnuma1"]
    machine.offer("bookworm", *SYSTEM, *rocm())
    plan = machine.plan()
    placed = {p.name: plan.recipe.mapping(p)("usr/share/man/man1/x.1.gz") for p in plan.packages}
    assert placed["hipcc"] == placed["clang-15"] == "share/man/man1/x.1.gz"
    assert placed["libnuma1"] is None


DEBS = (
    Deb(
        "libamdhip64-5",
        "5.2.3-8",
        files={f"usr/{ARCH}/libamdhip64.so.5.2": b"\x7fELF runtime"},
        links={f"usr/{ARCH}/libamdhip64.so.5": "libamdhip64.so.5.2"},
    ),
    Deb(
        "libamdhip64-dev",
        "5.2.3-8",
        {"Depends": "libamdhip64-5 (= 5.2.3-8)"},
        files={
            f"usr/{ARCH}/cmake/hip/hip-config.cmake": b'set(HIP_CLANG_ROOT "/usr")\n',
            f"usr/{ARCH}/pkgconfig/hip.pc": b"prefix=/usr\nlibdir=/usr/lib\nover=/usr/local\n",
            f"usr/{ARCH}/amdgcn/bitcode/ocml.bc": b"BC",
        },
        links={f"usr/{ARCH}/libamdhip64.so": f"/usr/{ARCH}/libamdhip64.so.5"},
    ),
    Deb(
        "hipcc",
        "5.2.3-8",
        {"Depends": "libamdhip64-dev, clang-15"},
        files={
            "usr/bin/hipcc": b"#!/usr/bin/perl\n# hipcc\nuse strict;\n",
            "usr/share/perl5/File/Which.pm": b"1;\n",
            "usr/share/doc/hipcc/copyright": b"MIT\n",
            "etc/OpenCL/vendors/hip.icd": b"libamdhip64.so.5\n",
        },
        programs=frozenset({"usr/bin/hipcc"}),
    ),
    Deb(
        "clang-15",
        "1:15.0.6-4",
        files={
            "usr/lib/llvm-15/bin/clang++": b"\x7fELF clang",
            "usr/lib/llvm-15/bin/scan": b"#!/bin/sh\n/usr/lib/llvm-15/bin/clang++ /usr/lib/no/x\n",
        },
        programs=frozenset({"usr/lib/llvm-15/bin/clang++", "usr/lib/llvm-15/bin/scan"}),
    ),
)


@pytest.fixture
def installed(machine: Machine) -> tuple[Path, Built]:
    """The tree that a plan builds from real packages."""
    tool("dpkg-deb")
    pool = machine.root / "mirror/pool"
    pool.mkdir(parents=True)
    paths = [build_deb(deb, pool) for deb in DEBS]
    machine.offer("bookworm", *(stanza(path, f"pool/{path.name}") for path in paths))
    plan = machine.plan()
    tree = machine.root / "tree"
    tree.mkdir()
    downloads = Downloads(machine.root / "cache")
    built = plan.build(Work(tree, "/home/me/rocm", downloads, 2, lambda _: None))
    return tree, built


def test_a_prefix_is_built(installed: tuple[Path, Built]) -> None:
    tree, built = installed
    assert {item.name for item in built.items} == {deb.name for deb in DEBS}
    assert str(find_version(str(tree))) == "5.2.3"
    layout = find_layout(str(tree))
    assert layout.kind is Kind.DISTRO
    assert layout.bins == ("bin", "lib/llvm-15/bin")
    assert layout.hip_clang == "lib/llvm-15/bin"
    assert layout.hip_lib == ARCH
    assert layout.device_libs == f"{ARCH}/amdgcn/bitcode"
    assert not (tree / "share/doc").exists()


def test_texts_are_made_to_fit(installed: tuple[Path, Built]) -> None:
    tree, _ = installed
    cmake = (tree / ARCH / "cmake/hip/hip-config.cmake").read_text()
    assert cmake == (
        'get_filename_component(HIP_CLANG_ROOT "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)\n'
    )
    assert (tree / ARCH / "pkgconfig/hip.pc").read_text() == (
        "prefix=${pcfiledir}/../../..\nlibdir=${pcfiledir}/../../../lib\nover=/usr/local\n"
    )
    assert (tree / "bin/hipcc").read_text() == (
        "#!/usr/bin/perl\n# hipcc\n"
        'use FindBin; use lib "$FindBin::RealBin/../share/perl5";\nuse strict;\n'
    )
    assert (tree / "lib/llvm-15/bin/scan").read_text() == (
        "#!/bin/sh\n/home/me/rocm/lib/llvm-15/bin/clang++ /usr/lib/no/x\n"
    )
    assert (tree / "etc/OpenCL/vendors/hip.icd").read_text() == (
        f"/home/me/rocm/{ARCH}/libamdhip64.so.5\n"
    )
    assert (tree / "bin/hipcc").stat().st_mode & 0o777 == 0o755


def test_amds_places_lead_to_the_distributions(installed: tuple[Path, Built]) -> None:
    tree, _ = installed
    assert (tree / "llvm/bin/clang++").samefile(tree / "lib/llvm-15/bin/clang++")
    assert (tree / "llvm/bin/clang++-15").samefile(tree / "lib/llvm-15/bin/clang++")
    assert (tree / "lib/libamdhip64.so").samefile(tree / ARCH / "libamdhip64.so.5.2")
    assert (tree / "amdgcn/bitcode/ocml.bc").is_file()
    assert (tree / "lib/cmake/hip/hip-config.cmake").read_text() == (
        'include("${CMAKE_CURRENT_LIST_DIR}/../../x86_64-linux-gnu/cmake/hip/hip-config.cmake")\n'
    )


def test_comparisons_with_the_original_place_stay(tmp_path: Path) -> None:
    text = (
        'get_filename_component(_realOrig "/usr/lib/x86_64-linux-gnu/cmake/hip" REALPATH)\n'
        "set(LOCAL /usr/local/bin)\nset(LIST /usr/lib;/usr/bin)\n"
    )
    (tmp_path / "a.cmake").write_text(text)
    assert finish(tmp_path, "/p", "5.2.3", ["a.cmake"]) == ()
    assert (tmp_path / "a.cmake").read_text() == text


def test_a_python_script_finds_modules_of_the_prefix(tmp_path: Path) -> None:
    (tmp_path / "lib/python3/dist-packages").mkdir(parents=True)
    (tmp_path / "lib/python3/dist-packages/only_here.py").write_text("X = 3\n")
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin/smi"
    script.write_text("#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\nimport only_here\n")
    future = tmp_path / "bin/future"
    future.write_text("#!/usr/bin/env python3\nfrom __future__ import annotations\n")
    finish(tmp_path, "/p", "5.2.3", ["bin/smi", "bin/future"])
    lines = script.read_text().splitlines()
    assert lines[1] == "# -*- coding: utf-8 -*-"
    assert "../lib/python3/dist-packages" in lines[2]
    assert future.read_text().count("\n") == 2


def test_kernels_are_left_out_and_a_gpu_is_added(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    tool("dpkg-deb")
    kernels = ("gfx90a", "gfx1100", "gfx942")
    blas = Deb(
        "librocblas0",
        "5.2.3-8",
        {"Depends": "libamdhip64-5"},
        files={f"usr/{ARCH}/rocblas/2.44/library/T_{gfx}.hsaco": gfx.encode() for gfx in kernels},
    )
    pool = machine.root / "mirror/pool"
    pool.mkdir(parents=True)
    paths = [build_deb(deb, pool) for deb in (*DEBS, blas)]
    machine.offer("bookworm", *(stanza(path, f"pool/{path.name}") for path in paths))
    machine.plan()  # which writes the list of what the host has
    here = partial(distro.plan, etc=machine.etc, status=machine.root / "status")
    monkeypatch.setattr(distro, "plan", here)
    root = Root(machine.root / "root")
    rocmenv = Runner(capfd, root, machine.root)

    def there() -> list[str]:
        return sorted(p.stem for p in (root.versions / "5.2.3").rglob("T_*.hsaco"))

    words = ("install", "-q", "5.2.3", "--channel", "distro", "--with", "librocblas0")
    rocmenv(*words, "--gpu", "gfx1100", "--prune-targets").fine()
    assert there() == ["T_gfx1100"]
    before = (root.versions / "5.2.3/bin/hipcc").read_bytes()
    rocmenv("add-target", "-q", "gfx90a", "--to", "5.2.3").fine()
    assert there() == ["T_gfx1100", "T_gfx90a"]
    assert (root.versions / "5.2.3/bin/hipcc").read_bytes() == before
    rocmenv("verify", "--deep", "5.2.3").fine()
    added = root.manifest(Version.parse("5.2.3")).read_text()
    rocmenv(*words, "--gpu", "gfx1100,gfx90a", "--prune-targets", "--reinstall").fine()
    assert root.manifest(Version.parse("5.2.3")).read_text() == added
    rocmenv(*words, "--gpu", "none", "--reinstall").fine()
    assert there() == []
