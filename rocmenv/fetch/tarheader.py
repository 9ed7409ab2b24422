"""The headers of a tar archive, one member after the other.

Our own reader of a small format: `tarfile` reads the same headers otherwise in each Python
release (what it refuses, how it counts), and takes several times as long. It is the second
opinion of the tests, as is GNU tar.

Sources: POSIX.1-2017, `pax`, "ustar Interchange Format" and "pax Header Block"; GNU tar's
manual, "Basic Tar Format", "GNU tar and POSIX tar" and "Storing Sparse Files".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rocmenv.fetch.ar import damaged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocmenv.fetch.decode import Stream

BLOCK = 512
_NOTHING = bytes(BLOCK)
# Of one pax header, long name or sparse map; none of ours has a thousandth of it.
_LONGEST = 1 << 20
_MOST_SPANS = 1 << 16
_LONG_NAME, _LONG_LINK, _PAX, _SUN_PAX, _GLOBAL = b"L", b"K", b"x", b"X", b"g"
_LABEL, _DUMP, _SPARSE = b"V", b"D", b"S"
FILE, HARD, LINK, FOLDER = b"0", b"1", b"2", b"5"
_FILES = (FILE, b"\0", b"7")
# Types behind whose header there is content, as many bytes as it says.
_WITHOUT_CONTENT = (HARD, LINK, b"3", b"4", FOLDER, b"6")
_BLANK = " \0"
Spans = tuple[tuple[int, int], ...]


@dataclass(slots=True)
class Head:
    """A member: its type as in the header, with `0` for all plain files.

    `size` is that of the file, `spans` are its pieces in the archive (offset, length).
    `stored` counts the bytes of content that follow. Texts are as they stand.
    """

    name: str
    kind: bytes
    mode: int
    mtime: float
    size: int
    link: str
    stored: int
    spans: Spans


@dataclass(slots=True)
class _Ahead:
    """What comes before a member's own header."""

    name: str | None = None
    link: str | None = None
    pax: dict[str, str] = field(default_factory=dict)
    # The pairs of the first form of sparse maps have one name each, so a table loses them.
    pairs: list[int] = field(default_factory=list)
    is_waiting: bool = False


def heads(stream: Stream) -> Iterator[Head]:
    """The members of the archive; what is left of a member's content is passed over.

    Raises:
        ArchiveError: a damaged or cut archive.
    """
    for_all: dict[str, str] = {}
    ahead = _Ahead()
    while True:
        block = stream.read(BLOCK)
        if len(block) < BLOCK:
            raise damaged(stream.name, "it ends too early")
        if block == _NOTHING:
            break
        if not _is_header(block):
            raise damaged(stream.name, "a member's header is not one")
        size = _size(stream, block)
        if _is_about_others(stream, block[156:157], size, ahead, for_all):
            continue
        if for_all:
            ahead.pax = {**for_all, **ahead.pax}
        head = _member(stream, block, size, ahead)
        ahead = _Ahead()
        end = stream.position + _padded(head.stored)
        yield head
        stream.skip_to(end)
        if stream.position < end:
            raise damaged(stream.name, f"it ends inside `{head.name}`")
    if ahead.is_waiting:
        raise damaged(stream.name, "its last member is missing")


def _is_about_others(
    stream: Stream, kind: bytes, size: int, ahead: _Ahead, for_all: dict[str, str]
) -> bool:
    """Whether a header is not a member's own; what it says is read then."""
    if kind in (_LONG_NAME, _LONG_LINK):
        text = _text(_content(stream, size))
        ahead.name = text if kind == _LONG_NAME else ahead.name
        ahead.link = text if kind == _LONG_LINK else ahead.link
    elif kind in (_PAX, _SUN_PAX):
        _read_pax(stream, _content(stream, size), ahead.pax, ahead.pairs)
    elif kind == _GLOBAL:
        _read_pax(stream, _content(stream, size), for_all, [])
        return True
    elif kind == _LABEL:
        stream.skip_to(stream.position + _padded(size))
        return True
    else:
        return False
    ahead.is_waiting = True
    return True


def _is_header(block: bytes) -> bool:
    """Whether the sum is right; some old programs added up signed bytes."""
    try:
        wanted = int(block[148:156].strip(b" \0") or b"0", 8)
    except ValueError:
        return False
    rest = block[:148] + block[156:]
    plain = sum(rest) + 8 * ord(" ")
    # The same with bytes from 128 on as negative numbers.
    return wanted == plain or wanted == plain - 256 * sum(map((127).__lt__, rest))


def _size(stream: Stream, block: bytes) -> int:
    size = _number(stream, block[124:136])
    if size < 0:
        raise damaged(stream.name, "a member's size is not one")
    return size


def _number(stream: Stream, data: bytes) -> int:
    """Octal digits, or, where these are too few, binary with the first bit set."""
    if data[0] in (0x80, 0xFF):
        value = int.from_bytes(data[1:], "big")
        return value - (1 << 8 * (len(data) - 1)) if data[0] == 0xFF else value  # noqa: PLR2004 - all bits set: negative
    try:
        return int(data.partition(b"\0")[0].strip() or b"0", 8)
    except ValueError:
        raise damaged(stream.name, "a number in a member's header is not one") from None


def _content(stream: Stream, size: int) -> bytes:
    """The content of a header that is about another one."""
    if size > _LONGEST:
        raise damaged(stream.name, f"a member's header claims {size} bytes")
    data = stream.read(_padded(size))
    if len(data) < _padded(size):
        raise damaged(stream.name, "it ends too early")
    return data[:size]


