"""From a distribution's `/usr` to a prefix: where each file goes, and texts that say where.

Programs and libraries stay as they are. They have no run paths, and some have `/usr`
compiled in; activation tells them where things are (`HIP_CLANG_PATH`, `HIP_LIB_PATH`,
`HIP_DEVICE_LIB_PATH`, `LD_LIBRARY_PATH`). What others look for at AMD's places below
ROCM_PATH, whatever the variables say, gets a link or a forwarding file there.
"""

from __future__ import annotations

import ast
import os
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rocmenv.sources.relocate import rewrite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_ARCH = "lib/x86_64-linux-gnu"
_TOPS = ("bin", "sbin", "lib", "lib64")
_VENDORS = "etc/OpenCL/vendors"
# Folders below /usr that are of no use, or of none to a prefix: documentation, and what the
# system's own services read.
_LEFT_OUT = (
    "games",
    "lib/binfmt.d",
    "lib/debug",
    "lib/modprobe.d",
    "lib/systemd",
    "lib/sysusers.d",
    "lib/tmpfiles.d",
    "lib/udev",
    "local",
    "share/applications",
    "share/apport",
    "share/binfmts",
    "share/bug",
    "share/dbus-1",
    "share/doc",
    "share/doc-base",
    "share/icons",
    "share/info",
    "share/initramfs-tools",
    "share/lintian",
    "share/locale",
    "share/menu",
    "share/metainfo",
    "share/polkit-1",
    "src",
)
_MAN = "share/man"
_LARGEST_TEXT = 4 << 20
# `set(NAME "/usr/…")` in CMake's generated files. Comparisons with the original place
# (`get_filename_component(_realOrig "/usr/…`) stay: they must not come true.
_CMAKE = re.compile(
    rb'^(\s*)set\s*\(\s*(\w+)\s+"?/usr(?!/local)((?:/[^"\s;)]*)?)"?\s*\)', re.MULTILINE
)
_PKGCONFIG = re.compile(rb"((?:^\w+\s*=\s*)|-[IL])/usr(?=/|\s)(?!/local)", re.MULTILINE)
# Below /usr/include or /usr/bin a script means the system's; deeper paths are a package's.
_DEEP = re.compile(rb"(?<![\w}./-])/usr/((?:lib|libexec|share)/[\w.+-]+(?:/[\w.+-]+)+)")
_COMMENTS = re.compile(rb"(?:#[^\n]*\n)+")
_CONFIG = re.compile(r"(?:-config(?:-version)?|Config(?:Version)?)\.cmake\Z")
_RUNTIME = ("libamdhip64", "libhiprtc", "libhsa-runtime64", "libamd_comgr")


@dataclass(frozen=True, slots=True)
class Mapping:
    """Paths in a package to paths below the prefix, as `Tree.add_deb` asks for them.

    `/usr` and the top folders that distributions have merged into it become the prefix;
    man pages are kept `with_man`.
    """

    with_man: bool = False

    def __call__(self, member: str) -> str | None:
        """The place of `member`, or None where it is left out."""
        if member in ("", "usr"):
            return ""
        if member == _VENDORS or member.startswith(f"{_VENDORS}/"):
            return member
        top, _, rest = member.partition("/")
        inner = rest if top == "usr" else member
        if top not in ("usr", *_TOPS) or _is_below(inner, _LEFT_OUT):
            return None
        if not self.with_man and _is_below(inner, (_MAN,)):
            return None
        return inner


