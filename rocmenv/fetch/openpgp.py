"""Signed files: what was signed, and by whom, or an error that says why not.

Two judges. `pysequoia` (a wheel, no system package needed) is asked first. The system's
`gpgv` is asked when `pysequoia` is not installed, when a signature has the form of version 3
that RPM packages were signed in for long, and when its policy refuses the *key* for
vouching for itself with SHA-1: AMD's key of 2016 does, so Sequoia refuses the ROCm
repositories since 2026 (https://github.com/ROCm/legacy-rocm-build/issues/5619), while
`gpgv` accepts them. That is sound because the primary key is pinned, by fingerprint or by
being in the user's own key ring, so nothing rests on the weak digest but the key's dates;
a SHA-1 (or weaker) signature *on the file* is refused here whatever `gpgv` says.
"""

from __future__ import annotations

from dataclasses import dataclass

from rocmenv.errors import SignatureError
from rocmenv.fetch import gpgv, sequoia
from rocmenv.fetch.clearsign import Clear, dearmoured, split
from rocmenv.fetch.kind import HEAD, kind
from rocmenv.fetch.verdict import Bad, Fault, Good, Judgement

_NO_JUDGE_HINT = "run `pip install pysequoia`, or install the system's package `gpgv`"
_REFRESH_HINT = "get the repository's present key and give that instead"
_AGAIN_HINT = "try again later, or use another mirror with `--mirror URL`"
_KEYBOX = slice(8, 12)
# What `pysequoia` refuses and `gpgv` may judge.
_REFUSED = {
    Fault.WEAK_KEY: "the key vouches for itself with SHA-1",
    Fault.OLD_FORM: "it has the old form of version 3",
}


@dataclass(frozen=True, slots=True)
class Verified:
    """A good signature: `data` is exactly the signed text.

    For a clear-signed file that is the text without the last line end. `signer` is the
    fingerprint of the primary key, upper-case hex; `notes` are remarks for people.
    """

    data: bytes
    signer: str
    notes: tuple[str, ...] = ()


def verify(
    data: bytes, signature: bytes | None, keyring: bytes, fingerprints: frozenset[str] | None
) -> Verified:
    """The signed content of `data`, made by a pinned key of `keyring`.

    `data` is a clear-signed file when `signature` is None, else the plain file to which
    `signature` (armoured or binary) belongs. `keyring` holds certificates, armoured or
    binary. `fingerprints` (hex; blanks and case do not matter) pins primary keys or
    subkeys; None means that every key of `keyring` is trusted. One good signature suffices.

    Raises:
        SignatureError: for everything else; the message says which thing is wrong.
    """
    pins = None if fingerprints is None else frozenset(map(_plain, fingerprints))
    if pins is not None and not pins:
        raise SignatureError("no key is pinned for this source, so nothing of it can be trusted")
    clear = split(data) if signature is None else None
    block = clear.signature if clear is not None else _checked(signature or b"", data)
    signatures, ring = dearmoured(block), _ring(keyring)
    judgement, notes = _judged(data, clear, signatures, ring, pins)
    good = _pinned(judgement, pins)
    if good is None:
        raise _error(judgement)
    return Verified(_signed(data, clear, judgement), good.primary, notes)


def _pinned(judgement: Judgement, pins: frozenset[str] | None) -> Good | None:
    for good in judgement.good:
        if pins is None or pins & {good.primary, good.key}:
            return good
    return None


def _plain(fingerprint: str) -> str:
    return "".join(fingerprint.split()).removesuffix("!").upper()


def _checked(signature: bytes, data: bytes) -> bytes:
    if not data:
        raise SignatureError("the signed file is empty", hint=_AGAIN_HINT)
    if not signature.strip():
        raise SignatureError("the signature file is empty", hint=_AGAIN_HINT)
    found = kind(signature[:HEAD])
    if found in ("a web page", "XML", "JSON"):
        raise SignatureError(f"{found} came instead of a signature", hint=_AGAIN_HINT)
    if found == "text" and b"-----BEGIN PGP SIGNATURE-----" not in signature:
        raise SignatureError("a text came instead of a signature", hint=_AGAIN_HINT)
    return signature


