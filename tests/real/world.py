"""Real releases: built once, served from 127.0.0.1, installed with the program itself."""

from __future__ import annotations

import functools
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.real import amdrepo, debian

SAMPLES = Path(__file__).parent / "samples"
"""A HIP program, and its project for CMake."""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server of this folder."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


@dataclass
class Ran:
    """A finished child: its status and outputs."""

    status: int
    out: str
    err: str


@dataclass
class World:
    """A root with real releases, and projects that use them.

    `folder` holds all of it and is the home of the person. `mirror` is the address of the
    server. `versions` are the releases that are installed, oldest first.
    """

    folder: Path
    mirror: str
    fingerprint: str
    versions: list[str] = field(default_factory=list)

    @property
    def root(self) -> Path:
        """ROCM_ROOT."""
        return self.folder / "root"

    @property
    def launcher(self) -> str:
        """The words that start the program, for a shell."""
        return f"{sys.executable} -m rocmenv"

    def prefix(self, version: str) -> Path:
        """The prefix of an installed release."""
        return self.root / "versions" / version

    def environ(self, **more: str) -> dict[str, str]:
        """The environment of a person with rocmenv's shims on PATH and nothing else of ROCm.

        Nor the machine's proxies: they cannot reach the server, which is on 127.0.0.1.
        """
        return {
            "PATH": f"{self.root}/shims:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.folder),
            "LC_ALL": "C.UTF-8",
            "ROCM_ROOT": str(self.root),
            "ROCMENV_MIRROR": f"{self.mirror}/rocm",
            "ROCMENV_FINGERPRINT": self.fingerprint,
            **more,
        }

    def rocmenv(self, *words: str, cwd: Path | None = None, **more: str) -> Ran:
        """Run the program."""
        return self.run([sys.executable, "-m", "rocmenv", *words], cwd, self.environ(**more))

    def install(self, version: str) -> None:
        """Install a release, and of more than the default the one script that names its place."""
        done = self.rocmenv("install", version, "--with", "rocm-clang-ocl")
        assert done.status == 0, done.err

    def run(
        self, command: list[str], cwd: Path | None = None, environ: Mapping[str, str] | None = None
    ) -> Ran:
        """Run any command, by default in the person's environment."""
        done = subprocess.run(
            command,
            cwd=cwd or self.folder,
            env=environ or self.environ(),
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def project(self, name: str, pin: str) -> Path:
        """A folder with the sample sources and a pin."""
        folder = self.folder / "projects" / name
        folder.mkdir(parents=True, exist_ok=True)
        for sample in SAMPLES.iterdir():
            (folder / sample.name).write_bytes(sample.read_bytes())
        (folder / ".rocm-version").write_text(f"{pin}\n")
        return folder


def build_all(
    out: Path, suites: Iterable[str] = debian.SUITES
) -> tuple[list[amdrepo.BuiltRepository], dict[str, str]]:
    """The releases of these suites that can be had, oldest first; the other suites and why not."""
    built: dict[str, amdrepo.BuiltRepository] = {}
    missing = {}
    for suite in suites:
        try:
            repository = amdrepo.build(suite, out, cache=amdrepo.default_cache())
        except debian.SuiteUnavailable as error:
            missing[suite] = str(error)
        else:
            # Two suites may have one release for a while: the later takes the earlier's place.
            built[repository.version] = repository
    return sorted(built.values(), key=lambda b: amdrepo.release(b.version).parts), missing
