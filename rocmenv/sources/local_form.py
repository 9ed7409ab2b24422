"""What a path that was named to install from is, by its content."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from rocmenv.errors import ArchiveError, HostError, visible
from rocmenv.fetch.kind import HEAD, kind
from rocmenv.probe.prefix import is_shared
from rocmenv.sources.loose_files import FORMS, is_package, package_files

_TARS = ("gzip", "xz", "zstd", "bzip2", "lzma", "tar")
_MIRROR = ("dists", "repodata", "Packages", "Packages.gz", "Packages.xz", "apt")


def absolute(source: str, cwd: str) -> str:
    """The path that `source` means; a relative one counts from `cwd`."""
    return os.path.normpath(os.path.join(cwd, os.path.expanduser(source)))


def form_of(path: str) -> str:
    """`folder` (a tree), `packages` (a folder of them, or one), `installer` or `tarball`.

    Raises:
        ArchiveError: it cannot be read, or is nothing of these.
        HostError: it is no file or folder, or one of the whole host.
    """
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            return _form_of_folder(path)
        if not stat.S_ISREG(mode):
            msg = f"{visible(path, 200)} is neither a file nor a folder"
            raise HostError(msg)
        return _form_of_file(Path(path), os.path.basename(path))
    except OSError as error:
        msg = f"{visible(path, 200)} cannot be read ({error.strerror})"
        raise ArchiveError(msg, hint="name a file or a folder: `--from FILE`") from error


def must_be_tar(path: Path, name: str) -> None:
    """`ArchiveError` where what came from an address, called `name`, is no tarball."""
    form = _form_of_file(path, name)
    if form != "tarball":
        what = "an installer" if form == "installer" else "a package"
        msg = f"`{name}` is {what}, and only archives are installed from an address"
        raise ArchiveError(msg, hint="download it, and name the file: `--from FILE`")


def _form_of_folder(path: str) -> str:
    if is_shared(path):
        # A copy would be all of the host, and its texts name `/usr` for good reason.
        msg = f"{path} cannot be copied: more than a ROCm lies in it"
        raise HostError(msg, hint="its ROCm is what `rocmenv use system` gives")
    names = set(os.listdir(path))
    if os.path.isdir(os.path.join(path, "bin")) and "component-rocm" not in names:
        return "folder"
    if any(is_package(str(file)) for file in package_files(path)):
        return "packages"
    if any(name in names for name in _MIRROR):
        msg = f"{path} is a repository of packages, or a part of one"
        mirror = f"file://{_mirror_of(path)}"
        raise HostError(msg, hint=f"name its top as a mirror: `--mirror {mirror}`")
    msg = f"{path} does not hold a ROCm: there is no `bin` at its top"
    if "component-rocm" in names:
        raise HostError(msg, hint="it is an unpacked installer: name the `.run` file itself")
    raise HostError(msg, hint="name the folder that holds `bin` and `lib`")


def _mirror_of(path: str) -> str:
    """The top of a mirror in AMD's layout: above `apt/6.3/dists`."""
    above, name = os.path.split(os.path.dirname(path))
    if name == "apt" and os.path.isdir(os.path.join(path, "dists")):
        return above
    return path


def _form_of_file(path: Path, name: str) -> str:
    with path.open("rb") as file:
        head = file.read(HEAD)
    found = kind(head)
    if found in FORMS and (found != "ar" or b"debian-binary" in head):
        return "packages"
    # An old tar archive has no magic number, so what is unknown is tried as one.
    if found in _TARS or (found == "binary data" and not head.startswith(b"#!")):
        return "tarball"
    if head.startswith(b"#!"):
        return "installer"
    raise _refusal(found, name)


def _refusal(found: str, name: str) -> ArchiveError:
    hints = {
        "empty": "download it again",
        "a web page": "download the file itself, not a page about it",
        "a program for Windows": "AMD's programs for Windows are for that; name an archive",
        "zip": "unpack it, and name the folder: `--from DIR`",
    }
    what = {"empty": "an empty file", "zip": "a zip file", "ar": "an ar archive"}.get(found, found)
    msg = f"`{name}` is {what}, and nothing that ROCm is installed from"
    others = "name an archive, a package, an installer (`.run`) or a folder: `--from FILE`"
    return ArchiveError(msg, hint=hints.get(found, others))
