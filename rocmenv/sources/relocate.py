"""Making a tree fit its new place, after it was built for `/opt/rocm-X.Y.Z` or stood elsewhere.

Links are mended while unpacking (rocmenv.fetch.archive). Here are the texts that name the
old place, and what AMD's maintainer scripts would have made. Programs and libraries are
never edited: AMD's find each other relative to themselves, and tools that rewrite them
damage libraries with kernel packs (docs/sources.md, "Relocation").
"""

from __future__ import annotations

import os
import re
import secrets
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

_LARGEST_TEXT = 4 << 20
_PIECE = 1 << 20
# How far the pattern looks before a place, and behind it.
_BEFORE = len("isystem")
_AFTER = 2
# No file of the kernel's own starts a program through a longer first line.
_LONGEST_SHEBANG = 127
_LLVM = ("lib/llvm/bin", "llvm/bin")
# A debug or free-threaded build is another library: rocgdb asks for the plain one.
_PYTHON = re.compile(r"libpython3\.(\d+)\.so\.1\.0")
_PYTHON_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib")
# What CMake reads as more than itself, in and out of quotes (cmake-language(7)).
_CMAKE_SPECIAL = re.compile(rb"[\\ \"#$()]")
# Source: the post-install scripts of rocm-llvm and rocm-core in AMD's packages.
_COMPILER_LINKS = (
    "amdclang",
    "amdclang++",
    "amdclang-cl",
    "amdclang-cpp",
    "amdflang",
    "amdflang-classic",
    "amdflang-new",
    "amdlld",
    "offload-arch",
)


@dataclass(frozen=True, slots=True)
class Relocated:
    """What was done: texts rewritten, files that still name the old place (both sorted)."""

    rewritten: tuple[str, ...]
    left: tuple[str, ...]


def relocate(
    tree: Path, old: str | Collection[str], new: str, paths: Sequence[str], jobs: int = 2
) -> Relocated:
    """Let the texts among `paths` (relative to `tree`) name `new` where they name `old`.

    Several old names are replaced at once, so that none is looked for in what is new.
    pkg-config files are made relative to themselves, so that they survive a later move of
    the whole tree; other texts get the absolute `new`, with blanks escaped in CMake files.
    """
    names = [os.fsencode(name) for name in ([old] if isinstance(old, str) else old)]
    with ThreadPoolExecutor(jobs) as pool:
        found = list(pool.map(lambda path: _mend(tree, path, names, new), paths))
    rewritten = tuple(sorted(p for p, what in zip(paths, found, strict=True) if what == "mended"))
    left = tuple(sorted(p for p, what in zip(paths, found, strict=True) if what == "left"))
    return Relocated(rewritten, left)


def _mend(tree: Path, path: str, old: Sequence[bytes], new: str) -> str:
    """`mended`, `left`, or nothing when the file does not name the old place."""
    full = tree / path
    if full.is_symlink() or not full.is_file():
        return ""
    if full.stat().st_size > _LARGEST_TEXT:
        return "left" if _mentions(full, old) else ""
    pattern = _pattern(old)
    content = full.read_bytes()
    if not any(name in content for name in old) or pattern.search(content) is None:
        return ""
    if b"\0" in content:
        return "left"
    changed = pattern.sub(lambda _: _replacement(path, new), content)
    if changed.startswith(b"#!") and not _starts(content, changed):
        return "left"
    rewrite(full, changed)
    return "mended"


def _pattern(old: Sequence[bytes]) -> re.Pattern[bytes]:
    # `/opt/rocm-6.3.0` is not the beginning of `/opt/rocm-6.3.01`, nor of `/opt/rocm-6.3.0-rc`,
    # nor the end of `/data/opt/rocm-6.3.0`; compilers' options stand right before a path, and
    # so does the default of a shell variable, `${ROCM_PATH:-/opt/rocm-6.3.0}`.
    # It looks at `_BEFORE` and `_AFTER` bytes around the place.
    before = rb"(?:(?<![0-9A-Za-z_.~/-])|(?<=-[ILBF])|(?<=isystem)|(?<=://)|(?<=:-))"
    longest_first = sorted(map(re.escape, old), key=len, reverse=True)
    names = b"|".join(longest_first)
    return re.compile(before + b"(?:" + names + rb")(?![0-9A-Za-z_]|[.-][0-9A-Za-z])")


