"""TheRock's form: one archive of a whole release."""

from __future__ import annotations

import tarfile
from pathlib import Path

from tests.real.amdrepo.names import POST_INSTALL_TOOLS
from tests.real.amdrepo.stage import Stage


def write_tarball(stage: Stage, folder: Path) -> None:
    """One archive of the whole tree, members `./bin/…`, links of the scripts included."""
    folder.mkdir(parents=True)
    path = folder / f"therock-dist-linux-debian-{stage.release.version}.tar.gz"
    tools = stage.prefix("rocm-llvm") / stage.release.llvm / "bin"
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name in stage.names():
            if stage.prefix(name).is_dir():
                archive.add(stage.prefix(name), arcname=".", filter=_owned_by_root)
        for tool in POST_INSTALL_TOOLS:
            if (tools / tool).exists():
                link = tarfile.TarInfo(f"./bin/{tool}")
                link.type, link.linkname = tarfile.SYMTYPE, f"../{stage.release.llvm}/bin/{tool}"
                archive.addfile(link)


def _owned_by_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member