def _is_below(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def finish(tree: Path, prefix: str, version: str, paths: Sequence[str]) -> tuple[str, ...]:
    """Make the unpacked `paths` (relative to `tree`) fit the absolute `prefix`.

    Writes `.info/version`. CMake and pkg-config files are made relative to themselves,
    scripts and OpenCL registrations name `prefix`. Links and files are added where tools
    expect AMD's places. Returns notes.
    """
    odd: list[str] = []
    changed = sum(_mend(tree, prefix, path, odd) for path in paths)
    info = tree / ".info" / "version"
    info.parent.mkdir(exist_ok=True)
    info.unlink(missing_ok=True)
    info.write_text(f"{version}\n", encoding="ascii")
    notes = [f"{changed} texts that named /usr were made to fit the prefix"] if changed else []
    made = [*_compiler(tree), *_libraries(tree), *_forwards(tree)]
    if made:
        notes.append(f"made {len(made)} links and files where tools look in AMD's layout")
    notes += [f"`{path}` has no place for the folder of the prefix's modules" for path in odd]
    return tuple(notes)


def _mend(tree: Path, prefix: str, path: str, odd: list[str]) -> bool:
    """Whether the file was changed; scripts that cannot get all they need go into `odd`."""
    change = _change_for(tree, prefix, path, odd)
    full = tree / path
    if change is None or full.is_symlink() or full.stat().st_size > _LARGEST_TEXT:
        return False
    before = full.read_bytes()
    after = change(before)
    if after == before:
        return False
    rewrite(full, after)
    return True


def _change_for(
    tree: Path, prefix: str, path: str, odd: list[str]
) -> Callable[[bytes], bytes] | None:
    ups = "/.." * path.count("/")
    if path.endswith(".cmake"):
        here = b'"${CMAKE_CURRENT_LIST_DIR}' + ups.encode()
        made = b"\\1get_filename_component(\\2 " + here + b'\\3" ABSOLUTE)'
        return lambda text: _CMAKE.sub(made, text)
    if path.endswith(".pc"):
        here = b"\\1${pcfiledir}" + ups.encode()
        return lambda text: _PKGCONFIG.sub(here, text)
    if path.startswith(f"{_VENDORS}/"):
        return lambda text: _registration(tree, prefix, text)
    if "/bin/" in f"/{path}" or path.startswith("libexec/"):
        return lambda text: _script(tree, prefix, path, text, odd)
    return None


def _script(tree: Path, prefix: str, path: str, text: bytes, odd: list[str]) -> bytes:
    """A script that finds the prefix's own parts, and modules that the host may lack."""
    if not text.startswith(b"#!"):
        return text
    first, end, rest = text.partition(b"\n")

    def place(match: re.Match[bytes]) -> bytes:
        is_ours = os.path.lexists(tree / os.fsdecode(match[1]))
        return os.fsencode(prefix) + b"/" + match[1] if is_ours else match[0]

    text = first + end + _DEEP.sub(place, rest)
    ups = "/".join([".."] * path.count("/")).encode()
    for started, folder, line, put in _MODULES:
        if started.match(first) and (tree / folder).is_dir():
            try:
                text = put(text, line % (ups + b"/" + folder.encode()))
            except SyntaxError:
                odd.append(path)
    return text


def _behind_comments(text: bytes, line: bytes) -> bytes:
    head = _COMMENTS.match(text)
    at = head.end() if head else 0
    return text[:at] + line + text[at:]


def _behind_docstring(text: bytes, line: bytes) -> bytes:
    """The Python script with `line` behind what has to stand first.

    That is the docstring, which usage messages print, and imports from `__future__`.

    Raises:
        SyntaxError: this Python cannot parse the script, or has no place for `line` there.
    """
    module = _parsed(text)
    body = module.body
    first = 0 if ast.get_docstring(module, clean=False) is None else 1
    while first < len(body) and _is_future(body[first]):
        first += 1
    if first == len(body):
        return text  # nothing that could need a module
    if not first:
        return _behind_comments(text, line)
    end = body[first - 1].end_lineno or 0
    if body[first].lineno == end:
        raise SyntaxError
    at = sum(map(len, text.splitlines(keepends=True)[:end]))
    changed = text[:at] + line + text[at:]
    _parsed(changed)  # a backslash may join lines
    return changed


def _parsed(text: bytes) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the script, which we have not written
            return ast.parse(text)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError from error


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


# Interpreter, the folder of its modules in Debian's layout, the line that adds it after (Perl:
# before) the interpreter's own, and where that goes; PERL5LIB or PYTHONPATH would reach other
# programs.
_MODULES = (
    (
        re.compile(rb"#! ?/usr/bin/(?:env )?perl"),
        "share/perl5",
        b'use FindBin; use lib "$FindBin::RealBin/%s";\n',
        _behind_comments,
    ),
    (
        re.compile(rb"#! ?/usr/bin/(?:env )?python3"),
        "lib/python3/dist-packages",
        (
            b"import os, sys; sys.path.append("
            b"os.path.join(os.path.dirname(os.path.realpath(__file__)), '%s'))\n"
        ),
        _behind_docstring,
    ),
)


def _registration(tree: Path, prefix: str, text: bytes) -> bytes:
    """The driver's full path in place of its bare name."""
    name = os.fsdecode(text.strip())
    for folder in (_ARCH, "lib"):
        if "/" not in name and (tree / folder / name).exists():
            return os.fsencode(f"{prefix}/{folder}/{name}\n")
    return text


def _compiler(tree: Path) -> Iterable[str]:
    """The compiler where `ROCM_PATH/llvm` is looked for, and by the names that hipcc 5 uses."""
    folders = [f for f in (tree / "lib").glob("llvm-*") if (f / "bin/clang++").exists()]
    if not folders:
        return
    folder = max(folders, key=lambda f: int(f.name[5:]) if f.name[5:].isdigit() else 0)
    number = folder.name[5:]
    yield from _link(tree, "llvm", f"lib/{folder.name}")
    for name in ("clang++", "llc"):
        if (folder / "bin" / name).exists():
            yield from _link(tree, f"lib/{folder.name}/bin/{name}-{number}", name)
    places = (f"lib/{folder.name}/lib/clang/{number}/amdgcn", f"{_ARCH}/amdgcn")
    device = next((place for place in places if (tree / place / "bitcode").is_dir()), None)
    if device is not None:  # clang looks there when it knows nothing but ROCM_PATH
        yield from _link(tree, "amdgcn", device)


def _libraries(tree: Path) -> Iterable[str]:
    """The runtime in `lib`, where clang's `--hip-link` and others look for it."""
    for name in _RUNTIME:
        for path in sorted((tree / _ARCH).glob(f"{name}.so*")):
            yield from _link(tree, f"lib/{path.name}", f"{_ARCH[4:]}/{path.name}")


def _link(tree: Path, place: str, target: str) -> Iterable[str]:
    if not os.path.lexists(tree / place):
        (tree / place).symlink_to(target)
        yield place


def _forwards(tree: Path) -> Iterable[str]:
    """Files in `lib/cmake` that include those of the architecture's own folder.

    CMake's HIP language up to 3.27 looks at `lib/cmake/hip-lang` alone. A link would not
    do: the files find the prefix by counting folders.
    """
    for path in sorted((tree / _ARCH / "cmake").glob("*/*")):
        place = f"lib/cmake/{path.parent.name}/{path.name}"
        if _CONFIG.search(path.name) is None or os.path.lexists(tree / place):
            continue
        (tree / place).parent.mkdir(parents=True, exist_ok=True)
        inner = f"{_ARCH[4:]}/cmake/{path.parent.name}/{path.name}"
        text = f'include("${{CMAKE_CURRENT_LIST_DIR}}/../../{inner}")\n'
        (tree / place).write_text(text, encoding="utf-8")
        yield place
