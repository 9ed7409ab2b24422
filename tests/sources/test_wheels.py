"""AMD's wheels: from the index to a prefix inside a virtual environment of its own."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rocmenv.errors import HostError, RepositoryError, ResolveError, RocmenvError, StoreError
from rocmenv.fetch.network import Network
from rocmenv.fetch.transfer import Downloads
from rocmenv.model.layout import Kind
from rocmenv.model.version import Version
from rocmenv.ops.install import Options, install
from rocmenv.ops.report import Silent
from rocmenv.ops.uninstall import uninstall
from rocmenv.sources import wheel_fill, wheel_program, wheels
from rocmenv.sources.base import Request
from rocmenv.sources.catalog_file import load
from rocmenv.store import registry
from rocmenv.store.paths import Root
from rocmenv.store.registry import Installed
from tests.builders import clean_environ, process
from tests.cli.runner import COMMAND, Result, Runner, run, run_command
from tests.fetch.server import Site, serving
from tests.ops.test_again import command_in, settle_otherwise
from tests.sources.test_repair import state
from tests.wheelhouse import File, Index, text, wheel

FAMILIES = {
    "gfx110X-all": ("gfx1100", "gfx1101", "gfx1102", "gfx1103"),
    "gfx94X-dcgpu": ("gfx942",),
    "dgpu-all": ("gfx1100", "gfx1101", "gfx942"),
}


@pytest.fixture
def index(site: Site) -> Index:
    """The index of releases from 10.0 on, empty."""
    return Index(site)


@pytest.fixture
def mirror(site: Site) -> str:
    return f"{site.url}/rocm"


@pytest.fixture
def call(
    capfd: pytest.CaptureFixture[str], root: Root, tmp_path: Path, mirror: str
) -> Callable[..., Result]:
    runner = Runner(capfd, root, tmp_path)

    def run_here(*words: str, **environ: str) -> Result:
        return runner(*words, **{"ROCMENV_THEROCK_MIRROR": mirror, **environ})

    return run_here


@pytest.fixture
def make(root: Root, mirror: str) -> Callable[..., Installed]:
    """Install without the command line, for GPUs that are named."""

    def build(version: str = "10.0.0", *targets: str, **more: object) -> Installed:
        request = Request(
            **{"mirror": mirror, "targets": targets, "families": FAMILIES, **more}  # type: ignore[arg-type]  # fields by name
        )
        release = Version.parse(version)
        downloads = Downloads(root.cache, network=Network(retries=1))
        plan = wheels.plan(load(), release, release, request, downloads)
        return install(
            process(root.path), root, plan, downloads, Options(jobs=2, reinstall=True), Silent()
        )

    return build


def projects(item: Installed) -> list[str]:
    return sorted(part.name for part in item.receipt.items)


def refused(make: Callable[..., Installed], kind: type[RocmenvError], *words: str) -> RocmenvError:
    with pytest.raises(kind) as caught:
        make(*words)
    return caught.value


def is_clean(root: Root) -> bool:
    """Whether nothing of an install is left but the cache, and what is being deleted."""
    return not any(
        any(folder.iterdir()) if folder.is_dir() else False
        for folder in (root.versions, root.staging, root.journal)
    )


# The whole way.


def test_the_programs_run_from_the_final_place(
    call: Callable[..., Result], index: Index, root: Root
) -> None:
    index.has_release()
    call("install", "10.0.0", "--channel", "wheels").fine()
    prefix = call("prefix", "10.0.0").fine().strip()
    version = root.versions / "10.0.0"
    site_folder = prefix.removeprefix(f"{version}/").removesuffix("/_rocm_sdk_devel")
    assert site_folder.endswith("site-packages")
    environ = clean_environ(root, ROCMENV_VERSION="10.0.0")

    by_exec = run(root, "exec", "hipcc", "-c", "a b", ROCMENV_VERSION="10.0.0").fine()
    assert by_exec.splitlines() == [f"hipcc of {prefix}/bin/hipcc", prefix, "-c", "a b"]
    by_shim = run_command([str(root.shims / "hipcc"), "-c", "a b"], environ, "/")
    assert by_shim.fine() == by_exec
    script = run_command([str(version / "bin/hipcc")], environ, "/").fine()
    assert script.splitlines()[0] == f"hipcc of {prefix}/bin/hipcc"
    told = run(root, "exec", "rocm-sdk", "path", "--root", ROCMENV_VERSION="10.0.0").fine()
    assert told.strip() == prefix
    assert run_command([str(root.shims / "rocm-sdk"), "version"], environ, "/").fine() == "10.0.0\n"


def test_the_prefix_has_what_the_wheels_brought(
    make: Callable[..., Installed], index: Index
) -> None:
    index.has_release()
    item = make("10.0.0", "gfx1100")
    prefix = Path(item.prefix)
    assert (prefix / "include/hip/hip_runtime.h").is_file()
    assert (prefix / "lib/librocblas.so.5").samefile(
        prefix.parent / "_rocm_sdk_libraries/lib/librocblas.so.5"
    )
    assert (prefix / ".kpack/blas_gfx1100.kpack").read_text() == "KPAK gfx1100"
    assert not (prefix / ".kpack/blas_gfx942.kpack").exists()
    assert (prefix / "llvm").readlink() == Path("lib/llvm")
    assert (prefix.parent / "rocm-10.0.0.dist-info/INSTALLER").read_text() == "rocmenv\n"
    record = (prefix.parent / "rocm_sdk_devel-10.0.0.dist-info/RECORD").read_text()
    assert "_rocm_sdk_devel/include/hip/hip_runtime.h,," in record
    assert (
        "../../../bin/hipcc,sha256="
        in (prefix.parent / "rocm_sdk_core-10.0.0.dist-info/RECORD").read_text()
    )


@pytest.mark.parametrize("name", ["plain", "a root with blanks & 'quotes'"])
def test_nothing_names_the_staged_folder(
    index: Index, tmp_path: Path, mirror: str, name: str
) -> None:
    index.has_release()
    root = Root(tmp_path / name)
    words = ("install", "10.0.0", "--channel", "wheels", "--mirror", mirror)
    assert run(root, *words).status == 0
    version = root.versions / "10.0.0"
    texts = {
        path: path.read_bytes()
        for path in version.rglob("*")
        if path.is_file() and not path.is_symlink()
    }
    assert [path for path, content in texts.items() if b"staging" in content] == []
    assert "VIRTUAL_ENV=" in (version / "bin/activate").read_text()
    assert b"/versions/10.0.0" in texts[version / "bin/activate.fish"]
    assert not [path for path in texts if path.suffix == ".pyc"]
    told = run_command([str(version / "bin/rocm-sdk"), "version"], clean_environ(root), "/")
    assert told.fine() == "10.0.0\n"


def test_the_receipt_names_every_file(make: Callable[..., Installed], index: Index) -> None:
    index.has_release()
    item = make("10.0.0", "gfx1100")
    assert projects(item) == [
        "rocm",
        "rocm-sdk-core",
        "rocm-sdk-devel",
        "rocm-sdk-device-gfx1100",
        "rocm-sdk-libraries",
    ]
    for part in item.receipt.items:
        name = part.url.rpartition("/")[2]
        data = index.files[part.name][name]
        assert (part.sha256, part.size) == (hashlib.sha256(data).hexdigest(), len(data))
        assert part.version == "10.0.0"
    assert item.receipt.source == "wheels"
    assert item.receipt.origin == f"{index.url}/"
    assert item.receipt.inner.endswith("site-packages/_rocm_sdk_devel")
    assert 0 < item.receipt.size < 1_000_000
    assert item.receipt.layout.kind is Kind.WHEELS


def test_wheels_are_not_on_the_library_path(
    call: Callable[..., Result], index: Index, root: Root
) -> None:
    index.has_release()
    call("install", "10.0.0", "--channel", "wheels").fine()
    prefix = registry.find(root, Version.parse("10.0.0")).prefix
    lines = run(root, "+10.0.0", "exec", "env", LD_LIBRARY_PATH="/opt/rocm/lib:/x").fine()
    environ = dict(line.split("=", 1) for line in lines.splitlines() if "=" in line)
    assert environ["LD_LIBRARY_PATH"] == "/x"
    assert environ["ROCM_PATH"] == prefix
    assert environ["PATH"].split(":")[:2] == [f"{prefix}/bin", f"{prefix}/lib/llvm/bin"]
    assert environ["HIP_DEVICE_LIB_PATH"] == f"{prefix}/lib/llvm/amdgcn/bitcode"
    assert environ["CMAKE_PREFIX_PATH"] == prefix
    # The environment's own `bin` has a `python`, which must not hide the user's.
    assert f"{root.versions}/10.0.0/bin" not in environ["PATH"].split(":")
    assert not (root.shims / "python").exists()


def test_it_is_removed_and_installed_anew(
    make: Callable[..., Installed], index: Index, root: Root
) -> None:
    index.has_release()
    first = make("10.0.0", "gfx1100")
    assert make("10.0.0", "gfx942").prefix == first.prefix
    assert not (Path(first.prefix) / ".kpack/blas_gfx1100.kpack").exists()
    uninstall(process(root.path), root, Version.parse("10.0.0"))
    assert not (root.versions / "10.0.0").exists()
    assert not (root.shims / "hipcc").exists()


def test_damaged_files_are_made_again(
    call: Callable[..., Result], index: Index, root: Root, site: Site
) -> None:
    index.has_release()
    call("install", "10.0.0", "--channel", "wheels").fine()
    version = root.versions / "10.0.0"
    before = state(version)
    prefix = Path(call("prefix", "10.0.0").fine().strip())
    (prefix / "bin/hipcc").unlink()
    config = version / "pyvenv.cfg"
    config.write_text("damaged")
    site.seen.clear()
    told = call("verify", "-q", "--deep", "--repair", "10.0.0").fine()
    assert sorted(told.splitlines()[:2]) == [
        f"10.0.0: repaired `{path.relative_to(version)}`" for path in (prefix / "bin/hipcc", config)
    ]
    assert state(version) == before
    assert all("/whl-next/" in request.path for request in site.seen)
    assert not list((root.cache / "sha256").iterdir())


def test_the_hint_to_install_again_makes_the_same(
    call: Callable[..., Result], index: Index, root: Root
) -> None:
    index.has_release()
    index.wheel("rocm-profiler", "10.0.0", {"p/__init__.py": text("")})
    words = ("--with", "profiler", "--profile", "sdk", "--gpu", "gfx1100")
    call("install", "10.0.0", "--channel", "wheels", *words).fine()
    manifest = root.manifest(Version.parse("10.0.0"))
    before = manifest.read_bytes()
    manifest.unlink()
    command = command_in(call("verify", "10.0.0").hint)
    settle_otherwise(call)
    call(*command[1:]).fine()
    assert manifest.read_bytes() == before


def test_a_second_time_without_a_connection(
    call: Callable[..., Result], index: Index, site: Site
) -> None:
    index.has_release()
    words = ("install", "10.0.0", "--channel", "wheels", "--keep-downloads")
    call(*words).fine()
    site.seen.clear()
    call(*words, "--reinstall", "--offline").fine()
    assert site.seen == []


def test_offline_nothing_is_said_of_what_was_never_read(
    call: Callable[..., Result], index: Index
) -> None:
    index.has_release()
    words = ("install", "10.0.0", "--channel", "wheels", "-q")
    call(*words, "--profile", "runtime").fine()
    result = call(*words, "--reinstall", "--offline")
    assert "this run is offline" in result.refused()
    assert "without `--offline`" in result.hint


# Which files.


def test_without_a_gpu_the_code_for_all_is_taken(call: Callable[..., Result], index: Index) -> None:
    index.has_release()
    index.wheel("rocm-sdk-device-gfx1151", "10.0.0", {"x": text("")}, tag="py3-none-win_amd64")
    result = call("install", "10.0.0", "--channel", "wheels", "--dry-run", "--json")
    plan = json.loads(result.fine())
    names = {part["name"] for part in plan["parts"]}
    assert {"rocm-sdk-device-gfx942", "rocm-sdk-device-gfx1100"} < names
    assert "rocm-sdk-device-gfx1151" not in names
    assert plan["notes"] == ["no GPU is named: the code for all 2 kinds is taken"]
    assert plan["download"] == sum(
        len(data)
        for project, files in index.files.items()
        for data in files.values()
        if project in names
    )


def test_for_no_gpu_no_code_for_one_is_taken(
    call: Callable[..., Result], index: Index, root: Root
) -> None:
    index.has_release()
    call("install", "10.0.0", "--channel", "wheels", "--profile", "sdk", "--gpu", "none").fine()
    item = registry.find(root, Version.parse("10.0.0"))
    assert [name for name in projects(item) if "device" in name] == []
    assert "rocm-sdk-libraries" in projects(item)
    assert item.receipt.targets == ("none",)


def test_the_run_time_alone_has_the_core_for_its_prefix(
    make: Callable[..., Installed], index: Index
) -> None:
    index.has_release()
    item = make("10.0.0", "gfx1100", profile="runtime")
    assert projects(item) == ["rocm", "rocm-sdk-core"]
    assert item.prefix.endswith("/site-packages/_rocm_sdk_core")
    assert item.receipt.layout.libs == ()


def test_further_packages(make: Callable[..., Installed], index: Index) -> None:
    index.has_release()
    index.wheel("rocm-profiler", "10.0.0", {"rocm_profiler/__init__.py": text("")})
    assert "rocm-profiler" in projects(make("10.0.0", "gfx1100", profile="full"))
    assert "rocm-profiler" in projects(make("10.0.0", "gfx1100", extra=("profiler",)))
    index.has_release("10.0.1")
    item = make("10.0.1", "gfx1100", profile="full")
    assert item.receipt.notes == ("10.0.1 has no `rocm-profiler`: it is left out",)


def test_the_list_of_an_index(call: Callable[..., Result], index: Index, mirror: str) -> None:
    for version in ("10.0.0", "10.2.5", "10.1.0rc1"):
        index.has_release(version)
    words = ("install", "--list", "--online", "--channel", "wheels", "--mirror", mirror)
    result = call(*words)
    assert [line.split()[0] for line in result.fine().splitlines()] == ["10.0.0", "10.2.5"]
    assert "10.2.5  -           wheels (new)" in result.out
    assert "whl-multi-arch" in result.err, "a place that is not there is told"
    more = call(*words, "--pre").fine().splitlines()
    assert [line.split()[0] for line in more] == ["10.0.0", "10.1.0rc1", "10.2.5"]


def test_only_the_exact_version(make: Callable[..., Installed], index: Index) -> None:
    for version in ("10.0.0rc1", "10.0.0+site", "10.0.0.post1", "10.0.1", "99.0.0"):
        index.has_release(version)
    message = refused(make, ResolveError, "10.0.0", "gfx1100")
    assert "there are no wheels of 10.0.0 at" in message.message
    assert "the newest there is 99.0.0" in (message.hint or "")
    index.add("rocm", "rocm-10.0.0.tar.gz", next(iter(index.files["rocm"].values())))
    assert "has no `rocm-sdk-core` 10.0.0" in refused(make, ResolveError, "10.0.0").message
    index.has_release("10.0.0")
    assert {p.version for p in make("10.0.0", "gfx1100").receipt.items} == {"10.0.0"}


@pytest.mark.parametrize("version", ["10.2.0a20261001", "10.1.0rc0", "10.1.0.dev0+0f1e2d3c"])
def test_other_lines(make: Callable[..., Installed], index: Index, version: str) -> None:
    index.has_release(version, compressed=True)
    item = make(version, "gfx1100")
    assert {part.version for part in item.receipt.items} == {version}
    assert all("+" not in part.url for part in item.receipt.items)


def test_the_candidate_in_the_stable_place(make: Callable[..., Installed], site: Site) -> None:
    """7.9.0 is published under the name of a candidate."""
    index = Index(site, "/rocm/whl/gfx94X-dcgpu")
    index.has_release("7.9.0rc1", family="gfx94X-dcgpu")
    item = make("7.9.0", "gfx942")
    assert projects(item) == [
        "rocm",
        "rocm-sdk-core",
        "rocm-sdk-devel",
        "rocm-sdk-libraries-gfx94x-dcgpu",
    ]


def test_early_releases_are_by_family(make: Callable[..., Installed], site: Site) -> None:
    index = Index(site, "/rocm/whl/gfx110X-all")
    index.has_release("7.12.0", family="gfx110X-all")
    item = make("7.12.0", "gfx1100", "gfx1103")
    assert item.receipt.origin == f"{index.url}/"
    assert "rocm-sdk-libraries-gfx110x-all" in projects(item)
    libraries = Path(item.prefix).parent / "_rocm_sdk_libraries_gfx110x_all"
    assert (Path(item.prefix) / "lib/librocblas.so.5").samefile(libraries / "lib/librocblas.so.5")
    assert "which GPU is 7.12.0 for?" in refused(make, ResolveError, "7.12.0").message
    assert "there are no wheels" in refused(make, ResolveError, "7.12.0", "gfx942").message


def test_a_gpu_that_a_release_is_not_built_for(
    make: Callable[..., Installed], index: Index
) -> None:
    index.has_release()
    assert (
        "has no wheels of 10.0.0 for gfx906"
        in refused(make, ResolveError, "10.0.0", "gfx906").message
    )


def test_an_index_as_the_mirror(make: Callable[..., Installed], site: Site) -> None:
    index = Index(site, "/of/ours")
    index.has_release()
    for address in (index.url, f"{index.url}/"):
        assert make("10.0.0", "gfx1100", mirror=address).receipt.origin == f"{index.url}/"
    old = Index(site, "/of/theirs")
    old.has_release("7.12.0", family="gfx110X-all")
    item = make("7.12.0", "gfx1101", mirror=old.url)
    assert "rocm-sdk-libraries-gfx110x-all" in projects(item)


def test_a_folder_as_the_mirror(
    make: Callable[..., Installed], index: Index, tmp_path: Path
) -> None:
    index.has_release()
    for path, data in index.site.files.items():
        place = tmp_path / "mirror" / path.strip("/")
        if path.endswith("/"):
            place /= "index.html"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    item = make("10.0.0", mirror=(tmp_path / "mirror/rocm").as_uri())
    assert "rocm-sdk-device-gfx942" in projects(item)


def test_pages_in_json(make: Callable[..., Installed], index: Index, site: Site) -> None:
    index.has_release()
    index.as_json()
    assert "rocm-sdk-device-gfx942" in projects(make("10.0.0"))
    # The page told the sizes: each file is asked for once.
    assert all(site.count(path) == 1 for path in site.files if path.endswith((".whl", ".gz")))


def test_a_wheel_that_was_taken_back_is_told(make: Callable[..., Installed], index: Index) -> None:
    index.has_release()
    name = next(iter(index.files["rocm-sdk-core"]))
    index.links[name] = f'<a href="{name}" data-yanked="broken">{name}</a>'
    index.write()
    assert f"`{name}` was taken back by its maker" in make("10.0.0", "gfx942").receipt.notes


def test_a_profile_that_is_none(call: Callable[..., Result], index: Index) -> None:
    words = ("install", "10.0.0", "--channel", "wheels", "--profile", "most")
    assert "`most` is not a profile of the wheels channel" in call(*words, "-q").refused()


# From this index, and from no other.


@pytest.fixture
def public(tmp_path: Path) -> Iterator[Index]:
    """A look-alike of the public index, with newer packages of the same names."""
    with serving(Site()) as site:
        index = Index(site, "/simple")
        for version in ("99.0.0", "10.0.0"):
            index.has_release(version, modules={"__init__.py": "raise SystemExit('robbed')\n"})
        index.wheel("rocm-bootstrap", "0.3.0", {"rocm_bootstrap.py": text("")})
        config = f"[global]\nindex-url = {index.url}/\nextra-index-url = {index.url}/\n"
        for place in (".config/pip/pip.conf", ".pip/pip.conf", ".config/uv/uv.toml"):
            path = tmp_path / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(config)
        yield index


def trapped(root: Root, mirror: str, public: Index, *words: str) -> Result:
    """Install as a process whose every setting for installers names the look-alike."""
    names = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL")
    return run(
        root,
        *("install", "10.0.0", "--channel", "wheels", "--mirror", mirror, *words),
        PIP_CONFIG_FILE=str(root.path.parent / ".pip/pip.conf"),
        **dict.fromkeys(names, f"{public.url}/"),  # type: ignore[arg-type]  # all are variables
        PIP_FIND_LINKS=f"{public.url}/rocm-sdk-core/",
    )


def test_the_public_index_is_never_asked(
    root: Root, mirror: str, index: Index, public: Index
) -> None:
    index.has_release()
    assert trapped(root, mirror, public).status == 0
    assert public.site.seen == []
    items = registry.find(root, Version.parse("10.0.0")).receipt.items
    assert {part.url.partition("/rocm/")[0] for part in items} == {index.site.url}
    assert not list((root.versions / "10.0.0").rglob("pip*"))


def test_what_the_index_lacks_is_not_looked_for_elsewhere(
    root: Root, mirror: str, index: Index, public: Index
) -> None:
    index.has_release()
    needs = ("rocm-bootstrap>=0.3",)
    index.wheel("rocm-sdk-core", "10.0.0", {"rocm_sdk_core/__init__.py": text("")}, needs=needs)
    message = trapped(root, mirror, public, "-q").refused()
    assert "needs `rocm-bootstrap>=0.3`, which" in message
    assert "no other index is asked" in message
    assert public.site.seen == []
    assert is_clean(root)


def test_a_release_that_only_the_public_index_has(
    root: Root, mirror: str, index: Index, public: Index
) -> None:
    index.has_release("10.0.1")
    assert "there are no wheels of 10.0.0" in trapped(root, mirror, public, "-q").refused()
    assert public.site.seen == []


def test_a_page_that_sends_elsewhere(
    make: Callable[..., Installed], index: Index, public: Index
) -> None:
    index.has_release()
    name = next(iter(index.files["rocm-sdk-core"]))
    index.links[name] = f'<a href="{public.url}/rocm-sdk-core/{name}">{name}</a>'
    index.write()
    error = refused(make, RepositoryError, "10.0.0", "gfx1100")
    assert f"sends to another server for `{name}`" in error.message
    assert public.site.seen == []


def test_the_program_has_no_variable_of_the_user(
    root: Root, mirror: str, index: Index, public: Index
) -> None:
    spy = (
        "import json, os, sys, pathlib\n"
        "import rocm_sdk\n"
        "place = pathlib.Path(sys.prefix, 'seen.json')\n"
        "seen = [dict(os.environ), sys.path, os.getcwd(), sys.flags.isolated]\n"
        "place.write_text(json.dumps(seen))\n"
    )
    index.has_release(modules={"_dist_info.py": f"__version__ = '10.0.0'\n{spy}"})
    evil = root.path.parent / "evil"
    evil.mkdir()
    for name in ("rocm_sdk.py", "rocm_sdk_devel.py"):
        (evil / name).write_text("raise SystemExit('robbed')\n")
    result = run(
        root,
        *("install", "10.0.0", "--channel", "wheels", "--mirror", mirror),
        PYTHONPATH=str(evil),
        PIP_INDEX_URL=f"{public.url}/",
        VIRTUAL_ENV=str(evil),
        GITHUB_ACTOR="somebody",
        LD_LIBRARY_PATH=str(evil),
    )
    assert result.status == 0, result
    environ, path, cwd, isolated = json.loads((root.versions / "10.0.0/seen.json").read_text())
    assert set(environ) <= {
        "PATH", "HOME", "LC_ALL", "LC_CTYPE",
        "PYTHONDONTWRITEBYTECODE", "PIP_NO_INDEX", "PIP_CONFIG_FILE",
    }  # fmt: skip
    assert str(evil) not in path
    assert "/staging/" in cwd
    assert isolated


# What can go wrong.


def with_main(body: str) -> dict[str, str]:
    """A release whose `rocm-sdk` does what `body` says."""
    return {"__main__.py": f"import os, sys, time\n{body}\n"}


def test_digests_of_the_page_are_held_to(
    make: Callable[..., Installed], index: Index, root: Root
) -> None:
    index.has_release()
    index.with_digests()
    make("10.0.0", "gfx1100")
    uninstall(process(root.path), root, Version.parse("10.0.0"))
    index.with_digests(wrong=list(index.files["rocm-sdk-devel"]))
    assert "sha256" in refused(make, RocmenvError, "10.0.0", "gfx1100").message
    assert is_clean(root)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("sys.exit('no room')", "`rocm-sdk init` of the wheels failed (1): `no room`"),
        ("print('out'); sys.exit(3)", "failed (3): `out`"),
        ("os.kill(os.getpid(), 9)", "failed (-9)"),
        ("print('/usr')", "`rocm-sdk path --root` says `/usr`"),
        ("print('')", "`rocm-sdk path --root` says ``"),
        ("print(os.getcwd() + '/../..')", "the wheels have no prefix"),
        ("print('\\x1b[31m' * 999, file=sys.stderr); sys.exit(1)", "`\\x1b[31m"),
    ],
)  # fmt: skip
def test_the_program_of_the_release_fails(
    make: Callable[..., Installed], index: Index, root: Root, body: str, words: str
) -> None:
    index.has_release(modules=with_main(body))
    error = refused(make, StoreError, "10.0.0", "gfx1100")
    assert words in error.message
    assert "--channel tarball" in (error.hint or "")
    assert len(error.message) < 2000
    assert is_clean(root)


def test_the_program_of_the_release_hangs(
    make: Callable[..., Installed], index: Index, root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        wheel_fill, "make_prefix", lambda venv: wheel_program.make_prefix(venv, timeout=1.0)
    )
    index.has_release(modules=with_main("time.sleep(99)"))
    assert "did not end within 1 seconds" in refused(make, StoreError, "10.0.0", "gfx942").message
    assert is_clean(root)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_program_of_the_release_too(
    root: Root, mirror: str, index: Index, tmp_path: Path, how: signal.Signals
) -> None:
    told = tmp_path / "pids"
    body = (
        "import subprocess\n"
        "child = subprocess.Popen(['sleep', '99'])\n"
        f"open({str(told) + '.new'!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        f"os.rename({str(told) + '.new'!r}, {str(told)!r})\n"
        "time.sleep(99)\n"
    )
    index.has_release(modules=with_main(body))
    words = ("install", "10.0.0", "--channel", "wheels", "--mirror", mirror, "-q")
    with subprocess.Popen(
        [*COMMAND, *words], env=clean_environ(root), stderr=subprocess.PIPE, cwd="/"
    ) as child:
        wait_for(told.exists)
        child.send_signal(how)
        child.communicate(timeout=20)
    assert child.returncode in (130, -how, 128 + how)
    for number in map(int, told.read_text().split()):
        wait_for(lambda number=number: not is_running(number))  # type: ignore[misc]  # bound now
    assert is_clean(root)


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.02)


def is_running(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def spoil(index: Index, files: dict[str, File], project: str = "rocm-sdk-libraries") -> None:
    """Publish another wheel of `project` in place of the release's."""
    index.files[project].clear()
    index.wheel(project, "10.0.0", files)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("../../../../../outside", "lies outside"),
        ("/tmp/outside", "rocm_sdk_libraries-10.0.0-py3"),
        ("rocm_sdk_libraries-10.0.0.data/scripts/python", "is there with other content"),
        ("rocm_sdk_libraries-10.0.0.data/data/pyvenv.cfg", "is there with other content"),
        ("rocm_sdk_libraries-10.0.0.data/data/bin/activate", "is there with other content"),
        ("_rocm_sdk_core/bin/hipcc", "is there with other content"),
        ("_rocm_sdk_core/bin/hipcc/inner", "cannot be unpacked: file exists"),
        ("rocm_sdk_libraries-10.0.0.data/nowhere/x", "is not a whole wheel"),
    ],
)
def test_a_wheel_that_writes_where_it_must_not(
    make: Callable[..., Installed], index: Index, root: Root, path: str, words: str
) -> None:
    index.has_release()
    spoil(index, {"_rocm_sdk_libraries/__init__.py": text(""), path: text("#!/bin/sh\n", 0o755)})
    assert words in refused(make, RocmenvError, "10.0.0", "gfx1100").message
    assert is_clean(root)
    assert not (root.path.parent / "outside").exists()


