"""`rocmenv verify`: whether installs are as they were made, and work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from rocmenv.cli.completion import complete_installed, complete_target
from rocmenv.cli.output import say, say_json, tell
from rocmenv.cli.program import Context
from rocmenv.cli.progress import reporter
from rocmenv.errors import RocmenvError, UsageError, visible
from rocmenv.ops import current, verify
from rocmenv.ops.connect import downloads_for
from rocmenv.ops.install import options
from rocmenv.settings import Settings
from rocmenv.store import registry

if TYPE_CHECKING:
    from rocmenv.model.version import Version
    from rocmenv.ops.sample import Sampled
    from rocmenv.ops.verify import Checked, Fault
    from rocmenv.store.registry import Broken, Installed

_SHOWN = 20
"""Paths of one kind that are listed for people; JSON has all."""
_LONGEST = 4096


@dataclass
class _Answer:
    """What there is to say of one version: a look at its files, and one at its compiler."""

    item: Installed
    checked: Checked | None = None
    repaired: tuple[Fault, ...] = ()
    sampled: Sampled | None = None
    error: RocmenvError | None = None

    @property
    def is_fine(self) -> bool:
        is_wrong = self.checked is not None and bool(self.checked.faults)
        works = self.sampled is None or not self.sampled.problem
        return self.error is None and not is_wrong and works

    @property
    def is_refused(self) -> bool:
        """Whether there is an error, and of the files nothing that is worth a word."""
        return self.error is not None and not (self.checked and self.checked.faults)


@click.command("verify")
@click.argument("specs", metavar="[VERSION]...", nargs=-1, shell_complete=complete_installed)
@click.option("--deep", is_flag=True, help="Read every file and compare its hash, too.")
@click.option("--repair", is_flag=True, help="Fetch what is damaged again, and put it right.")
@click.option(
    "--compile", "compiles", is_flag=True, help="Let its compiler build and run a sample."
)
@click.option(
    "--gpu",
    "gpus",
    metavar="TARGET",
    multiple=True,
    help="With --compile: for this target.",
    shell_complete=complete_target,
)
@click.option("-j", "--jobs", type=click.IntRange(1, 64), help="Files or packages at once.")
@click.option("--offline", is_flag=True, help="With --repair: open no connection; use the cache.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, no notes.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def command(ctx: Context, /, specs: tuple[str, ...], **given: object) -> int:
    """Compare installed files with what was installed; of all versions when none is named.

    Sizes, modes and links are compared; the exit status is 1 when something is wrong.
    """
    if given["gpus"] and not given["compiles"]:
        msg = "`--gpu` is for the sample that `--compile` builds"
        raise UsageError(msg, hint="`rocmenv verify --compile --gpu TARGET`")
    if given["compiles"]:
        from rocmenv.ops.sample import asked  # noqa: PLC0415 - only for `--compile`: it needs the tables of GPUs

        given["gpus"] = asked(given["gpus"] if isinstance(given["gpus"], tuple) else ())
    items, broken = _items(ctx, specs, links=bool(given["compiles"]))
    answers = [_answer(ctx, item, given) for item in items]
    if given["as_json"]:
        rows = [{"path": entry.path, "reason": entry.reason} for entry in broken]
        say_json({"versions": [_row(answer) for answer in answers], "broken": rows})
    elif specs and len(answers) == 1 and answers[0].is_refused and answers[0].error:
        raise answers[0].error
    else:
        for answer in answers:
            _show(answer, given)
        for entry in broken:
            tell(f"rocmenv: not an install: {entry.path}: {entry.reason}")
        if not answers and not broken:
            tell("rocmenv: nothing is installed")
    return 0 if not broken and all(answer.is_fine for answer in answers) else 1


def _items(
    ctx: Context, specs: tuple[str, ...], *, links: bool
) -> tuple[list[Installed], tuple[Broken, ...]]:
    """The versions to look at, and what is there that is none, where all are asked for."""
    words = specs or ((ctx.plus,) if ctx.plus else ())
    if not words:
        listing = registry.load(ctx.root)
        return [
            i for i in listing.installed.values() if links or not i.receipt.is_link
        ], listing.broken
    found: dict[str, Installed] = {}
    for word in words:
        item = current.installed_for(ctx.process, ctx.root, current.asked(word))
        if item is None:
            msg = "nothing is known of the files of the system's ROCm"
            raise UsageError(msg, hint="name an installed version; `rocmenv versions` shows them")
        found[str(item.version)] = item
    return list(found.values()), ()


def _answer(ctx: Context, item: Installed, given: dict[str, object]) -> _Answer:
    answer = _Answer(item)
    try:
        # Of a link nothing is known but whether it works.
        if not (given["compiles"] and item.receipt.is_link):
            _look(ctx, answer, given)
        if given["compiles"]:
            from rocmenv.ops.sample import sample  # noqa: PLC0415 - needs more than a look

            gpus = tuple(given["gpus"]) if isinstance(given["gpus"], tuple) else ()
            answer.sampled = sample(ctx.process, ctx.root, item, gpus)
    except RocmenvError as error:
        answer.error = error
    return answer


def _look(ctx: Context, answer: _Answer, given: dict[str, object]) -> None:
    settings = Settings(ctx.process, ctx.root)
    report = reporter(quiet=bool(given["quiet"]) or bool(given["as_json"]))
    jobs = given["jobs"] if isinstance(given["jobs"], int) else None
    how = options(settings, jobs, keep=False, reinstall=False)
    deep = bool(given["deep"])
    if not given["repair"]:
        answer.checked = verify.check(
            ctx.root, answer.item, deep=deep, jobs=how.jobs, report=report
        )
        return
    from rocmenv.ops.repair import repair  # noqa: PLC0415 - needs the network's modules

    downloads = downloads_for(ctx.process, ctx.root, settings, offline=bool(given["offline"]))
    version = answer.item.version
    done = repair(ctx.process, ctx.root, version, downloads, how, report, deep=deep)
    left = {fault.entry.path for fault in done.after.faults}
    answer.repaired = tuple(f for f in done.before.faults if f.entry.path not in left)
    answer.checked, answer.error = done.after, done.problem


def _show(answer: _Answer, given: dict[str, object]) -> None:
    version = answer.item.version
    if answer.error is not None:
        tell(f"rocmenv: {answer.error.message}")
        if answer.error.hint:
            tell(f"hint: {answer.error.hint}")
    for fault in answer.repaired:
        say(f"{version}: repaired {visible(fault.entry.path, _LONGEST)}")
    if answer.checked is not None:
        _show_checked(answer.checked, quiet=bool(given["quiet"]))
        if answer.checked.faults and answer.error is None:
            deep = "--deep " if given["deep"] else ""  # or what it has found is not looked for
            tell(f"hint: `rocmenv verify {deep}--repair {version}` fetches what is damaged again")
    if answer.sampled is not None:
        done = answer.sampled
        words = done.problem or f"compiles for {', '.join(done.targets)}; {done.ran}"
        say(f"{version}: {words}")


def _show_checked(checked: Checked, *, quiet: bool) -> None:
    version = checked.item.version
    if not checked.faults:
        say(f"{version}: all {checked.paths} paths are as they were installed")
    for fault in checked.faults[:_SHOWN]:
        words = f" ({fault.words})" if fault.words else ""
        say(f"{version}: {fault.kind} {visible(fault.entry.path, _LONGEST)}{words}")
    _show_rest(version, len(checked.faults))
    if not quiet:
        for path in checked.extra[:_SHOWN]:
            tell(f"note: {version}: not installed by rocmenv: {visible(path, _LONGEST)}")
        _show_rest(version, len(checked.extra))


def _show_rest(version: Version, count: int) -> None:
    if count > _SHOWN:
        tell(f"note: {version}: and {count - _SHOWN} more; `--json` lists all")


def _row(answer: _Answer) -> dict[str, object]:
    row: dict[str, object] = {
        "version": str(answer.item.version),
        "prefix": answer.item.prefix,
        "fine": answer.is_fine,
        "paths": None,
        "missing": [],
        "changed": [],
        "extra": [],
        "repaired": [fault.entry.path for fault in answer.repaired],
        "compile": None,
        "error": None,
    }
    if answer.checked is not None:
        faults = answer.checked.faults
        row["paths"] = answer.checked.paths
        row["missing"] = [f.entry.path for f in faults if f.kind == verify.MISSING]
        row["changed"] = [
            {"path": f.entry.path, "how": f.words} for f in faults if f.kind == verify.CHANGED
        ]
        row["extra"] = list(answer.checked.extra)
    if (done := answer.sampled) is not None:
        targets = list(done.targets)
        row["compile"] = {
            "compiler": done.compiler,
            "targets": targets,
            "problem": done.problem or None,
            "ran": done.ran or None,
        }
    if (error := answer.error) is not None:
        row["error"] = {"code": error.code, "message": error.message, "hint": error.hint}
    return row
