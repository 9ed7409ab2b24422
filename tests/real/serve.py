"""For the demo: build two real releases, serve them, and say where.

    python -m tests.real.serve FOLDER ADDRESS

Writes one line into the file ADDRESS, `MIRROR FINGERPRINT OLD NEW`, and serves until killed.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from pathlib import Path

from tests.real.amdrepo import BuiltRepository
from tests.real.debian import SUITES
from tests.real.world import build_all, served


def main(folder: str, address: str) -> int:
    """Serve the release of the oldest suite and the newest release that can be had."""
    oldest, *newer = SUITES
    old = _first_of(Path(folder), [oldest])
    new = _first_of(Path(folder), reversed(newer)) if old else None
    if not old or not new:
        return 1
    with served(Path(folder)) as url:
        line = f"{url}/rocm {old.fingerprint} {old.version} {new.version}\n"
        Path(address).write_text(line)
        threading.Event().wait()
    return 0


def _first_of(folder: Path, suites: Iterable[str]) -> BuiltRepository | None:
    """The release of the first suite that can be had; of those before it, why not, on stderr."""
    for suite in suites:
        built, missing = build_all(folder, [suite])
        if built:
            return built[0]
        print(f"suite {suite}: {missing[suite]}", file=sys.stderr)  # noqa: T201 - a program
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