def test_a_script_of_a_wheel_starts_the_python_beside_it(
    make: Callable[..., Installed], index: Index, root: Root
) -> None:
    index.has_release()
    script = "rocm_sdk_libraries-10.0.0.data/scripts/tell"
    spoil(
        index,
        {
            "rocm_sdk_libraries/__init__.py": text(""),
            "_rocm_sdk_libraries/__init__.py": text(""),
            script: text("#!python\nimport sys; print(sys.prefix)\n", 0o755),
            "rocm_sdk_libraries/__pycache__/x.pyc": text("left out"),
        },
    )
    make("10.0.0", "gfx1100")
    version = root.versions / "10.0.0"
    told = run_command([str(version / "bin/tell")], clean_environ(root), "/").fine()
    assert told.strip() == str(version)
    assert not list(version.rglob("*.pyc"))


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def changed(data: bytes) -> bytes:
    return data.replace(b"rocblas", b"rocBLAS", 1) if b"rocblas" in data else data[::-1]


@pytest.mark.parametrize("fault", [cut, changed, bytes.upper, lambda _data: b"<html></html>"])
@pytest.mark.parametrize("project", ["rocm-sdk-libraries", "rocm"])
def test_a_damaged_file(
    make: Callable[..., Installed],
    index: Index,
    root: Root,
    project: str,
    fault: Callable[[bytes], bytes],
) -> None:
    index.has_release()
    name, data = next(iter(index.files[project].items()))
    index.add(project, name, fault(data))
    assert name in refused(make, RocmenvError, "10.0.0", "gfx1100").message
    assert is_clean(root)


