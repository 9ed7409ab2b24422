"""A program that makes every step of an install fail, or be the last, one after another.

A mode that ends in `after` strikes when a rename has been done; the others before each step.

Run as `python -m tests.store.faults FOLDER SCENARIO MODE FIRST STEP`, in a process of its own: the
audit hook that sees each step (`open`, `os.rename`, `os.mkdir` ...) cannot be taken off
again. It prints a JSON list with one entry for each step: the event and what came of it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from rocmenv.errors import RocmenvError
from rocmenv.fetch.transfer import Downloads
from rocmenv.model.version import Version
from rocmenv.ops.install import Options, install
from rocmenv.ops.report import Silent
from rocmenv.sources import local
from rocmenv.store import registry, transaction, trash
from rocmenv.store.paths import Root
from tests.builders import fake_prefix, process, root_with

T = TypeVar("T")


@dataclass
class Fault:
    """Strikes at step `at` below `folder`, when armed."""

    folder: str = ""
    at: int = 0
    mode: str = ""
    seen: int = 0
    event: str = ""

    def __call__(self, event: str, args: tuple[object, ...]) -> None:
        if not self.at or event.startswith("after ") != self.mode.endswith("after"):
            return
        if not any(str(a).startswith(self.folder) for a in args[:2]):
            return
        self.seen += 1
        if self.seen == self.at:
            self.at, self.event = 0, f"{event} {str(args[0]).removeprefix(self.folder)}"
            if self.mode.startswith("kill"):
                os.kill(os.getpid(), signal.SIGKILL)
            if self.mode.startswith("interrupt"):
                raise KeyboardInterrupt
            raise OSError(5, "Input/output error", str(args[0]))


FAULT = Fault()


def tree(path: Path) -> dict[str, str]:
    """Every name below `path` with its kind and content; receipts without their time."""
    out = {}
    for folder, folders, files in os.walk(path):
        for name in [*folders, *files]:
            full = Path(folder, name)
            key = str(full.relative_to(path))
            if full.is_symlink():
                out[key] = f"-> {full.readlink()}"
            elif full.is_file():
                text = full.read_text()
                out[key] = "receipt" if name == "receipt.json" else text
            else:
                out[key] = "folder"
    return out


def make(root: Root, version: str, source: Path) -> None:
    plan = local.plan(Version.parse(version), str(source), "/")
    options = Options(jobs=1, reinstall=True)
    install(process(root.path), root, plan, Downloads(root.cache), options, Silent())


def empty_at_once(root: Root) -> None:
    trash.empty_now(str(root.trash), str(root.journal))


def no_sync(tree: Path) -> None:
    """In place of writing a file system to the disk."""
    del tree


def no_sync_folder(folder: Path) -> None:
    """In place of writing a folder to the disk: a step as that one, which may be struck."""
    os.close(os.open(folder, os.O_RDONLY))


def strike_after(name: str, step: Callable[[Path, Path], T]) -> Callable[[Path, Path], T]:
    """The step, of which the hook hears when it has been done."""

    def done(one: Path, other: Path) -> T:
        result = step(one, other)
        FAULT(f"after {name}", (str(one), str(other)))
        return result

    return done


def fits(root: Root, complete: Root) -> bool:
    """Whether shims and activations are those of the versions that are visible."""
    return all(
        sorted(os.listdir(here)) == sorted(os.listdir(there))
        for here, there in (
            (root.shims, complete.shims),
            (root.activations, complete.activations),
        )
    )


def leftovers(root: Root) -> list[str]:
    """What should not be there after a good install."""
    found = [
        f"{f.name}/{n}" for f in (root.staging, root.trash, root.journal) for n in os.listdir(f)
    ]
    for folder in (root.shims, root.activations, root.path, root.locks):
        found += [n for n in os.listdir(folder) if n.endswith((".tmp", ".holder"))]
    return found


def stand_in() -> None:
    """Have nothing done in the background, and nothing written to the disk."""
    trash.empty = empty_at_once
    # No power is cut here, and the disk is busy with other tests.
    transaction.sync = no_sync
    transaction._sync_folder = no_sync_folder  # noqa: SLF001 - the test reaches inside on purpose


def strike_after_renames() -> None:
    """Let the hook hear of every rename that has been done."""
    os.rename = strike_after("rename", os.rename)  # type: ignore[assignment]  # a stand-in of the same call
    exchange = strike_after("exchange", transaction._exchange)  # noqa: SLF001 - as above
    setattr(transaction, "_exchange", exchange)  # noqa: B010 - mypy minds the plain form


def strike(root: Root, version: str, source: Path, mode: str) -> str:
    """Install with the fault; what ended it."""
    if mode.startswith("kill"):
        child = os.fork()
        if child == 0:
            try:
                make(root, version, source)
            except BaseException:  # noqa: BLE001 - whatever it is, the parent is told
                os._exit(2)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            return "killed"
        return "done" if os.WEXITSTATUS(status) == 0 else "wrong"
    try:
        make(root, version, source)
    except (OSError, RocmenvError, KeyboardInterrupt) as error:
        return type(error).__name__
    return "done"


def main(folder: Path, scenario: str, mode: str, steps: range) -> list[dict[str, object]]:
    """Those `steps` of `scenario` (`fresh`, `replace`, or `replace` in two renames)."""
    version = "7.0.0" if scenario == "fresh" else "6.3.0"
    source = fake_prefix(folder / "new", version, ("hipcc", "fresh"), "#!/bin/sh\n# new\n")
    original = root_with(folder / "original", "6.3.0", "6.4.1")
    stand_in()
    complete = root_with(folder / "complete", "6.3.0", "6.4.1")
    make(complete, version, source)
    before, after = tree(original.versions), tree(complete.versions)
    if scenario == "replace in two steps":
        transaction._exchange = lambda *_: False  # noqa: SLF001 - a system without that call
    out: list[dict[str, object]] = []
    sys.addaudithook(FAULT)
    strike_after_renames()
    for at in steps:
        root = Root(folder / f"root-{at}")
        shutil.copytree(original.path, root.path, symlinks=True)
        FAULT.folder, FAULT.seen, FAULT.mode, FAULT.at, FAULT.event = (
            str(root.path),
            0,
            mode,
            at,
            "",
        )
        ended = strike(root, version, source, mode)
        FAULT.at = 0
        if ended == "done" and not FAULT.event:
            return out
        now = tree(root.versions)
        seen = {str(v) for v in registry.load(root).installed}
        entry: dict[str, object] = {"event": FAULT.event, "ended": ended, "listed": sorted(seen)}
        entry["visible"] = "before" if now == before else "complete" if now == after else "BETWEEN"
        if not mode.startswith("kill"):
            entry["staged"] = os.listdir(root.staging)
        # One that was stopped and has no note would never get its shims.
        entry["noted"] = (
            ended == "done"
            or now != after
            or bool(os.listdir(root.journal))
            or fits(root, complete)
        )
        add_next(root, version, source)
        entry["next"] = "complete" if tree(root.versions) == after else "BETWEEN"
        entry["left"] = leftovers(root)
        entry["shims"] = sorted(os.listdir(root.shims)) == sorted(os.listdir(complete.shims))
        out.append(entry)
        shutil.rmtree(root.path)
    raise AssertionError


def add_next(root: Root, version: str, source: Path) -> None:
    """The next install, as a person would start it."""
    make(root, version, source)


if __name__ == "__main__":
    every = range(int(sys.argv[4]), 100_000, int(sys.argv[5]))
    print(json.dumps(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], every)))  # noqa: T201 - the output that was asked for
