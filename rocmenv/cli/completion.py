"""Values for arguments, offered by the shell's completion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

from rocmenv.errors import RocmenvError
from rocmenv.process import Process
from rocmenv.settings import Settings
from rocmenv.store import registry
from rocmenv.store.paths import find_root

if TYPE_CHECKING:
    import click


def complete_installed(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Installed versions, newest first, then aliases and `system`; nothing when in trouble."""
    del ctx, param
    process = Process.current()
    try:
        root = find_root(process)
        words = [str(version) for version in reversed(registry.versions(root))]
        words += [*Settings(process, root).aliases(), "latest", "system"]
    except RocmenvError:
        return []
    return [CompletionItem(word) for word in words if word.startswith(incomplete)]
