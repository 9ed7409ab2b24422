"""Debian's real ROCm packages, without root: a private apt, their closure, and what is in them.

Nothing of the machine is changed and nothing of its dpkg status counts: the private apt has an
empty status, so it answers with the whole closure of a package down to libc6.  The mirror, the
proxies and the credentials are the machine's own.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ARCHITECTURE = "amd64"
MULTIARCH = "x86_64-linux-gnu"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")

SUITES = {
    "bookworm": ("bookworm",),
    "trixie": ("trixie",),
    "sid": ("sid",),
    # Experimental is not complete by itself: what it lacks comes from sid.
    "experimental": ("sid", "experimental"),
}
"""Suite → the archive suites to read, packages preferably from the last one; oldest suite first."""

REQUIRED = ("hipcc", "libamdhip64-dev", "rocminfo")
OPTIONAL = (
    "amd-smi",
    "hip-utils",
    "hipify-perl",
    "libamd-comgr-dev",
    "libhsa-runtime-dev",
    "libhsakmt-dev",
    "rocm-cmake",
    "rocm-opencl-icd",
    "rocm-smi",
)
"""Packages that a suite may lack: only the larger part of it is left out then."""

WORKERS = max(2, os.cpu_count() or 1)

_ROLES = {"oldoldstable", "oldstable", "stable", "testing", "unstable", "experimental"}
_DEBIAN_SUITES = _ROLES | {"bullseye", "bookworm", "trixie", "forky", "duke", "sid"}


class SuiteUnavailable(Exception):  # noqa: N818 - it is a finding about the suite, not a fault
    """A suite that cannot be turned into a ROCm release today; the text says why."""


class MirrorUnreachable(SuiteUnavailable):
    """The suite's package lists could not be fetched."""


@dataclass(frozen=True, slots=True, order=True)
class Package:
    """One file of a closure: a package as the archive offers it."""

    name: str
    version: str
    file_name: str
    sha256: str

    @property
    def upstream(self) -> str:
        """The version without epoch, Debian revision and repacking marks: `5.2.3`."""
        return re.sub(r"^\d+:|-[^-]*$", "", self.version).split("+")[0].split("~")[0]


def mirrors() -> list[str]:
    """The URIs of the machine's apt sources that serve Debian's main archive, in order.

    Raises:
        SuiteUnavailable: apt has no such source.
    """
    found: dict[str, None] = {}
    folder = Path("/etc/apt/sources.list.d")
    for path in [Path("/etc/apt/sources.list"), *sorted(folder.glob("*"))]:
        if path.suffix not in {".list", ".sources"} or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        parse = deb822_entries if path.suffix == ".sources" else one_line_entries
        for uris, suites, components in parse(text):
            if "main" in components and _DEBIAN_SUITES.intersection(suites):
                found.update(dict.fromkeys(uris))
    # A third party may use Debian's suite names; Debian's own mirrors end in `/debian`.
    usable = [uri.rstrip("/") for uri in found if re.match(r"(https?|file):", uri)]
    if not usable:
        raise SuiteUnavailable("the machine's apt sources name no Debian mirror")
    return sorted(usable, key=lambda uri: not uri.endswith("/debian"))


Entry = tuple[list[str], list[str], list[str]]
"""URIs, suites and components of a source."""


def deb822_entries(text: str) -> Iterator[Entry]:
    """The enabled sources of binary packages in a `.sources` file."""
    text = re.sub(r"(?m)^#.*\n", "", text)
    for paragraph in re.split(r"\n\s*\n", text):
        fields = {
            name.lower(): value.split()
            for name, value in re.findall(r"(?m)^([\w-]+):((?:.*)(?:\n[ \t].*)*)", paragraph)
        }
        if "deb" in fields.get("types", []) and fields.get("enabled", ["yes"]) != ["no"]:
            yield fields.get("uris", []), fields.get("suites", []), fields.get("components", [])


def one_line_entries(text: str) -> Iterator[Entry]:
    """The sources of binary packages in a `.list` file."""
    for line in text.splitlines():
        match = re.match(r"\s*deb\s+(?:\[[^]]*\]\s+)?(\S+)\s+(\S+)\s+([^#]*)", line)
        if match:
            yield [match[1]], [match[2]], match[3].split()


