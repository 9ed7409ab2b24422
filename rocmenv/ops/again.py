"""The command that makes an install anew, as its receipt has it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocmenv.model.receipt import Receipt
    from rocmenv.store.registry import Installed


def again(item: Installed, *more: str) -> str:
    """The command, quoted for a shell, that installs a version anew; `more` are further words.

    It repeats what decides the files: release and name, channel or file, profile, packages,
    suite and GPUs. Addresses and keys are those of the settings by then.
    """
    version, receipt = item.version, item.receipt
    words = ["rocmenv", "install", "--reinstall", str(version.without_local)]
    is_local = receipt.source == "local"
    words += ["--from", receipt.origin] if is_local else ["--channel", receipt.source]
    if version.local:
        words += ["--as", str(version)]
    if receipt.profile:
        words += ["--profile", receipt.profile]
    for name in receipt.extra:
        words += ["--with", name]
    if receipt.suite:
        words += ["--suite", receipt.suite]
    if receipt.targets:
        is_whole = receipt.pruned is None
        words += ["--gpu", ",".join(receipt.targets)]
        words.append("--no-prune-targets" if is_whole else "--prune-targets")
    elif _looks_for_gpus(receipt):
        words += ["--gpu", "all"]
    return shlex.join((*words, *more))


def _looks_for_gpus(receipt: Receipt) -> bool:
    """Whether an install would choose by the machine's GPUs, had it no word on them."""
    if receipt.source == "local":  # of packages only where a profile chooses among them
        return bool(receipt.profile) or receipt.origin.endswith(".run")
    return receipt.source != "distro"
