"""Which package of the distribution a prefix belongs to.

From the lists of files that dpkg keeps (`/var/lib/dpkg/info/NAME.list`) and pacman
(`/var/lib/pacman/local/NAME-VERSION/files`). The database of rpm is not read.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocmenv.probe.discover.base import Look

_CANDIDATE = re.compile(
    r"(rocm-core|librocm-core|amdrocm|hip-runtime|hipcc|rocminfo|rocm-hip-runtime|libamdhip64).*"
)
_FILES = (".info/version", "bin/hipcc", "bin/rocminfo", "lib/libamdhip64.so")
_MOST = 16 << 20


class Owners:
    """The packages that may have a prefix; their lists are read once, when first asked for."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._lists: dict[str, frozenset[str]] | None = None

    def of(self, prefix: str) -> str | None:
        """The package that has a file which tells the prefix, None when there is none."""
        if self._lists is None:
            self._lists = dict(self._read())
        for name in _FILES:
            path = f"{prefix}/{name}"
            for package, files in self._lists.items():
                if path in files:
                    return package
        return None

    def _read(self) -> Iterator[tuple[str, frozenset[str]]]:
        look, places = self._look, self._look.host.places
        for name in look.names(places.dpkg):
            package = name.removesuffix(".list").partition(":")[0]
            if name.endswith(".list") and _CANDIDATE.fullmatch(package):
                text = look.text(os.path.join(places.dpkg, name), _MOST) or ""
                yield package, frozenset(text.split("\n"))
        for name in look.names(places.pacman):
            package = "-".join(name.split("-")[:-2])  # NAME-VERSION-BUILD
            if _CANDIDATE.fullmatch(package):
                text = look.text(os.path.join(places.pacman, name, "files"), _MOST) or ""
                yield package, frozenset(f"/{line}" for line in text.split("\n"))
