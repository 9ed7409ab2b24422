"""The judge that comes as a wheel: `pysequoia`."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from rocmenv.errors import SignatureError
from rocmenv.fetch.verdict import Bad, Fault, Good, Judgement

if TYPE_CHECKING:
    from rocmenv.fetch.clearsign import Clear

_STRONG = frozenset({"SHA224", "SHA256", "SHA384", "SHA512", "SHA3_256", "SHA3_512"})
# What GnuPG 1 made for RPM packages; Sequoia takes none that are newer than 2021.
_OLD_FORM = 3


@dataclass(slots=True)
class _Key:
    """A primary key or subkey of the ring; `ends` is when its own binding says it expires."""

    primary: str
    created: datetime | None = None
    bound: datetime | None = None
    ends: datetime | None = None
    revoked: bool = False


@dataclass(slots=True)
class _Ring:
    keys: dict[str, _Key] = field(default_factory=dict)
    certificates: dict[str, Any] = field(default_factory=dict)

    def find(self, name: str | None) -> tuple[str, _Key] | None:
        """The key whose fingerprint is, or ends in, `name` (upper-case hex)."""
        for fingerprint, key in self.keys.items():
            if name and fingerprint.endswith(name):
                return fingerprint, key
        return None


def is_available() -> bool:
    """Whether `pysequoia` can be loaded."""
    try:
        import pysequoia  # noqa: F401, PLC0415 - slow to load, and missing where no wheel fits
    except ImportError:
        return False
    return True


def judge(data: bytes, clear: Clear | None, signatures: bytes, ring: bytes) -> Judgement:
    """What `pysequoia` says of `data`; `signatures` and `ring` are binary packets.

    Raises:
        SignatureError: the signatures or the key ring cannot be read at all.
    """
    try:
        return _judge(data, clear, signatures, ring)
    except RuntimeError as error:
        raise SignatureError("the key ring or the signature is damaged") from error


def _judge(data: bytes, clear: Clear | None, signatures: bytes, ring: bytes) -> Judgement:
    keys = _ring(ring)
    packets = _packets(signatures, "signature")
    text, valid = _valid(data, clear, packets, keys)
    good: list[Good] = []
    bad: list[Bad] = []
    for packet in packets:
        name = _name(packet)
        found = keys.find(name)
        fault = _fault(packet, clear, keys, found)
        if fault is not None:
            bad.append(fault)
        elif found is not None and found[0] in valid:
            good.append(Good(found[1].primary, found[0]))
        elif packet.signature_version == _OLD_FORM:
            bad.append(Bad(Fault.OLD_FORM, name, found[1].primary if found else ""))
        else:
            bad.append(Bad(Fault.ALTERED, name, found[1].primary if found else ""))
    return Judgement(tuple(good), tuple(bad), text)


def _ring(ring: bytes) -> _Ring:
    """The keys of `ring`; those of a form that Sequoia does not know are passed over."""
    import pysequoia  # noqa: PLC0415 - slow to load, and missing where no wheel fits

    found = _Ring()
    current: _Key | None = None
    primary = ""
    packets: dict[str, list[bytes]] = {}
    for packet in _packets(ring, "key ring"):
        kind = str(packet.tag).rpartition(".")[2]
        if kind in ("PublicKey", "PublicSubkey"):
            fingerprint = _fingerprint(packet)
            primary = fingerprint if kind == "PublicKey" else primary
            current = _Key(primary, packet.key_created) if fingerprint and primary else None
            if current is not None:
                found.keys[fingerprint] = current
        elif kind == "Signature" and current is not None:
            _take_binding(current, packet)
        packets.setdefault(primary, []).append(bytes(packet))
    for name, parts in packets.items():
        with contextlib.suppress(SignatureError):
            found.certificates[name] = _called(
                pysequoia.Cert.from_bytes, b"".join(parts), what="key ring"
            )
    return found


def _fingerprint(packet: Any) -> str:  # noqa: ANN401 - pysequoia has no types
    try:
        return str(packet.fingerprint or "").upper()
    except RuntimeError:
        return ""


def _take_binding(key: _Key, packet: Any) -> None:  # noqa: ANN401 - pysequoia has no types
    """Note what a signature on a key says of its end; the newest one counts."""
    kind = str(packet.signature_type).rpartition(".")[2]
    if kind in ("SubkeyRevocation", "KeyRevocation"):
        key.revoked = True
    made = packet.signature_created
    if kind not in ("SubkeyBinding", "DirectKey", *_CERTIFICATIONS) or made is None:
        return
    if key.bound is None or made >= key.bound:
        key.bound = made
        period = packet.key_validity_period
        has_end = isinstance(period, timedelta) and bool(period)
        key.ends = key.created + period if has_end and key.created is not None else None


_CERTIFICATIONS = (
    "GenericCertification",
    "PersonaCertification",
    "CasualCertification",
    "PositiveCertification",
)


def _valid(
    data: bytes, clear: Clear | None, packets: list[Any], ring: _Ring
) -> tuple[bytes | None, set[str]]:
    """The text as read, and the fingerprints of keys with a signature that holds."""
    import pysequoia  # noqa: PLC0415 - slow to load, and missing where no wheel fits

    certificates = list(ring.certificates.values())
    valid: set[str] = set()
    if clear is not None:
        result = _verified(bytes=data, store=lambda _ids: certificates)
        if result is None:
            return None, valid
        return result.bytes, {sig.signing_key.upper() for sig in result.valid_sigs}
    for packet in packets:
        signature = _called(pysequoia.Sig.from_bytes, bytes(packet), what="signature")
        result = _verified(bytes=data, store=lambda _ids: certificates, signature=signature)
        if result is not None:
            valid.update(sig.signing_key.upper() for sig in result.valid_sigs)
    return None, valid


def _verified(**arguments: Any) -> Any:  # noqa: ANN401 - pysequoia has no types
    import pysequoia  # noqa: PLC0415 - slow to load, and missing where no wheel fits

    try:
        return pysequoia.verify(**arguments)
    except RuntimeError:  # no valid signature: `_fault` finds out which way
        return None


def _fault(  # noqa: PLR0911  (a list of reasons, the first one counts)
    packet: Any,  # noqa: ANN401 - pysequoia has no types
    clear: Clear | None,
    ring: _Ring,
    found: tuple[str, _Key] | None,
) -> Bad | None:
    """Why the signature cannot count, apart from the text being another one."""
    name = _name(packet)
    digest = str(packet.hash_algorithm).rpartition(".")[2].upper()
    if found is None:
        return Bad(Fault.KEY_UNKNOWN, name)
    fingerprint, key = found
    now = datetime.now(timezone.utc)
    if digest not in _STRONG:
        return Bad(Fault.WEAK_DIGEST, fingerprint, key.primary, digest)
    if clear is not None and digest.replace("_", "-") not in clear.hashes:
        detail = f"its text announces another digest than {digest}"
        return Bad(Fault.ALTERED, fingerprint, key.primary, detail)
    certificate = ring.certificates.get(key.primary)
    if certificate is None:
        return Bad(Fault.KEY_UNKNOWN, fingerprint, key.primary)
    if certificate.is_revoked or key.revoked:
        return Bad(Fault.KEY_REVOKED, fingerprint, key.primary)
    try:
        ends = [certificate.expiration, key.ends]
    except RuntimeError as error:
        fault = Fault.WEAK_KEY if "not considered secure" in str(error) else Fault.UNREADABLE
        return Bad(fault, fingerprint, key.primary)
    past = [end for end in ends if end is not None and end <= now]
    if past:
        return Bad(Fault.KEY_EXPIRED, fingerprint, key.primary, f"{min(past):%Y-%m-%d}")
    end = packet.signature_expiration_time
    if end is not None and end <= now:
        return Bad(Fault.SIGNATURE_EXPIRED, fingerprint, key.primary, f"{end:%Y-%m-%d}")
    return None


def _name(packet: Any) -> str:  # noqa: ANN401 - pysequoia has no types
    return str(packet.issuer_fingerprint or packet.issuer_key_id or "").upper()


def _packets(data: bytes, what: str) -> list[Any]:
    from pysequoia.packet import PacketPile  # noqa: PLC0415 - slow to load, and missing where no wheel fits

    packets = list(_called(PacketPile.from_bytes, data, what=what))
    if not packets:
        raise SignatureError(f"the {what} holds no OpenPGP packet")
    if what == "signature" and any(str(p.tag) != "Tag.Signature" for p in packets):
        raise SignatureError("the signature block holds something else than signatures")
    return packets


def _called(function: Any, data: bytes, *, what: str) -> Any:  # noqa: ANN401 - pysequoia has no types
    """`function(data)`, its errors as ours; pyo3 turns a Rust panic into a BaseException."""
    try:
        return function(data)
    except BaseException as error:
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise SignatureError(f"the {what} cannot be read as OpenPGP packets") from error
        raise
