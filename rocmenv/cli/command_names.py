"""The names of the commands, for those that must know them without loading click."""

from __future__ import annotations

COMMANDS = {
    "install": "install",
    "uninstall": "uninstall",
    "outdated": "outdated",
    "upgrade": "upgrade",
    "prune": "prune",
    "list-remote": "list_remote",
    "catalog": "catalog",
    "verify": "verify",
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
    "gpu": "gpu",
    "du": "du",
    "cache": "cache",
    "projects": "projects",
    "link": "link",
    "unlink": "unlink",
    "config": "config",
    "completion": "completion",
    "resolve": "resolve",
}
"""Name on the command line, in the order of help: module of `rocmenv.cli.commands`."""
