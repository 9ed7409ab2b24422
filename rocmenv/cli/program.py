"""The command line: a group whose commands are loaded when they are called."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import click

from rocmenv import __version__
from rocmenv.cli.command_names import COMMANDS
from rocmenv.cli.output import say, tell
from rocmenv.errors import UsageError, visible
from rocmenv.process import Ended, heeding_signals
from rocmenv.store.paths import find_root

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from rocmenv.process import Process
    from rocmenv.store.paths import Root

_PLUS = "rocmenv.plus"
_TAKE_EMPTY = ("exec", "run-matrix", "bisect", "config", "which", "whence")
"""Commands that hand words on, or say themselves what is wrong with an empty one."""


@dataclass(frozen=True)
class Context:
    """What every command gets: the process, the version of `+VERSION`, and the root option."""

    process: Process
    plus: str | None
    root_option: str | None

    @cached_property
    def root(self) -> Root:
        """The root, looked for when a command first needs it."""
        return find_root(self.process, self.root_option)


class Group(click.Group):
    """A group that shows its help when it is called without a command.

    Only the help of rocmenv itself is an answer: that of `rocmenv config` is for people, as
    a shell may evaluate stdout. Releases of click differ in what they do then.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does it, once there is a word."""
        if not args and not ctx.resilient_parsing:
            (tell if ctx.parent else say)(ctx.get_help())
            ctx.exit(UsageError.exit_status if ctx.parent else 0)
        return super().parse_args(ctx, args)


class Commands(Group):
    """A group that imports a command's module by its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of help."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, None when there is none."""
        del ctx
        module = COMMANDS.get(cmd_name)
        if module is None:
            return None
        loaded = importlib.import_module(f"rocmenv.cli.commands.{module}")
        command: click.Command = loaded.command
        return command

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401 - click's signature
    ) -> click.Context:
        """As click makes it; when it completes, `+VERSION` in front is noted and taken off."""
        plus = args.pop(0) if extra.get("resilient_parsing") and _has_plus(args) else None
        made = super().make_context(info_name, args, parent, **extra)
        made.meta[_PLUS] = plus
        return made

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands and options; `+VERSION` once a plus is typed, behind it any program."""
        from rocmenv.cli import completion  # noqa: PLC0415 - only when completing

        found = super().shell_complete(ctx, incomplete)
        if ctx.meta[_PLUS] is not None:
            return found + completion.complete_command(ctx, None, incomplete)
        return found or completion.complete_plus(ctx, None, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that `args` name, else a usage error with the nearest name.

        After `+VERSION` any other word is a program to run with that version.
        """
        if ctx.resilient_parsing:
            if ctx.meta[_PLUS] is not None and args[0] not in COMMANDS:
                return "exec", self.get_command(ctx, "exec"), args
            return args[0], self.get_command(ctx, args[0]), args[1:]
        if "" in args and args[0] not in _TAKE_EMPTY and not _is_program(ctx, args[0]):
            raise empty_argument()
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            if _is_program(ctx, args[0]):
                return "exec", self.get_command(ctx, "exec"), args
            import difflib  # noqa: PLC0415 - only for messages

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f"did you mean `rocmenv {near[0]}`?" if near else "`rocmenv --help` lists them"
            msg = f"{visible(args[0])} is not a command of rocmenv"
            raise UsageError(msg, hint=hint)
        return super().resolve_command(ctx, args)


def _is_program(ctx: click.Context, word: str) -> bool:
    """Whether `word` is a program to run, as any other word is after `+VERSION`."""
    # Still what `run` handed over: the group's own function has not run yet.
    has_plus = isinstance(ctx.obj, tuple) and ctx.obj[1] is not None
    return has_plus and word not in COMMANDS and not word.startswith("-")


def empty_argument() -> UsageError:
    """The refusal of an empty word: a variable that a script forgot to set is not none."""
    msg = "an argument is empty"
    return UsageError(msg, hint="is a variable unset in the script that calls?")


def _has_plus(args: list[str]) -> bool:
    return bool(args) and args[0].startswith("+")


@click.group(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 96}
)
@click.version_option(__version__, prog_name="rocmenv", message="%(prog)s %(version)s")
@click.option("--root", "root_option", metavar="DIR", help="Root to use, in place of ROCM_ROOT.")
@click.pass_context
def program(ctx: click.Context, root_option: str | None) -> None:
    """Install ROCm releases side by side and select one per shell or project.

    A version is written `6.3.0`, `6.3` (newest 6.3.x), `latest`, `>=6.3,<7` or `system`.
    `rocmenv +6.3 hipcc ...` runs one program with that version.
    """
    if root_option == "":
        raise empty_argument()
    process, plus = ctx.obj
    ctx.obj = Context(process, plus, root_option)


def run(process: Process, args: list[str], plus: str | None) -> int:
    """Parse `args` and run the command; its exit status."""
    try:
        with heeding_signals():
            result: Any = program.main(
                args, prog_name="rocmenv", standalone_mode=False, obj=(process, plus)
            )
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.exceptions.Abort as error:
        cause = error.__cause__ or error.__context__  # click 8.1.3 says `from None`
        raise (cause if isinstance(cause, Ended) else KeyboardInterrupt) from None
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "rocmenv"
        message = error.format_message().rstrip(".")
        raise UsageError(message[:1].lower() + message[1:], hint=f"see `{path} --help`") from None
    except click.ClickException as error:
        raise UsageError(error.format_message()) from None
    return result if isinstance(result, int) else 0
