"""For the demo: build two real releases, serve them, and say where.

    python -m tests.real.serve FOLDER ADDRESS

Writes one line into the file ADDRESS, `MIRROR FINGERPRINT OLD NEW`, and serves until killed.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from tests.real.amdrepo import BuiltRepository
from tests.real.world import SUITES, build_all, served


def main(folder: str, address: str) -> int:
    """Serve the oldest and the newest release that can be had."""
    old, missing = build_all(Path(folder), SUITES[:1])
    new: list[BuiltRepository] = []
    for suite in reversed(SUITES[1:]):
        if old and not new:
            new, reasons = build_all(Path(folder), (suite,))
            missing |= reasons
    for suite, reason in missing.items():
        print(f"suite {suite}: {reason}", file=sys.stderr)  # noqa: T201 - a program
    built = old + new
    if len(built) < 2:
        return 1
    with served(Path(folder)) as url:
        line = f"{url}/rocm {built[0].fingerprint} {built[0].version} {built[-1].version}\n"
        Path(address).write_text(line)
        threading.Event().wait()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
