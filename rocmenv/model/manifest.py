r"""What lies in an installed prefix, file by file: what `rocmenv verify` compares the disk with.

A manifest is text, one line for each path, in the order of the paths, kept beside the
receipt. A release has tens of thousands of files, so it is written and read line by line,
and only by the commands that need it. The same tree gives the same text.

    rocmenv-manifest 1
    d 755 bin
    = hipcc6.3.0                            from here on, owner 1
    f 755 1042 DIGEST 1 bin/hipcc           mode, size, SHA-256, owner, path
    l 1 bin/hipcc.bin<TAB>hipcc             owner, path, text of the link
    end 3 DIGEST                            number of entries, SHA-256 of all lines above

Owner 0 is rocmenv itself. In paths, texts and names, `\\`, `\n` and `\t` stand for a
backslash, a line feed and a tab. What is not UTF-8 is kept as Python's surrogate escapes.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from rocmenv.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SCHEMA = 1
FILE, FOLDER, LINK = "file", "folder", "link"
_WORD = "rocmenv-manifest"
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_MEANING = {"\\": "\\", "n": "\n", "t": "\t"}
_FIELDS = {"f": 6, "d": 3, "l": 3}
_KINDS = {"f": FILE, "d": FOLDER, "l": LINK}


@dataclass(frozen=True, slots=True)
class Entry:
    """One path of a tree, relative to the prefix, with `/`.

    `kind` is `file`, `folder` or `link`. `mode` are the permission bits of a file or folder,
    `size` (bytes) and `sha256` (lower-case hex) a file's, `target` is a link's text. `owner`
    is the package or archive that a file or link came from; empty for what was made here,
    and for folders, which packages share.
    """

    path: str
    kind: str
    mode: int = 0
    size: int = 0
    sha256: str = ""
    target: str = ""
    owner: str = ""


class Lacking(NamedTuple):
    """A file or link that an install lacks on purpose.

    `size` is in bytes, 0 for a link; `member` is its name in its package or archive, `owner`.
    """

    size: int
    owner: str
    member: str


def render(entries: Iterable[Entry]) -> Iterator[str]:
    """The lines of the manifest of `entries`, which are in the order of their paths."""
    digest = hashlib.sha256()
    count = 0
    for line in _lines(entries):
        count += line[0] in _KINDS
        digest.update(line.encode("utf-8", "surrogateescape"))
        yield line
    yield f"end {count} {digest.hexdigest()}\n"


def _lines(entries: Iterable[Entry]) -> Iterator[str]:
    yield f"{_WORD} {SCHEMA}\n"
    owners = {"": 0}
    for entry in entries:
        path = _escaped(entry.path)
        if entry.kind == FOLDER:
            yield f"d {entry.mode:o} {path}\n"
            continue
        if entry.owner not in owners:
            owners[entry.owner] = len(owners)
            yield f"= {_escaped(entry.owner)}\n"
        owner = owners[entry.owner]
        if entry.kind == LINK:
            yield f"l {owner} {path}\t{_escaped(entry.target)}\n"
        else:
            yield f"f {entry.mode:o} {entry.size} {entry.sha256} {owner} {path}\n"


def parse(lines: Iterable[str], path: str) -> Iterator[Entry]:
    """The entries of a manifest, in order; `path` names it in errors.

    Raises:
        StoreError: it is none, of a newer rocmenv, or damaged. That may show only at its
            end, when the entries before have been given.
    """
    digest = hashlib.sha256()
    owners = [""]
    count = -1
    for line in lines:
        try:
            if count < 0:
                _check_head(line, path)
                count = 0
            elif line.startswith("= "):
                owners.append(_plain(line[2:].removesuffix("\n")))
            elif line.startswith("end "):
                if line != f"end {count} {digest.hexdigest()}\n":
                    _refuse(path, "its lines are not those that were written")
                return
            else:
                count += 1
                yield _entry(line, owners)
        except (ValueError, IndexError, KeyError):
            _refuse(path, f"line {line[:80]!r}")
        digest.update(line.encode("utf-8", "surrogateescape"))
    _refuse(path, "it has no end")


def large_files(data: bytes, path: str, smallest: int) -> dict[str, str]:
    """The SHA-256 of each file of `smallest` bytes or more, by its path.

    `data` is a whole manifest, which is checked as `parse` checks it; for who needs a few of
    many entries, a tenth of the time. Raises `StoreError` as `parse`.
    """
    end = data.rfind(b"\nend ") + 1
    out = {}
    try:
        _check_head(data[:end].partition(b"\n")[0].decode(), path)
        if not data[end:].endswith(f" {hashlib.sha256(data[:end]).hexdigest()}\n".encode()):
            _refuse(path, "its lines are not those that were written")
        for line in data[:end].split(b"\n"):
            if line.startswith(b"f "):
                _, _, size, sha256, _, name = line.split(b" ", _FIELDS["f"] - 1)
                if int(size) >= smallest:
                    out[_path(name.decode("utf-8", "surrogateescape"))] = sha256.decode()
    except ValueError:
        _refuse(path, "it has a line that is none")
    return out


def render_lacking(rows: Iterable[Lacking]) -> list[str]:
    """The lines of the list of what an install lacks, which lies beside its manifest."""
    return [f"{r.size}\t{_escaped(r.owner)}\t{_escaped(r.member)}\n" for r in rows]


def parse_lacking(lines: Iterable[str], path: str) -> list[Lacking]:
    """The rows of such a list; `StoreError` naming `path` for lines of another form."""
    rows = []
    for line in lines:
        try:
            size, owner, member = line.removesuffix("\n").split("\t")
            rows.append(Lacking(int(size), _plain(owner), _plain(member)))
        except (ValueError, KeyError):
            _refuse(path, f"line {line[:80]!r}")
    return rows


def _check_head(line: str, path: str) -> None:
    word, _, number = line.rstrip("\n").partition(" ")
    if word != _WORD:
        _refuse(path, "it does not begin as one")
    if int(number) > SCHEMA:
        msg = f"{path} was written by a newer rocmenv"
        raise StoreError(msg, hint="update rocmenv")


def _entry(line: str, owners: list[str]) -> Entry:
    letter = line[0]
    if not line.endswith("\n"):
        raise ValueError
    fields = line[:-1].split(" ", _FIELDS[letter] - 1)
    kind = _KINDS[fields[0]]
    if kind == FOLDER:
        return Entry(_path(fields[2]), kind, int(fields[1], 8))
    if kind == LINK:
        path, _, target = fields[2].partition("\t")
        return Entry(_path(path), kind, target=_plain(target), owner=owners[int(fields[1])])
    _, mode, size, sha256, owner, path = fields
    return Entry(_path(path), kind, int(mode, 8), int(size), sha256, "", owners[int(owner)])


def _path(text: str) -> str:
    path = _plain(text)
    if not path or path.startswith("/") or ".." in path.split("/") or "\0" in path:
        raise ValueError
    return path


def _escaped(text: str) -> str:
    if "\\" not in text and "\n" not in text and "\t" not in text:  # nearly all
        return text
    return text.replace("\\", r"\\").replace("\n", r"\n").replace("\t", r"\t")


def _plain(text: str) -> str:
    return _ESCAPED.sub(lambda m: _MEANING[m[1]], text) if "\\" in text else text


def _refuse(path: str, words: str) -> NoReturn:
    msg = f"{path} is damaged: {words}"
    raise StoreError(msg)
