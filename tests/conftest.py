"""Fixtures that every test may have: an untouched environment, a root, a web server."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rocmenv.fetch.network import Network
from rocmenv.fetch.transfer import Downloads
from rocmenv.store.paths import Root
from tests.cli.runner import Runner
from tests.fetch.server import Site, serving
from tests.tools import tool

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadFileScheduling

CASES = Path(__file__).parent / "cases"


# Their tests share the fixture `world`, which takes half a minute and gigabytes.
_OF_ONE_WORLD = ("main_job", "mirror", "verify")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests on real ROCm first: no long file must be the last one of two processes."""
    items.sort(key=lambda item: item.get_closest_marker("real") is None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    """Give out whole files (`-n`), and those of one world as if they were one."""
    from xdist.scheduler import LoadFileScheduling  # noqa: PLC0415 - only where it is used

    world = {f"tests/real/test_{name}.py" for name in _OF_ONE_WORLD}

    class Scheduling(LoadFileScheduling):  # type: ignore[misc] # it comes without types
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return "world" if file in world else file

    config.option.loadscopereorder = False  # which would put the files of few tests last
    return Scheduling(config, log)


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
