"""Every benchmark in turn, or those named: `python -m benchmarks [--quick] [NAME...]`.

Each prints ratios taken in one interleaved run; figures in milliseconds are the medians of
that run and say more about the machine. A peer that is not installed is left out.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from benchmarks import cli, hook, install, scale, share, shim

ALL = {
    "shim": shim.run,
    "hook": hook.run,
    "cli": cli.run,
    "install": install.run,
    "scale": scale.run,
    "share": share.run,
}


def main() -> int:
    """Run them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds: does it run at all?")
    parser.add_argument("names", nargs="*", help=f"from {', '.join(ALL)}")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in ALL]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(ALL)}")
    here = Path(__file__).parent.parent
    for name in given.names or ALL:
        print(f"\n== {name}")
        with tempfile.TemporaryDirectory(prefix="rocmenv-bench-") as folder:
            for line in ALL[name](Path(folder), quick=given.quick):
                print(f"  {line}")
            os.chdir(here)  # children are started where we are, which the folder may be
    return 0


if __name__ == "__main__":
    sys.exit(main())
