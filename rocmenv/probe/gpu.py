"""The GPUs and the kernel driver of this machine, as far as they can be told. Never fails.

ROCR_VISIBLE_DEVICES and its kind are not looked at: they limit what one process uses, and an
install is for the machine.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmenv.probe import kfd

if TYPE_CHECKING:
    from rocmenv.probe.kfd import Gpu
    from rocmenv.process import Process


_NO_DRIVER = "the kernel driver amdgpu is not loaded"


@dataclass(frozen=True, slots=True)
class Machine:
    """What was found out.

    `source` is `kfd` (the kernel), `rocminfo`, or empty where neither could be asked. `driver`
    is the version of the amdgpu module, which only AMD's own driver has: None for the kernel's
    own too. `has_driver` says whether any is loaded.
    """

    gpus: tuple[Gpu, ...]
    source: str = ""
    driver: str | None = None
    has_driver: bool = False
    is_wsl: bool = False
    remarks: tuple[str, ...] = ()


def look(process: Process, sys: str = "/sys", dev: str = "/dev") -> Machine:
    """The GPUs of this machine: from the kernel's topology, else from a `rocminfo` on PATH.

    `sys` and `dev` are where these file systems are.
    """
    module = os.path.join(sys, "module/amdgpu")
    driver, has_driver = _line(os.path.join(module, "version")), os.path.isdir(module)
    is_wsl = os.path.exists(os.path.join(dev, "dxg"))
    found = kfd.read(os.path.join(sys, "class/kfd/kfd/topology"))
    if found is not None:
        gpus, remarks = found
        if not gpus and not has_driver:
            remarks.append(_NO_DRIVER)
        return Machine(tuple(gpus), "kfd", driver, has_driver, is_wsl, tuple(remarks))
    program = shutil.which("rocminfo", path=process.get("PATH"))
    if program is None:
        return Machine(
            (), "", driver, has_driver, is_wsl, (_silence(wsl=is_wsl, driver=has_driver),)
        )
    from rocmenv.probe import rocminfo  # noqa: PLC0415 - where the kernel does not tell

    told = rocminfo.run(program, process.environ)
    return Machine(told.gpus, "rocminfo", driver, has_driver, is_wsl or told.is_wsl, told.remarks)


def _silence(*, wsl: bool, driver: bool) -> str:
    if wsl:
        return "under WSL the kernel tells of no GPUs, and there is no rocminfo on PATH to ask"
    if driver:
        return "amdgpu is loaded, and the kernel tells of no compute devices"
    return _NO_DRIVER


def _line(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(200).strip() or None
    except OSError:
        return None
