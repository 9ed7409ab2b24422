"""What lies where in the prefix of one installed ROCm.

A layout is found once, by looking at the disk (`rocmenv.probe.prefix`), and kept in the
receipt; from there on it is data. All paths are relative to the prefix, with `/`, and name
folders or files that were there when the prefix was looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum


class Kind(str, Enum):
    """The families of layouts (source: docs/sources.md, "Layouts").

    `LEGACY` is `/opt/rocm-X.Y.Z` of AMD's packages up to 7.2; `CORE` is
    `/opt/rocm/core-X.Y` of the packages after that; `FLAT` is TheRock's tarball; `WHEELS`
    is the folder of TheRock's Python wheels that looks like a prefix; `DISTRO` is a
    distribution's `/usr` tree unpacked into a prefix of its own.
    """

    LEGACY = "legacy"
    CORE = "core"
    FLAT = "flat"
    WHEELS = "wheels"
    DISTRO = "distro"


@dataclass(frozen=True, slots=True)
class Layout:
    """The places in a prefix that activation needs.

    `bins` are folders for PATH, in order. `libs` are folders with shared libraries that
    programs may need on LD_LIBRARY_PATH; none of them holds a libc, and wheels have none:
    they find each other, and must not meet those of a framework. `cmake`, `pkgconfig`
    and `man` are entries for the path lists of these tools (`""` is the prefix itself).
    `device_libs` is the folder of device bitcode where clang does not find it from
    ROCM_PATH alone; `hip_clang` the folder of the compiler and `hip_lib` the folder of the
    HIP runtime where hipcc does not find them; `hipcxx` the C++ compiler that CMake's HIP
    language takes; `icd` the folder that registers the OpenCL driver. A None means: leave it
    to the tool.
    """

    kind: Kind
    bins: tuple[str, ...] = ("bin",)
    libs: tuple[str, ...] = ()
    cmake: tuple[str, ...] = ("",)
    pkgconfig: tuple[str, ...] = ()
    man: tuple[str, ...] = ()
    device_libs: str | None = None
    hip_clang: str | None = None
    hip_lib: str | None = None
    hipcxx: str | None = None
    icd: str | None = None

    def to_json(self) -> dict[str, object]:
        """The layout as JSON values, fields with their default left out."""
        out: dict[str, object] = {"kind": self.kind.value}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name != "kind" and value != field.default:
                out[field.name] = list(value) if isinstance(value, tuple) else value
        return out

    @classmethod
    def from_json(cls, value: object) -> Layout:
        """The layout that `to_json` wrote; ValueError when it is not one."""
        if not isinstance(value, dict):
            msg = "a layout is a table"
            raise ValueError(msg)  # noqa: TRY004 - callers treat every fault of a file alike
        known = {field.name: field for field in fields(cls)}
        given: dict[str, object] = {}
        for name, item in value.items():
            if name == "kind":
                given[name] = Kind(item)
            elif name in known:
                has_many = isinstance(known[name].default, tuple)
                given[name] = _paths(item) if has_many else _path(item)
        return cls(**given)  # type: ignore[arg-type]  # each value was checked above


def _paths(items: object) -> tuple[str, ...]:
    if not isinstance(items, list):
        msg = f"{items!r} is not a list of paths"
        raise ValueError(msg)  # noqa: TRY004 - as above
    return tuple(_path(item) for item in items)


def _path(item: object) -> str:
    if not isinstance(item, str) or item.startswith("/") or ".." in item.split("/"):
        msg = f"{item!r} is not a path below the prefix"
        raise ValueError(msg)
    return item