def test_a_wheel_for_another_python(make: Callable[..., Installed], index: Index) -> None:
    index.has_release()
    name = next(iter(index.files["rocm-sdk-core"]))
    index.links[name] = f'<a href="{name}" data-requires-python="&gt;=3.99">{name}</a>'
    index.write()
    assert "needs Python `>=3.99`" in refused(make, HostError, "10.0.0", "gfx942").message


def test_needs_that_do_not_fit_together(make: Callable[..., Installed], index: Index) -> None:
    index.has_release()
    needs = ("rocm-sdk-core==10.0.1", "numpy; extra == 'more'", "x; sys_platform == 'win32'")
    index.wheel("rocm-sdk-devel", "10.0.0", {"rocm_sdk_devel/x.py": text("")}, needs=needs)
    error = refused(make, RepositoryError, "10.0.0", "gfx942")
    assert "needs `rocm-sdk-core==10.0.1`, and the release has 10.0.0" in error.message


def test_what_a_wheel_needs_comes_along(make: Callable[..., Installed], index: Index) -> None:
    index.has_release()
    files = {"rocm_profiler/__init__.py": text("")}
    index.wheel("rocm-profiler", "10.0.0", files, needs=("rocm-bootstrap>=0.2", "rocm-sdk-core"))
    for version in ("0.1.0", "0.2.0", "0.3.0"):
        index.wheel("rocm-bootstrap", version, {"rocm_bootstrap.py": text("")}, tag="py3-none-any")
    items = make("10.0.0", "gfx942", profile="full").receipt.items
    assert [i.version for i in items if i.name == "rocm-bootstrap"] == ["0.3.0"]


