"""Which certificate authorities a server's certificate may come from."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmenv.errors import TransferError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping

SETTING = "network.ca"
# The first that is set stands in for the system's; the last two are of requests and curl.
_FILES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_FOLDER = "SSL_CERT_DIR"
# Where systems keep theirs: a Python that was built elsewhere looks in the wrong place.
# Debian and Arch; Fedora and RHEL; openSUSE; Alpine.
_SYSTEMS = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


@dataclass(frozen=True, slots=True)
class Certificates:
    """`extra` (a file or folder) is trusted besides the system's certificates.

    `file` and `folder` stand in for the system's; `origin` names the variable of `file`.
    """

    extra: str | None = None
    file: str | None = None
    folder: str | None = None
    origin: str = ""

    @classmethod
    def of(cls, environ: Mapping[str, str], extra: str | None) -> Certificates:
        """What the variables say, and the setting."""
        origin = next((name for name in _FILES if environ.get(name)), "")
        folder = environ.get(_FOLDER) or None
        file = environ.get(origin) or None
        if file and origin != _FILES[0] and os.path.isdir(file):  # requests takes a folder, too
            folder, file = file, None
        return cls(extra, file, folder, origin)

    def context(self) -> ssl.SSLContext:
        """A context that verifies servers.

        Raises:
            TransferError: a file or folder that was named cannot be used.
        """
        import ssl  # noqa: PLC0415 - only for encrypted connections

        if self.file or self.folder:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            _load(context, self.origin or _FOLDER, self.file, self.folder)
        else:
            context = ssl.create_default_context()
            if not _has_system(context):
                found = next((path for path in _SYSTEMS if os.path.isfile(path)), None)
                if found:
                    context.load_verify_locations(found)
        if self.extra:
            is_folder = os.path.isdir(self.extra)
            file, folder = (None, self.extra) if is_folder else (self.extra, None)
            _load(context, SETTING, file, folder)
        return context


def _has_system(context: ssl.SSLContext) -> bool:
    """Whether OpenSSL found certificates where it was built to look; a folder is read later."""
    import ssl  # noqa: PLC0415 - only for encrypted connections

    folder = ssl.get_default_verify_paths().capath
    return context.cert_store_stats()["x509"] > 0 or bool(folder and os.listdir(folder))


def _load(context: ssl.SSLContext, origin: str, file: str | None, folder: str | None) -> None:
    import ssl  # noqa: PLC0415 - only for encrypted connections

    try:
        if folder is not None:
            os.listdir(folder)
        context.load_verify_locations(file, folder)
    except (OSError, ssl.SSLError) as error:  # an SSLError is an OSError with other words
        is_form = isinstance(error, ssl.SSLError)
        why = "it holds no certificate in PEM" if is_form else (error.strerror or "").lower()
        msg = f"the certificates in `{file or folder}` cannot be used: {why} ({origin})"
        way = f"rocmenv config unset {SETTING}" if origin == SETTING else f"unset {origin}"
        raise TransferError(msg, hint=f"name a PEM file there, or: `{way}`") from error
