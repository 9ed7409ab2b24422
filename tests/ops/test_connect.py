"""From settings and variables to the manners of connections."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocmenv.errors import ConfigError
from rocmenv.fetch.network import Network
from rocmenv.ops.connect import downloads_for, network
from rocmenv.settings import Settings
from rocmenv.store.paths import Root
from tests.builders import process

CONFIG = """
offline = true
[network]
timeout = 7
retries = 0
rate = "2M"
connections = 9
proxy = "http://p.invalid:3128"
ca = "~/ca.pem"
"""


def made(tmp_path: Path, text: str = "", **environ: str) -> Network:
    root = Root(tmp_path)
    root.config.write_text(text)
    given = process(tmp_path, environ)
    return network(given, Settings(given, root))


def test_without_settings(tmp_path: Path) -> None:
    found = made(tmp_path)
    plain = Network()
    assert (found.timeout, found.retries, found.rate, found.connections) == (
        plain.timeout,
        plain.retries,
        None,
        plain.connections,
    )
    assert found.proxies.find("https", "h", 443) is None
    assert found.certificates.extra is None
    assert found.accounts.file == Path("/nonexistent/.netrc")


def test_all_of_the_file_counts(tmp_path: Path) -> None:
    found = made(tmp_path, CONFIG, https_proxy="http://other.invalid:1", no_proxy="near.invalid")
    assert (found.timeout, found.retries, found.rate, found.connections) == (7, 0, 2_000_000, 9)
    proxy = found.proxies.find("https", "h", 443)
    assert proxy is not None
    assert proxy.host == "p.invalid"
    assert found.proxies.find("https", "near.invalid", 443) is None
    assert found.certificates.extra == "/nonexistent/ca.pem"


def test_variables_beat_the_file(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        CONFIG,
        ROCMENV_TIMEOUT="3",
        ROCMENV_RETRIES="2",
        ROCMENV_RATE="5K",
        ROCMENV_CONNECTIONS="1",
        ROCMENV_PROXY="none",
        ROCMENV_CA="/x/../ca.pem",
        NETRC="/x/netrc",
        SSL_CERT_FILE="/x/all.pem",
    )
    assert (found.timeout, found.retries, found.rate, found.connections) == (3, 2, 5000, 1)
    assert found.proxies.find("https", "h", 443) is None
    assert found.certificates.extra == "/ca.pem"
    assert found.certificates.file == "/x/all.pem"
    assert found.accounts.file == Path("/x/netrc")


@pytest.mark.parametrize(
    ("text", "environ", "asked", "is_offline"),
    [
        ("", {}, False, False),
        ("", {}, True, True),
        ("offline = true", {}, False, True),
        ("", {"ROCMENV_OFFLINE": "1"}, False, True),
        ("offline = true", {"ROCMENV_OFFLINE": "0"}, False, False),
        ("", {"ROCMENV_OFFLINE": "0"}, True, True),
    ],
)
def test_any_word_for_offline_counts(
    tmp_path: Path, text: str, environ: dict[str, str], *, asked: bool, is_offline: bool
) -> None:
    root = Root(tmp_path)
    root.config.write_text(text)
    given = process(tmp_path, environ)
    found = downloads_for(given, root, Settings(given, root), offline=asked)
    assert found.offline == is_offline


def test_a_variable_that_does_not_fit_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="ROCMENV_RATE"):
        made(tmp_path, ROCMENV_RATE="fast")
