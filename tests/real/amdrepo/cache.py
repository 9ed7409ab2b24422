"""Builds that are kept between runs: what identifies one, whether it is whole, when it goes."""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.real import debian
from tests.real.amdrepo.files import files_below
from tests.real.amdrepo.names import Options
from tests.real.amdrepo.signing import Key


def default_cache() -> Path:
    """The folder kept between runs: `ROCMENV_TEST_CACHE`, else `.cache/real` in the checkout."""
    named = os.environ.get("ROCMENV_TEST_CACHE")
    return Path(named) if named else Path(__file__).parents[3] / ".cache" / "real"


def _source_digest() -> str:
    """Of all the source that makes a build: this package, and what it reads Debian with."""
    sources = [*sorted(Path(__file__).parent.glob("*.py")), Path(debian.__file__)]
    return debian.digest(*(path.read_bytes() for path in sources))


def build_identity(suite: str, cache: Path, options: Options, key: Key) -> str:
    """What a build depends on beside the packages; the sysroot's place is below `cache`."""
    chosen = json.dumps(asdict(options), sort_keys=True)
    libc = os.confstr("CS_GNU_LIBC_VERSION") or ""
    return debian.digest(_source_digest(), suite, str(cache), chosen, key.fingerprint, libc)


@dataclass(frozen=True, slots=True)
class Record:
    """What `built.json` says of a finished build."""

    suite: str
    version: str
    codename: str
    identity: str
    sysroot: str | None
    packages: list[str]
    files: dict[str, list[int]]
    """Path below the build → size in bytes and time in nanoseconds."""


def file_states(folder: Path) -> dict[str, list[int]]:
    """The files below a folder as `Record.files` has them."""
    found = ((path, path.stat()) for path in files_below(folder))
    return {str(p.relative_to(folder)): [about.st_size, about.st_mtime_ns] for p, about in found}


def find_record(finished: Path) -> Record | None:
    """The record of a finished build; `None` if there is none, or a file of it was changed."""
    try:
        text = (finished / "built.json").read_text(encoding="utf-8")
        record = Record(**json.loads(text))
    except (OSError, ValueError, TypeError):
        return None
    states = file_states(finished)
    del states["built.json"]
    usable = record.sysroot is None or Path(record.sysroot).is_dir()
    return record if usable and states == record.files else None


def newest_finished(built: Path, suite: str, identity: str) -> Path | None:
    """The newest intact build of the suite by this generator with these options."""
    found = [
        path
        for path in built.glob(f"{suite}-*")
        if (record := find_record(path)) and record.identity == identity
    ]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def prune(cache: Path, finished: Path, suite: str) -> None:
    """Remove other builds of the suite that no run has used for a day, and their sysroots."""
    yesterday = time.time() - 86_400
    for path in (cache / "built").glob(f"{suite}-*"):
        if path != finished and path.stat().st_mtime < yesterday:
            shutil.rmtree(path, ignore_errors=True)
    records = map(find_record, (cache / "built").glob(f"{suite}-*"))
    used = {record.sysroot for record in records if record}
    unused = [path for path in (cache / "sysroot").glob(f"{suite}-*") if str(path) not in used]
    for path in [*unused, *(cache / "work").iterdir()]:  # work: of runs that were killed
        if path.stat().st_mtime < yesterday:
            shutil.rmtree(path, ignore_errors=True)