@pytest.mark.parametrize(
    "page",
    [b"<html>hello</html>", b'{"meta": {}}', b'{"files": [1]}', b"{", b"<![x[ <a href='a'>a</a>"],
)
def test_a_page_in_another_form(
    make: Callable[..., Installed], index: Index, site: Site, page: bytes
) -> None:
    index.has_release()
    site.files["/rocm/whl-next/rocm/"] = page
    error = refused(make, RepositoryError, "10.0.0", "gfx942")
    assert "is not a page of Python packages" in error.message
    assert error.message.count("`") >= 4


def test_an_index_that_is_not_there(make: Callable[..., Installed], mirror: str) -> None:
    error = refused(make, ResolveError, "10.0.0", "gfx942")
    assert f"there are no wheels of 10.0.0 at {mirror}/whl-next/" in error.message


def test_a_list_of_projects_that_is_not_there(
    make: Callable[..., Installed], index: Index, site: Site
) -> None:
    index.has_release()
    del site.files["/rocm/whl-next/"]
    error = refused(make, ResolveError, "10.0.0")
    assert "which GPU is 10.0.0 for?" in error.message
    assert "--gpu" in (error.hint or "")
    make("10.0.0", "gfx942")


def test_a_wheel_is_what_installers_take(tmp_path: Path) -> None:
    """The stand-ins are wheels for others too: pip unpacks one, and finds nothing wrong."""
    name, data = wheel("rocm-sdk-core", "10.0.0", {"rocm_sdk_core/__init__.py": text("")})
    (tmp_path / name).write_bytes(data)
    place = tmp_path / "out"
    words = ["-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", str(place)]
    subprocess.run([sys.executable, *words, str(tmp_path / name)], check=True)
    assert (place / "rocm_sdk_core-10.0.0.dist-info/RECORD").is_file()


