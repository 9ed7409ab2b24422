"""Real OpenPGP keys, made by gpg in a folder of their own."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.tools import tool


@contextmanager
def key_folder() -> Iterator[Keys]:
    """An empty gpg home, gone afterwards."""
    tool("gpg")
    # A socket's path is limited to 108 characters, and pytest's folders are long.
    with tempfile.TemporaryDirectory(prefix="rocmenv-gpg-") as name:
        keys = Keys(Path(name) / "home")
        yield keys
        keys.stop()


class Keys:
    """A gpg home below `folder`; names stand for `NAME@example.invalid`."""

    def __init__(self, folder: Path) -> None:
        self.home = folder
        self.home.mkdir(mode=0o700, exist_ok=True)

    def gpg(self, *words: str, given: bytes | None = None) -> bytes:
        run = subprocess.run(
            [
                "gpg",
                "--batch",
                "--quiet",
                "--pinentry-mode",
                "loopback",
                "--passphrase",
                "",
                *words,
            ],
            input=given,
            capture_output=True,
            check=False,
            env={**os.environ, "GNUPGHOME": str(self.home), "LC_ALL": "C"},
        )
        assert run.returncode == 0, run.stderr.decode()
        return run.stdout

    def make(
        self,
        name: str,
        *more: str,
        kind: str = "ed25519",
        use: str = "sign",
        expires: str = "never",
    ) -> str:
        """A new key; returns its fingerprint."""
        self.gpg(*more, "--quick-gen-key", f"{name}@example.invalid", kind, use, expires)
        return self.fingerprints(name)[0]

    def fingerprints(self, name: str) -> list[str]:
        """Of the primary key and of the subkeys."""
        out = self.gpg("--with-colons", "--list-keys", f"{name}@example.invalid").decode()
        return [line.split(":")[9] for line in out.splitlines() if line.startswith("fpr:")]

    def add_subkey(self, name: str, expires: str = "never", *more: str) -> str:
        """A signing subkey; returns its fingerprint."""
        self.gpg(*more, "--quick-add-key", self.fingerprints(name)[0], "rsa2048", "sign", expires)
        return self.fingerprints(name)[-1]

    def revoke(self, name: str) -> None:
        """Revoke the key with the certificate that gpg made for it."""
        path = self.home / "openpgp-revocs.d" / f"{self.fingerprints(name)[0]}.rev"
        self.gpg("--import", given=path.read_bytes().replace(b":-----BEGIN", b"-----BEGIN"))

    def export(self, *names: str, armour: bool = False) -> bytes:
        mails = [f"{name}@example.invalid" for name in names]
        return self.gpg(*(["--armor"] if armour else []), "--export", *mails)

    def clearsign(self, text: bytes, *names: str, more: tuple[str, ...] = ()) -> bytes:
        return self.gpg(*more, *_users(names), "--clearsign", given=text)

    def detach(self, text: bytes, *names: str, armour: bool = True) -> bytes:
        form = ["--armor"] if armour else []
        return self.gpg(*form, *_users(names), "--detach-sign", given=text)

    def stop(self) -> None:
        subprocess.run(
            ["gpgconf", "--kill", "all"],
            env={**os.environ, "GNUPGHOME": str(self.home)},
            check=False,
        )


def _users(names: tuple[str, ...]) -> list[str]:
    return [word for name in names for word in ("--local-user", f"{name}@example.invalid")]
