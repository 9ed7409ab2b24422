"""Making a static mirror, and the ways to install from it."""

from __future__ import annotations

import io
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import BinaryIO

import pytest

from tests.cli.runner import Result, Runner
from tests.fetch.server import running

OURS = ("index.html", "rocmenv-files.json", ".rocmenv-lock", ".rocmenv-lines.json")
"""What a mirror has besides the files of the server."""


def copier(rocmenv: Runner, folder: Path, *given: str, **environ: str) -> Callable[..., Result]:
    """`rocmenv mirror --to FOLDER` with the words `given`; a call adds words and variables."""

    def call(*words: str, **more: str) -> Result:
        return rocmenv("mirror", *given, *words, "--to", str(folder), **{**environ, **more})

    return call


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a mirror but for the pages, the list of files and the lock."""
    kept = (path for path in folder.rglob("*") if path.is_file() and path.name not in OURS)
    return {str(path.relative_to(folder)): path.read_bytes() for path in kept}


@contextmanager
def plain_server(folder: Path) -> Iterator[str]:
    """A file server that knows nothing of us, in a process of its own."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", str(folder)]
    with subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            for _ in range(200):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.kill()


class _FilesOnly(SimpleHTTPRequestHandler):
    """As a storage bucket: a folder is no address there."""

    def send_head(self) -> io.BytesIO | BinaryIO | None:
        if self.path.endswith("/"):
            self.send_error(404)
            return None
        return super().send_head()

    def log_message(self, *_args: object) -> None:
        pass


@contextmanager
def address_of(folder: Path, way: str) -> Iterator[str]:
    """The mirror's address: of the folder itself, a plain server, or one without folders."""
    if way == "folder":
        yield folder.as_uri()
    elif way == "server":
        with plain_server(folder) as url:
            yield url
    else:
        with running(partial(_FilesOnly, directory=str(folder))) as url:
            yield url


each_way = pytest.mark.parametrize("way", ["folder", "server", "bucket"])


def installs(told: str, url: str) -> list[list[str]]:
    """The words of the installs that `rocmenv mirror` has told, from the mirror at `url`."""
    found = []
    for line in told.splitlines():
        words = shlex.split(line, comments=True)
        assert words[:2] == ["rocmenv", "install"]
        by_host = words[-1] == "http://HOST:8000"
        assert by_host or words[-1].startswith("file:///")
        if by_host == url.startswith("http"):
            found.append([*words[1:-1], url])
    return found
