"""Fixtures that every test may have: an untouched environment, a root, a web server."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocmenv.fetch.network import Network
from rocmenv.fetch.transfer import Downloads
from rocmenv.store.paths import Root
from tests.cli.runner import Runner
from tests.fetch.server import Site, serving
from tests.tools import tool

CASES = Path(__file__).parent / "cases"


@pytest.fixture(autouse=True)
def _environment_is_left_alone() -> Iterator[None]:
    before = dict(os.environ)
    yield
    after = dict(os.environ)
    after.pop("PYTEST_CURRENT_TEST", None)
    before.pop("PYTEST_CURRENT_TEST", None)
    assert after == before, "the test changed os.environ"


@pytest.fixture
def root(tmp_path: Path) -> Root:
    """A root that nothing is in, and that is not made yet."""
    return Root(tmp_path / "root")


@pytest.fixture
def rocmenv(capfd: pytest.CaptureFixture[str], root: Root, tmp_path: Path) -> Runner:
    """Call rocmenv in the test's folder, inside this process."""
    return Runner(capfd, root, tmp_path)


@pytest.fixture
def site() -> Iterator[Site]:
    """A web server on 127.0.0.1, empty at first."""
    with serving(Site()) as running:
        yield running


@pytest.fixture
def downloads(tmp_path: Path) -> Downloads:
    """Downloads into an empty cache, with next to no pause between attempts."""
    return Downloads(tmp_path / "cache", network=Network(timeout=5.0, pause=0.01, retries=2))


@pytest.fixture
def cases() -> Path:
    """The folder with the samples of the field reports (read only: copy before writing)."""
    return CASES


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of 127.0.0.1, and its key, that nobody vouches for."""
    openssl = tool("openssl")
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test"]
    more = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(path), "-out", f"{path}.crt"]
    subprocess.run([openssl, *words, *more], check=True, capture_output=True)
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    return path
