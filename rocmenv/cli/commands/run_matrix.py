"""`rocmenv run-matrix`: one command under several versions, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rocmenv.cli import trials
from rocmenv.cli.completion import complete_installed
from rocmenv.cli.output import say, say_json
from rocmenv.cli.program import Context
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
    # The parser has taken the only `--` away where no version stands before it.
    requests, to_run = trials.split(("--", *words) if every else words, _HINT)
    if not (requests or every):
        raise UsageError("the versions are missing", hint=_HINT)
    versions = (
        list(registry.load(ctx.root).installed)
        if every
        else matrix.asked(ctx.process, ctx.root, requests)
    )
    if not versions:
        raise UsageError("no version is installed", hint="`rocmenv install latest`")

    done: list[Run] = []
    for version in versions:
        done.append(trials.run(ctx, version, to_run, as_json=as_json, quiet=quiet))
        if fail_fast and done[-1].status:
            break
    if as_json:
        say_json({"command": list(to_run), "runs": [trials.row(run) for run in done]})
    else:
        _show(done, versions)
    return int(any(run.status for run in done))


def _show(done: Sequence[Run], versions: Sequence[Version]) -> None:
    texts = [str(version) for version in versions]
    width = max(map(len, texts))
    for run in done:
        say(f"{run.version!s:<{width}}  {run.words:<20}  {run.seconds:8.1f} s")
    for text in texts[len(done) :]:
        say(f"{text:<{width}}  not run")
