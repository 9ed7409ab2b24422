"""`rocmenv run-matrix`: one command under several versions, and what came of it."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import click

from rocmenv.cli.completion import complete_installed
from rocmenv.cli.output import say, say_json, tell
from rocmenv.cli.program import Context, empty_argument
from rocmenv.errors import UsageError
from rocmenv.ops import matrix
from rocmenv.store import registry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocmenv.model.version import Version
    from rocmenv.ops.matrix import Run

_HINT = "`rocmenv run-matrix 6.3 7.0 -- make check`, or `rocmenv run-matrix --all -- make check`"


@click.command(
    "run-matrix",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option("-a", "--all", "every", is_flag=True, help="Under every installed version.")
@click.option("-x", "--fail-fast", is_flag=True, help="Stop at the first failure.")
@click.option("--json", "as_json", is_flag=True, help="As JSON; COMMAND writes to stderr then.")
@click.option("-q", "--quiet", is_flag=True, help="No line before each run.")
@click.argument(
    "words",
    metavar="VERSION... -- COMMAND [ARGUMENTS]...",
    nargs=-1,
    type=click.UNPROCESSED,
    shell_complete=complete_installed,
)
@click.pass_obj
def command(
    ctx: Context,
    words: tuple[str, ...],
    *,
    every: bool,
    fail_fast: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Run COMMAND under each VERSION in turn, and show the results as a table.

    A range such as '>=6.3' stands for every installed version in it. COMMAND finds its version
    in ROCMENV_VERSION, for folders of its own. The exit status is 0 when all runs passed.
    """
    requests, to_run = _split(words, every=every)
    versions = (
        list(registry.load(ctx.root).installed)
        if every
        else matrix.asked(ctx.process, ctx.root, requests)
    )
    if not versions:
        raise UsageError("no version is installed", hint="`rocmenv install latest`")

    def begin(version: Version) -> None:
        sys.stdout.flush()
        if not quiet:
            tell(f"== {version}: {shlex.join(to_run)}")

    output = sys.stderr.fileno() if as_json else None
    done: list[Run] = []
    for run in matrix.runs(ctx.process, ctx.root, versions, to_run, begin, output=output):
        done.append(run)
        if run.problem:
            tell(f"rocmenv: {run.problem}")
        if fail_fast and run.status:
            break
    if as_json:
        say_json({"command": list(to_run), "runs": [_json(run) for run in done]})
    else:
        _show(done, versions)
    return int(any(run.status for run in done))


def _split(words: Sequence[str], *, every: bool) -> tuple[Sequence[str], Sequence[str]]:
    """The requests, and the command; with `every` there are none of the former."""
    at = -1 if every else [*words, "--"].index("--")
    requests, to_run = words[: max(at, 0)], words[at + 1 :]
    if "" in (*requests, *to_run[:1]):
        raise empty_argument()
    if not to_run:
        raise UsageError("the command is missing", hint=f"write it behind `--`: {_HINT}")
    if not (requests or every):
        raise UsageError("the versions are missing", hint=_HINT)
    return requests, to_run


def _show(done: Sequence[Run], versions: Sequence[Version]) -> None:
    texts = [str(version) for version in versions]
    width = max(map(len, texts))
    for run in done:
        say(f"{run.version!s:<{width}}  {run.words:<20}  {run.seconds:8.1f} s")
    for text in texts[len(done) :]:
        say(f"{text:<{width}}  not run")


def _json(run: Run) -> dict[str, object]:
    return {
        "version": str(run.version),
        "status": run.status,
        "seconds": round(run.seconds, 3),
        "problem": run.problem or None,
    }
