"""The keys that count for a source of the host, with odd files among them."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmenv.errors import SignatureError
from rocmenv.sources.apt.hostkeys import TrustedKeys, repository_of, trusted_keys
from rocmenv.sources.apt.repository import Repository
from rocmenv.sources.apt.sourcelist import SourceEntry

URI = "https://repo.example.invalid/rocm/apt/6.3"
KEYBOX = b"\0\0\0\x20\x01\x01\0\x02KBXf" + bytes(20)


def key(content: bytes) -> bytes:
    """A packet that begins as a public key does."""
    return b"\x99" + len(content).to_bytes(2, "big") + content


def armoured(data: bytes) -> str:
    text = base64.b64encode(data).decode()
    kind = "PGP PUBLIC KEY BLOCK"
    return f"-----BEGIN {kind}-----\n\n{text}\n-----END {kind}-----\n"


def entry(**more: object) -> SourceEntry:
    return SourceEntry(f"{URI}/", "jammy", ("main",), "f:1", **more)  # type: ignore[arg-type]  # words of any field


def opened(source: SourceEntry, etc: Path) -> Repository:
    return repository_of(source, architecture="amd64", trusted=trusted_keys(etc))


# Keys that the source names.


def test_trusted_without_a_key_is_refused_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(SignatureError, match=r"trusted=yes.*\(f:1\)") as caught:
        opened(entry(is_trusted=True), tmp_path)
    assert "signed-by" in (caught.value.hint or "")


def test_the_named_keys_are_used(tmp_path: Path) -> None:
    (tmp_path / "a.gpg").write_bytes(key(b"a"))
    (tmp_path / "b.gpg").write_text(armoured(key(b"b")))
    keyrings = (str(tmp_path / "a.gpg"), str(tmp_path / "b.gpg"))
    for trusted in (False, True):
        made = opened(entry(keyrings=keyrings, is_trusted=trusted), tmp_path)
        assert (made.keyring, made.fingerprints) == (key(b"a") + key(b"b"), None)


def test_a_key_in_the_source_is_used(tmp_path: Path) -> None:
    assert opened(entry(key_block=armoured(key(b"a"))), tmp_path).keyring == key(b"a")
    with pytest.raises(SignatureError, match=r"key in the source.*cut off.*\(f:1\)"):
        opened(entry(key_block="-----BEGIN PGP PUBLIC KEY BLOCK-----"), tmp_path)


def test_the_architecture_is_put_into_the_suite(tmp_path: Path) -> None:
    (tmp_path / "a.gpg").write_bytes(key(b"a"))
    flat = SourceEntry(URI, "x/$(ARCH)/", (), "f:1", keyrings=(str(tmp_path / "a.gpg"),))
    trusted = trusted_keys(tmp_path)
    assert repository_of(flat, architecture="arm64", trusted=trusted).suite == "x/arm64/"


def test_a_key_file_that_is_missing_is_named(tmp_path: Path) -> None:
    path = str(tmp_path / "missing.gpg")
    with pytest.raises(SignatureError, match=r"missing\.gpg.*no such file"):
        opened(entry(keyrings=(path,)), tmp_path)


ODD = [
    (KEYBOX, "it is a keybox"),
    (b"garbage\n", "it is no OpenPGP key but text"),
    (b"<html>log in</html>", "it is no OpenPGP key but a web page"),
    (b"\x88\x01x", "it is no OpenPGP key but binary data"),
    (key(b"abc")[:-1], "it is damaged or cut off"),
    (key(b"abc") + b"x", "it is damaged or cut off"),
    (armoured(key(b"abc"))[:50].encode(), "the OpenPGP block is cut off"),
]


@pytest.mark.parametrize(("content", "why"), [*ODD, (b"", "it is empty")])
def test_a_named_key_file_that_cannot_be_used_is_named(
    tmp_path: Path, content: bytes, why: str
) -> None:
    (tmp_path / "a.gpg").write_bytes(key(b"a"))
    (tmp_path / "b.gpg").write_bytes(content)
    keyrings = (str(tmp_path / "a.gpg"), str(tmp_path / "b.gpg"))
    with pytest.raises(SignatureError, match=rf"b\.gpg` cannot be used: {why}.*\(f:1\)") as caught:
        opened(entry(keyrings=keyrings), tmp_path)
    assert "--export" in (caught.value.hint or "") or content != KEYBOX


# Keys that the host trusts.


def test_without_a_named_key_the_hosts_keys_count(tmp_path: Path) -> None:
    with pytest.raises(SignatureError, match=r"names no key.*has none \(f:1\)\Z"):
        opened(entry(), tmp_path)
    folder = tmp_path / "trusted.gpg.d"
    folder.mkdir()
    (folder / "a.gpg").write_bytes(key(b"a"))
    (folder / "b.asc").write_text(armoured(key(b"b")))
    (folder / "a.gpg~").write_bytes(b"old")
    (folder / ".hidden.gpg").write_bytes(b"odd")
    (folder / "empty.gpg").touch()
    (tmp_path / "trusted.gpg").write_bytes(key(b"c"))
    pins = frozenset({"AB" * 20})
    made = opened(entry(fingerprints=pins), tmp_path)
    assert (made.keyring, made.fingerprints) == (key(b"a") + key(b"b") + key(b"c"), pins)
    assert trusted_keys(tmp_path).notes == ()


@pytest.mark.parametrize(("content", "why"), ODD)
@pytest.mark.parametrize("name", ["trusted.gpg.d/0.gpg", "trusted.gpg.d/z.asc", "trusted.gpg"])
def test_an_odd_file_is_left_out_and_said(
    tmp_path: Path, name: str, content: bytes, why: str
) -> None:
    (tmp_path / "trusted.gpg.d").mkdir()
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SignatureError, match=why):
        opened(entry(), tmp_path)
    (tmp_path / "trusted.gpg.d/a.gpg").write_bytes(key(b"a"))
    assert opened(entry(), tmp_path).keyring == key(b"a")
    (note,) = trusted_keys(tmp_path).notes
    assert note.startswith(f"the key file `{tmp_path / name}` is left out: {why}")


def test_a_file_that_cannot_be_read_is_left_out_and_said(tmp_path: Path) -> None:
    folder = tmp_path / "trusted.gpg.d"
    folder.mkdir()
    (folder / "a.gpg").write_bytes(key(b"a"))
    (folder / "b.gpg").symlink_to(tmp_path / "gone")
    (folder / "c.gpg").mkdir()
    found = trusted_keys(tmp_path)
    assert found.keyring == key(b"a")
    assert [note.partition("is left out: ")[2] for note in found.notes] == [
        "no such file or directory",
        "is a directory",
    ]


# The lengths of packets.

SIZES = st.sampled_from([0, 1, 191, 192, 193, 255, 256, 8383, 8384, 65535, 65536])


@st.composite
def packet(draw: st.DrawFn) -> bytes:
    """A public key of any of the forms of RFC 9580, section 4.2."""
    size = draw(SIZES)
    old = [(1, 0x98), (2, 0x99)]
    forms = [bytes([head]) + size.to_bytes(n, "big") for n, head in old if size < 256**n]
    forms.append(b"\xc6\xff" + size.to_bytes(4, "big"))
    if size < 192:
        forms.append(bytes([0xC6, size]))
    elif size < 8384:
        forms.append(bytes([0xC6, ((size - 192) >> 8) + 192, (size - 192) & 255]))
    return draw(st.sampled_from(forms)) + b"\x7f" * size


def from_block(packets: bytes) -> bytes:
    source = entry(key_block=armoured(packets))
    none = TrustedKeys(Path("none"), b"", ())
    return repository_of(source, architecture="amd64", trusted=none).keyring


@settings(max_examples=200, deadline=None)
@given(st.lists(packet(), min_size=1, max_size=4), st.data())
def test_whole_packets_alone_are_taken(packets: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(packets)
    assert from_block(whole) == whole
    last = len(whole) - len(packets[-1])
    cut = whole[: data.draw(st.integers(last + 1, len(whole) - 1))]
    with pytest.raises(SignatureError, match="damaged or cut off"):
        from_block(cut)
