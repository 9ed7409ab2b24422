"""What a linked prefix was when it was registered, to tell when it has become another.

Somebody else looks after a linked ROCm, and may put another release in its place: AMD's
`/opt/rocm/core-X.Y` and Arch's `/opt/rocm` are upgraded so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rocmenv.model.version import Version


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a prefix said of itself, and its key files.

    `version` is the release that it said it is, empty when it did not say; `text` the
    content of its `.info/version`, with the number of the build. `marks` are size in bytes
    and time of change in seconds of each key file that was there. Both survive a copy by a
    package manager to another machine; inode numbers do not, and a shared root serves many.
    """

    version: str = ""
    text: str = ""
    marks: tuple[tuple[str, int, int], ...] = ()

    def to_json(self) -> dict[str, object]:
        """The fingerprint as JSON values."""
        marks = {name: [size, time] for name, size, time in self.marks}
        return {"version": self.version, "text": self.text, "marks": marks}

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> Fingerprint:
        """The fingerprint that `to_json` wrote; ValueError when it is none."""
        version, text, marks = value["version"], value["text"], value["marks"]
        if not (isinstance(version, str) and isinstance(text, str) and isinstance(marks, dict)):
            msg = "a fingerprint is two texts and a table of files"
            raise ValueError(msg)  # noqa: TRY004 - any flaw of a receipt is one
        rows = tuple((str(name), int(size), int(time)) for name, (size, time) in marks.items())
        return cls(version, text, rows)


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a linked prefix: the release that it was, and the one that it is now.

    `now` is empty when the prefix says nothing any more. Both are equal when only the build
    or the files are others.
    """

    was: str
    now: str

    @property
    def is_release(self) -> bool:
        """Whether it is another release, and not the same one built anew."""
        return self.was != self.now

    def __str__(self) -> str:
        if not self.is_release:
            return f"was changed in place, and still is {self.now}"
        return f"was {self.was}, is {self.now or 'none that says its release'}"


def compare(before: Fingerprint | None, now: Fingerprint, name: Version) -> Change | None:
    """What changed since `before`, None when nothing did.

    A link that rocmenv made before there were fingerprints has none: its name tells the
    release. So does the name of one whose prefix did not say what it is.
    """
    was = before.version if before and before.version else str(name.without_local)
    if before is None or not before.version:
        same = not now.version or _release(now.version) == _release(was)
        return None if same else Change(was, now.version)
    if now.version != was:
        return Change(was, now.version)
    return None if (now.text, now.marks) == (before.text, before.marks) else Change(was, was)


def _release(text: str) -> tuple[int, ...]:
    from rocmenv.model.version import Version  # noqa: PLC0415 - only for links by hand

    return Version.parse(text).release
