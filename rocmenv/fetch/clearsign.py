"""The outer form of signed files: clear-signed text and armour, read strictly.

OpenPGP programs look for a signed block anywhere in a file and ignore the rest; text
outside the block would then be read by us and signed by nobody. So a file is one block and
nothing else, as apt demands of an InRelease file.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass

from rocmenv.errors import SignatureError, visible
from rocmenv.fetch.kind import HEAD, kind

_BEGIN = b"-----BEGIN PGP SIGNED MESSAGE-----"
_BEGIN_SIGNATURE = b"-----BEGIN PGP SIGNATURE-----"
_END = b"-----END PGP SIGNATURE-----"
_AGAIN = "download it again, or use another mirror with `--mirror URL`"
_ARMOUR = re.compile(
    rb"^-----BEGIN PGP ([A-Z ]+)-----[ \t]*\n(.*?)^-----END PGP \1-----[ \t]*$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Clear:
    """A clear-signed file in parts.

    `text` is the signed text as RFC 9580 section 7 defines it: dashes unescaped, blanks at
    line ends removed, no line end after the last line. `hashes` are the digest names that
    the file announces, `signature` the armoured block.
    """

    text: bytes
    hashes: frozenset[str]
    signature: bytes


def split(data: bytes) -> Clear:
    """The parts of the clear-signed `data`; raises `SignatureError` unless it is only that."""
    _check_start(data)
    lines = data.split(b"\n")
    if _BEGIN_SIGNATURE not in lines:
        raise SignatureError("the signed file is cut off before its signature", hint=_AGAIN)
    at = lines.index(_BEGIN_SIGNATURE)
    if _END not in lines[at:]:
        raise SignatureError("the signed file is cut off inside its signature", hint=_AGAIN)
    end = lines.index(_END, at)
    if any(line.strip() for line in lines[end + 1 :]):
        message = "there is text after the signed block, which nobody has signed"
        raise SignatureError(message, hint=_AGAIN)
    hashes, start = _hashes(lines[1:at])
    text = [_unescaped(line) for line in lines[1 + start : at]]
    return Clear(b"\n".join(text), hashes, b"\n".join(lines[at : end + 1]) + b"\n")


def _check_start(data: bytes) -> None:
    if not data.strip():
        raise SignatureError("the signed file is empty", hint=_AGAIN)
    if b"\r" in data:
        message = "the signed file has Windows line ends, so it is not the file that was published"
        raise SignatureError(message, hint="copy it unchanged (binary), or download it again")
    if data.startswith(_BEGIN + b"\n"):
        return
    if re.search(rb"^" + re.escape(_BEGIN) + rb"$", data, re.MULTILINE):
        message = "there is text before the signed block, which nobody has signed"
        raise SignatureError(message, hint=_AGAIN)
    found = kind(data[:HEAD])
    first = visible(data.split(b"\n", 1)[0])
    raise SignatureError(f"{found} came instead of a signed file: {first}", hint=_AGAIN)


def _hashes(lines: list[bytes]) -> tuple[frozenset[str], int]:
    """The announced digests, and where the text starts."""
    names: set[str] = set()
    for number, line in enumerate(lines):
        if not line.strip():
            return frozenset(names), number + 1
        name, _, value = line.partition(b":")
        if name != b"Hash":
            message = f"the signed file has an unknown header {visible(line)}"
            raise SignatureError(message, hint=_AGAIN)
        names.update(v.strip().decode("ascii", "replace").upper() for v in value.split(b","))
    raise SignatureError("the signed file has no text", hint=_AGAIN)


def _unescaped(line: bytes) -> bytes:
    if line.startswith(b"- "):
        line = line[2:]
    elif line.startswith(b"-"):
        message = f"the signed text has a line that starts with a bare dash: {visible(line)}"
        raise SignatureError(message, hint=_AGAIN)
    return line.rstrip(b" \t")


def dearmoured(data: bytes) -> bytes:
    """The packets in `data`: all armoured blocks one after the other, or `data` when binary.

    `gpgv` reads binary key rings only, and key files with several blocks are common.

    Raises:
        SignatureError: an armoured block is damaged, or there is none where one is begun.
    """
    if b"-----BEGIN PGP " not in data:
        return data
    data = data.replace(b"\r\n", b"\n")
    blocks = [match[2] for match in _ARMOUR.finditer(data)]
    if not blocks:
        raise SignatureError("the OpenPGP block is cut off: it has no end line")
    return b"".join(map(_decoded, blocks))


def _decoded(block: bytes) -> bytes:
    headers, blank, body = block.partition(b"\n\n")
    if block.startswith(b"\n"):
        body = block
    elif not blank:
        body = headers
    lines = [line.strip() for line in body.split(b"\n")]
    text = b"".join(line for line in lines if not line.startswith(b"="))
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise SignatureError("the OpenPGP block is damaged: it is not base64") from error
