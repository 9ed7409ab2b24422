"""Build one suite from the command line."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tests.real import debian
from tests.real.amdrepo import Options, build, default_cache


def main(arguments: Sequence[str] | None = None) -> int:
    """Build one suite; what it is as JSON on standard output, progress on standard error."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.real.amdrepo",
        description="Make a package repository in AMD's layout out of Debian's real ROCm packages.",
    )
    parser.add_argument("--suite", choices=sorted(debian.SUITES), required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder to serve")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="default: %(default)s")
    parser.add_argument("--codename", help="folder below dists; default: AMD's for the release")
    parser.add_argument("--twins", action="store_true", help="unversioned names of all packages")
    parser.add_argument("--tarball", action="store_true", help="also the whole tree, flat")
    parser.add_argument("--extra", nargs="*", default=[], help="more Debian packages")
    chosen = parser.parse_args(arguments)
    options = Options(chosen.codename, chosen.twins, chosen.tarball, tuple(chosen.extra))
    try:
        built = build(
            chosen.suite, chosen.out, cache=chosen.cache, options=options, report=_to_stderr
        )
    except debian.SuiteUnavailable as error:
        _to_stderr(f"{chosen.suite}: {error}")
        return 1
    sys.stdout.write(json.dumps(asdict(built), default=str, indent=2) + "\n")
    return 0


def _to_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
