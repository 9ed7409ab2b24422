"""What AMD's rocm-cli has installed: its register in the user's home.

Source: ROCm/rocm-cli, `crates/rocm-core/src/runtime.rs` (`~/.rocm`), `paths.rs` (variables,
`setup.therock_venv` of `config.json`), `managed_runtime.rs` and `apps/rocm/src/therock.rs`
(the records: `install_root`, `version`, `format`, `rocm_sdk.root_path`).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rocmenv.probe.discover import wheels
from rocmenv.probe.discover.base import Clue, How, version_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocmenv.probe.discover.base import Look


def clues(look: Look) -> Iterator[Clue]:
    """One for each record of the register."""
    registry = os.path.join(_data(look), "runtimes", "registry")
    for name in look.names(registry):
        if name.endswith(".json"):
            file = os.path.join(registry, name)
            record = look.json(file)
            if isinstance(record, dict):
                yield from _recorded(look, record, file)


def _recorded(look: Look, record: dict[str, object], file: str) -> Iterator[Clue]:
    sdk = record.get("rocm_sdk")
    tree = sdk.get("root_path") if isinstance(sdk, dict) else None
    top = record.get("install_root")
    version = version_in(record.get("version"))
    if isinstance(top, str) and os.path.isabs(top) and wheels.is_environment(top):
        found = list(wheels.in_environment(look, top, How.ROCM_CLI, file))
        yield from found
        if found:
            return
    for path in (tree, top):
        if isinstance(path, str) and os.path.isabs(path):
            yield Clue(path, How.ROCM_CLI, file, version=version)
            return
    look.note(f"{file} names no folder")


def _data(look: Look) -> str:
    """The folder of rocm-cli's data: a variable, what its set-up says, or `~/.rocm`."""
    environ, home = look.host.environ, os.path.join(look.host.home, ".rocm")
    named = environ.get("ROCM_CLI_DATA_DIR")
    if named:
        return named
    config = look.json(os.path.join(environ.get("ROCM_CLI_CONFIG_DIR") or home, "config.json"))
    setup = config.get("setup") if isinstance(config, dict) else None
    path = setup.get("therock_venv") if isinstance(setup, dict) else None
    if not isinstance(path, str) or not os.path.isabs(path.strip()):
        return home
    path = os.path.normpath(path.strip())
    # It may name one of the installs below: `DATA/runtimes/wheel/NAME`.
    above = os.path.dirname(path)
    if os.path.basename(above) in ("wheel", "tarball"):
        runtimes = os.path.dirname(above)
        if os.path.basename(runtimes) == "runtimes":
            return os.path.dirname(runtimes)
    return path
