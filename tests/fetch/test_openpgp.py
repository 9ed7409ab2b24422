"""Signatures: real keys made by gpg, and gpgv as the oracle."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rocmenv.errors import SignatureError
from rocmenv.fetch import gpgv, sequoia
from rocmenv.fetch.clearsign import dearmoured, split
from rocmenv.fetch.openpgp import verify
from rocmenv.fetch.verdict import Judgement
from tests.fetch.keys import Keys, key_folder
from tests.tools import tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TEXT = b"Origin: repo.example.invalid\nSuite: jammy\n\nSHA256:\n- dash\n--- dashes\nlast line\n"
BODY = TEXT[:-1]
PAST = ("--faked-system-time", "20160801T000000!")


class Ring(NamedTuple):
    """Everything that the tests share, since making keys takes seconds."""

    keys: Keys
    fingerprints: dict[str, str]
    all: bytes
    signed: dict[str, bytes]


@pytest.fixture(scope="session")
def ring() -> Iterator[Ring]:
    """Keys of every kind, and a clear-signed file by each."""
    with key_folder() as keys:
        f = {
            "good": keys.make("good"),
            "rsa": keys.make("rsa", kind="rsa2048"),
            "weak": keys.make("weak", *PAST, "--cert-digest-algo", "SHA1", kind="rsa2048"),
            "old": keys.make("old", *PAST, kind="rsa2048", expires="1y"),
            "gone": keys.make("gone"),
            "parent": keys.make("parent", kind="rsa2048", use="cert"),
            "stranger": keys.make("stranger"),
        }
        f["child"] = keys.add_subkey("parent")
        signed = {n: keys.clearsign(TEXT, n) for n in ("good", "rsa", "weak", "gone", "stranger")}
        signed["child"] = keys.clearsign(TEXT, "parent")
        signed["old"] = keys.clearsign(
            TEXT, "old", more=("--faked-system-time", "20161001T000000!")
        )
        signed["two"] = keys.clearsign(TEXT, "stranger", "good")
        signed["sha1"] = keys.clearsign(TEXT, "rsa", more=("--digest-algo", "SHA1"))
        keys.revoke("gone")
        ringed = keys.export("good", "rsa", "weak", "old", "gone", "parent")
        yield Ring(keys, f, ringed, signed)
        keys.stop()


JUDGES = ("pysequoia", "gpgv")


@pytest.fixture(params=JUDGES)
def judge(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each test once with either judge alone."""
    other = gpgv if request.param == "pysequoia" else sequoia
    this = sequoia if request.param == "pysequoia" else gpgv
    if not this.is_available():
        pytest.skip(f"{request.param} is not here")
    monkeypatch.setattr(other, "is_available", lambda: False)
    return str(request.param)


def refusal(call: Callable[[], object]) -> SignatureError:
    with pytest.raises(SignatureError) as caught:
        call()
    return caught.value


@pytest.mark.parametrize("name", ["good", "rsa", "two"])
def test_a_good_signature_gives_exactly_the_signed_text(ring: Ring, judge: str, name: str) -> None:
    pinned = "good" if name == "two" else name
    verified = verify(ring.signed[name], None, ring.all, frozenset({ring.fingerprints[pinned]}))
    assert verified.data == BODY
    assert verified.signer == ring.fingerprints[pinned]
    assert bool(verified.notes) is (judge == "gpgv")


@pytest.mark.parametrize("armour", [True, False])
def test_a_detached_signature_gives_the_file(ring: Ring, judge: str, *, armour: bool) -> None:
    signature = ring.keys.detach(TEXT, "good", armour=armour)
    verified = verify(TEXT, signature, ring.all, frozenset({ring.fingerprints["good"]}))
    assert verified.data == TEXT
    assert judge


