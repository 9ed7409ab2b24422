"""Interleaved timing: every command once a round, ratios taken over the rounds' medians."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence


def spawn(command: Sequence[str], environ: Mapping[str, str]) -> Callable[[], None]:
    """A call that runs `command` to its end with no shell and no Python in between."""
    null = os.open(os.devnull, os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)]

    def run() -> None:
        pid = os.posix_spawn(command[0], list(command), environ, file_actions=actions)
        _, status = os.waitpid(pid, 0)
        if os.waitstatus_to_exitcode(status) != 0:
            msg = f"{command} failed"
            raise RuntimeError(msg)

    return run


def interleaved(ways: Mapping[str, Callable[[], None]], rounds: int) -> dict[str, float]:
    """The median time of each way in seconds."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for run in ways.values():
        run()
    for _ in range(rounds):
        for name, run in ways.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(taken) for name, taken in times.items()}
