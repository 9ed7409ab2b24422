"""The targets in a compiled program: plain bundles, compressed ones, and what only looks so."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmenv.fetch.decode import _zstd_module  # the same module, to compress with
from rocmenv.probe.codeobjects import targets

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
HOST = "host-x86_64-unknown-linux--"


def bundle(*names: str, size: int = 64) -> bytes:
    """A bundle with entries of these names, as clang writes it."""
    head = MAGIC + struct.pack("<Q", len(names))
    for name in names:
        head += struct.pack("<QQQ", 4096, 0 if name == HOST else size, len(name)) + name.encode()
    return head.ljust(4096, b"\0") + bytes(size)


def code(target: str) -> str:
    return f"hipv4-amdgcn-amd-amdhsa--{target}"


def packed(data: bytes, version: int, *, zstd: bool) -> bytes:
    content = _zstd_module().compress(data) if zstd else zlib.compress(data)
    sizes = {
        1: struct.pack("<I", len(data)),
        2: struct.pack("<II", 24 + len(content), len(data)),
        3: struct.pack("<QQ", 32 + len(content), len(data)),
    }
    return b"CCOB" + struct.pack("<HH", version, int(zstd)) + sizes[version] + bytes(8) + content


def found(tmp_path: Path, data: bytes) -> set[str]:
    path = tmp_path / "program"
    path.write_bytes(b"\x7fELF" + bytes(100) + data + bytes(100))
    return targets(path)


def test_every_entry_with_code_counts(tmp_path: Path) -> None:
    data = bundle(HOST, code("gfx90a:sramecc+:xnack-"), code("gfx1100"))
    assert found(tmp_path, data) == {"gfx90a:sramecc+:xnack-", "gfx1100"}
    assert found(tmp_path, data + bundle(HOST, "hip-amdgcn-amd-amdhsa-unknown-gfx906")) == {
        "gfx90a:sramecc+:xnack-",
        "gfx1100",
        "gfx906",
    }


def test_an_entry_without_code_does_not_count(tmp_path: Path) -> None:
    assert found(tmp_path, bundle(HOST, code("gfx906"), size=0)) == set()


@pytest.mark.parametrize("zstd", [False, True])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_compressed_bundle_is_looked_into(tmp_path: Path, version: int, *, zstd: bool) -> None:
    data = packed(bundle(HOST, code("gfx1201")), version, zstd=zstd)
    assert found(tmp_path, data) == {"gfx1201"}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        MAGIC,
        MAGIC + struct.pack("<Q", 1 << 60),
        MAGIC + struct.pack("<QQQQ", 1, 0, 1, 1 << 60),
        b"CCOB",
        b"CCOB\x07\0\0\0" + bytes(40),
        b"CCOB\x02\0\x01\0" + bytes(40),
        b"CCOB\x02\0\x09\0" + bytes(40),
    ],
)
def test_what_only_looks_like_a_bundle_is_none(tmp_path: Path, data: bytes) -> None:
    assert found(tmp_path, data) == set()


@given(st.integers(0, 200), st.binary(max_size=8))
def test_damage_is_no_error(tmp_path_factory: pytest.TempPathFactory, at: int, junk: bytes) -> None:
    data = bundle(HOST, code("gfx90a"))
    path = tmp_path_factory.mktemp("x") / "program"
    path.write_bytes(data[:at] + junk + data[at + len(junk) :])
    assert targets(path) <= {"gfx90a"} or at > 24