def _member(stream: Stream, block: bytes, size: int, ahead: _Ahead) -> Head:
    kind = block[156:157]
    name = _text(block[:100])
    if block[257:263] == b"ustar\0" and block[345]:
        name = f"{_text(block[345:500])}/{name}"
    if kind == b"\0" and name.endswith("/"):  # before ustar, folders had no type
        kind = FOLDER
    kind = FILE if kind in _FILES else FOLDER if kind == _DUMP else kind
    pax = ahead.pax
    head = Head(
        pax.get("path") or ahead.name or name,
        kind,
        _number(stream, block[100:108]),
        _mtime(stream, block, pax),
        size,
        pax.get("linkpath") or ahead.link or _text(block[157:257]),
        size,
        ((0, size),),
    )
    if "size" in pax:
        head.size = head.stored = _decimal(stream, pax["size"])
        head.spans = ((0, head.size),)
    if block[156:157] in _WITHOUT_CONTENT or (kind == FOLDER and block[156:157] != _DUMP):
        head.stored = 0
    elif kind == _SPARSE:
        _read_old_sparse(stream, block, head)
    elif kind == FILE and any(key.startswith("GNU.sparse.") for key in pax):
        _read_pax_sparse(stream, head, ahead)
    return head


def _mtime(stream: Stream, block: bytes, pax: dict[str, str]) -> float:
    try:
        value = float(pax["mtime"]) if "mtime" in pax else float(_number(stream, block[136:148]))
    except (ValueError, OverflowError):
        return 0.0
    return value if math.isfinite(value) else 0.0


def _text(data: bytes) -> str:
    return data.partition(b"\0")[0].decode("utf-8", "surrogateescape")


def _padded(size: int) -> int:
    return -(-size // BLOCK) * BLOCK


def _decimal(stream: Stream, text: str | bytes) -> int:
    if not text.isdigit() or not text.isascii() or len(text) > 20:  # noqa: PLR2004 - of 64 bits
        raise damaged(stream.name, "a number in a member's header is not one")
    return int(text)


def _read_pax(stream: Stream, data: bytes, into: dict[str, str], pairs: list[int]) -> None:
    """Records `LENGTH KEY=VALUE`, each with a line feed; an empty value takes a key back."""
    while data.strip(b"\0"):
        word, blank, _ = data.partition(b" ")
        length = _decimal(stream, word)
        if length > len(data):
            raise damaged(stream.name, "a record of a member's header is cut")
        record, data = data[len(word) + 1 : length], data[length:]
        key, equals, value = record[:-1].partition(b"=")
        if not blank or not equals or not record.endswith(b"\n"):
            raise damaged(stream.name, "a record of a member's header is not one")
        name = key.decode("utf-8", "surrogateescape")
        if name in ("GNU.sparse.offset", "GNU.sparse.numbytes"):
            pairs.append(_decimal(stream, value))
        if value:
            into[name] = value.decode("utf-8", "surrogateescape")
        else:
            into.pop(name, None)


# Sparse files: only the pieces between holes are stored.


def _read_old_sparse(stream: Stream, block: bytes, head: Head) -> None:
    """GNU's own header: four pieces in it, 21 more in each block that follows."""
    head.kind = FILE
    numbers, more = block[386:482], block[482]
    spans: list[tuple[int, int]] = []
    head.size = _number(stream, block[483:495])
    while True:
        for at in range(0, len(numbers), 24):
            offset = _number(stream, numbers[at : at + 12])
            length = _number(stream, numbers[at + 12 : at + 24])
            if offset or length:
                spans.append((offset, length))
        if not more:
            break
        block = stream.read(BLOCK)
        if len(block) < BLOCK or len(spans) > _MOST_SPANS:
            raise damaged(stream.name, "the map of a sparse file is cut")
        numbers, more = block[:504], block[504]
    head.spans = _checked(stream, spans, head.stored)


def _read_pax_sparse(stream: Stream, head: Head, ahead: _Ahead) -> None:
    """The three forms of GNU tar's pax headers: pairs, a list, and a list before the content."""
    pax = ahead.pax
    head.name = pax.get("GNU.sparse.name", head.name)
    size = pax.get("GNU.sparse.realsize") or pax.get("GNU.sparse.size")
    if size is not None:
        head.size = _decimal(stream, size)
    if pax.get("GNU.sparse.major") == "1":
        numbers = _map_before_content(stream, head)
    elif "GNU.sparse.map" in pax:
        numbers = [_decimal(stream, word) for word in pax["GNU.sparse.map"].split(",")]
    else:
        numbers = ahead.pairs
    if len(numbers) % 2:
        raise damaged(stream.name, "the map of a sparse file is cut")
    spans = list(zip(numbers[::2], numbers[1::2], strict=True))
    head.spans = _checked(stream, spans, head.stored)


def _map_before_content(stream: Stream, head: Head) -> list[int]:
    """Decimal numbers, a line each, the first one their pairs' number; padded to a block."""
    lines: list[bytes] = []
    rest = b""
    while True:
        lines, rest = [*lines, *(rest.split(b"\n")[:-1])], rest.rpartition(b"\n")[2]
        count = _decimal(stream, lines[0]) if lines else 0
        if count > _MOST_SPANS:
            raise damaged(stream.name, "the map of a sparse file is too long")
        if lines and len(lines) >= 1 + 2 * count:
            return [_decimal(stream, line) for line in lines[1 : 1 + 2 * count]]
        block = stream.read(BLOCK)
        head.stored -= BLOCK
        if len(block) < BLOCK or head.stored < 0:
            raise damaged(stream.name, "the map of a sparse file is cut")
        rest += block


def _checked(stream: Stream, spans: list[tuple[int, int]], stored: int) -> Spans:
    if sum(length for _, length in spans) != stored:
        raise damaged(stream.name, "the map of a sparse file does not fit its content")
    return tuple(spans)