def _ring(keyring: bytes) -> bytes:
    if not keyring.strip():
        raise SignatureError("the key ring is empty", hint=_REFRESH_HINT)
    found = kind(keyring[:HEAD])
    if found in ("a web page", "XML", "JSON"):
        raise SignatureError(f"{found} came instead of a key ring", hint=_REFRESH_HINT)
    if keyring[_KEYBOX] == b"KBXf":
        hint = "run `gpg --no-default-keyring --keyring ./FILE.kbx --export > FILE.gpg`"
        raise SignatureError("the key ring is a keybox, which only GnuPG reads", hint=hint)
    return dearmoured(keyring)


def _judged(
    data: bytes,
    clear: Clear | None,
    signatures: bytes,
    ring: bytes,
    pins: frozenset[str] | None,
) -> tuple[Judgement, tuple[str, ...]]:
    if not sequoia.is_available():
        if not gpgv.is_available():
            message = "the signature cannot be checked: neither `pysequoia` nor `gpgv` is here"
            raise SignatureError(message, hint=_NO_JUDGE_HINT)
        note = "the signature was checked with `gpgv`, as `pysequoia` is not installed"
        return gpgv.judge(data, clear, signatures, ring), (note,)
    judgement = sequoia.judge(data, clear, signatures, ring)
    reasons = [_REFUSED[bad.fault] for bad in judgement.bad if bad.fault in _REFUSED]
    if _pinned(judgement, pins) or not reasons or not gpgv.is_available():
        return judgement, ()
    note = f"the signature was checked with `gpgv`, as {reasons[0]}"
    return gpgv.judge(data, clear, signatures, ring), (note,)


def _signed(data: bytes, clear: Clear | None, judgement: Judgement) -> bytes:
    if clear is None:
        return data
    if judgement.text != clear.text:
        # Two readers of one file must agree on what it says before either is believed.
        raise SignatureError("the signed text can be read in two ways", hint=_AGAIN_HINT)
    return clear.text


def _error(judgement: Judgement) -> SignatureError:
    if judgement.good:
        return _not_pinned(judgement.good)
    if not judgement.bad:
        return SignatureError("the file has no signature that can be read", hint=_AGAIN_HINT)
    return _words(min(judgement.bad, key=lambda bad: bad.fault))


def _not_pinned(good: tuple[Good, ...]) -> SignatureError:
    names = ", ".join(f"`{g.primary}`" for g in good)
    message = f"the file is signed by {names}, which is not the key expected of this source"
    return SignatureError(message, hint="use another mirror; a new key has to be confirmed first")


def _words(bad: Bad) -> SignatureError:
    key = f"`{bad.primary or bad.key}`"
    on = f" on {bad.detail}" if bad.detail else ""
    causes = {
        Fault.ALTERED: (
            f"the text is not the one that key {key} signed"
            + (f" ({bad.detail})" if bad.detail else ""),
            _AGAIN_HINT,
        ),
        Fault.KEY_REVOKED: (f"key {key}, which signed the file, is revoked", _REFRESH_HINT),
        Fault.KEY_EXPIRED: (f"key {key}, which signed the file, expired{on}", _REFRESH_HINT),
        Fault.SIGNATURE_EXPIRED: (f"the signature by key {key} expired{on}", _AGAIN_HINT),
        Fault.WEAK_DIGEST: (
            f"the signature by key {key} uses {bad.detail}, which can be forged",
            _AGAIN_HINT,
        ),
        Fault.WEAK_KEY: (
            f"key {key} vouches for itself with SHA-1, which `pysequoia` refuses",
            "install the system's package `gpgv`, which accepts it",
        ),
        Fault.OLD_FORM: (
            f"the signature by key {key} has the old form of version 3, which `pysequoia` refuses",
            "install the system's package `gpgv`, which accepts it",
        ),
        Fault.KEY_UNKNOWN: (
            f"key {key}, which signed the file, is not in the key ring",
            _REFRESH_HINT,
        ),
        Fault.UNREADABLE: (f"the signature by key {key} cannot be checked", _AGAIN_HINT),
    }
    message, hint = causes[bad.fault]
    return SignatureError(message, hint=hint)
