"""A finished build, put where a server shows it."""

from __future__ import annotations

import html
import shutil
import time
from pathlib import Path

from tests.real.amdrepo.cache import find_record
from tests.real.amdrepo.files import copy_file, link_or_copy, temporary_folder, write_file
from tests.real.amdrepo.names import BuiltRepository, release
from tests.real.amdrepo.signing import Key


def publish(finished: Path, out: Path, key: Key, notes: tuple[str, ...]) -> BuiltRepository:
    """Put a finished build below `out`: large files as links, the others as copies."""
    record = find_record(finished)
    if record is None:
        raise FileNotFoundError(f"{finished} was changed while it was built")
    base = f"rocm/apt/{release(record.version).directory}"
    staged = temporary_folder(out / "rocm" / "apt")
    for name in record.files:
        if name.startswith("tarball/"):
            link_or_copy(finished / name, out / name)
        elif name.endswith(".deb"):
            link_or_copy(finished / name, staged / Path(name).relative_to(base))
        else:
            copy_file(finished / name, staged / Path(name).relative_to(base))
    staged.chmod(0o755)
    target = out / base
    shutil.rmtree(target, ignore_errors=True)
    staged.rename(target)
    key_file = out / "rocm" / "rocm.gpg.key"
    copy_file(key.public, key_file)
    _write_listing(out / "rocm" / "apt")
    return BuiltRepository(
        suite=record.suite,
        version=record.version,
        root=out,
        base_url_path=base,
        suite_codename=record.codename,
        key_file=key_file,
        fingerprint=key.fingerprint,
        packages=tuple(record.packages),
        tarball=next((out / name for name in record.files if name.startswith("tarball/")), None),
        sysroot=Path(record.sysroot) if record.sysroot else None,
        notes=notes,
    )


def _write_listing(folder: Path) -> None:
    """`index.html`, in the form of Apache's folder listing that AMD's server gives."""
    rows = ['<tr><td><a href="/rocm/">Parent Directory</a></td><td>&nbsp;</td></tr>']
    for path in sorted(folder.iterdir()):
        if path.is_dir() and (path / "dists").is_dir():
            name = html.escape(path.name)
            when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(path.stat().st_mtime))
            rows.append(f'<tr><td><a href="{name}/">{name}/</a></td><td>{when}</td></tr>')
    title = "Index of /rocm/apt"
    lines = [
        '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">',
        f"<html>\n <head>\n  <title>{title}</title>\n </head>\n <body>",
        f"<h1>{title}</h1>",
        "  <table>",
        *rows,
        "</table>\n</body></html>",
    ]
    write_file(folder / "index.html", "\n".join(lines) + "\n")