class PrivateApt:
    """An apt of its own below `root`: lists, state and archives; no root, no host status."""

    def __init__(self, root: Path, suite: str, extra: Sequence[str] = ()) -> None:
        self.root = root
        self.suite = suite
        self.archives = SUITES[suite]
        self.extra = tuple(extra)
        for folder in ("lists/partial", "debs/partial", "nothing/partial", "none", "state"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        (root / "state" / "status").write_bytes(b"")

    def update(self) -> None:
        """Fetch the package lists from the first mirror that has them.

        Raises:
            MirrorUnreachable: no mirror does.
        """
        if not KEYRING.is_file():
            raise MirrorUnreachable(f"{KEYRING} is missing (package debian-archive-keyring)")
        failures = []
        for mirror in mirrors():
            self._configure(mirror)
            result = self._run("apt-get", "-q", "-o", "APT::Update::Error-Mode=any", "update")
            if result.returncode == 0:
                return
            failures.append(f"{mirror}: {_last_line(result)}")
        raise MirrorUnreachable("; ".join(failures))

    def closure(self) -> list[Package]:
        """Everything that the wanted packages need, sorted by name.

        Raises:
            SuiteUnavailable: a required package is missing, or the set cannot be installed.
        """
        names = set(self._run("apt-cache", "pkgnames").stdout.split())
        missing = [name for name in (*REQUIRED, *self.extra) if name not in names]
        if missing:
            raise SuiteUnavailable(f"{self.archives[-1]} has no {', '.join(missing)}")
        # An empty archive folder, so that files fetched before are printed again.
        result = self._install("--print-uris", "-o", f"Dir::Cache::archives={self.root}/nothing")
        lines = re.findall(r"(?m)^'[^']*' (\S+) \d+ SHA256:(\w+)", result.stdout)
        packages = []
        for file_name, sha256 in lines:
            name, version, _ = file_name.split("_")
            packages.append(Package(name, version.replace("%3a", ":"), file_name, sha256))
        if not packages:
            raise SuiteUnavailable(f"apt named no files: {_last_line(result)}")
        return sorted(packages)

    def download(self) -> Path:
        """The folder that holds the files of the closure, fetched and verified by apt.

        Raises:
            SuiteUnavailable: a file cannot be fetched.
        """
        self._install("--download-only")
        return self.root / "debs"

    def _install(self, *options: str) -> subprocess.CompletedProcess[str]:
        names = set(self._run("apt-cache", "pkgnames").stdout.split())
        wanted = [*REQUIRED, *self.extra, *(name for name in OPTIONAL if name in names)]
        command = ["apt-get", "-y", "-q", "-t", self.archives[-1], *options, "install", *wanted]
        result = self._run(*command)
        if result.returncode:
            raise SuiteUnavailable(f"{self.archives[-1]} does not install: {_last_line(result)}")
        return result

    def _run(self, *command: str) -> subprocess.CompletedProcess[str]:
        environ = dict(os.environ, LC_ALL="C.UTF-8", APT_CONFIG=str(self.root / "apt.conf"))
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environ)

    def _configure(self, mirror: str) -> None:
        options = f"[arch={ARCHITECTURE} signed-by={KEYRING}]"
        lines = [f"deb {options} {mirror} {archive} main\n" for archive in self.archives]
        _write_if_changed(self.root / "sources.list", "".join(lines))
        root = self.root
        settings = {
            "Dir::Etc::main": "/dev/null",
            "Dir::Etc::parts": root / "none",
            "Dir::Etc::sourcelist": root / "sources.list",
            "Dir::Etc::sourceparts": root / "none",
            "Dir::Etc::preferences": "/dev/null",
            "Dir::Etc::preferencesparts": root / "none",
            "Dir::State": root / "state",
            "Dir::State::status": root / "state" / "status",
            "Dir::State::lists": root / "lists",
            "Dir::Cache": root,
            "Dir::Cache::archives": root / "debs",
            "APT::Architecture": ARCHITECTURE,
            "APT::Install-Recommends": "0",
            "APT::Sandbox::User": "",
            "Acquire::ForceHash": "SHA256",  # the digest that --print-uris names
            "Acquire::Languages": "none",
            "Acquire::Retries": "3",
            # Ours, one per suite, is taken around the whole build.
            "Debug::NoLocking": "1",
        }
        own = "".join(f'{name} "{value}";\n' for name, value in settings.items())
        _write_if_changed(root / "apt.conf", _transport_settings() + own)


