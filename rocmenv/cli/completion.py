"""Values for arguments, offered by the shell's completion; none when in trouble."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

from rocmenv.errors import RocmenvError
from rocmenv.process import Process
from rocmenv.settings import ALIASES, PROFILE_NAMES, SETTINGS, Settings, known_setting
from rocmenv.store import registry
from rocmenv.store.paths import find_root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import click

    from rocmenv.store.paths import Root


def complete_installed(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Installed versions, newest first, then aliases, `latest` and `system`."""
    del ctx, param
    return _offer(_installed, incomplete)


def complete_plus(incomplete: str) -> list[CompletionItem]:
    """The same as `+VERSION`."""
    return _offer(lambda p, root: [f"+{word}" for word in _installed(p, root)], incomplete)


def complete_release(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The known releases, newest first."""
    from rocmenv.ops.listing import known  # noqa: PLC0415 - most commands need no catalogue

    del ctx, param
    return _offer(
        lambda _process, _root: [str(r.version) for r in reversed(known(unlisted=False))],
        incomplete,
    )


def complete_command(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The commands that any installed version has."""
    del ctx, param
    return complete_program(incomplete)


def complete_program(incomplete: str) -> list[CompletionItem]:
    """The same, without a parameter of a command."""
    return _offer(lambda _process, root: sorted(os.listdir(root.shims)), incomplete)


def complete_file(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """What the shell itself offers for a file's name."""
    del ctx, param
    return [CompletionItem(incomplete, type="file")]


def complete_profile(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The profiles."""
    del ctx, param
    return _offer(lambda _process, _root: PROFILE_NAMES, incomplete)


def complete_setting(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The keys of settings, and of the aliases that there are."""
    del ctx, param
    return _offer(
        lambda process, root: [
            *(setting.key for setting in SETTINGS),
            *(f"{ALIASES}.{name}" for name in Settings(process, root).aliases()),
        ],
        incomplete,
    )


def complete_value(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The values of the setting that was named before, where they can be listed."""
    del param
    key = str(ctx.params.get("key"))
    if key.startswith(f"{ALIASES}."):
        return _offer(_installed, incomplete)
    return _offer(lambda _process, _root: _values(key), incomplete)


def _values(key: str) -> tuple[str, ...]:
    setting = known_setting(key)
    return ("true", "false") if setting.kind is bool else setting.choices


def _installed(process: Process, root: Root) -> list[str]:
    words = [str(version) for version in reversed(registry.versions(root))]
    return [*words, *Settings(process, root).aliases(), "latest", "system"]


def _offer(
    words: Callable[[Process, Root], Iterable[str]], incomplete: str
) -> list[CompletionItem]:
    process = Process.current()
    try:
        found = list(words(process, find_root(process)))
    except (RocmenvError, OSError):
        return []
    return [CompletionItem(word) for word in found if word.startswith(incomplete)]
