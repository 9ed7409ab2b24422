"""`rocmenv bisect`: the first version with which a command fails."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from rocmenv.cli import trials
from rocmenv.cli.completion import complete_installed
from rocmenv.cli.output import say, say_json, tell
from rocmenv.cli.program import Context
from rocmenv.cli.progress import reporter
from rocmenv.errors import RocmenvError, UsageError
from rocmenv.model.bisect import Search
from rocmenv.ops import bisect as ops
from rocmenv.ops import install as installing
from rocmenv.ops.connect import downloads_for
from rocmenv.ops.matrix import Run
from rocmenv.settings import Settings
from rocmenv.store.lock import must_be_writable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocmenv.model.version import Version

_HINT = "`rocmenv bisect 6.3 7.0 -- ./test.sh`"
_SKIP = 125
_WORDS = {True: "good", False: "bad", None: "skipped"}


@click.command(
    "bisect", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.option(
    "--install", "with_known", is_flag=True, help="Try releases that have to be installed."
)
@click.option("--json", "as_json", is_flag=True, help="As JSON; COMMAND writes to stderr then.")
@click.option("-q", "--quiet", is_flag=True, help="No line before each run, no progress.")
@click.argument(
    "words",
    metavar="GOOD BAD -- COMMAND [ARGUMENTS]...",
    nargs=-1,
    type=click.UNPROCESSED,
    shell_complete=complete_installed,
)
@click.pass_obj
def command(
    ctx: Context, words: tuple[str, ...], *, with_known: bool, as_json: bool, quiet: bool
) -> int:
    """Find the first version between GOOD and BAD with which COMMAND fails.

    COMMAND is run with both, then with versions in between, each time the one in the middle.
    Exit status 0 means good, 125 that nothing can be told, all else bad. GOOD may be newer than
    BAD: then it is the first version that works no longer, going back.
    """
    ends, to_run = trials.split(words, _HINT)
    if not ends[1:] or ends[2:]:
        raise UsageError("two versions are needed, a good one and a bad one", hint=_HINT)
    good, bad = ends
    if with_known:
        must_be_writable(ctx.root)
    search = Search(ops.line(ctx.process, ctx.root, good, bad, with_known=with_known))
    tried = _Tried(ctx, to_run, as_json, quiet)
    for end, wanted in ((search.good, True), (search.bad, False)):
        if tried.is_good(end) is not wanted:
            told = tried.rows[-1]["verdict"]
            msg = f"{end} is {told}, and was named as {_WORDS[wanted]}"
            raise RocmenvError(msg, hint="look at what the command wrote, or name another version")
    while (version := search.next()) is not None:
        search.tell(version, is_good=tried.is_good(version))
    between = [str(version) for version in search.between]
    if as_json:
        found = {"good": str(search.good), "bad": str(search.bad), "untold": between}
        say_json({"command": list(to_run), "tried": tried.rows, **found})
        return 0
    if not between:
        say(f"{search.bad} is the first bad version, {search.good} the last good one")
        return 0
    say(f"{search.bad} is bad, {search.good} is good")
    names = ", ".join(between)
    say(f"nothing could be told of {names} in between: each may be the first bad one")
    return 0


@dataclass(slots=True)
class _Tried:
    ctx: Context
    command: Sequence[str]
    as_json: bool
    quiet: bool
    rows: list[dict[str, object]] = field(default_factory=list)

    def is_good(self, version: Version) -> bool | None:
        """Try a version, which is installed first where it is not there; None: it tells nothing."""
        run = self._run(version)
        verdict = None if run.problem or run.status == _SKIP else run.status == 0
        self.rows.append(trials.row(run) | {"verdict": _WORDS[verdict]})
        if not self.as_json:
            say(f"{version!s:<12}  {_WORDS[verdict]:<8}  {run.seconds:8.1f} s")
        return verdict

    def _run(self, version: Version) -> Run:
        ctx = self.ctx
        if not ctx.root.receipt(version).is_file():
            try:
                self._install(version)
            except RocmenvError as error:
                problem = f"{version} cannot be installed: {error.message}"
                tell(f"rocmenv: {problem}")
                return Run(version, error.exit_status, 0.0, problem)
        return trials.run(ctx, version, self.command, as_json=self.as_json, quiet=self.quiet)

    def _install(self, version: Version) -> None:
        ctx = self.ctx
        settings = Settings(ctx.process, ctx.root)
        downloads = downloads_for(ctx.process, ctx.root, settings, offline=False)
        how = installing.options(settings, None, keep=False, reinstall=False)
        report = reporter(quiet=self.quiet or self.as_json)
        ops.install(ctx.process, ctx.root, version, downloads, how, report)
