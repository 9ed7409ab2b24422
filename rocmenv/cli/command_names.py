"""The names of the commands, for those that must know them without loading click."""

from __future__ import annotations

COMMANDS = {
    "install": "install",
    "uninstall": "uninstall",
    "list-remote": "list_remote",
    "versions": "versions",
    "version": "version",
    "use": "use",
    "local": "local",
    "global": "global_",
    "shell": "shell",
    "deactivate": "deactivate",
    "exec": "exec_",
    "which": "which",
    "whence": "whence",
    "prefix": "prefix",
    "root": "root",
    "rehash": "rehash",
    "env": "env",
    "init": "init",
    "discover": "discover",
    "link": "link",
    "unlink": "unlink",
    "config": "config",
    "completion": "completion",
    "resolve": "resolve",
}
"""Name on the command line, in the order of help: module of `rocmenv.cli.commands`."""
