"""The distribution's own ROCm, straight from this machine's mirror, as root and without."""

from __future__ import annotations

import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rocmenv.errors import HostError, RepositoryError, ResolveError, TransferError
from rocmenv.fetch.network import Network
from rocmenv.fetch.transfer import Downloads
from rocmenv.model.version import Spec
from rocmenv.sources import distro
from rocmenv.sources.base import Request
from tests.tools import tool

pytestmark = pytest.mark.real

SAMPLES = Path(__file__).parent / "samples"
PROJECT = Path(__file__).parents[2]
INSTALL = ("install", "latest", "--channel", "distro")
TARGETS = (
    "-DGPU_TARGETS=gfx90a",
    "-DAMDGPU_TARGETS=gfx90a",
    "-DCMAKE_HIP_ARCHITECTURES=gfx90a",
)


@dataclass
class Person:
    """Somebody with an empty folder, who runs rocmenv there; `uid` is None for ourselves."""

    folder: Path
    python: str
    uid: int | None

    @property
    def root(self) -> Path:
        return self.folder / "root"

    @property
    def environ(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if k.lower().endswith("_proxy")}
        return {
            **kept,
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.folder),
            "LC_ALL": "C.UTF-8",
            "ROCM_ROOT": str(self.root),
            "PYTHONPATH": f"{PROJECT}:{sysconfig.get_path('purelib')}",
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the folder, with nothing of ROCm in the environment."""
        groups: list[int] | None = None if self.uid is None else []
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environ,
            user=self.uid,
            group=self.uid and pwd.getpwuid(self.uid).pw_gid,
            extra_groups=groups,
            capture_output=True,
            text=True,
            check=False,
            timeout=280,
        )

    def rocmenv(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.run(self.python, "-m", "rocmenv", *words)

    @property
    def version(self) -> str:
        """The installed version, as its receipt says."""
        receipts = list(self.root.glob("versions/*/.rocmenv/receipt.json"))
        assert len(receipts) == 1, receipts
        return str(json.loads(receipts[0].read_text())["version"])

    @property
    def prefix(self) -> Path:
        return self.root / "versions" / self.version

    def active(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command after the activation of the installed version in a real shell."""
        env = f"{self.python} -m rocmenv env {self.version} --shell sh"
        return self.run("sh", "-c", f'eval "$({env})"; exec "$@"', "sh", *command)