def bootstraps(index: Index, make: Callable[..., Installed], need: str) -> list[str]:
    """The file of `rocm-bootstrap` that is taken where a wheel needs it so."""
    index.has_release()
    files = {"rocm_profiler/__init__.py": text("")}
    index.files.pop("rocm-profiler", None)
    index.wheel("rocm-profiler", "10.0.0", files, needs=(need,))
    items = make("10.0.0", "gfx942", profile="full").receipt.items
    return [i.url.rpartition("/")[2] for i in items if i.name == "rocm-bootstrap"]


@pytest.mark.parametrize(
    ("attributes", "need", "taken"),
    [
        ("", ">=0.2", "0.3.0"),
        ('data-yanked="broken"', ">=0.2", "0.2.0"),
        ('data-yanked="broken"', "==0.3.0", "0.3.0"),
        ('data-requires-python="&gt;=3.99"', ">=0.2", "0.2.0"),
    ],
)
def test_of_a_range_the_newest_that_may_be_used(
    make: Callable[..., Installed], index: Index, attributes: str, need: str, taken: str
) -> None:
    for version in ("0.1.0", "0.3.0", "0.2.0", "0.4.0rc1"):
        name = index.wheel("rocm-bootstrap", version, {"b.py": text("")}, tag="py3-none-any")
        if version == "0.3.0":
            index.links[name] = f'<a href="{name}" {attributes}>{name}</a>'
    index.write()
    found = bootstraps(index, make, f"rocm-bootstrap{need}")
    assert found == [f"rocm_bootstrap-{taken}-py3-none-any.whl"]


