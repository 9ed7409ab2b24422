"""Running AMD's `rocm-sdk` of a freshly filled environment, once, to make its prefix.

It is code of the index that was asked for, not ours: it gets no variable of the user's, a
time limit, and no terminal, and what it says is kept for the message when it fails.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from typing import TYPE_CHECKING

from rocmenv.errors import StoreError, visible
from rocmenv.probe.prefix import WHEEL_FOLDER

if TYPE_CHECKING:
    from rocmenv.sources.wheel_tree import Venv

_LONGEST = 3600.0
"""Seconds for unpacking some ten gigabytes on a slow disk."""
_HINT = "the archive of the release needs no such step: `--channel tarball`"
_SAID = 300


def make_prefix(venv: Venv, *, timeout: float = _LONGEST) -> str:
    """Have `rocm-sdk` lay out the prefix; its path from the environment's folder.

    Without the wheel of development files there is nothing to lay out: the prefix is then
    the folder of the core wheel. Raises `StoreError` with what the program said when it
    fails, takes longer than `timeout` seconds, or names a folder outside.
    """
    if (venv.site / "rocm_sdk_devel").is_dir():
        _run(venv, ("init",), timeout)  # not `--quiet`, which came with 7.12
        said = _run(venv, ("path", "--root"), timeout).strip()
    else:
        found = sorted(venv.site.glob(f"{WHEEL_FOLDER}core*"))
        said = str(found[0]) if found else ""
    tree, prefix = os.path.realpath(venv.tree), os.path.realpath(said)
    if not said or not prefix.startswith(f"{tree}/") or not os.path.isdir(prefix):
        msg = f"the wheels have no prefix: `rocm-sdk path --root` says {visible(said, _SAID)}"
        raise StoreError(msg, hint=_HINT)
    _add_program(venv, prefix)
    return os.path.relpath(prefix, tree)


def _run(venv: Venv, words: tuple[str, ...], timeout: float) -> str:
    """What `rocm-sdk` prints; the process and what it has started end with this call."""
    # -I: neither variables nor the user's own packages have a say. -B: compiled modules would
    # name the staged folder.
    command = [str(venv.python), "-I", "-B", "-m", "rocm_sdk", *words]
    environ = {
        "PATH": os.defpath,
        "HOME": str(venv.tree),
        "LC_ALL": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PIP_NO_INDEX": "1",
        "PIP_CONFIG_FILE": os.devnull,
    }
    name = f"`rocm-sdk {' '.join(words)}`"
    try:
        child = subprocess.Popen(
            command,
            env=environ,
            cwd=venv.tree,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # an interrupt comes to us alone, and we end all of it
        )
    except OSError as error:
        msg = f"{name} of the wheels cannot be started ({error.strerror})"
        raise StoreError(msg, hint=_HINT) from error
    try:
        out, err = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired as error:
        msg = f"{name} of the wheels did not end within {timeout:g} seconds"
        raise StoreError(msg, hint=_HINT) from error
    finally:
        _end(child)
    if child.returncode:
        said = b" ".join((err.strip() or out.strip()).splitlines()[-3:])
        msg = f"{name} of the wheels failed ({child.returncode}): {visible(said, _SAID)}"
        raise StoreError(msg, hint=_HINT)
    return out.decode("utf-8", "surrogateescape")


def _end(child: subprocess.Popen[bytes]) -> None:
    """End what is left of the child's session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    for stream in (child.stdout, child.stderr):
        if stream is not None:
            stream.close()


def _add_program(venv: Venv, prefix: str) -> None:
    """`rocm-sdk` among the programs of the prefix: the environment's `bin` is on no PATH.

    That one has a `python`, which would stand in front of the user's own.
    """
    program, link = venv.tree / "bin" / "rocm-sdk", os.path.join(prefix, "bin", "rocm-sdk")
    if program.is_file() and os.path.isdir(os.path.dirname(link)) and not os.path.lexists(link):
        os.symlink(os.path.relpath(os.path.realpath(program), os.path.dirname(link)), link)
