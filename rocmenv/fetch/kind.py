"""What a file is, by its first bytes: for messages, and for files without a digest."""

from __future__ import annotations

HEAD = 512
"""How many bytes from the start `kind` wants to see."""

# Sources: RFC 1952 (gzip), the .xz file format 1.2.1, RFC 8878 (zstd), ar(5), APPNOTE (zip),
# lzma(1) with its usual properties, rpm's lead, elf(5), and DOS's header of programs.
_MAGIC = (
    (b"\x1f\x8b", "gzip"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    # A frame to be skipped, which may come first: what is in it is no content.
    *((bytes([n]) + b"\x2a\x4d\x18", "zstd") for n in range(0x50, 0x60)),
    (b"BZh", "bzip2"),
    (b"]\0\0", "lzma"),
    (b"PK\x03\x04", "zip"),
    (b"!<arch>\n", "ar"),
    (b"\xed\xab\xee\xdb", "rpm"),
    (b"\x7fELF", "a program"),
)
_SUFFIXES = {
    ".gz": "gzip",
    ".tgz": "gzip",
    ".xz": "xz",
    ".txz": "xz",
    ".zst": "zstd",
    ".bz2": "bzip2",
    ".zip": "zip",
    ".whl": "zip",
    ".deb": "ar",
    ".tar": "tar",
}
_SPACE = 0x20
_TAR_MAGIC = slice(257, 262)


def kind(head: bytes) -> str:  # noqa: PLR0911  (a table)
    """A word or two for what starts with `head`.

    Formats are `gzip`, `xz`, `zstd`, `bzip2`, `lzma`, `zip`, `ar`, `rpm`, `tar`; other answers
    are for people: `a program`, `a program for Windows`, `empty`, `a web page`, `XML`, `JSON`,
    `text`, `binary data`.
    """
    if not head:
        return "empty"
    for magic, name in _MAGIC:
        if head.startswith(magic):
            return name
    if head[_TAR_MAGIC] == b"ustar":
        return "tar"
    if head.startswith(b"MZ"):  # so short that a member's name may begin with it
        return "a program for Windows"
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html", b"<head")):
        return "a web page"
    if start.startswith(b"<"):
        return "a web page" if b"<html" in start else "XML"
    if start.startswith((b"{", b"[")):
        return "JSON"
    printable = all(c >= _SPACE or c in b"\t\r\n\x1b" for c in head)
    return "text" if printable else "binary data"


def expected(name: str) -> str | None:
    """The kind that a file called `name` must have, or None where the name does not say.

    >>> expected("therock-dist-linux-gfx110X-all-10.0.0.tar.gz")
    'gzip'
    """
    return _SUFFIXES.get("." + name.rpartition(".")[2].lower()) if "." in name else None
