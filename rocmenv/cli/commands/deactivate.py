"""`rocmenv deactivate`: this shell as it was before."""

from __future__ import annotations

import click

from rocmenv.ops.choose import needs_function


@click.command("deactivate")
def command() -> None:
    """Take back everything in this shell, until the next `rocmenv use`."""
    raise needs_function("deactivate", None)
