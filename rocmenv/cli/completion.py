"""Values for arguments, offered by the shell's completion; none when in trouble."""

from __future__ import annotations

import os
from functools import wraps
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

    Words = Callable[[click.Context, Process, Root], Iterable[str]]
    Complete = Callable[[click.Context, click.Parameter | None, str], list[CompletionItem]]


def _offering(words: Words) -> Complete:
    """What click calls: those of `words` that go on as the word that is typed begins."""

    @wraps(words)
    def complete(
        ctx: click.Context, _param: click.Parameter | None, incomplete: str
    ) -> list[CompletionItem]:
        process = Process.current()
        try:
            root = find_root(process, ctx.find_root().params.get("root_option"))
            found = list(words(ctx, process, root))
        except (RocmenvError, OSError):
            return []
        return [CompletionItem(word) for word in found if word.startswith(incomplete)]

    return complete


@_offering
def complete_installed(_ctx: click.Context, process: Process, root: Root) -> list[str]:
    """Installed versions, newest first, then aliases, `latest` and `system`."""
    return _installed(process, root)


@_offering
def complete_plus(_ctx: click.Context, process: Process, root: Root) -> list[str]:
    """The same as `+VERSION`."""
    return [f"+{word}" for word in _installed(process, root)]


@_offering
def complete_install(_ctx: click.Context, _process: Process, root: Root) -> list[str]:
    """The versions that `uninstall` takes: no word that may mean another soon."""
    return [str(version) for version in reversed(registry.versions(root))]


@_offering
def complete_link(_ctx: click.Context, _process: Process, root: Root) -> list[str]:
    """The versions that `unlink` takes, those among them whose prefix is gone."""
    from rocmenv.ops.link import is_link  # noqa: PLC0415 - most commands need none of it

    return [str(v) for v in reversed(registry.versions(root)) if is_link(root, v)]


@_offering
def complete_release(_ctx: click.Context, _process: Process, root: Root) -> list[str]:
    """The known releases, newest first."""
    from rocmenv.sources.catalog_file import load  # noqa: PLC0415 - most commands need none

    return [str(release.version) for release in reversed(load(root.catalog).offered())]


@_offering
def complete_command(_ctx: click.Context, _process: Process, root: Root) -> list[str]:
    """The commands that any installed version has."""
    return sorted(name for name in os.listdir(root.shims) if not name.startswith("."))


@_offering
def complete_profile(_ctx: click.Context, _process: Process, _root: Root) -> Iterable[str]:
    """The profiles."""
    return PROFILE_NAMES


@_offering
def complete_setting(_ctx: click.Context, process: Process, root: Root) -> list[str]:
    """The keys of settings, and of the aliases that there are."""
    aliases = (f"{ALIASES}.{name}" for name in Settings(process, root).aliases())
    return [*(setting.key for setting in SETTINGS), *aliases]


@_offering
def complete_value(ctx: click.Context, process: Process, root: Root) -> Iterable[str]:
    """The values of the setting that was named before, where they can be listed."""
    key = str(ctx.params.get("key"))
    if key.startswith(f"{ALIASES}."):
        return _installed(process, root)
    if key == "targets":
        from rocmenv.ops.targets import known_words  # noqa: PLC0415 - as in `complete_target`

        return known_words()
    setting = known_setting(key)
    return ("true", "false") if setting.kind is bool else setting.choices


def complete_target(
    _ctx: click.Context, _param: click.Parameter | None, incomplete: str
) -> list[CompletionItem]:
    """GPU targets, families, `all` and `none`, behind the commas of what is typed."""
    from rocmenv.ops.targets import known_words  # noqa: PLC0415 - most commands need no tables

    before, comma, last = incomplete.rpartition(",")
    words = [word for word in known_words() if word.lower().startswith(last.lower())]
    return [CompletionItem(f"{before}{comma}{word}") for word in words]


def complete_file(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """What the shell itself offers for a file's name."""
    return [CompletionItem(incomplete, type="file")]


def _installed(process: Process, root: Root) -> list[str]:
    words = [str(version) for version in reversed(registry.versions(root))]
    return [*words, *Settings(process, root).aliases(), "latest", "system"]
