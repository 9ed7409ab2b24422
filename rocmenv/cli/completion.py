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

    from rocmenv.model.version import Version
    from rocmenv.store.paths import Root


def complete_installed(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Installed versions, newest first, then aliases, `latest` and `system`."""
    del param
    return _offer(ctx, _installed, incomplete)


def complete_plus(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """The same as `+VERSION`."""
    return _offer(ctx, lambda p, root: [f"+{word}" for word in _installed(p, root)], incomplete)


def complete_install(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The versions that `uninstall` takes: no link, and no word that may mean another soon."""
    del param
    return _offer(ctx, lambda _process, root: _versions(root, links=False), incomplete)


def complete_link(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The versions that `unlink` takes, those among them whose prefix is gone."""
    del param
    return _offer(ctx, lambda _process, root: _versions(root, links=True), incomplete)


def complete_release(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The known releases, newest first."""
    from rocmenv.ops.listing import known  # noqa: PLC0415 - most commands need no catalogue

    del param
    return _offer(
        ctx,
        lambda _process, _root: [str(r.version) for r in reversed(known(unlisted=False))],
        incomplete,
    )


def complete_command(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The commands that any installed version has."""
    del param
    return complete_program(ctx, incomplete)


def complete_program(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """The same, without a parameter of a command."""
    return _offer(ctx, lambda _process, root: _programs(root), incomplete)


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
    del param
    return _offer(ctx, lambda _process, _root: PROFILE_NAMES, incomplete)


def complete_setting(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The keys of settings, and of the aliases that there are."""
    del param
    return _offer(
        ctx,
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
        return _offer(ctx, _installed, incomplete)
    return _offer(ctx, lambda _process, _root: _values(key), incomplete)


def _values(key: str) -> tuple[str, ...]:
    setting = known_setting(key)
    return ("true", "false") if setting.kind is bool else setting.choices


def _installed(process: Process, root: Root) -> list[str]:
    words = [str(version) for version in reversed(registry.versions(root))]
    return [*words, *Settings(process, root).aliases(), "latest", "system"]


def _versions(root: Root, *, links: bool) -> list[str]:
    return [str(v) for v in reversed(registry.versions(root)) if _is_link(root, v) is links]


def _is_link(root: Root, version: Version) -> bool:
    try:
        return registry.read_receipt(root, version).is_link
    except RocmenvError:  # without a receipt it goes by the name of its folder, as an install
        return False


def _programs(root: Root) -> list[str]:
    return sorted(name for name in os.listdir(root.shims) if not name.startswith("."))


def _offer(
    ctx: click.Context, words: Callable[[Process, Root], Iterable[str]], incomplete: str
) -> list[CompletionItem]:
    process = Process.current()
    try:
        root = find_root(process, ctx.find_root().params.get("root_option"))
        found = list(words(process, root))
    except (RocmenvError, OSError):
        return []
    return [CompletionItem(word) for word in found if word.startswith(incomplete)]
