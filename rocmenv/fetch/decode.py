"""Compressed streams, by their first bytes: one reader with bounded memory for all of them."""

from __future__ import annotations

import contextlib
import importlib
import zlib
from typing import TYPE_CHECKING, Any, Protocol, cast

from rocmenv.errors import ArchiveError
from rocmenv.fetch.ar import damaged
from rocmenv.fetch.kind import HEAD, kind

if TYPE_CHECKING:
    from collections.abc import Callable

_IN = 256 * 1024
_OUT = 1 << 20
# `xz -9` needs 65 MiB to decode; more is no archive of ours, and would stop small machines.
_XZ_MEMORY = 256 << 20
_WINDOW_BITS_GZIP = 31


class Source(Protocol):
    """Where compressed bytes come from: any open binary file."""

    def read(self, n: int = -1, /) -> bytes:
        """Up to `n` bytes; empty at the end."""


class Decoder(Protocol):
    """One stream, frame or member of a compressed file, as `bz2` and `lzma` shape it."""

    @property
    def eof(self) -> bool:
        """Whether the stream's end mark was read."""

    @property
    def needs_input(self) -> bool:
        """Whether more output needs more input."""

    @property
    def unused_data(self) -> bytes:
        """What was given beyond the end."""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """Up to `max_length` bytes of output."""


class _Gzip:
    """zlib's object in the shape of the others; it checks the CRC at the end."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(wbits=_WINDOW_BITS_GZIP)

    @property
    def eof(self) -> bool:
        return bool(self._zlib.eof)

    @property
    def needs_input(self) -> bool:
        return not self._zlib.eof and not self._zlib.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return bytes(self._zlib.unused_data)

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        given = self._zlib.unconsumed_tail + data
        return bytes(self._zlib.decompress(given, max(max_length, 0)))


class Stream:
    """The decompressed content of `source`, read forward only.

    `name` is the archive's name for messages. Every failure is an `ArchiveError`.
    `threads` may decode at once, where the format and the library can (xz in blocks).
    """

    def __init__(self, source: Source, name: str, *, threads: int = 1) -> None:
        self.name = name
        self._threads = threads
        self._source = source
        self._held = source.read(HEAD)
        self._make = _maker(kind(self._held))
        self._decoder: Decoder | None = self._make(threads) if self._make else None
        self._out = memoryview(b"")
        self.position = 0

    def read_some(self, n: int) -> memoryview:
        """Between 1 and `n` bytes, or none at the end; valid until the next read."""
        if not self._out:
            self._out = memoryview(self._more())
        piece, self._out = self._out[:n], self._out[n:]
        self.position += len(piece)
        return piece

    def read(self, n: int) -> bytes:
        """`n` bytes, fewer only at the end."""
        pieces = []
        while n > 0 and (piece := self.read_some(n)):
            pieces.append(bytes(piece))
            n -= len(piece)
        return b"".join(pieces)

    def skip_to(self, position: int) -> None:
        """Read on to `position` (bytes from the start), or to the end.

        Over content that is not compressed it goes without reading, where the source can.
        """
        self._jump(position)
        while self.position < position and self.read_some(position - self.position):
            pass

    def _jump(self, position: int) -> None:
        skip = getattr(self._source, "skip", None)
        at_hand = len(self._out) + len(self._held)
        ahead = position - self.position - at_hand
        if skip is None or self._make is not None or ahead <= 0:
            return
        self._out, self._held = memoryview(b""), b""
        self.position += at_hand + int(skip(ahead))

    def finish(self) -> None:
        """Read to the end, so that a check sum there is compared."""
        while self.read_some(_OUT):
            pass

    def _more(self) -> bytes:
        if self._make is None:
            held, self._held = self._held, b""
            return held or self._source.read(_IN)
        try:
            return self._decoded()
        except ArchiveError:
            raise
        except Exception as error:
            # zlib.error, LZMAError, ZstdError, OSError: they have no closer common base.
            words = str(error).strip().rstrip(".").lower() or "it cannot be decompressed"
            raise damaged(self.name, words) from error

    def _decoded(self) -> bytes:
        while True:
            if self._decoder is None and not self._next_stream():
                return b""
            decoder = cast("Decoder", self._decoder)
            data = b""
            if decoder.needs_input:
                data, self._held = self._held or self._source.read(_IN), b""
                if not data:
                    raise damaged(self.name, "it ends too early")
            out = decoder.decompress(data, _OUT)
            if decoder.eof:
                self._held, self._decoder = decoder.unused_data + self._held, None
            if out:
                return out

    def _next_stream(self) -> bool:
        """Begin the next stream of a file made of several; zeros between and after are padding."""
        while True:
            self._held = self._held.lstrip(b"\0") or self._source.read(_IN)
            if not self._held:
                return False
            if self._held.strip(b"\0"):
                break
        self._held = self._held.lstrip(b"\0") + self._source.read(HEAD)
        if self._make is None or _maker(kind(self._held[:HEAD])) is not self._make:
            raise damaged(self.name, "something follows its end")
        self._decoder = self._make(self._threads)
        return True


def _maker(name: str) -> Callable[[int], Decoder] | None:
    return _MAKERS.get(name)


def _gzip(_threads: int) -> Decoder:
    """`isal` reads gzip two to three times as fast as zlib."""
    try:
        isal: Any = importlib.import_module("isal.igzip_lib")
    except ImportError:
        return _Gzip()
    return cast("Decoder", isal.IgzipDecompressor(flag=isal.DECOMP_GZIP))


def _bzip2(_threads: int) -> Decoder:
    import bz2  # noqa: PLC0415 - only for this compression

    return bz2.BZ2Decompressor()


def _xz(threads: int) -> Decoder:
    module = _xz_module()
    several = {"threads": threads} if threads > 1 and module.__name__ == "lzma_mt" else {}
    made = module.LZMADecompressor(module.FORMAT_XZ, memlimit=_XZ_MEMORY, **several)
    return cast("Decoder", made)


def _lzma(_threads: int) -> Decoder:
    import lzma  # noqa: PLC0415 - only for this compression

    return lzma.LZMADecompressor(lzma.FORMAT_ALONE, memlimit=_XZ_MEMORY)


def _xz_module() -> Any:  # noqa: ANN401 - modules of one shape, some optional
    """`lzma_mt` brings liblzma 5.8, about 1.9 times as fast as the 5.4 of older systems."""
    try:
        return importlib.import_module("lzma_mt")
    except ImportError:
        return importlib.import_module("lzma")


def _zstd(_threads: int) -> Decoder:
    return cast("Decoder", _zstd_module().ZstdDecompressor())


def _zstd_module() -> Any:  # noqa: ANN401 - modules of one shape, some optional
    with contextlib.suppress(ImportError):
        return importlib.import_module("compression.zstd")
    try:
        return importlib.import_module("backports.zstd")
    except ImportError as error:
        message = "this Python cannot read zstd archives"
        raise ArchiveError(message, hint="run `pip install backports.zstd`") from error


_MAKERS: dict[str, Callable[[int], Decoder]] = {
    "gzip": _gzip,
    "xz": _xz,
    "zstd": _zstd,
    "bzip2": _bzip2,
    "lzma": _lzma,
}
