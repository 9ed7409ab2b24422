"""Expanding the development files beside the other packages, as the real `rocm-sdk` does.

Files of other wheels become hard links; links to folders stay links. What is made is added
to the list of files of the wheel that it belongs to, and the tar goes when all is done.
"""

import importlib.metadata
import json
import shutil
import sys
import tarfile
from pathlib import Path

TOP = "_rocm_sdk_devel"


def site() -> Path:
    """The folder of the packages."""
    return Path(__file__).parent.parent


def expand() -> Path:
    """The root of the development files, which are laid out when they are not there yet."""
    tars = sorted((site() / "rocm_sdk_devel").glob("_devel.tar*"))
    if not (site() / "rocm_sdk_devel").is_dir():
        sys.exit("ERROR: the `rocm[devel]` package is not installed")
    root = site() / TOP
    if tars:
        if root.exists():
            shutil.rmtree(root)
        with tarfile.open(tars[0]) as tar, _record("rocm-sdk-devel").open("a") as record:
            for member in tar:
                _place(tar, member)
                record.write(f"{member.name},,\n")
        tars[0].unlink()
    _link_device_files(root)
    return root


def _place(tar: tarfile.TarFile, member: tarfile.TarInfo) -> None:
    place = site() / member.name
    place.parent.mkdir(parents=True, exist_ok=True)
    target = place.parent / member.linkname
    if member.issym() and target.is_file():
        place.hardlink_to(target)
    elif member.issym():
        place.symlink_to(member.linkname)
    elif file := tar.extractfile(member):
        place.write_bytes(file.read())


def _link_device_files(root: Path) -> None:
    for manifest in sorted((site() / "_rocm_sdk_libraries" / ".devel_links").glob("*.json")):
        told = json.loads(manifest.read_text())
        record = _record(f"rocm-sdk-device-{manifest.stem}")
        for link in told["links"]:
            place = root / link["relpath"]
            if place.exists():
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            place.hardlink_to(place.parent / link["target"])
            with record.open("a") as file:
                file.write(f"{TOP}/{link['relpath']},,\n")


def _record(project: str) -> Path:
    files = importlib.metadata.files(project) or []
    return Path(str(next(f for f in files if f.name == "RECORD").locate()))
