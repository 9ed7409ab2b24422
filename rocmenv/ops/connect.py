"""The downloads of a call: what settings, variables and files of the person say of the network."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rocmenv.fetch.accounts import Accounts
from rocmenv.fetch.certificates import Certificates
from rocmenv.fetch.network import Network, bytes_per_second
from rocmenv.fetch.proxies import Proxies
from rocmenv.fetch.transfer import Downloads

if TYPE_CHECKING:
    from rocmenv.process import Process
    from rocmenv.settings import Settings
    from rocmenv.store.paths import Root


def downloads_for(
    process: Process, root: Root, settings: Settings, *, offline: bool = False
) -> Downloads:
    """The downloads of a root, the only way to any server.

    The run is offline when it was asked for, or by the setting or its variable.
    """
    return Downloads(
        root.cache,
        offline=offline or bool(settings["offline"]),
        network=network(process, settings),
    )


def network(process: Process, settings: Settings) -> Network:
    """The manners of connections; raises `ConfigError` for a setting that does not fit."""
    rate, ca = settings["network.rate"], settings["network.ca"]
    if ca and ca.startswith("~"):
        ca = f"{process.home}{ca[1:]}"
    return Network(
        timeout=settings["network.timeout"],
        retries=settings["network.retries"],
        rate=bytes_per_second(rate) if rate else None,
        connections=settings["network.connections"],
        proxies=Proxies.of(process.environ, settings["network.proxy"]),
        certificates=Certificates.of(process.environ, os.path.normpath(ca) if ca else None),
        accounts=Accounts.of(process.environ, process.home),
    )
