"""Rendered activations: what hooks and shims read in place of starting a process.

For each installed version `VERSION.sh` and `VERSION.fish` for the hooks, `VERSION.shim` for
the shim; for each other word that a pin
may hold and that names one of them (`6`, `6.3`, `latest`, an alias) a link to that file.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from rocmenv.env.activation import steps
from rocmenv.errors import InvalidVersionError
from rocmenv.model.version import LATEST, SYSTEM, Spec, choose
from rocmenv.shells.base import Activation
from rocmenv.shells.fish import FishShell
from rocmenv.shells.posix import PosixShell

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocmenv.model.version import Version
    from rocmenv.store.paths import Root
    from rocmenv.store.registry import Installed

POSIX = PosixShell("sh")
FISH = FishShell()
SUFFIXES = ("sh", "shim", "fish")


def names(versions: Sequence[Version], aliases: Mapping[str, str]) -> dict[str, Version]:
    """The words other than full versions that select one of `versions`, each with its choice."""
    words = {LATEST}
    for version in versions:
        words |= {str(version.release[0]), version.xy}
    out: dict[str, Version] = {}
    for word in sorted(words):
        chosen = choose(Spec.parse(word), versions)
        if chosen is not None:
            out[word] = chosen
    for alias, text in aliases.items():
        try:
            spec = Spec.parse(text)
            named = Spec.parse(alias).is_alias
        except InvalidVersionError:
            continue
        chosen = choose(spec, versions)
        if named and alias != SYSTEM and chosen is not None:
            out[alias] = chosen
    return out


def render(
    root: Root,
    installed: Mapping[Version, Installed],
    aliases: Mapping[str, str],
    search: Sequence[str],
    said: Mapping[Version, str | None] | None = None,
) -> None:
    """Make `activations/` fit what is installed; each file changes in one step.

    `said` has what the prefix of each link says of itself, which the texts compare (empty:
    nothing to compare). A link with None there gets no text, and neither do the words that
    stand for it: its prefix is another release now.
    """
    said = said or {}
    left_out = {version for version, text in said.items() if text is None}
    linked = tuple(item.prefix for item in installed.values() if item.receipt.is_link)
    wanted: dict[str, tuple[str, str]] = {}
    for version, item in installed.items():
        if version in left_out:
            continue
        activation = Activation(
            str(version),
            steps(item.receipt.layout),
            item.receipt.prefix,
            item.receipt.inner,
            linked,
            tuple(search),
            said.get(version) or "",
        )
        for suffix, text in _texts(activation).items():
            wanted[f"{version}.{suffix}"] = ("text", text)
    for word, version in names(list(installed), aliases).items():
        for suffix in SUFFIXES if version not in left_out else ():
            wanted[f"{word}.{suffix}"] = ("link", f"{version}.{suffix}")
    for name, (kind, content) in wanted.items():
        _put(str(root.activations / name), kind, content)
    for name in os.listdir(root.activations):
        if name not in wanted:
            os.unlink(root.activations / name)


def _texts(activation: Activation) -> dict[str, str]:
    texts = (
        POSIX.activation(activation),
        POSIX.launch(activation),
        FISH.activation(activation),
    )
    return dict(zip(SUFFIXES, texts, strict=True))


def _put(path: str, kind: str, content: str) -> None:
    temporary = f"{path}.{os.getpid()}.tmp"
    if kind == "link":
        if os.path.islink(path) and os.readlink(path) == content:
            return
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)  # of a killed process with our number, as containers reuse them
        os.symlink(content, temporary)
    else:
        data = content.encode("utf-8", "surrogateescape")
        if not os.path.islink(path) and os.path.isfile(path):
            with open(path, "rb") as file:
                if file.read() == data:
                    return
        with open(temporary, "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), 0o644)  # shells run it: never writable for others
    os.replace(temporary, path)
