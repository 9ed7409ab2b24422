"""The signing key, and what it signs."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.real import debian
from tests.real.amdrepo.files import write_file


@dataclass(frozen=True, slots=True)
class Key:
    """The signing key: made once per cache, of no worth outside of tests."""

    secret: Path
    public: Path
    fingerprint: str

    def sign(self, dists: Path) -> None:
        """Write `InRelease` and `Release.gpg` beside `Release`."""
        release_file = dists / "Release"
        with _gnupg() as gpg:
            gpg("--import", str(self.secret))
            gpg("--clearsign", "-o", str(dists / "InRelease"), str(release_file))
            gpg("-a", "-b", "-o", str(dists / "Release.gpg"), str(release_file))


def signing_key(cache: Path) -> Key:
    """The key kept in the cache, made if there is none."""
    secret, public = cache / "key" / "secret.asc", cache / "key" / "public.asc"
    identity = "ROCm made for tests <test@example.invalid>"
    with debian.locked(cache / "locks" / "key"), _gnupg() as gpg:
        if not secret.is_file():
            gpg("--passphrase", "", "--quick-gen-key", identity, "rsa3072", "sign", "never")
            secret.parent.mkdir(parents=True, exist_ok=True)
            secret.parent.chmod(0o700)
            write_file(public, gpg("--armor", "--export"))
            write_file(secret, gpg("--armor", "--export-secret-keys"), 0o600)
        shown = gpg("--with-colons", "--show-keys", str(public))
    match = re.search(r"(?m)^fpr:.*:([0-9A-F]{40}):", shown)
    if match is None:
        raise ValueError(f"{public} holds no key")
    return Key(secret, public, match[1])


@contextmanager
def _gnupg() -> Iterator[Callable[..., str]]:
    """Run gpg in a home of its own; short, as a socket's path may not be long."""
    home = tempfile.mkdtemp(prefix="gpg-")
    options = ["gpg", "--homedir", home, "--batch", "--yes", "-q", "--pinentry-mode", "loopback"]

    def gpg(*arguments: str) -> str:
        command = [*options, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    try:
        yield gpg
    finally:
        stop = ["gpgconf", "--homedir", home, "--kill", "all"]
        subprocess.run(stop, check=False, capture_output=True)
        shutil.rmtree(home, ignore_errors=True)
