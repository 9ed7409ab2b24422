"""Which GPUs a compiled program has code for.

Source: clang's "Offload Bundler" documentation. A HIP program has its device code in
bundles: a magic word, the number of entries, and for each its offset, size and name, all
numbers of 64 bits, little-endian. Newer compilers can compress a bundle.
"""

from __future__ import annotations

import contextlib
import importlib
import re
import struct
import zlib
from typing import TYPE_CHECKING

from rocmenv.errors import HostError, RocmenvError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_PLAIN = b"__CLANG_OFFLOAD_BUNDLE__"
_PACKED = b"CCOB"
_TARGET = re.compile(rb"hip(?:v\d)?-amdgcn-amd-amdhsa-[^-]*-(gfx[0-9a-f]+(?:[:\w+-]*\w[+-]?)?)")
_MOST_ENTRIES, _LONGEST_NAME = 1024, 4096
# The header of a compressed bundle by its version: behind magic, version and method (the
# last two of 16 bits) come the sizes, packed (not in version 1) and plain, then a hash.
_HEADERS = {1: "<4sHHIQ", 2: "<4sHHIIQ", 3: "<4sHHQQQ"}


def targets(program: Path) -> set[str]:
    """The targets that the file has device code for, as `gfx90a` or `gfx90a:xnack-`."""
    return set(_found(program.read_bytes()))


def _found(data: bytes) -> Iterator[str]:
    for match in re.finditer(re.escape(_PLAIN), data):
        yield from _entries(data, match.start())
    for match in re.finditer(re.escape(_PACKED), data):
        yield from _packed(data, match.start())


def _entries(data: bytes, start: int) -> Iterator[str]:
    try:
        at = start + len(_PLAIN)
        (count,) = struct.unpack_from("<Q", data, at)
        at += 8
        for _ in range(min(count, _MOST_ENTRIES)):
            _, size, length = struct.unpack_from("<QQQ", data, at)
            at += 24
            if length > _LONGEST_NAME:
                return
            name = data[at : at + length]
            at += length
            match = _TARGET.fullmatch(name)
            if match is not None and size:
                yield match[1].decode("ascii")
    except struct.error:
        return  # the word occurs in the compiler's own programs, too


def _packed(data: bytes, start: int) -> Iterator[str]:
    try:
        version, method = struct.unpack_from("<HH", data, start + len(_PACKED))
        header = struct.Struct(_HEADERS[version])
        header.unpack_from(data, start)
        plain = _DECODERS[method]()(data[start + header.size :])
    except RocmenvError:
        raise
    except Exception:  # noqa: BLE001 - zlib's and zstd's errors have no other common base
        return  # the magic word occurs by chance, too
    yield from _found(plain)


def _zlib() -> Callable[[bytes], bytes]:
    return zlib.decompressobj().decompress


def _zstd() -> Callable[[bytes], bytes]:
    for name in ("compression.zstd", "backports.zstd"):
        with contextlib.suppress(ImportError):
            made: Callable[[bytes], bytes] = (
                importlib.import_module(name).ZstdDecompressor().decompress
            )
            return made
    msg = "this Python cannot read zstd"
    raise HostError(msg, hint="run `pip install backports.zstd`")


_DECODERS = {0: _zlib, 1: _zstd}
