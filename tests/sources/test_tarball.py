"""TheRock's archives: from the index page to the installed tree."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rocmenv.model.receipt import Pruned
from rocmenv.model.version import Version
from rocmenv.sources import therock
from rocmenv.sources.archive_groups import choose_group
from rocmenv.sources.index_page import Page, read_page
from rocmenv.sources.tarball import archives
from rocmenv.store import registry
from rocmenv.store.paths import Root
from tests.cli.runner import Result, Runner
from tests.fetch.server import Site, serving

FAMILIES = {
    "gfx110X-all": ("gfx1100", "gfx1101", "gfx1102", "gfx1103"),
    "gfx110X-dgpu": ("gfx1100", "gfx1101", "gfx1102"),
    "gfx94X-dcgpu": ("gfx942",),
}


def packed(version: str = "10.0.0") -> bytes:
    """A flat archive in the form of AMD's: members begin with `./`, links are relative."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, text, mode in (
            ("./bin/hipcc", "#!/bin/sh\n", 0o755),
            ("./lib/llvm/bin/clang++", "#!/bin/sh\n", 0o755),
            ("./lib/libamdhip64.so.7", "hip", 0o644),
            ("./.info/version", f"{version}\n", 0o644),
            ("./.kpack/blas_gfx1100.kpack", "KPAK", 0o644),
            ("./share/therock/dist_info.json", "{}", 0o644),
        ):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(text), mode
            tar.addfile(member, io.BytesIO(text.encode()))
        link = tarfile.TarInfo("./lib/libamdhip64.so")
        link.type, link.linkname = tarfile.SYMTYPE, "libamdhip64.so.7"
        tar.addfile(link)
    return out.getvalue()