def test_a_candidate_is_taken_where_there_is_nothing_else(
    make: Callable[..., Installed], index: Index
) -> None:
    index.wheel("rocm-bootstrap", "0.4.0rc1", {"b.py": text("")}, tag="py3-none-any")
    assert bootstraps(index, make, "rocm-bootstrap") == ["rocm_bootstrap-0.4.0rc1-py3-none-any.whl"]


def test_of_several_builds_the_last(make: Callable[..., Installed], index: Index) -> None:
    for build in ("", "9-", "10-"):
        _, data = wheel("rocm-bootstrap", "0.3.0", {"b.py": text(build)}, tag="py3-none-any")
        index.add("rocm-bootstrap", f"rocm_bootstrap-0.3.0-{build}py3-none-any.whl", data)
    assert bootstraps(index, make, "rocm-bootstrap") == ["rocm_bootstrap-0.3.0-10-py3-none-any.whl"]


@pytest.mark.parametrize(
    "href", ["http://[x", "//[", "http://h:port/x", "http://h:99999/x", "\\\\x\0"]
)
def test_a_link_that_is_none(
    make: Callable[..., Installed], index: Index, site: Site, href: str
) -> None:
    index.has_release()
    page = "/rocm/whl-next/rocm/"
    site.files[page] = site.files[page].replace(b"<body>", f'<body><a href="{href}">x</a>'.encode())
    root = "/rocm/whl-next/"
    site.files[root] = site.files[root].replace(b"<body>", f'<body><a href="{href}">x</a>'.encode())
    assert "rocm-sdk-core" in projects(make("10.0.0"))
    row = {"filename": "rocm-10.0.0.tar.gz", "url": href}
    site.files[page] = json.dumps({"files": [row]}).encode()
    refused(make, RocmenvError, "10.0.0")