def _mentions(path: Path, old: Sequence[bytes]) -> bool:
    """Whether a large file names the place; read in pieces, as libraries have gigabytes."""
    pattern = _pattern(old)
    keep = _BEFORE + max(map(len, old)) + _AFTER
    window, start = b"", 0
    with path.open("rb", buffering=0) as file:
        while True:
            piece = file.read(_PIECE)
            window += piece
            # The search for plain bytes is many times faster than the pattern.
            if any(name in window for name in old):
                for match in pattern.finditer(window, start):
                    # One whose surroundings are not all here yet is judged with the next piece.
                    if not piece or match.end() + _AFTER <= len(window):
                        return True
            if not piece:
                return False
            if len(window) > keep:  # what starts before `start` has been judged
                window, start = window[-keep:], _BEFORE


def _replacement(path: str, new: str) -> bytes:
    if path.endswith(".pc"):
        depth = path.count("/")
        return "/".join(["${pcfiledir}", *[".."] * depth]).encode()
    if path.endswith(".cmake"):
        return _CMAKE_SPECIAL.sub(rb"\\\g<0>", os.fsencode(new))
    return os.fsencode(new)


def _starts(before: bytes, after: bytes) -> bool:
    """Whether the kernel can still start a script whose first line was changed."""
    first = after.split(b"\n", 1)[0]
    if first == before.split(b"\n", 1)[0]:
        return True
    return len(first) <= _LONGEST_SHEBANG and first.count(b" ") == before.split(b"\n", 1)[0].count(
        b" "
    )


def rewrite(path: Path, content: bytes) -> None:
    """Put `content` in place of the file `path`; its mode and times stay.

    A new file, never an edit: the old one may have hard links in another place.
    """
    status = path.stat()
    # A name of its own: packages may have any other beside this one.
    temporary = path.with_name(f".rocmenv-{secrets.token_hex(8)}")
    temporary.write_bytes(content)
    temporary.chmod(status.st_mode & 0o777)
    os.utime(temporary, ns=(status.st_atime_ns, status.st_mtime_ns))
    temporary.replace(path)


def finish_legacy(tree: Path, prefix: str, packed: int) -> list[str]:
    """Make what the maintainer scripts of AMD's packages would have made; what that was.

    Links of the compiler in `bin`, an ICD file that tells OpenCL's loader where the driver
    is, and rocgdb's link to the host's Python library. Each only where its target is there
    and nothing of that name is.
    """
    made = [*_compiler_links(tree), *_opencl(tree, prefix, packed), *_python_library(tree)]
    return [f"made {path}, as AMD's maintainer scripts do" for path in made]


def _compiler_links(tree: Path) -> Iterable[str]:
    for name in _COMPILER_LINKS:
        folder = next((f for f in _LLVM if (tree / f / name).exists()), None)
        link = tree / "bin" / name
        if folder is not None and not os.path.lexists(link):
            link.parent.mkdir(exist_ok=True)
            link.symlink_to(f"../{folder}/{name}")
            yield f"bin/{name}"


def _opencl(tree: Path, prefix: str, packed: int) -> Iterable[str]:
    vendors = tree / "etc/OpenCL/vendors"
    driver = next(
        (f for f in ("lib", "opencl/lib") if (tree / f / "libamdocl64.so").exists()), None
    )
    if driver is None or (vendors.is_dir() and any(vendors.iterdir())):
        return
    vendors.mkdir(parents=True, exist_ok=True)
    name = f"amdocl64_{packed}.icd"
    (vendors / name).write_bytes(os.fsencode(f"{prefix}/{driver}/libamdocl64.so\n"))
    yield f"etc/OpenCL/vendors/{name}"


def _python_library(tree: Path) -> Iterable[str]:
    link = tree / "lib" / "amdpythonlib.so"
    if not (tree / "bin" / "rocgdb").exists() or os.path.lexists(link):
        return
    for folder in _PYTHON_FOLDERS:
        paths = Path(folder).glob("libpython3.*.so.1.0")
        found = {int(match[1]): p for p in paths if (match := _PYTHON.fullmatch(p.name))}
        if found:
            link.symlink_to(found[max(found)])
            yield "lib/amdpythonlib.so"
            return
