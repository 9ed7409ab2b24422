"""The program `rocm-sdk`: path, init, targets, version."""

import argparse
import json

from . import __version__, _devel


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="rocm-sdk")
    commands = parser.add_subparsers(dest="command", required=True)
    path = commands.add_parser("path").add_mutually_exclusive_group(required=True)
    for option in ("--root", "--bin", "--cmake"):
        path.add_argument(option, action="store_true")
    commands.add_parser("init")  # up to 7.11 it has no options
    commands.add_parser("targets")
    commands.add_parser("version")
    given = parser.parse_args()
    if given.command == "version":
        print(__version__)
    elif given.command == "targets":
        told = _devel.site() / "_rocm_sdk_core/share/therock/dist_info.json"
        print(json.loads(told.read_text())["dist_amdgpu_targets"])
    elif given.command == "init":
        print(f"Devel contents expanded to '{_devel.expand()}'")
    else:
        root = _devel.expand()
        print(root / "bin" if given.bin else root / "lib/cmake" if given.cmake else root)


if __name__ == "__main__":
    main()
