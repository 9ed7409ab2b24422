"""Whether one folder wraps the whole of an archive, found while its members come."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocmenv.fetch.members import Entry

# A folder that lies at the top of a ROCm tree is never a wrapping folder, even when alone.
_TOP_NAMES = frozenset(
    {".info", ".kpack", "amdgcn", "bin", "include", "lib", "lib64", "libexec", "llvm", "share"}
)


class Misjudged(Exception):  # noqa: N818 - a finding about the archive, not a fault
    """Names were told without a wrapping folder that is none, or with one: read it again."""


class Wrapping:
    """What is known of the wrapping folder of one archive; `known` where it was read before.

    A folder wraps an archive when everything lies in it and, right in it, a part of a ROCm.
    """

    def __init__(self, known: str | None = None) -> None:
        self._known = known
        self._first = ""
        self._is_flat = False
        self._holds_rocm = False
        self._told: str | None = None

    def see(self, entry: Entry) -> None:
        """Take the next member into account."""
        if not entry.name:
            return
        top, _, rest = entry.name.partition("/")
        self._first = self._first or top
        is_folder = bool(rest) or entry.kind == "folder"
        if top != self._first or top in _TOP_NAMES or not is_folder:
            self._is_flat = True
        elif not self._holds_rocm:
            self._holds_rocm = rest.partition("/")[0] in _TOP_NAMES

    @property
    def top(self) -> str:
        """The wrapping folder, once all members were seen; empty where there is none."""
        return self._first if self._holds_rocm and not self._is_flat else ""

    def inner(self, name: str) -> str:
        """`name` without the wrapping folder, as far as that can be told now.

        Raises `Misjudged` when it was told otherwise before.
        """
        guess = "" if self._is_flat else self._first
        guess = guess if self._known is None else self._known
        if self._told not in (None, guess):
            raise Misjudged
        self._told = guess
        return without(name, guess)

    def check(self) -> None:
        """Raises `Misjudged` when, at the end, `inner` turns out to have told wrong names."""
        if self._told not in (None, self.top):
            raise Misjudged


def without(name: str, top: str) -> str:
    """`name` as if it were not in the folder `top`; empty for that folder itself."""
    if not top:
        return name
    return "" if name == top else name.removeprefix(f"{top}/")
