"""Fixtures of the tests of downloads."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.tools import tool


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