@pytest.mark.parametrize("armour", [True, False])
def test_one_good_detached_signature_of_several_suffices(
    ring: Ring, judge: str, *, armour: bool
) -> None:
    signature = ring.keys.detach(TEXT, "stranger", "good", armour=armour)
    pins = frozenset({ring.fingerprints["good"]})
    assert verify(TEXT, signature, ring.all, pins).signer == ring.fingerprints["good"], judge


@pytest.mark.parametrize("pin", ["parent", "child"])
def test_a_subkey_signs_for_its_primary_key(ring: Ring, judge: str, pin: str) -> None:
    pins = frozenset({ring.fingerprints[pin]})
    verified = verify(ring.signed["child"], None, ring.all, pins)
    assert verified.signer == ring.fingerprints["parent"], judge


def test_armoured_key_rings_with_several_blocks_are_read(ring: Ring, judge: str) -> None:
    both = ring.keys.export("rsa", armour=True) + b"\n" + ring.keys.export("good", armour=True)
    assert verify(ring.signed["good"], None, both, None).data == BODY, judge


@pytest.mark.parametrize(
    "form", [str.lower, str.upper, lambda f: f" {f[:4]} {f[4:]}", lambda f: f"{f}!"]
)
def test_fingerprints_are_read_as_people_write_them(ring: Ring, form: Callable[[str], str]) -> None:
    pins = frozenset({form(ring.fingerprints["good"])})
    assert verify(ring.signed["good"], None, ring.all, pins).data == BODY


REFUSED = [
    ("gone", "revoked"),
    ("old", "expired on 2017-08-01"),
    ("stranger", "is not in the key ring"),
    ("sha1", "uses SHA1"),
]


@pytest.mark.parametrize(("name", "words"), REFUSED)
def test_each_bad_key_is_named_for_what_it_is(
    ring: Ring, judge: str, name: str, words: str
) -> None:
    error = refusal(lambda: verify(ring.signed[name], None, ring.all, None))
    assert words in error.message, judge
    assert error.hint


@pytest.mark.parametrize(("name", "words"), REFUSED[:3])
def test_each_bad_key_is_named_for_detached_signatures(
    ring: Ring, judge: str, name: str, words: str
) -> None:
    block = split(ring.signed[name]).signature
    error = refusal(lambda: verify(TEXT, block, ring.all, None))
    # The text differs from the clear-signed one, yet the key's fault is the first to fix.
    assert words in error.message or "is not the one" in error.message, judge


def test_a_key_that_is_not_pinned_is_named(ring: Ring, judge: str) -> None:
    pins = frozenset({ring.fingerprints["rsa"]})
    error = refusal(lambda: verify(ring.signed["good"], None, ring.all, pins))
    assert ring.fingerprints["good"] in error.message, judge
    assert "not the key expected" in error.message


def test_no_pin_at_all_is_refused(ring: Ring) -> None:
    error = refusal(lambda: verify(ring.signed["good"], None, ring.all, frozenset()))
    assert "no key is pinned" in error.message


def test_an_expired_subkey_counts_no_more(ring: Ring, judge: str) -> None:
    name = f"lapsed-{judge}"
    ring.keys.make(name, *PAST, kind="rsa2048", use="cert")
    ring.keys.add_subkey(name, "1y", *PAST)
    then = ("--faked-system-time", "20161001T000000!")
    signed = ring.keys.clearsign(TEXT, name, more=then)
    error = refusal(lambda: verify(signed, None, ring.keys.export(name), None))
    assert "expired" in error.message, judge


def test_the_newest_word_on_a_subkeys_end_counts(judge: str) -> None:
    """A key that was prolonged has both ends in the ring, in any order."""
    with key_folder() as keys:
        primary = keys.make("longer", *PAST, kind="rsa2048", use="cert")
        child = keys.add_subkey("longer", "1y", *PAST)
        before = keys.export("longer")
        keys.gpg("--quick-set-expire", primary, "never", child)
        signed = keys.clearsign(TEXT, "longer")
        ring = keys.export("longer") + last_packet(before)
    assert verify(signed, None, ring, frozenset({primary})).data == BODY, judge


