"""RPM packages: rpmbuild and rpmsign as builders, rpm2cpio, cpio and bsdtar as oracles."""

from __future__ import annotations

import base64
import gzip
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rocmenv
from rocmenv.errors import ArchiveError, RocmenvError, SignatureError
from rocmenv.fetch.archive import Settled, Tree
from rocmenv.fetch.rpm import Voucher, read_rpm
from tests.fetch.keys import Keys, key_folder
from tests.fetch.rpmfiles import (
    END,
    header_with_more,
    header_without,
    newc,
    padded,
    parts,
    signature_header,
    write,
)
from tests.fetch.test_deb import facts
from tests.sources.rpm.builders import LLVM, PAYLOADS, PREFIX, Package, build_rpm, sign
from tests.tools import tool

IDENTITY = ("rocm-llvm6.3.0", "6.3.0.60300-39.el8", "x86_64")


class Made(NamedTuple):
    """A package in each compression, and one signed by a key."""

    packages: dict[str, Path]
    signed: Path
    keys: Keys
    fingerprint: str

    @property
    def voucher(self) -> Voucher:
        pins = frozenset({self.fingerprint})
        return Voucher(self.keys.export("rocm", "other"), pins, IDENTITY)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    folder = tmp_path_factory.mktemp("rpms")
    packages = {}
    for payload in PAYLOADS:
        (folder / payload).mkdir()
        packages[payload] = build_rpm(LLVM, folder / payload, payload)
    with key_folder() as keys:
        fingerprint = keys.make("rocm", kind="rsa2048")
        keys.make("other")
        signed = folder / "signed.rpm"
        signed.write_bytes(packages["zstd"].read_bytes())
        sign(signed, keys, "rocm")
        yield Made(packages, signed, keys, fingerprint)


def unpack(root: Path, rpm: Path, mapping: Callable[[str], str | None] = str) -> Settled:
    tree = Tree(root)
    tree.add_rpm(rpm, owner=rpm.name, mapping=mapping)
    return tree.settle()


def theirs(root: Path, rpm: Path) -> Path:
    """The package as rpm2cpio and cpio unpack it."""
    root.mkdir()
    archive = subprocess.run([tool("rpm2cpio"), rpm], check=True, capture_output=True).stdout
    words = [tool("cpio"), "-idm", "--quiet"]
    subprocess.run(words, input=archive, cwd=root, check=True)
    return root


@pytest.mark.parametrize("payload", list(PAYLOADS))
def test_the_content_is_what_rpm2cpio_and_cpio_unpack(
    tmp_path: Path, made: Made, payload: str
) -> None:
    rpm = made.packages[payload]
    settled = unpack(tmp_path / "ours", rpm)
    ours = facts(tmp_path / "ours")
    assert ours == facts(theirs(tmp_path / "theirs", rpm))
    assert ours[f"{PREFIX}/lib/llvm/bin/aa"][3] == b"clang\n" * 50_000
    assert not settled.notes
    assert not settled.left_out
    folder = tmp_path / "ours" / PREFIX / "lib/llvm/bin"
    assert len({(folder / name).stat().st_ino for name in ("clang", "aa", "zz")}) == 1


def test_the_content_is_what_bsdtar_unpacks(tmp_path: Path, made: Made) -> None:
    unpack(tmp_path / "ours", made.packages["xz"])
    (tmp_path / "theirs").mkdir()
    bsdtar = tool("bsdtar")
    subprocess.run([bsdtar, "-xf", made.packages["xz"], "-C", tmp_path / "theirs"], check=True)
    assert facts(tmp_path / "ours") == facts(tmp_path / "theirs")


def test_a_real_package_of_many_files_is_what_cpio_unpacks(tmp_path: Path) -> None:
    """This program itself."""
    package = Package("rocmenv", trees={"opt/rocmenv": Path(rocmenv.__file__).parent})
    rpm = build_rpm(package, tmp_path, "xz")
    settled = unpack(tmp_path / "ours", rpm)
    assert settled.files > 100
    assert facts(tmp_path / "ours") == facts(theirs(tmp_path / "theirs", rpm))