@pytest.mark.parametrize("words", [("devel",), ("libraries",), ("device-gfx942", "libraries")])
def test_the_names_of_extras(
    make: Callable[..., Installed], index: Index, words: tuple[str, ...]
) -> None:
    """As people write them to pip: `rocm[libraries,devel]`."""
    index.has_release()
    found = projects(make("10.0.0", "gfx1100", profile="runtime", extra=words))
    assert {f"rocm-sdk-{word}" for word in words} <= set(found)
    assert ("rocm-sdk-device-gfx1100" in found) == ("rocm-sdk-libraries" in found)
    assert "rocm-sdk-libraries" in found  # which the development files lead into


@pytest.mark.parametrize(
    "more",
    [
        {"needs": ("x===\x1b[31m",)},
        {"needs": ("x @ http://h/\x1b[31m",)},
        {"python": "===\x1b[31m"},
    ],
)
def test_what_a_wheel_says_cannot_steer_the_terminal(
    make: Callable[..., Installed], index: Index, more: dict[str, Any]
) -> None:
    index.has_release()
    index.files["rocm-sdk-core"].clear()
    index.add("rocm-sdk-core", *wheel("rocm-sdk-core", "10.0.0", {"x.py": text("")}, **more))
    message = refused(make, RocmenvError, "10.0.0", "gfx942").message
    assert "\\x1b" in message
    assert message.isprintable()
