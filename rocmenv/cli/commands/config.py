"""`rocmenv config`: settings."""

from __future__ import annotations

import click

from rocmenv.cli.completion import complete_setting, complete_value
from rocmenv.cli.output import say, say_json, tell
from rocmenv.cli.program import Context, Group
from rocmenv.fetch.address import without_account
from rocmenv.ops.configure import set_value, unset_value
from rocmenv.settings import SETTINGS, Settings


@click.group("config", cls=Group)
def command() -> None:
    """Show and change settings; a variable beats the file, an option beats both."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def list_(ctx: Context, *, as_json: bool) -> None:
    """List every setting with its value and where that is set."""
    settings = Settings(ctx.process, ctx.root)
    values = {setting.key: settings.value(setting.key) for setting in SETTINGS}
    aliases = {name: settings.alias(name) for name in settings.alias_names()}
    if as_json:
        rows = {k: {"value": _plain(v.value), "origin": v.origin} for k, v in values.items()}
        say_json({"settings": rows, "aliases": aliases})
        return
    for setting in SETTINGS:
        value = values[setting.key]
        shown = _shown(_plain(value.value))
        say(f"{setting.key} = {shown} ({value.origin}): {setting.meaning}")
    for name, text in aliases.items():
        say(f"aliases.{name} = {text} ({ctx.root.config})")


@command.command("get")
@click.argument("key", shell_complete=complete_setting)
@click.pass_obj
def get(ctx: Context, key: str) -> None:
    """Show the value of one setting."""
    settings = Settings(ctx.process, ctx.root)
    name = key.removeprefix("aliases.")
    if name != key:
        say(settings.alias(name))
    else:
        say(_shown(settings[key]))


@command.command("set")
@click.argument("key", shell_complete=complete_setting)
@click.argument("value", shell_complete=complete_value)
@click.pass_obj
def set_(ctx: Context, key: str, value: str) -> None:
    """Give a setting a value; `aliases.NAME` gives a version a name."""
    set_value(ctx.process, ctx.root, key, value)
    tell(f"rocmenv: {ctx.root.config}: {key} = {without_account(value)}")


@command.command("unset")
@click.argument("key", shell_complete=complete_setting)
@click.pass_obj
def unset(ctx: Context, key: str) -> None:
    """Give a setting its default again."""
    unset_value(ctx.process, ctx.root, key)


def _plain(value: object) -> object:
    """A value as a list has it, without passwords: lists end up in logs."""
    return without_account(value) if isinstance(value, str) else value


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ":".join(map(str, value))
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return "" if value is None else str(value)
