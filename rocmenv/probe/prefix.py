"""From a folder to its version and layout."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmenv.errors import InvalidVersionError, StoreError, visible
from rocmenv.model.layout import Kind, Layout
from rocmenv.model.version import Version

if TYPE_CHECKING:
    from collections.abc import Iterable

_HEADERS = ("include/rocm-core/rocm_version.h", "include/rocm_version.h")
_MACRO = re.compile(r"^#define\s+ROCM_VERSION_(MAJOR|MINOR|PATCH)\s+(\d+)", re.MULTILINE)
_LINE = re.compile(r"[0-9A-Za-z.+~_-]+\n?", re.ASCII)
WHEEL_FOLDER = "_rocm_sdk_"
"""How the folders of wheels begin that hold programs and libraries."""
_ARCH = "lib/x86_64-linux-gnu"
# Prefixes where a ROCm of the host lies among everything else.
_SHARED = ("/", "/usr", "/usr/local")
_MARKERS = (
    "bin/hipcc", "bin/rocminfo", "lib/libamdhip64.so", "lib/libhsa-runtime64.so.1",
    "bin/hipcc.exe", "bin/hipcc.bat", "bin/hipcc.bin.exe", "bin/.hipVersion",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Prefix:
    """A ROCm on disk: absolute path, version, layout."""

    path: str
    version: Version
    layout: Layout


def look_at(path: str) -> Prefix:
    """The ROCm whose prefix is `path`; `StoreError` when there is none or it has no version."""
    version = find_version(path)
    if version is None:
        if not is_rocm(path):
            msg = (
                f"{visible(path, 200)} is not the prefix of a ROCm: no .info/version, no bin/hipcc"
            )
            raise StoreError(msg, hint="name the folder that holds `bin` and `lib`")
        msg = f"{visible(path, 200)} does not say which release it is"
        raise StoreError(msg, hint="name it: `rocmenv link PREFIX VERSION`")
    return Prefix(path, version, find_layout(path))


def info_text(path: str) -> str:
    """What the prefix's `.info/version` says, build number included; empty without one."""
    return next(iter(_info_texts(path)), "")


def info_line(path: str) -> str:
    """The one line of the prefix's `.info/version`; empty when it is no plain line of text."""
    text = _text(os.path.join(path, ".info", "version"))
    return text.rstrip("\n") if _LINE.fullmatch(text) else ""


def is_rocm(path: str) -> bool:
    """Whether a folder looks like the prefix of a ROCm, also where it has no version."""
    return find_version(path) is not None or any(
        os.path.exists(os.path.join(path, marker)) for marker in _MARKERS
    )


def is_shared(path: str) -> bool:
    """Whether `path` is a prefix of the whole host, not one of a ROCm alone."""
    return os.path.realpath(path) in _SHARED


def find_version(path: str) -> Version | None:
    """The release that a prefix says it is, None when it does not.

    From `.info/version`, else the header of rocm-core. HIP's own number is never used: it
    has little to do with ROCm's (case R13).
    """
    for text in _info_texts(path):
        try:
            return Version.parse_info(text)
        except InvalidVersionError:
            continue
    for header in _HEADERS:
        found = dict(_MACRO.findall(_text(os.path.join(path, header))))
        if len(found) == 3:  # noqa: PLR2004 - major, minor, patch
            with suppress(InvalidVersionError):
                return Version.parse(f"{found['MAJOR']}.{found['MINOR']}.{found['PATCH']}")
    return None


def find_layout(path: str) -> Layout:
    """Where bin, lib, the compiler and its parts lie in a prefix."""
    llvm = _first_dir(path, ("lib/llvm", "llvm"))
    if _is_distro(path) or (llvm is None and _numbered_llvm(path) is not None):
        return _distro(path)
    bins = ["bin"] + ([f"{llvm}/bin"] if llvm and _is_dir(path, f"{llvm}/bin") else [])
    compiler = f"{llvm}/bin/clang++"
    kind = _kind(path)
    # Wheels look for each other by RPATH, and a framework's own wheels by RUNPATH, which
    # LD_LIBRARY_PATH would come before (source: docs/sources.md, "The wheels channel").
    libs = () if kind is Kind.WHEELS else ("lib", "lib64")
    return Layout(
        kind=kind,
        bins=tuple(bins),
        libs=tuple(_libs(path, libs)),
        pkgconfig=tuple(_dirs(path, ("lib/pkgconfig", "share/pkgconfig"))),
        man=tuple(_dirs(path, ("share/man",))),
        device_libs=_device_libs(path),
        hipcxx=compiler if _is_file(path, compiler) else None,
        icd=_first_dir(path, ("etc/OpenCL/vendors",)),
    )


def _kind(path: str) -> Kind:
    if os.path.basename(path).startswith("core-"):
        return Kind.CORE
    if os.path.basename(path).startswith(WHEEL_FOLDER):
        return Kind.WHEELS
    if _is_dir(path, "share/therock") or _is_dir(path, ".kpack"):
        return Kind.FLAT
    return Kind.LEGACY


