"""Shims: one small script, linked once for each command that any installed version has."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from rocmenv import resources
from rocmenv.shells.base import Setup
from rocmenv.shells.posix import fill

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rocmenv.store.paths import Root
    from rocmenv.store.registry import Installed

TEMPLATE = ".shim"
LISTS = ".lists"
MARK = b"# The shim of rocmenv:"

# A shim of one of these would stand in front of the system's own program for everything
# that runs, the shims and rocmenv itself included (case R04).
_RESERVED = re.compile(
    r"rocmenv|\[|(ba|da|k|mk|z|fi|c|tc|a)?sh|env|test|true|false|printf|echo|cat|ls|cp|mv|rm|ln"
    r"|mkdir|chmod|sed|awk|gawk|grep|find|xargs|sort|head|tail|tr|cut|uname|dirname|basename"
    r"|readlink|realpath|which|install|make|ninja|cmake|git|tar|gzip|xz|zstd|sudo|su|login"
    r"|python[0-9.]*|pip[0-9.]*|perl[0-9.]*|node|ruby|gcc|g\+\+|cc|c\+\+|cpp|ld|as|ar|nm|strip"
    r"|ranlib|objcopy|objdump|gdb|ldd|ldconfig|apt|apt-get|dpkg"
)


def commands(item: Installed) -> set[str]:
    """The names of the programs that an installed version puts on PATH."""
    found = set()
    for folder in item.receipt.layout.bins:
        try:
            with os.scandir(os.path.join(item.prefix, folder)) as entries:
                found |= {entry.name for entry in entries if _is_program(entry)}
        except OSError:
            continue
    return found


def _is_program(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file() and bool(entry.stat().st_mode & 0o111)
    except OSError:
        return False


def rehash(root: Root, launcher: tuple[str, ...], installed: Iterable[Installed]) -> list[str]:
    """Make `shims/` fit what is installed; the commands that get no shim on purpose.

    Each shim is a hard link to one file (a copy where there are no hard links), so that
    its real path ends in its own name: some build tools look at that.
    """
    wanted = set().union(*map(commands, installed))
    left_out = sorted(
        name for name in wanted if _RESERVED.fullmatch(name) or name in (TEMPLATE, LISTS)
    )
    wanted.difference_update(left_out)
    _write_template(root, launcher)
    template = os.stat(root.shims / TEMPLATE)
    present: dict[str, os.stat_result] = {}
    with os.scandir(root.shims) as entries:
        for entry in entries:
            present[entry.name] = entry.stat(follow_symlinks=False)
    del present[TEMPLATE], present[LISTS]
    for name, stat in present.items():
        if name not in wanted and _is_ours(root, name):
            os.unlink(root.shims / name)
        elif (stat.st_dev, stat.st_ino) == (template.st_dev, template.st_ino):
            wanted.discard(name)
    for name in wanted:
        _link(root, name)
    return left_out


def _write_template(root: Root, launcher: tuple[str, ...]) -> None:
    parts = {"WANTED": resources.shim_text("wanted.sh"), "LISTS": resources.shim_text("lists.sh")}
    setup = Setup(str(root.path), launcher, parts, "")
    for name, script, mode in ((LISTS, "shim.lists.sh", 0o644), (TEMPLATE, "shim.sh", 0o755)):
        data = fill(resources.shim_text(script), setup).encode("utf-8", "surrogateescape")
        path = root.shims / name
        if path.is_file() and path.read_bytes() == data and path.stat().st_mode & 0o777 == mode:
            continue
        temporary = root.shims / f"{TEMPLATE}.{os.getpid()}.tmp"
        temporary.write_bytes(data)
        temporary.chmod(mode)
        os.replace(temporary, path)


def _link(root: Root, name: str) -> None:
    temporary = root.shims / f"{TEMPLATE}.{os.getpid()}.{name}.tmp"
    temporary.unlink(missing_ok=True)
    try:
        os.link(root.shims / TEMPLATE, temporary)
    except OSError:
        target = root.shims / name
        data = (root.shims / TEMPLATE).read_bytes()
        if target.is_file() and target.read_bytes() == data:
            return
        temporary.write_bytes(data)
        temporary.chmod(0o755)
    os.replace(temporary, root.shims / name)


def _is_ours(root: Root, name: str) -> bool:
    try:
        with open(root.shims / name, "rb") as file:
            return name.startswith(TEMPLATE) or MARK in file.read(4096)
    except OSError:
        return name.startswith(TEMPLATE)
