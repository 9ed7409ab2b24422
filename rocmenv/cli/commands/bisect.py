"""`rocmenv bisect`: the first version with which a command fails."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from rocmenv.cli.completion import complete_installed
from rocmenv.cli.output import say, say_json, tell
from rocmenv.cli.program import Context, empty_argument
from rocmenv.cli.progress import reporter
from rocmenv.errors import RocmenvError, UsageError
from rocmenv.model.bisect import Search
from rocmenv.ops import bisect as ops
from rocmenv.ops import install as installing
from rocmenv.ops import matrix
from rocmenv.ops.connect import downloads_for
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
    good, bad, to_run = _split(words)
    if with_known:
        must_be_writable(ctx.root)
    search = Search(ops.line(ctx.process, ctx.root, good, bad, with_known=with_known))
    trials = _Trials(ctx, to_run, as_json, quiet)
    for end, wanted in ((search.good, True), (search.bad, False)):
        if trials.is_good(end) is not wanted:
            told = trials.rows[-1]["verdict"]
            msg = f"{end} is {told}, and was named as {_WORDS[wanted]}"
            raise RocmenvError(msg, hint="look at what the command wrote, or name another version")
    while (version := search.next()) is not None:
        search.tell(version, is_good=trials.is_good(version))
    between = [str(version) for version in search.between]
    if as_json:
        found = {"good": str(search.good), "bad": str(search.bad), "untold": between}
        say_json({"command": list(to_run), "tried": trials.rows, **found})
        return 0
    if not between:
        say(f"{search.bad} is the first bad version, {search.good} the last good one")
        return 0
    say(f"{search.bad} is bad, {search.good} is good")
    names = ", ".join(between)
    say(f"nothing could be told of {names} in between: each may be the first bad one")
    return 0


@dataclass(slots=True)
class _Trials:
    ctx: Context
    command: Sequence[str]
    as_json: bool
    quiet: bool
    rows: list[dict[str, object]] = field(default_factory=list)

    def is_good(self, version: Version) -> bool | None:
        """Try a version, which is installed first where it is not there; None: it tells nothing."""
        status, seconds, problem = 0, 0.0, self._missing(version)
        if not problem:
            sys.stdout.flush()
            if not self.quiet:
                tell(f"== {version}: {shlex.join(self.command)}")
            output = sys.stderr.fileno() if self.as_json else None
            ran = matrix.run(self.ctx.process, self.ctx.root, version, self.command, output=output)
            status, seconds, problem = ran.status, ran.seconds, ran.problem
        verdict = None if problem or status == _SKIP else status == 0
        row = {"version": str(version), "verdict": _WORDS[verdict], "status": status}
        self.rows.append(row | {"seconds": round(seconds, 3), "problem": problem or None})
        if problem:
            tell(f"rocmenv: {problem}")
        if not self.as_json:
            say(f"{version!s:<12}  {_WORDS[verdict]:<8}  {seconds:8.1f} s")
        return verdict

    def _missing(self, version: Version) -> str:
        """Have a version there; why it cannot be."""
        ctx = self.ctx
        if ctx.root.receipt(version).is_file():
            return ""
        settings = Settings(ctx.process, ctx.root)
        downloads = downloads_for(ctx.process, ctx.root, settings, offline=False)
        how = installing.options(settings, None, keep=False, reinstall=False)
        report = reporter(quiet=self.quiet or self.as_json)
        try:
            ops.have(ctx.process, ctx.root, version, downloads, how, report)
        except RocmenvError as error:
            return f"{version} cannot be installed: {error.message}"
        return ""


def _split(words: Sequence[str]) -> tuple[str, str, Sequence[str]]:
    at = [*words, "--"].index("--")
    ends, to_run = words[:at], words[at + 1 :]
    if "" in (*ends, *to_run[:1]):
        raise empty_argument()
    if len(ends) != 2:  # noqa: PLR2004 - a good one and a bad one
        raise UsageError("two versions are needed, a good one and a bad one", hint=_HINT)
    if not to_run:
        raise UsageError("the command is missing", hint=f"write it behind `--`: {_HINT}")
    return ends[0], ends[1], to_run