def _device_libs(path: str) -> str | None:
    # TheRock keeps them with the compiler, where the clangs of 7.9 and 7.10 do not look;
    # with `amdgcn` at the top every clang finds them from ROCM_PATH.
    if _is_dir(path, "amdgcn/bitcode"):
        return None
    return _first_dir(path, ("lib/llvm/amdgcn/bitcode",))


def _is_distro(path: str) -> bool:
    """Whether the HIP runtime lies in the architecture's own folder, as no tree of AMD's has it."""
    return _is_dir(path, _ARCH) and _holds(path, _ARCH, "libamdhip64.so")


def _distro(path: str) -> Layout:
    """A distribution's tree: library folders by architecture, a numbered LLVM, no run paths.

    A prefix without a compiler (only the runtime) has none of the compiler's places.
    """
    llvm = _numbered_llvm(path)
    arch = [d for d in (_ARCH, "lib64", "lib") if _is_dir(path, d)]
    libs = [d for d in (*arch, f"{llvm}/lib") if any(".so" in name for name in _names(path, d))]
    bins = ["bin"] + ([f"{llvm}/bin"] if llvm else [])
    compiler = f"{llvm}/bin/clang++"
    return Layout(
        kind=Kind.DISTRO,
        bins=tuple(_dirs(path, bins)),
        libs=tuple(_libs(path, libs)),
        pkgconfig=tuple(_dirs(path, (*(f"{d}/pkgconfig" for d in arch), "share/pkgconfig"))),
        man=tuple(_dirs(path, ("share/man",))),
        device_libs=_distro_device_libs(path, llvm, arch),
        hip_clang=f"{llvm}/bin" if llvm else None,
        hip_lib=next((d for d in arch if _holds(path, d, "libamdhip64.so")), None),
        hipcxx=compiler if _is_file(path, compiler) else None,
        icd=_first_dir(path, ("etc/OpenCL/vendors",)),
    )


def _distro_device_libs(path: str, llvm: str | None, arch: list[str]) -> str | None:
    # With the compiler's own files since LLVM 17, in a folder with its full version before.
    resources = f"{llvm}/lib/clang"
    versions = _names(path, resources) if llvm else []
    folders = [f"{resources}/{name}" for name in sorted(versions)]
    return _first_dir(path, [f"{d}/amdgcn/bitcode" for d in (*folders, *arch)])


def _numbered_llvm(path: str) -> str | None:
    """The newest `lib/llvm-N` with programs; one with the compiler comes before one without."""
    found = [n for n in _names(path, "lib") if re.fullmatch(r"llvm-\d+", n)]
    usable = [n for n in found if _is_dir(path, f"lib/{n}/bin")]
    with_clang = [n for n in usable if _is_file(path, f"lib/{n}/bin/clang++")] or usable
    return f"lib/{max(with_clang, key=lambda n: int(n[5:]))}" if with_clang else None


def _names(path: str, folder: str) -> list[str]:
    try:
        return os.listdir(os.path.join(path, folder))
    except OSError:
        return []


def _libs(path: str, folders: Iterable[str]) -> Iterable[str]:
    """Those of `folders` that may go on LD_LIBRARY_PATH.

    A folder with a libc would be taken by every program of the host and end it with an
    undefined symbol (seen with Debian's own trees).
    """
    for folder in _dirs(path, folders):
        names = _names(path, folder)
        if not any(re.fullmatch(r"(libc|ld-linux.*|libpthread)\.so\.\d+", n) for n in names):
            yield folder


def _holds(path: str, folder: str, start: str) -> bool:
    return any(name.startswith(start) for name in _names(path, folder))


def _dirs(path: str, folders: Iterable[str]) -> Iterable[str]:
    seen = set()
    for folder in folders:
        full = os.path.realpath(os.path.join(path, folder))
        if os.path.isdir(full) and full not in seen:
            seen.add(full)
            yield folder


def _first_dir(path: str, folders: Iterable[str]) -> str | None:
    return next((folder for folder in folders if _is_dir(path, folder)), None)


def _is_dir(path: str, folder: str) -> bool:
    return os.path.isdir(os.path.join(path, folder))


def _is_file(path: str, name: str) -> bool:
    return os.path.isfile(os.path.join(path, name))


def _info_texts(path: str) -> Iterable[str]:
    # The older names are those that AMD's own readers still try (rocminfo and rocm-cli).
    for name in ("version", "version-rocm", "version-dev", "version-utils", "version-libs"):
        text = _text(os.path.join(path, ".info", name)).strip()
        if text:
            yield text


def _text(path: str) -> str:
    try:
        if not os.path.isfile(path):  # a pipe would keep us waiting
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(65536)
    except OSError:
        return ""