@pytest.fixture(scope="module")
def _offered(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip where this machine's sources have no ROCm that it can run."""
    downloads = Downloads(tmp_path_factory.mktemp("distro") / "cache", network=Network(retries=1))
    try:
        distro.plan(Spec.parse("latest"), None, Request(), downloads)
    except (HostError, ResolveError, RepositoryError, TransferError) as error:
        pytest.skip(f"no ROCm from this machine's package sources: {error.message}")


@pytest.fixture(scope="module", params=["ourselves", "nobody"])
def person(request: pytest.FixtureRequest, _offered: None) -> Iterator[Person]:
    """Somebody who has the distribution's ROCm installed."""
    uid = None
    if request.param == "nobody":
        if os.geteuid() != 0:
            pytest.skip("only root can become somebody else, and we are without root already")
        uid = pwd.getpwnam("nobody").pw_uid
    # Not pytest's own folder: that is closed to others.
    with tempfile.TemporaryDirectory(prefix="rocmenv-distro-") as name:
        folder = Path(name)
        for sample in SAMPLES.iterdir():
            shutil.copy(sample, folder)
        if uid is not None:
            os.chown(folder, uid, -1)
        someone = Person(folder, sys.executable, uid)
        if uid is not None:
            someone.python = _python_for(someone)
        done = someone.rocmenv(*INSTALL)
        assert done.returncode == 0, done.stderr
        yield someone


def _python_for(person: Person) -> str:
    """A Python that `person` may run, of our version; else skip."""
    number = f"{sys.version_info.major}.{sys.version_info.minor}"
    for python in (sys.executable, f"/usr/bin/python{number}", f"/usr/local/bin/python{number}"):
        try:
            done = person.run(python, "-c", "import rocmenv, click, rich, debian_inspector")
        except OSError:
            continue
        if done.returncode == 0:
            return python
    pytest.skip("there is no Python with our packages that another user may run")


def test_what_was_planned_is_installed(person: Person) -> None:
    plan = json.loads(person.rocmenv(*INSTALL, "--dry-run", "--json").stdout)
    receipt = json.loads((person.prefix / ".rocmenv/receipt.json").read_text())
    assert plan["version"] == receipt["version"]
    assert {p["name"] for p in plan["parts"]} == {i["name"] for i in receipt["items"]}
    assert sum(p["size"] for p in plan["parts"]) == plan["download"]
    assert receipt["source"] == "distro"
    assert receipt["layout"]["kind"] == "distro"
    assert receipt["host"] == plan["host"]
    assert (person.prefix / ".info/version").read_text() == f"{receipt['version']}\n"


def test_without_a_network_the_indexes_of_the_install_are_known(person: Person) -> None:
    done = person.rocmenv("install", "latest", "--channel", "distro", "--dry-run", "--offline")
    assert done.returncode == 0, done.stderr
    assert f"{person.version} from distro" in done.stdout


def test_the_prefix_holds_no_part_of_the_c_library(person: Person) -> None:
    names = {path.name for path in person.prefix.rglob("lib*.so*")}
    assert not names & {"libc.so.6", "libm.so.6", "libpthread.so.0", "libstdc++.so.6"}
    assert not (person.prefix / "include/stdlib.h").exists()


def test_no_link_of_the_prefix_leads_nowhere(person: Person) -> None:
    links = [path for path in person.prefix.rglob("*") if path.is_symlink()]
    assert links
    assert [link for link in links if not link.exists()] == []


def test_hipcc_is_clang_and_not_nvcc(person: Person) -> None:
    done = person.active("hipcc", "--version")
    assert done.returncode == 0, done.stderr
    assert "clang version" in done.stdout
    assert f"InstalledDir: {person.prefix}/" in done.stdout
    assert "nvcc" not in done.stdout.lower()


def test_a_program_is_compiled_and_runs(person: Person) -> None:
    tool("c++")  # clang takes its C++ library and linker from there
    command = ("hipcc", "--offload-arch=gfx90a", "vector_add.hip", "-o", "vector_add")
    done = person.active(*command)
    assert done.returncode == 0, done.stderr
    _assert_runs(person, "./vector_add")


@pytest.mark.parametrize(
    "options",
    [("-DCMAKE_CXX_COMPILER=clang++",), ("-DHOST_ONLY=ON",), ("-DWITH_HIP_LANGUAGE=ON",)],
    ids=["find_package", "host only", "HIP language"],
)
def test_cmake_finds_it(person: Person, options: tuple[str, ...]) -> None:
    cmake = tool("cmake")
    tool("c++")
    build = f"build-{len(options[0])}"
    done = person.active(cmake, "-S", ".", "-B", build, *TARGETS, *options)
    assert done.returncode == 0, done.stderr
    if "LANGUAGE" not in options[0]:
        assert re.search(rf"HIP \S+ from {re.escape(str(person.prefix))}/", done.stdout)
    done = person.active(cmake, "--build", build)
    assert done.returncode == 0, done.stdout + done.stderr
    _assert_runs(person, f"{build}/vector_add")


def _assert_runs(person: Person, program: str) -> None:
    """The program runs on the runtime of the prefix: by its own header."""
    header = (person.prefix / "include/hip/hip_version.h").read_text()
    found = dict(re.findall(r"#define HIP_VERSION_(MAJOR|MINOR|PATCH) (\d+)", header))
    major, minor, patch = (int(found[name]) for name in ("MAJOR", "MINOR", "PATCH"))
    done = person.active(program)
    assert f"compiled {major}.{minor}.{patch}\n" in done.stdout, done.stderr
    number = major * 10_000_000 + minor * 100_000 + patch
    assert f"runtime {number} hipSuccess\n" in done.stdout
    # Without a GPU the sample ends with 2 and the runtime's own words for that.
    assert done.returncode == 0 or (done.returncode == 2 and "hipErrorNoDevice" in done.stdout)


@pytest.mark.parametrize(
    "command",
    [
        ("ls", "/"),
        ("perl", "-e", "exit 0"),
        ("/usr/bin/python3", "-c", "import ssl, sqlite3, lzma"),
        ("cmake", "--version"),
        ("c++", "--version"),
    ],
    ids=lambda command: str(command[0]),
)
def test_programs_of_the_host_still_run(person: Person, command: tuple[str, ...]) -> None:
    tool(command[0])
    done = person.active(*command)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.usefixtures("_offered")
def test_the_whole_sdk_compiles_and_loads(tmp_path: Path) -> None:
    """The largest profile: its CMake files are all found, and its libraries belong together."""
    cmake = tool("cmake")
    tool("c++")
    shutil.copytree(PROJECT / "tests/real/sdk", tmp_path, dirs_exist_ok=True)
    person = Person(tmp_path, sys.executable, None)
    done = person.rocmenv(*INSTALL, "--profile", "full")
    assert done.returncode == 0, done.stderr
    assert [p for p in person.prefix.rglob("*") if p.is_symlink() and not p.exists()] == []
    configs = {p.parent for p in person.prefix.glob("lib/**/cmake/*/*onfig.cmake")}
    # `hip` is found by all, `hip-lang` belongs to a language; Debian 12's `rocm_smi` names a
    # library that is in none of its packages.
    libraries = sorted(p.name for p in configs if re.match(r"roc(?!m_smi)|hip(?!-lang)", p.name))
    assert {"rocprim", "rocrand", "rocsparse"} <= set(libraries)
    names = f"-DLIBRARIES={';'.join(libraries)}"
    compiler = "-DCMAKE_CXX_COMPILER=clang++"
    done = person.active(cmake, "-S", ".", "-B", "build", *TARGETS, names, compiler)
    assert done.returncode == 0, done.stderr
    found = re.findall(r"library (\S+) \S+ (\S+)", done.stdout)
    assert [name for name, _ in found] == libraries
    assert all(folder.startswith(f"{person.prefix}/") for _, folder in found), found
    done = person.active(cmake, "--build", "build")
    assert done.returncode == 0, done.stdout + done.stderr
    done = person.active("build/libraries")
    assert re.search(r"^rocrand [1-9]\d+$", done.stdout, re.MULTILINE), done.stderr
    loaded = person.active("ldd", "build/libraries").stdout
    for name in ("rocrand", "rocsparse", "amdhip64"):
        assert re.search(rf"lib{name}\.so\S* => {re.escape(str(person.prefix))}/", loaded), loaded


def test_programs_of_the_release_run(person: Person) -> None:
    done = person.active("rocminfo")  # says so when there is no driver, or lists agents
    assert "ROCk module is" in done.stdout + done.stderr, done.stderr
    assert "error while loading" not in done.stderr


def test_what_is_damaged_is_mended_with_its_own_packages(person: Person) -> None:
    """A header and a forwarding file that rocmenv made, behind whose back they were changed."""
    header = person.prefix / "include/hip/hip_runtime.h"
    info = person.prefix / ".info/version"
    forward = next((person.prefix / "lib/cmake").glob("*/*-config.cmake"))
    before = {path: path.read_bytes() for path in (header, info, forward)}
    for path in before:
        path.unlink()
    assert person.rocmenv("verify", person.version).returncode == 1
    done = person.rocmenv("verify", "--deep", "--repair", person.version)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {path: path.read_bytes() for path in before} == before


def test_it_is_uninstalled_without_a_trace(person: Person) -> None:
    version = person.version
    done = person.rocmenv("uninstall", "--yes", version)
    assert done.returncode == 0, done.stderr
    assert list((person.root / "versions").iterdir()) == []
    assert person.rocmenv("prefix", version).returncode != 0
