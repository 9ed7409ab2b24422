"""The root: where it is, and the name of every file in it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rocmenv.errors import RootError, visible

if TYPE_CHECKING:
    from rocmenv.model.version import Version
    from rocmenv.process import Process

RECEIPT_FOLDER = ".rocmenv"
RECEIPT = f"{RECEIPT_FOLDER}/receipt.json"
"""The receipt in the folder of a version."""
MANIFEST = f"{RECEIPT_FOLDER}/manifest"
"""The list of its files beside it; a link has none."""
VARIABLES = ("ROCM_ROOT", "ROCMENV_ROOT")
FROM_SHIM = "ROCMENV_SHIM_ROOT"
"""Set by shims and hooks, which know their root by their own place."""


@dataclass(frozen=True, slots=True)
class Root:
    """rocmenv's own folder; `origin` is the variable that names it, or `the default`."""

    path: Path
    origin: str = "the default"

    @property
    def versions(self) -> Path:
        """One folder for each installed version."""
        return self.path / "versions"

    @property
    def shims(self) -> Path:
        """One file for each command; goes on PATH."""
        return self.path / "shims"

    @property
    def activations(self) -> Path:
        """Rendered texts for hooks and shims: `SPEC.sh`, `SPEC.fish`."""
        return self.path / "activations"

    @property
    def default(self) -> Path:
        """The user's default version, in the form of a pin."""
        return self.path / "version"

    @property
    def projects(self) -> Path:
        """The folders whose pins were seen."""
        return self.path / "projects"

    @property
    def config(self) -> Path:
        """The settings."""
        return self.path / "config.toml"

    @property
    def catalog(self) -> Path:
        """What the user adds to the known releases and places."""
        return self.path / "catalog.json"

    @property
    def cache(self) -> Path:
        """Verified downloads and parts of downloads."""
        return self.path / "cache"

    @property
    def staging(self) -> Path:
        """Installs that are not whole yet; on the file system of `versions`."""
        return self.path / "staging"

    @property
    def trash(self) -> Path:
        """Installs on their way out."""
        return self.path / "trash"

    @property
    def journal(self) -> Path:
        """One file for each change that is under way."""
        return self.path / "journal"

    @property
    def locks(self) -> Path:
        """Lock files; only their locks count, never that they exist."""
        return self.path / "locks"

    def version(self, version: Version) -> Path:
        """The folder of one version."""
        return self.versions / str(version)

    def receipt(self, version: Version) -> Path:
        """The receipt of one version."""
        return self.version(version) / RECEIPT

    def manifest(self, version: Version) -> Path:
        """The list of the files of one version."""
        return self.version(version) / MANIFEST


def find_root(process: Process, option: str | None = None) -> Root:
    """The root to work with: the option, ROCM_ROOT, ROCMENV_ROOT, else the user's data folder.

    A relative path counts from the current folder. Raises `RootError` when the place is
    a ROCm install itself (some guides set ROCM_ROOT to one), or cannot be a root because
    its path has a colon or a line feed, which no list of folders can hold.
    """
    for origin, text in (
        ("--root", option),
        (FROM_SHIM, process.get(FROM_SHIM)),
        *((name, process.get(name)) for name in VARIABLES),
    ):
        if text:
            path = Path(os.path.normpath(os.path.join(process.cwd, os.path.expanduser(text))))
            return _checked(Root(path, origin))
    return _checked(Root(_default(process)))


def _default(process: Process) -> Path:
    import platformdirs  # noqa: PLC0415 - a third of a command's start-up; most set a variable

    path = platformdirs.user_data_path("rocmenv", appauthor=False)
    # By the XDG rules a relative XDG_DATA_HOME does not count; platformdirs 4.0 takes it.
    return path if path.is_absolute() else process.home / ".local/share/rocmenv"


def _checked(root: Root) -> Root:
    text = str(root.path)
    if ":" in text or "\n" in text:
        msg = (
            f"{visible(text)} cannot be a root: PATH cannot hold a folder with a colon or line feed"
        )
        raise RootError(f"{msg} ({root.origin})", hint="set ROCM_ROOT to another folder")
    if (root.path / ".info" / "version").is_file() or (root.path / "bin" / "hipcc").exists():
        msg = f"{visible(text)} is a ROCm install, not a root of rocmenv ({root.origin})"
        raise RootError(msg, hint=f"{_way_out(root.origin)}, then `rocmenv link {_quoted(text)}`")
    if root.path.exists() and not root.path.is_dir():
        msg = f"{visible(text)} is not a folder ({root.origin})"
        raise RootError(msg, hint="set ROCM_ROOT to another folder")
    return root


def _way_out(origin: str) -> str:
    """What to do to have another root than the one that `origin` names."""
    if origin in (*VARIABLES, FROM_SHIM):
        return f"`unset {origin}`"
    return "leave `--root` out" if origin == "--root" else "`export ROCM_ROOT=$HOME/rocm`"


def _quoted(text: str) -> str:
    import shlex  # noqa: PLC0415 - only for messages

    return shlex.quote(text)