def last_packet(ring: bytes) -> bytes:
    from pysequoia.packet import PacketPile  # noqa: PLC0415 - missing where no wheel fits

    return bytes(list(PacketPile.from_bytes(ring))[-1])


def test_an_expired_signature_counts_no_more(ring: Ring, judge: str) -> None:
    more = ("--faked-system-time", "20200101T000000!", "--default-sig-expire", "10d")
    name = f"longer-{judge}"
    ring.keys.make(name, *PAST, kind="rsa2048")
    signed = ring.keys.clearsign(TEXT, name, more=more)
    error = refusal(lambda: verify(signed, None, ring.keys.export(name), None))
    assert "expired" in error.message


ALTERED: list[tuple[str, Callable[[bytes], bytes], str]] = [
    ("tampered", lambda b: b.replace(b"jammy", b"noble"), "is not the one"),
    ("signature", lambda b: b[:-80] + (b"A" if b[-80:-79] != b"A" else b"B") + b[-79:], ""),
    ("cut before", lambda b: b[:60], "cut off before its signature"),
    ("cut inside", lambda b: b[: b.index(b"BEGIN PGP SIGNATURE") + 40], "cut off inside"),
    ("crlf", lambda b: b.replace(b"\n", b"\r\n"), "Windows line ends"),
    ("before", lambda b: b"Suite: evil\n" + b, "text before"),
    ("after", lambda b: b + b"Suite: evil\n", "text after"),
    ("twice", lambda b: b + b, "text after"),
    ("empty", lambda _: b"", "empty"),
    ("blank", lambda _: b"\n\n", "empty"),
    ("html", lambda _: b"<!DOCTYPE html><p>Sign in", "a web page came instead"),
    ("xml", lambda _: b'<?xml version="1.0"?><Error/>', "XML came instead"),
    ("plain", lambda _: TEXT, "text came instead of a signed file: `Origin"),
    ("header", lambda b: b.replace(b"Hash:", b"Comment: x\nHash:", 1), "unknown header"),
    ("hash", lambda b: b.replace(b"Hash: SHA", b"Hash: MD", 1), ""),
    ("dash", lambda b: b.replace(b"- --- dashes", b"--- dashes"), "bare dash"),
    ("bom", lambda b: b"\xef\xbb\xbf" + b, ""),
]


@pytest.mark.parametrize(("what", "change", "words"), ALTERED, ids=[a[0] for a in ALTERED])
def test_each_altered_file_is_refused_for_what_it_is(
    ring: Ring, judge: str, what: str, change: Callable[[bytes], bytes], words: str
) -> None:
    altered = change(ring.signed["good"])
    assert altered != ring.signed["good"], what
    error = refusal(lambda: verify(altered, None, ring.all, None))
    assert words in error.message, judge


@pytest.mark.parametrize(
    ("data", "signature", "keyring", "words"),
    [
        (b"", b"x", b"x", "signed file is empty"),
        (TEXT, b"", b"x", "signature file is empty"),
        (TEXT, b"<html>", b"x", "a web page came instead of a signature"),
        (TEXT, b"Not Found", b"x", "a text came instead"),
        (TEXT, b"\x00\x01\x02", b"\x99\x01", "cannot be read"),
    ],
)
def test_detached_signatures_that_are_none(
    data: bytes, signature: bytes, keyring: bytes, words: str
) -> None:
    assert words in refusal(lambda: verify(data, signature, keyring, None)).message


@pytest.mark.parametrize(
    ("keyring", "words"),
    [
        (b"", "key ring is empty"),
        (b"<html>no</html>", "a web page came instead of a key ring"),
        (b"\0\0\0 \x01\x01\0\x02KBXf\0\0\0\0", "keybox"),
        (b"nonsense nonsense", "cannot be read"),
        (b"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nabc", "cut off"),
        (
            b"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n%%\n-----END PGP PUBLIC KEY BLOCK-----\n",
            "damaged",
        ),
    ],
)
def test_key_rings_that_are_none(ring: Ring, keyring: bytes, words: str) -> None:
    assert words in refusal(lambda: verify(ring.signed["good"], None, keyring, None)).message


