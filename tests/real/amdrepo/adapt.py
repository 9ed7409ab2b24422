"""Debian's places in text files, rewritten to AMD's."""

from __future__ import annotations

import re
from pathlib import Path

from tests.real import debian
from tests.real.amdrepo.names import Release

_LARGEST_TEXT = 1 << 20


def adapt(path: Path, relative: str, named: Release, llvm: str) -> None:
    """Rewrite Debian's places in a text file to AMD's; what is absolute stays absolute.

    So some files name `/opt/rocm-X.Y.Z`, as AMD's do, and a moved tree must have them rewritten.
    """
    if path.stat().st_size > _LARGEST_TEXT or path.suffix in {".h", ".hpp"}:
        return
    octets = path.read_bytes()
    if b"\0" in octets:
        return
    text = octets.decode("utf-8", errors="surrogateescape")
    root = f"/{named.prefix}"
    changed = text.replace(f"/usr/lib/{debian.MULTIARCH}", f"{root}/lib")
    changed = changed.replace(f"lib/{debian.MULTIARCH}", "lib")
    changed = re.sub(rf"\b(clang\+\+|clang|llc)-{llvm}\b", r"\1", changed)
    if path.suffix == ".pc":
        changed = re.sub(r"(?m)^prefix=.*$", f"prefix={root}", changed)
    if path.suffix == ".cmake":
        changed = _adapt_cmake(changed, relative, root)
    if changed != text:
        path.write_bytes(changed.encode("utf-8", errors="surrogateescape"))


def _adapt_cmake(text: str, relative: str, root: str) -> str:
    # One folder less between file and prefix: lib/cmake/hip, not lib/x86_64-linux-gnu/cmake/hip.
    if relative.startswith(f"usr/lib/{debian.MULTIARCH}/cmake/"):
        text = re.sub(r"\.\./((?:\.\./){3,})", r"\1", text)
        for variable in ("_IMPORT_PREFIX", "AMD_COMGR_PREFIX"):
            up = f'get_filename_component({variable} "${{{variable}}}" PATH)\n'
            text = text.replace(up * 4, up * 3)
    # Debian fixes what AMD derives from the file's own place.
    climb = 'get_filename_component({} "${{CMAKE_CURRENT_LIST_DIR}}/../../.." ABSOLUTE)'
    text = text.replace('set(_IMPORT_PREFIX "/usr")', climb.format("_IMPORT_PREFIX"))
    if relative.endswith("AMDDeviceLibsConfig.cmake"):
        setting = r"(?m)^(set|get_filename_component)\(AMD_DEVICE_LIBS_PREFIX .*\)\n"
        text = re.sub(setting, "", text)
        text = f"{climb.format('AMD_DEVICE_LIBS_PREFIX')}\n{text}"
        text = text.replace("/lib/amdgcn/", "/amdgcn/")
    text = re.sub(
        r'set\(HIP_CLANG_ROOT "?/usr"?\)', 'set(HIP_CLANG_ROOT "${ROCM_PATH}/llvm")', text
    )
    return re.sub(r'"/usr"|(?<=ROCM_PATH )/usr(?=\))', f'"{root}"', text)
