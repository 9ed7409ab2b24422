"""What a shell's start file evaluates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmenv import resources
from rocmenv.shells.base import Setup
from rocmenv.shells.choose import shell_named

if TYPE_CHECKING:
    from rocmenv.process import Process
    from rocmenv.shells.base import Shell
    from rocmenv.store.paths import Root

_TAILS = {
    "bash": ("init.prompt.bash", "init.tail.bash"),
    "zsh": ("init.prompt.bash", "init.tail.zsh"),
}
# How click's scripts call the program, and how ours do.
_CALLS = {
    "bash": ((" _ROCMENV_COMPLETE=bash_complete $1)", " _ROCMENV_COMPLETE=bash_complete {})"),),
    "zsh": (
        ("    (( ! $+commands[rocmenv] )) && return 1\n", ""),
        (" _ROCMENV_COMPLETE=zsh_complete rocmenv)", " _ROCMENV_COMPLETE=zsh_complete {})"),
    ),
    "fish": ((" COMP_CWORD=(commandline -t) rocmenv)", " COMP_CWORD=(commandline -t) {})"),),
}
_COMPLETIONS = {"bash": "rocmenv.bash", "zsh": "_rocmenv", "fish": "rocmenv.fish"}


def setup_text(process: Process, root: Root, name: str) -> str:
    """The functions, hook and completion of the shell `name`. Writes nothing, runs nothing."""
    shell = shell_named(name)
    if shell.suffix == "fish":
        script = resources.shim_text("init.fish")
    else:
        tails = _TAILS.get(shell.name, ("init.tail.sh",))
        script = "".join(map(resources.shim_text, ("init.sh", *tails)))
    parts = {"WANTED": resources.shim_text("wanted.sh"), "LISTS": resources.shim_text("lists.sh")}
    setup = Setup(str(root.path), process.launcher, parts, script)
    text = shell.setup(setup)
    if shell.name in _COMPLETIONS:
        text += _completion(shell, process.launcher)
    return text


def _completion(shell: Shell, launcher: tuple[str, ...]) -> str:
    """The script that click makes, calling the program by its place: here it is a function."""
    text = resources.completion_text(_COMPLETIONS[shell.name])
    program = " ".join(map(shell.quote, launcher))
    for old, new in _CALLS[shell.name]:
        text = text.replace(old, new.format(program))
    # zsh has `compdef` only after `compinit`, which not every start file runs.
    return f"if (( ${{+functions[compdef]}} )); then\n{text}fi\n" if shell.name == "zsh" else text