def _transport_settings() -> str:
    """The machine's proxies, and whether it minds lists past their date, as apt.conf text.

    Only these: its hooks (`APT::Update::Post-Invoke`) would act on the machine.
    """
    dump = subprocess.run(
        ["apt-config", "dump"], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    wanted = re.compile(r"Acquire::(http|https|Proxy|ForceIPv|Check)", re.IGNORECASE)
    return "".join(f"{line}\n" for line in dump if wanted.match(line))


def _write_if_changed(path: Path, text: str) -> None:
    # apt compares times: a rewritten file would make it rebuild its binary cache.
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _last_line(result: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for line in (result.stdout + result.stderr).splitlines() if line.strip()]
    told = [line for line in lines if line.startswith(("E:", "W:", "Depends:"))]
    return " ".join(told[-3:]) or " ".join(lines[-1:]) or f"exit status {result.returncode}"


def control_fields(deb: Path) -> dict[str, str]:
    """The control fields of a package file; continuation lines are left out."""
    text = subprocess.run(
        ["dpkg-deb", "-f", deb], check=True, capture_output=True, text=True
    ).stdout
    return dict(re.findall(r"(?m)^([\w-]+): (.*)$", text))


def unpack_each(debs: Iterable[tuple[Path, Path]]) -> None:
    """Unpack each (package file, folder) pair."""

    def unpack(pair: tuple[Path, Path]) -> None:
        pair[1].mkdir(parents=True, exist_ok=True)
        subprocess.run(["dpkg-deb", "-x", *pair], check=True)

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(unpack, debs))


def make_sysroot(debs: Sequence[Path], sysroot: Path) -> None:
    """Unpack operating system packages into `sysroot`, if it is not there yet.

    Documentation, translations and the like are left out.  Links of a merged /usr are made
    first and kept, so that `/lib/…` and `/usr/lib/…` are one place.
    """
    if sysroot.is_dir():
        return
    staged = sysroot.with_name(f"{sysroot.name}.{os.getpid()}")
    for name in ("bin", "sbin", "lib", "lib64"):
        (staged / "usr" / name).mkdir(parents=True, exist_ok=True)
        (staged / name).symlink_to(f"usr/{name}")
    unwanted = ("doc", "man", "info", "locale", "lintian", "zoneinfo", "perl", "i18n", "bug")
    options = [f"--exclude=./usr/share/{name}" for name in unwanted]
    options += ["--exclude=./etc", "--exclude=./var", "--exclude=*/gconv", "--exclude=*.pyc"]
    tar = ["tar", "-x", "--keep-directory-symlink", "--no-same-owner", "-C", str(staged), *options]

    def unpack(deb: Path) -> None:
        command = ["dpkg-deb", "--fsys-tarfile", str(deb)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as source:
            subprocess.run(tar, check=True, stdin=source.stdout)
        if source.returncode:
            raise subprocess.CalledProcessError(source.returncode, command)

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(unpack, debs))
    staged.rename(sysroot)


def missing_libraries(files: Iterable[Path], search: Iterable[Path]) -> list[str]:
    """What the machine's loader cannot give to `files`, in its own words, sorted.

    Empty when they run here as they are: then libc is new enough as well.
    """
    environ = dict(os.environ, LC_ALL="C", LD_LIBRARY_PATH=":".join(map(str, search)))
    found = subprocess.run(
        ["ldd", *files], check=False, capture_output=True, text=True, env=environ
    )
    lines = (found.stdout + found.stderr).splitlines()
    return sorted({line.strip() for line in lines if "not found" in line})


def digest(*parts: str | bytes) -> str:
    """A hexadecimal SHA-256 over parts, each with its length, so that none runs into another."""
    state = hashlib.sha256()
    for part in parts:
        octets = part.encode() if isinstance(part, str) else part
        state.update(b"%d:" % len(octets))
        state.update(octets)
    return state.hexdigest()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file `path`; it falls with the process, however that ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