@dataclass
class Vendor:
    """A server with the places of all generations below one address."""

    site: Site
    names: dict[str, list[tuple[str, float]]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"{self.site.url}/rocm"

    def has(self, place: str, *names: str, time: float = 1_790_000_000.0) -> None:
        """Publish archives of these names in a place such as `core/tarball`."""
        rows = self.names.setdefault(place, [])
        for name in names:
            version = name.rpartition("-")[2].removesuffix(".tar.gz")
            self.site.files[f"/rocm/{place}/{name}"] = packed(version.partition("rc")[0])
            rows.append((name, time))
        array = json.dumps([{"name": n, "mtime": t} for n, t in rows])
        page = f"<html><script>const files = {array};\nlet x = [1];</script></html>"
        self.site.files[f"/rocm/{place}/"] = page.encode()


@pytest.fixture
def vendor() -> Iterator[Vendor]:
    with serving(Site()) as site:
        yield Vendor(site)


@pytest.fixture
def call(
    capfd: pytest.CaptureFixture[str], root: Root, tmp_path: Path, vendor: Vendor
) -> Callable[..., Result]:
    runner = Runner(capfd, root, tmp_path)

    def run(*words: str, **environ: str) -> Result:
        return runner(*words, **{"ROCMENV_THEROCK_MIRROR": vendor.url, **environ})

    return run


def name(group: str, text: str, system: str = "linux") -> str:
    return f"therock-dist-{system}-{group}-{text}.tar.gz"


# Reading pages.


def sample(cases: Path, file: str) -> Page:
    class Files:
        def read(self, url: str, *, limit: int) -> bytes:
            assert limit
            assert url.startswith("http://m/")
            return (cases / "listings" / file).read_bytes()

    return read_page(Files(), "http://m/tarball/")


def offered(cases: Path, file: str, group: str, system: str = "linux") -> list[str]:
    found = archives(sample(cases, file).files, "http://m/tarball/")
    return [a.text for a in found if (a.group, a.system) == (group, system)]


def test_versions_of_a_page_are_in_order(cases: Path) -> None:
    """R18."""
    texts = offered(cases, "tarball-page.html", "gfx110X-all")
    versions = sorted(map(Version.parse, texts))
    finals = [str(v) for v in versions if v.is_final]
    assert finals == ["7.9.0", "7.14.0", "7.14.1", "10.0.0"]
    rest = [str(v) for v in versions if not v.is_final]
    assert rest[:2] == ["10.0.0rc0", "10.0.0rc2"]
    assert [t for t in rest if "a2026" in t] == ["10.1.0a20260831", "10.1.0a20260901"]


def test_a_group_has_hyphens_and_is_no_build_for_testers(cases: Path) -> None:
    """R18."""
    assert offered(cases, "tarball-page.html", "gfx94X-dcgpu") == ["10.0.0"]
    page = sample(cases, "tarball-page.html")
    assert not [a for a in archives(page.files, "u") if "asan" in a.group]
    groups = {a.group for a in archives(page.files, "u") if a.system == "windows"}
    assert groups == {"gfx110X-all", "multiarch"}


def test_a_plus_is_encoded(cases: Path) -> None:
    """R18."""
    found = archives(sample(cases, "tarball-page.html").files, "http://m/tarball/")
    urls = [a.url for a in found if ".dev0" in a.text]
    assert len(urls) == 1
    assert "10.1.0.dev0%2B0f1e2d3c" in urls[0]


def test_a_bucket_that_is_cut_off_is_told(cases: Path) -> None:
    """R18: this one gives the same part for every question."""
    page = sample(cases, "bucket-truncated.xml")
    assert "cut off" in page.notes[0]
    found = archives(page.files, page.url)
    assert found
    assert all(a.size and a.time for a in found)
    assert not [a for a in found if "/" in a.name]


def test_all_parts_of_a_bucket_are_read(vendor: Vendor) -> None:
    def part(names: Sequence[str], *, cut: bool) -> bytes:
        rows = "".join(f"<Contents><Key>{n}</Key><Size>7</Size></Contents>" for n in names)
        end = str(cut).lower()
        return (
            f"<ListBucketResult><IsTruncated>{end}</IsTruncated>{rows}</ListBucketResult>".encode()
        )

    class Bucket:
        asked: list[str] = []  # noqa: RUF012 - one object, one test

        def read(self, url: str, *, limit: int) -> bytes:
            assert limit
            self.asked.append(url)
            return part(["b"], cut=False) if "marker=a%2B1" in url else part(["a+1"], cut=True)

    bucket = Bucket()
    page = read_page(bucket, f"{vendor.url}/x/")
    assert [f.name for f in page.files] == ["a+1", "b"]
    assert page.notes == ()
    assert len(bucket.asked) == 2


# Which archive.


@pytest.mark.parametrize(
    ("groups", "targets", "chosen"),
    [
        (["multiarch", "gfx110X-all"], ["gfx1100"], "gfx110X-all"),
        (["multiarch", "gfx110X-all", "gfx110X-dgpu"], ["gfx1100"], "gfx110X-dgpu"),
        (["gfx110X-all", "gfx110X-dgpu"], ["gfx1103"], "gfx110X-all"),
        (["multiarch", "gfx110X-all"], ["gfx1100", "gfx942"], "multiarch"),
        (["multiarch", "gfx1151"], ["gfx1151"], "gfx1151"),
        (["multiarch", "gfx110X-all"], [], "multiarch"),
        (["gfx110X-all"], [], None),
        (["gfx110X-all"], ["gfx90a"], None),
        ([], ["gfx90a"], None),
    ],
)
def test_the_smallest_group_with_all_targets(
    groups: list[str], targets: list[str], chosen: str | None
) -> None:
    assert choose_group(groups, targets, FAMILIES) == chosen


# Installing.


def test_an_archive_for_every_gpu(call: Callable[..., Result], vendor: Vendor, root: Root) -> None:
    vendor.has("core/tarball", name("multiarch", "10.0.1"), name("gfx110X-all", "10.0.1"))
    call("install", "10.0.1").fine()
    item = registry.find(root, Version.parse("10.0.1"))
    assert item.receipt.source == "tarball"
    (only,) = item.receipt.items
    assert only.url == f"{vendor.url}/core/tarball/{name('multiarch', '10.0.1')}"
    assert len(only.sha256) == 64
    prefix = Path(item.prefix)
    assert (prefix / "lib/libamdhip64.so").readlink() == Path("libamdhip64.so.7")
    assert (prefix / ".kpack/blas_gfx1100.kpack").exists()


def test_the_archive_of_the_gpus_family(
    call: Callable[..., Result], vendor: Vendor, root: Root
) -> None:
    groups = ("multiarch", "gfx110X-all", "gfx94X-dcgpu")
    vendor.has("core/tarball", *(name(group, "10.0.1") for group in groups))
    for words, environ, group in (
        (("--gpu", "gfx1101"), {}, "gfx110X-all"),
        ((), {"ROCMENV_TARGETS": "gfx942"}, "gfx94X-dcgpu"),
        (("--gpu", "gfx1100", "--gpu", "gfx942"), {}, "multiarch"),
        (("--gpu", "all"), {"ROCMENV_TARGETS": "gfx942"}, "multiarch"),
    ):
        plan = call("install", "10.0.1", "--dry-run", "--json", *words, **environ).fine()
        assert json.loads(plan)["parts"][0]["name"] == name(group, "10.0.1"), words


def test_a_gpu_without_an_archive(call: Callable[..., Result], vendor: Vendor) -> None:
    vendor.has("core/tarball", name("gfx110X-all", "10.0.1"))
    result = call("install", "10.0.1", "-q", "--gpu", "gfx942")
    assert result.refused() == "no archive of 10.0.1 has code for gfx942; there are `gfx110X-all`"
    result = call("install", "10.0.1", "-q", "--gpu", "gfx94")
    assert "gfx94" in result.refused(2)


def test_what_speaks_against_a_gpu_is_told(call: Callable[..., Result], vendor: Vendor) -> None:
    vendor.has("core/tarball", name("multiarch", "10.1.0"))
    result = call("install", "10.1.0", "--dry-run", "--gpu", "gfx1010")
    assert result.fine()
    assert "gfx1010" in result.err
    assert "source: " in result.err


def test_the_candidate_in_the_stable_place(
    call: Callable[..., Result], vendor: Vendor, root: Root
) -> None:
    """7.9.0 is published under the name of a candidate."""
    vendor.has("tarball", name("multiarch", "7.9.0rc1"))
    call("install", "7.9").fine()
    item = registry.find(root, Version.parse("7.9.0"))
    assert item.receipt.items[0].name == name("multiarch", "7.9.0rc1")


@pytest.mark.parametrize(
    ("typed", "place"),
    [
        ("7.14.1", "tarball-multi-arch"),
        ("10.2.0a20261001", "core/tarball"),
        ("10.1.0rc0", "core/tarball"),
        ("10.0.0rc2", "tarball-multi-arch"),
    ],
)
def test_each_line_and_generation_has_its_place(
    call: Callable[..., Result], vendor: Vendor, root: Root, typed: str, place: str
) -> None:
    vendor.has(place, name("multiarch", typed))
    call("install", typed).fine()
    assert registry.find(root, Version.parse(typed)).receipt.origin.startswith(
        f"{vendor.url}/{place}/"
    )


def test_without_a_gpu_the_groups_are_named(call: Callable[..., Result], vendor: Vendor) -> None:
    vendor.has("core/tarball", name("gfx110X-all", "10.0.1"), name("gfx1151", "10.0.1"))
    result = call("install", "10.0.1", "-q")
    assert "which GPU is 10.0.1 for?" in result.refused()
    assert "`gfx110X-all`, `gfx1151`" in result.hint


def test_a_version_that_is_not_there(call: Callable[..., Result], vendor: Vendor) -> None:
    vendor.has("core/tarball", name("multiarch", "10.0.1"))
    result = call("install", "10.0.7", "-q")
    assert "there is no archive of 10.0.7 for Linux" in result.refused()
    assert "the newest there is 10.0.1" in result.hint


def test_the_catalogue_decides_where_no_page_can_be_read(
    call: Callable[..., Result], vendor: Vendor
) -> None:
    place = f"/rocm/core/tarball/{name('multiarch', '10.1.0')}"
    vendor.site.files[place] = packed("10.1.0")
    result = call("install", "10.1.0")
    result.fine()
    assert "no list to choose from" in result.err


def test_a_known_hash_is_held_to(call: Callable[..., Result], vendor: Vendor) -> None:
    vendor.has("core/tarball", name("multiarch", "10.0.0"))
    assert "sha256" in call("install", "10.0.0", "-q").refused()


def test_a_dry_run_shows_the_size(call: Callable[..., Result], vendor: Vendor) -> None:
    vendor.has("core/tarball", name("multiarch", "10.0.1"))
    plan = json.loads(call("install", "10.0.1", "--dry-run", "--json").fine())
    assert plan["download"] == len(packed("10.0.1"))
    assert plan["channel"] == "tarball"


def test_an_old_glibc_is_told(call: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(therock, "glibc", lambda: (2, 17))
    message = call("install", "10.0.1", "-q").refused()
    assert message == "release 10.0.1 needs glibc 2.28 or newer, and this machine has glibc 2.17"
    monkeypatch.setattr(therock, "glibc", lambda: None)
    assert "has no glibc" in call("install", "10.0.1", "-q").refused()


@pytest.mark.parametrize(
    ("groups", "why"),
    [(["multiarch"], "there is no other"), (["multiarch", "gfx1151"], "none of the others has")],
)
def test_why_the_archive_for_every_gpu_is_taken(
    call: Callable[..., Result], vendor: Vendor, groups: list[str], why: str
) -> None:
    vendor.has("core/tarball", *(name(group, "10.0.1") for group in groups))
    result = call("install", "10.0.1", "--dry-run", "--gpu", "gfx942")
    assert result.fine()
    assert f"the archive for every GPU is taken: {why}" in result.err


def test_the_mirror_that_lacks_a_version_is_named(
    call: Callable[..., Result], vendor: Vendor
) -> None:
    vendor.has("core/tarball", name("multiarch", "10.0.1"))
    result = call("install", "10.1.0rc7", "-q")
    assert result.refused() == f"there is no archive of 10.1.0rc7 for Linux at {vendor.url}"
    assert "--online --pre`" in result.hint


def test_a_page_that_is_none_is_shown_when_the_guess_fails(
    call: Callable[..., Result], vendor: Vendor
) -> None:
    vendor.site.files["/rocm/core/tarball/"] = b"<html>Moved, for good</html>"
    message = call("install", "10.1.0", "-q").refused()
    assert "multiarch-10.1.0.tar.gz` is not there" in message
    assert "it begins `<html>Moved, for good" in message


def test_offline_nobody_knows_what_there_is(call: Callable[..., Result], vendor: Vendor) -> None:
    vendor.has("core/tarball", name("multiarch", "10.0.1"))
    message = call("install", "10.0.1", "-q", "--offline").refused()
    assert "this run is offline" in message
    result = call("install", "10.1.0", "--dry-run", "--offline")
    assert result.fine()
    assert "this run is offline; the archive's name is taken from rocmenv's own" in result.err


def test_a_profile_that_nobody_has(call: Callable[..., Result], vendor: Vendor) -> None:
    vendor.has("core/tarball", name("multiarch", "10.0.1"))
    result = call("install", "10.0.1", "-q", "--profile", "skd")
    assert result.refused() == "`skd` is not a profile"
    call("install", "10.0.1", "--profile", "sdk").fine()


# The list.


def test_the_list_from_the_pages(call: Callable[..., Result], vendor: Vendor, cases: Path) -> None:
    """R18: `latest` is the newest release, whatever the time stamps say."""
    page = (cases / "listings" / "tarball-page.html").read_bytes()
    vendor.site.files["/rocm/core/tarball/"] = page
    words = ("install", "--list", "--online", "--channel", "tarball")
    rows = json.loads(call(*words, "--json").fine())["releases"]
    assert [r["version"] for r in rows] == ["7.14.0", "7.14.1", "10.0.0"]
    assert "multiarch" in rows[-1]["groups"]
    assert call(*words, "latest").fine().split()[0] == "10.0.0"
    more = json.loads(call(*words, "--pre", "--json").fine())["releases"]
    texts = [r["version"] for r in more]
    assert texts.index("10.0.0rc0") < texts.index("10.0.0rc2") < texts.index("10.0.0")
    assert texts.index("10.1.0a20260831") < texts.index("10.1.0a20260901")
    assert "7.9.0" in texts


def test_a_list_of_one_channel_has_no_others(call: Callable[..., Result], vendor: Vendor) -> None:
    vendor.has("core/tarball", name("multiarch", "10.0.0"), name("multiarch", "10.3.0"))
    words = ("install", "--list", "--online", "--json", "--channel")
    found = {
        channel: [r["version"] for r in json.loads(call(*words, channel).fine())["releases"]]
        for channel in ("tarball", "auto")
    }
    assert found == {"tarball": ["10.0.0", "10.3.0"], "auto": ["10.0.0", "10.3.0"]}
    assert "native" not in call("install", "--list", "--online", "--channel", "tarball", "10.3").out
    # Other channels have indexes of their own.
    assert "gpg" in call("install", "--list", "--online", "--channel", "native").refused()


def test_a_page_that_is_no_list_is_told_before_those_that_are_gone(
    call: Callable[..., Result], vendor: Vendor
) -> None:
    vendor.site.files["/rocm/core/tarball/"] = b"<html>Moved, for good</html>"
    message = call("install", "--list", "--online", "--channel", "tarball").refused()
    assert message.endswith("it begins `<html>Moved, for good</html>`")


@pytest.mark.parametrize(
    ("groups", "taken"),
    [
        (("multiarch", "gfx94X-dcgpu", "gfx110X-all"), "gfx94X-dcgpu"),
        (("multiarch",), "multiarch"),
    ],
)
def test_without_a_gpu_the_smallest_archive_is_taken_without_its_kernels(
    call: Callable[..., Result], vendor: Vendor, root: Root, groups: tuple[str, ...], taken: str
) -> None:
    vendor.has("core/tarball", *(name(group, "10.0.1") for group in groups))
    result = call("install", "10.0.1", "--gpu", "none")
    assert result.fine() == ""
    assert f"that for {taken} is taken" in result.err
    item = registry.find(root, Version.parse("10.0.1"))
    assert (item.receipt.items[0].name, item.receipt.targets) == (name(taken, "10.0.1"), ("none",))
    assert not (Path(item.prefix) / ".kpack/blas_gfx1100.kpack").exists()
    assert (Path(item.prefix) / "bin/hipcc").exists()


def test_an_upgrade_leaves_out_what_the_old_version_did(
    call: Callable[..., Result], vendor: Vendor, root: Root
) -> None:
    for version in ("7.14.0", "7.14.1"):
        vendor.has("tarball-multi-arch", name("multiarch", version))
    for words, targets in (
        (("--gpu", "gfx942", "--prune-targets"), ("gfx942",)),
        (("--gpu", "none"), ("none",)),
    ):
        call("install", "7.14.0", *words).fine()
        call("upgrade", "7.14.0", "-q").fine()
        receipt = registry.find(root, Version.parse("7.14.1")).receipt
        assert (receipt.targets, receipt.pruned) == (targets, Pruned(1, 4))
        call("uninstall", "7.14.1").fine()


def test_an_upgrade_is_for_the_same_gpus(
    call: Callable[..., Result], vendor: Vendor, root: Root
) -> None:
    groups = ("multiarch", "gfx94X-dcgpu", "gfx110X-all")
    for version in ("7.14.0", "7.14.1"):
        vendor.has("tarball-multi-arch", *(name(group, version) for group in groups))
    for gpu, group in (("all", "multiarch"), ("gfx942", "gfx94X-dcgpu")):
        call("install", "7.14.0", "--gpu", gpu).fine()
        call("upgrade", "7.14.0", "-q", ROCMENV_TARGETS="gfx1100").fine()
        item = registry.find(root, Version.parse("7.14.1"))
        assert item.receipt.items[0].name == name(group, "7.14.1")
        call("uninstall", "7.14.1").fine()


def test_an_old_nightly_is_told(call: Callable[..., Result], vendor: Vendor) -> None:
    vendor.has("core/tarball", name("multiarch", "10.2.0a20250101"), time=1_735_700_000.0)
    result = call("install", "--list", "--online", "--channel", "tarball", "--pre")
    assert "10.2.0a20250101" in result.fine()
    assert "the place may have moved" in result.err


def test_an_empty_page_is_no_unknown_version(
    call: Callable[..., Result], vendor: Vendor, cases: Path
) -> None:
    """R18."""
    page = (cases / "listings" / "tarball-page-empty.html").read_bytes()
    for place in ("tarball", "tarball-multi-arch", "core/tarball"):
        vendor.site.files[f"/rocm/{place}/"] = page
    result = call("install", "--list", "--online", "--channel", "tarball")
    assert "has no files" in result.refused()


def test_a_page_in_an_unknown_form(call: Callable[..., Result], vendor: Vendor) -> None:
    """R18."""
    for place in ("tarball", "tarball-multi-arch", "core/tarball"):
        vendor.site.files[f"/rocm/{place}/"] = b'{"files": []}'
    message = call("install", "--list", "--online", "--channel", "tarball").refused()
    assert vendor.url in message
    assert '`{"files": []}`' in message
