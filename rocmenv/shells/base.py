"""What every shell can do: quote, change variables, and carry a rendered activation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rocmenv.env.activation import Step


@dataclass(frozen=True, slots=True)
class Activation:
    """One install, as its activation text needs it.

    `prefix` is the absolute prefix of a linked install, None for one under
    `ROOT/versions/VERSION`: its text names the root by a variable, so that it survives a
    move. `inner` is the path from that folder to the prefix, where it lies in it. `linked`
    are the prefixes of all links, `search` the folders of AMD's packages (as in
    `rocmenv.env.activation.Known`). `said` is the first line of a linked prefix's
    `.info/version`: while it says something else, the text changes nothing, and the program
    is asked. Empty: nothing is compared.
    """

    version: str
    steps: tuple[Step, ...]
    prefix: str | None = None
    inner: str = ""
    linked: tuple[str, ...] = ()
    search: tuple[str, ...] = ("/opt",)
    said: str = ""


@dataclass(frozen=True, slots=True)
class Setup:
    """A script with what to fill into it: the root, the launcher's words, and other scripts.

    `parts` are texts by the name of their placeholder: `WANTED` stands for the line
    `# @WANTED@`.
    """

    root: str
    launcher: tuple[str, ...]
    parts: Mapping[str, str]
    script: str


class Shell(Protocol):
    """Text for one shell. Every text ends in a line feed; the order of lines is fixed."""

    name: str
    suffix: str
    """The ending of its files: `sh` or `fish`."""

    def quote(self, text: str) -> str:
        """One word of the shell's language that means exactly `text`."""

    def render(self, texts: Mapping[str, str | None]) -> str:
        """Commands that set and export each name to its text, or unset it for None."""

    def activation(self, activation: Activation) -> str:
        """The file that a hook reads to activate this install, whatever the environment."""

    def setup(self, setup: Setup) -> str:
        """The commands of `rocmenv init`."""