@pytest.mark.parametrize("away", ["aa", "clang", "zz"])
def test_a_hard_link_to_what_is_left_out_has_its_content(
    tmp_path: Path, made: Made, away: str
) -> None:
    """The archive has the content once; whichever name is left out, the others have it."""
    settled = unpack(
        tmp_path / "t", made.signed, lambda m: None if m.endswith(f"bin/{away}") else m
    )
    folder = tmp_path / "t" / PREFIX / "lib/llvm/bin"
    kept = {"aa", "clang", "zz"} - {away}
    assert {name: (folder / name).read_bytes() for name in kept} == dict.fromkeys(
        kept, b"clang\n" * 50_000
    )
    assert not (folder / away).exists()
    assert settled.left_out[0].member.endswith(away)


def test_ghosts_are_absent_and_no_file_is_setuid(tmp_path: Path) -> None:
    package = Package(
        "odd",
        files={f"{PREFIX}/bin/tool": b"x", f"{PREFIX}/log": b"x"},
        more=[f"%attr(4755, root, root) /{PREFIX}/bin/tool", f"%ghost /{PREFIX}/log"],
    )
    rpm = build_rpm(package, tmp_path)
    modes = {m.name: m.mode for m in parts(rpm)[0].members()}
    assert modes[f"./{PREFIX}/bin/tool"] == 0o104755
    unpack(tmp_path / "t", rpm)
    assert os.stat(tmp_path / "t" / PREFIX / "bin/tool").st_mode & 0o7777 == 0o755
    assert not (tmp_path / "t" / PREFIX / "log").exists()


def test_a_device_is_refused(tmp_path: Path) -> None:
    rpm = build_rpm(Package("odd", more=["%dev(c, 1, 3) /opt/null"]), tmp_path)
    with pytest.raises(ArchiveError, match="`./opt/null` is a device"):
        unpack(tmp_path / "t", rpm)


def with_archive(made: Made, path: Path, *members: bytes) -> Path:
    """The package with another archive in it."""
    rpm, _ = parts(made.packages["gzip"])
    lead = made.packages["gzip"].read_bytes()[:96]
    content = b"".join(members)
    signatures = rpm.signatures.raw + bytes(-len(rpm.signatures.raw) % 8)
    return write(path, lead, signatures, rpm.header.raw, gzip.compress(content))


def test_rpms_own_form_of_an_archive_is_read(tmp_path: Path, made: Made) -> None:
    """For files above 4 GiB: a member has only its number in the package's list."""
    source = theirs(tmp_path / "theirs", made.packages["gzip"])
    members = []
    for number, member in enumerate(parts(made.packages["gzip"])[0].members()):
        path = source / member.name
        content = b""
        if path.is_symlink():
            content = os.readlink(path).encode()
        elif path.is_file() and member.size:
            content = path.read_bytes()
        members.append(padded(b"07070X%08x" % number) + padded(content))
    rpm = with_archive(made, tmp_path / "large.rpm", *members, END)
    unpack(tmp_path / "ours", rpm)
    assert facts(tmp_path / "ours") == facts(source)
    odd = with_archive(made, tmp_path / "odd.rpm", padded(b"07070X%08x" % 999), END)
    with pytest.raises(ArchiveError, match="no file number 999"):
        unpack(tmp_path / "odd", odd)