def test_a_tampered_text_with_a_detached_signature(ring: Ring, judge: str) -> None:
    signature = ring.keys.detach(TEXT, "good")
    error = refusal(lambda: verify(TEXT + b"x", signature, ring.all, None))
    assert "is not the one" in error.message, judge


def test_the_old_form_of_signatures_needs_gpgv(
    cases: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Version 3, made by GnuPG 1 as for RPM packages; a newer GnuPG makes none."""
    tool("gpgv")
    folder = cases / "openpgp"
    names = ("signed.txt", "version-3.asc", "version-3-sha1.asc", "version-3.key")
    text, good, weak, key = ((folder / name).read_bytes() for name in names)
    verified = verify(text, good, key, None)
    assert verified.data == text
    assert "old form of version 3" in verified.notes[0]
    with pytest.raises(SignatureError, match="is not the one that key"):
        verify(text + b"more", good, key, None)
    with pytest.raises(SignatureError, match="uses SHA1, which can be forged"):
        verify(text, weak, key, None)
    monkeypatch.setattr(gpgv, "is_available", lambda: False)
    with pytest.raises(SignatureError, match="has the old form of version 3") as caught:
        verify(text, good, key, None)
    assert "gpgv" in (caught.value.hint or "")


def test_a_key_bound_with_sha1_needs_gpgv(ring: Ring, monkeypatch: pytest.MonkeyPatch) -> None:
    """ROCm/legacy-rocm-build issue 5619: AMD's key of 2016 is such a key."""
    tool("gpgv")
    pins = frozenset({ring.fingerprints["weak"]})
    verified = verify(ring.signed["weak"], None, ring.all, pins)
    assert verified.data == BODY
    assert "SHA-1" in verified.notes[0]
    monkeypatch.setattr(gpgv, "is_available", lambda: False)
    error = refusal(lambda: verify(ring.signed["weak"], None, ring.all, pins))
    assert "SHA-1" in error.message
    assert "gpgv" in (error.hint or "")


def test_a_pinned_key_bound_with_sha1_counts_beside_another_signer(ring: Ring) -> None:
    tool("gpgv")
    both = ring.keys.clearsign(TEXT, "good", "weak")
    pins = frozenset({ring.fingerprints["weak"]})
    assert verify(both, None, ring.all, pins).signer == ring.fingerprints["weak"]
    with pytest.raises(SignatureError, match="not the key expected"):
        verify(both, None, ring.all, frozenset({ring.fingerprints["rsa"]}))


def test_a_key_bound_with_sha1_gets_no_further_licence(ring: Ring) -> None:
    tool("gpgv")
    tampered = ring.signed["weak"].replace(b"jammy", b"noble")
    assert "is not the one" in refusal(lambda: verify(tampered, None, ring.all, None)).message
    weaker = ring.keys.clearsign(TEXT, "weak", more=("--digest-algo", "SHA1"))
    assert "uses SHA1" in refusal(lambda: verify(weaker, None, ring.all, None)).message


def test_a_judge_that_reads_another_text_is_not_believed(
    ring: Ring, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = sequoia.judge

    def other(*words: object) -> Judgement:
        return replace(judged(*words), text=b"Suite: evil")  # type: ignore[arg-type]  # words of any field

    monkeypatch.setattr(sequoia, "judge", other)
    error = refusal(lambda: verify(ring.signed["good"], None, ring.all, None))
    assert "in two ways" in error.message


def test_without_any_judge_the_way_out_is_told(ring: Ring, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpgv, "is_available", lambda: False)
    monkeypatch.setattr(sequoia, "is_available", lambda: False)
    error = refusal(lambda: verify(ring.signed["good"], None, ring.all, None))
    assert "cannot be checked" in error.message
    assert "pip install pysequoia" in (error.hint or "")


def oracle(data: bytes, ring_file: Path) -> bytes | None:
    """The text that gpgv calls good, or None."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "data"
        path.write_bytes(data)
        run = subprocess.run(
            ["gpgv", "--status-fd", "2", "--output", "-", "--keyring", ring_file, path],
            capture_output=True,
            check=False,
        )
    good = run.returncode == 0 and b"[GNUPG:] GOODSIG" in run.stderr
    return run.stdout.removesuffix(b"\n") if good else None


def ours(data: bytes, ring: bytes) -> bytes | None:
    try:
        return verify(data, None, ring, None).data
    except SignatureError:
        return None


def test_the_verdicts_are_those_of_gpgv(ring: Ring, tmp_path: Path) -> None:
    tool("gpgv")
    path = tmp_path / "ring.gpg"
    path.write_bytes(ring.all)
    # Stricter on purpose: text around the block, Windows line ends, unescaped dashes, SHA-1
    # on the file. Of two signatures gpgv's exit status wants both; here one is enough.
    ours_alone = {"before", "after", "crlf", "dash", "sha1", "two"}
    table = dict(ring.signed)
    table |= {name: change(ring.signed["good"]) for name, change, _ in ALTERED}
    for name, data in table.items():
        if name not in ours_alone:
            assert ours(data, ring.all) == oracle(data, path), name


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_no_change_of_a_signed_file_passes_unless_gpgv_reads_the_same(
    ring: Ring, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    signed = ring.signed["good"]
    at = data.draw(st.integers(0, len(signed)))
    gone = data.draw(st.integers(0, 30))
    new = data.draw(st.binary(max_size=6) | st.sampled_from([b"\n", b" ", b"- ", b"\t\n", b"="]))
    changed = signed[:at] + new + signed[at + gone :]
    found = ours(changed, ring.all)
    if found is None:
        return
    assert found == BODY
    path = tmp_path_factory.getbasetemp() / "ring.gpg"
    path.write_bytes(ring.all)
    assert oracle(changed, path) == found


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300))
def test_packets_that_are_noise_are_refused(noise: bytes) -> None:
    refusal(lambda: verify(b"x", noise, b"\x99" + noise, None))
    with contextlib.suppress(SignatureError):
        assert dearmoured(noise) == noise  # binary data passes


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_a_damaged_key_ring_is_refused_or_still_has_the_key(
    ring: Ring, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(ring.all)))
    gone = data.draw(st.integers(0, 60))
    damaged = ring.all[:at] + data.draw(st.binary(max_size=5)) + ring.all[at + gone :]
    pins = frozenset({ring.fingerprints["good"]})
    with contextlib.suppress(SignatureError):
        assert verify(ring.signed["good"], None, damaged, pins).data == BODY


def test_a_key_of_an_unknown_form_does_not_spoil_the_ring(ring: Ring) -> None:
    unknown = b"\x99\x00\x09\x03\x68\x6c\x6c\x6c\x00\x00\x01\x00"
    for mixed in (ring.all + unknown, unknown + ring.all):
        assert verify(ring.signed["good"], None, mixed, None).data == BODY


def test_the_hosts_own_debian_release_verifies() -> None:
    keyring = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
    lists = sorted(Path("/var/lib/apt/lists").glob("*debian*_InRelease"))
    if not keyring.exists() or not lists:
        pytest.skip("this host has no Debian Release file with its key ring")
    for path in lists:
        data = path.read_bytes()
        verified = verify(data, None, keyring.read_bytes(), None)
        assert verified.data.startswith(b"Origin: Debian")
        tampered = data.replace(b"Origin: Debian", b"Origin: Debiam", 1)
        with pytest.raises(SignatureError, match="is not the one"):
            verify(tampered, None, keyring.read_bytes(), None)
