"""`rocmenv use`: select a version for this shell, this project, or by default."""

from __future__ import annotations

import click

from rocmenv.cli.completion import complete_installed
from rocmenv.cli.output import tell
from rocmenv.cli.program import Context
from rocmenv.errors import UsageError
from rocmenv.ops.choose import needs_function, set_default, set_pin


@click.command("use")
@click.argument("spec", metavar="[VERSION]", required=False, shell_complete=complete_installed)
@click.option("--project", is_flag=True, help="Write VERSION into .rocm-version here.")
@click.option("--global", "default", is_flag=True, help="Make VERSION the user's default.")
@click.option("--force", is_flag=True, help="Also when VERSION is not installed yet.")
@click.pass_obj
def command(ctx: Context, spec: str | None, *, project: bool, default: bool, force: bool) -> None:
    """Select VERSION: in this shell, for the project here, or as the default.

    Without VERSION, go back to what the project's .rocm-version says.
    """
    if project and default:
        msg = "`--project` and `--global` are two different places"
        raise UsageError(msg, hint="run `rocmenv use` once for each")
    if not (project or default):
        if force:
            msg = "`--force` writes a version that is not installed, which no shell can use"
            raise UsageError(msg, hint="add `--project` or `--global`")
        raise needs_function(ctx.process, "use", spec)
    if spec is None:
        msg = "a version is missing"
        raise UsageError(msg, hint="name one: `rocmenv use --project latest`")
    path, written = (set_pin if project else set_default)(ctx.process, ctx.root, spec, force=force)
    tell(f"rocmenv: {path} now says {written}")