@pytest.mark.real
def test_a_file_above_4_gib_is_read(tmp_path: Path) -> None:
    size = (4 << 30) + 4097
    package = Package(
        "large", files={f"{PREFIX}/small": b"small"}, sparse={f"{PREFIX}/large": size}
    )
    rpm = build_rpm(package, tmp_path, "zstd")
    with rpm.open("rb") as file:
        found = {m.name: m.size for m in read_rpm(file, "large").members()}
    assert found[f"./{PREFIX}/large"] == size
    settled = unpack(tmp_path / "t", rpm, lambda m: None if m.endswith("large") else m)
    assert settled.files == 1
    assert (tmp_path / "t" / PREFIX / "small").read_bytes() == b"small"


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ([newc("../up", 0o100644, b"x"), END], "outside the archive's folder"),
        ([newc("/etc/passwd", 0o100644, b"x"), END], "outside the archive's folder"),
        ([newc("a\0b", 0o100644, b"x"), END], "NUL"),
        ([newc("", 0o100644, b"x"), END], "has no name"),
        ([newc("x" * 5000, 0o100644), END], "name has 5001 bytes"),
        ([newc("p", 0o010644), END], "is a pipe"),
        ([newc("s", 0o140644), END], "is a socket"),
        ([newc("b", 0o060644), END], "is a device"),
        ([newc("l", 0o120777, b""), END], "link to nowhere"),
        ([newc("l", 0o120777, b"y" * 5000), END], "too long"),
        ([newc("a", 0o100644, b"x")], "ends too early"),
        ([newc("a", 0o100644, b"x")[:-4]], "ends inside `a`"),
        ([newc("a", 0o100644, b"x")[:60]], "header is not one"),
        ([b"070707" + bytes(200)], "header is not one"),
        ([newc("a", 0o100644).replace(b"070701", b"070701z", 1)], "header is not one"),
        ([newc("a", 0o100644, links=2), END], "a hard link without content"),
    ],
)
def test_bad_members_are_refused_by_name(
    tmp_path: Path, made: Made, members: list[bytes], words: str
) -> None:
    rpm = with_archive(made, tmp_path / "bad.rpm", *members)
    with pytest.raises(ArchiveError) as caught:
        unpack(tmp_path / "t", rpm)
    assert words in caught.value.message
    assert "`bad.rpm`" in caught.value.message


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not an RPM package"),
        (b"<html>", "not an RPM package"),
        (b"\xed\xab\xee\xdb" + bytes(20), "not an RPM package"),
        (b"\xed\xab\xee\xdb\3\0\0\1" + bytes(88), "package of sources"),
        (b"\xed\xab\xee\xdb\3\0\0\0" + bytes(88), "no header where one should be"),
        (
            b"\xed\xab\xee\xdb\3\0\0\0" + bytes(88) + b"\x8e\xad\xe8\1" + b"\0\0\0\0" + b"\xff" * 8,
            "claims",
        ),
    ],
)
def test_what_is_no_package_is_named(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "bad.rpm"
    path.write_bytes(data)
    with pytest.raises(ArchiveError, match=r"`bad\.rpm` is damaged") as caught:
        unpack(tmp_path / "t", path)
    assert words in caught.value.message


@pytest.mark.parametrize("payload", list(PAYLOADS))
def test_a_package_cut_anywhere_is_damaged(tmp_path: Path, made: Made, payload: str) -> None:
    data = made.packages[payload].read_bytes()
    start = parts(made.packages[payload])[0].start
    ends = (50, 100, start // 2, start - 1, (start + len(data)) // 2, len(data) - 9)
    for number, end in enumerate(ends):
        cut = tmp_path / "cut.rpm"
        cut.write_bytes(data[:end])
        with pytest.raises(ArchiveError, match=r"`cut\.rpm`"):
            unpack(tmp_path / f"t{number}", cut)


# Signatures.


def test_a_signed_package_is_accepted(made: Made) -> None:
    made.voucher.check(made.signed)


def test_another_kind_of_key_is_accepted(tmp_path: Path, made: Made) -> None:
    rpm = tmp_path / "a.rpm"
    rpm.write_bytes(made.packages["xz"].read_bytes())
    sign(rpm, made.keys, "other")
    pins = frozenset(made.keys.fingerprints("other"))
    replace(made.voucher, fingerprints=pins).check(rpm)


def test_an_unsigned_package_is_refused_with_a_way_out(made: Made) -> None:
    with pytest.raises(SignatureError, match="neither the package `rocm-llvm6.3.0` nor") as caught:
        made.voucher.check(made.packages["zstd"])
    assert "use a mirror" in str(caught.value.hint)


def test_a_package_of_another_key_is_refused(made: Made) -> None:
    other = replace(made.voucher, fingerprints=frozenset(made.keys.fingerprints("other")))
    with pytest.raises(SignatureError, match="not the key expected"):
        other.check(made.signed)
    unknown = replace(made.voucher, keyring=made.keys.export("other"))
    with pytest.raises(SignatureError, match="not in the key ring"):
        unknown.check(made.signed)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_another_package_of_the_same_key_is_refused(made: Made, number: int) -> None:
    """A mirror could send an older package that is signed just as well."""
    identity = tuple(f"{part}1" if n == number else part for n, part in enumerate(IDENTITY))
    name, version, architecture = identity
    with pytest.raises(SignatureError, match="the server sent `rocm-llvm6.3.0 "):
        replace(made.voucher, identity=(name, version, architecture)).check(made.signed)


def test_an_altered_archive_is_refused(tmp_path: Path, made: Made) -> None:
    data = bytearray(made.signed.read_bytes())
    data[-20] ^= 1
    altered = tmp_path / "altered.rpm"
    altered.write_bytes(data)
    with pytest.raises(SignatureError, match="is not the one that was signed"):
        made.voucher.check(altered)
    altered.write_bytes(made.signed.read_bytes() + b"more")
    with pytest.raises(SignatureError, match="is not the one that was signed"):
        made.voucher.check(altered)


@settings(max_examples=60, deadline=None)
@given(share=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_no_changed_byte_of_header_or_content_passes(made: Made, share: float, bit: int) -> None:
    data = bytearray(made.signed.read_bytes())
    rpm, archive = parts(made.signed)
    first = len(data) - len(archive) - len(rpm.header.raw)
    data[first + int(share * (len(data) - first))] ^= 1 << bit
    path = made.signed.with_name("changed.rpm")
    path.write_bytes(data)
    with pytest.raises(RocmenvError):
        made.voucher.check(path)


@settings(max_examples=150, deadline=None)
@given(share=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255))
def test_damage_never_ends_in_a_traceback(made: Made, share: float, byte: int) -> None:
    data = bytearray(made.packages["gzip"].read_bytes())
    data[int(share * len(data))] = byte
    path = made.signed.with_name("damaged.rpm")
    path.write_bytes(data)
    try:
        with path.open("rb") as file:
            rpm = read_rpm(file, "damaged")
            rpm.members()
            assert len(rpm.identity) == 3
            rpm.content(file).finish()
    except RocmenvError:
        pass


def signed_again(made: Made, path: Path, header: bytes, *, tag: int = 268) -> Path:
    """The package with `header` instead of its own, signed by the key once more."""
    _, archive = parts(made.signed)
    signature = made.keys.detach(header, "rocm", armour=False)
    value = (tag, 7, signature)
    if tag == 278:
        value = (tag, 8, base64.b64encode(signature) + b"\0")
    lead = made.signed.read_bytes()
    return write(path, lead, signature_header(value), header, archive)


def test_the_form_of_signatures_of_rpm_6_is_read(tmp_path: Path, made: Made) -> None:
    header = parts(made.signed)[0].header.raw
    made.voucher.check(signed_again(made, tmp_path / "six.rpm", header, tag=278))


def test_a_signature_of_rpm_3_alone_is_refused(tmp_path: Path, made: Made) -> None:
    header = parts(made.signed)[0].header.raw
    with pytest.raises(SignatureError, match="RPM 3"):
        made.voucher.check(signed_again(made, tmp_path / "three.rpm", header, tag=1002))


@pytest.mark.parametrize("tag", [5092, 5093])
def test_a_signed_header_without_the_contents_digest_is_refused(
    tmp_path: Path, made: Made, tag: int
) -> None:
    """It is a good signature, but of nothing that is unpacked."""
    header = header_without(parts(made.signed)[0], tag)
    with pytest.raises(SignatureError, match="does not cover the files"):
        made.voucher.check(signed_again(made, tmp_path / "bare.rpm", header))


def test_values_behind_the_closed_region_are_refused(tmp_path: Path, made: Made) -> None:
    """Some programs read them, and no signature of theirs covers them."""
    header = header_with_more(parts(made.signed)[0])
    with pytest.raises(SignatureError, match="nobody can have signed"):
        made.voucher.check(signed_again(made, tmp_path / "more.rpm", header))


@pytest.mark.parametrize(
    "values",
    [
        [(268, 7, bytes(2 << 20))],
        [(278, 8, bytes(1 << 16))],
    ],
)
def test_signatures_without_end_are_not_read(
    tmp_path: Path, made: Made, values: list[tuple[int, int, bytes]]
) -> None:
    rpm, archive = parts(made.signed)
    signatures = signature_header(*values)
    lead = made.signed.read_bytes()
    path = write(tmp_path / "many.rpm", lead, signatures, rpm.header.raw, archive)
    with pytest.raises(ArchiveError, match="more signatures than any package"):
        made.voucher.check(path)


@pytest.mark.parametrize("value", [b"no base64 at all\0", b"\xff\xfe\0"])
def test_a_signature_that_is_not_base64_is_refused(
    tmp_path: Path, made: Made, value: bytes
) -> None:
    rpm, archive = parts(made.signed)
    signatures = signature_header((278, 8, value))
    lead = made.signed.read_bytes()
    path = write(tmp_path / "odd.rpm", lead, signatures, rpm.header.raw, archive)
    with pytest.raises(ArchiveError, match="is not base64"):
        made.voucher.check(path)
