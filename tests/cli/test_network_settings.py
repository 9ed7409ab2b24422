"""Settings of the network, from the command line to the wire."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.runner import Runner
from tests.fetch.proxy import Proxy, proxying
from tests.fetch.server import Site, serving

FAR = "repo.example.invalid"
PAGE = b'<a href="6.3/">6.3/</a>'
LIST = ("list-remote", "--online", "--mirror")


@pytest.fixture
def far(site: Site) -> Iterator[Proxy]:
    """A proxy that knows the way to a server that has no name anywhere else."""
    site.files["/rocm/apt/"] = PAGE
    with proxying(Proxy(hosts={FAR: int(site.url.rpartition(":")[2])})) as proxy:
        yield proxy


def test_a_proxy_by_setting_variable_and_word(rocmenv: Runner, far: Proxy) -> None:
    words = (*LIST, f"http://{FAR}/rocm")
    assert "is not known" in rocmenv(*words).refused()
    rocmenv(*words, ROCMENV_PROXY=far.url).fine()
    rocmenv(*words, all_proxy=far.address).fine()
    rocmenv("config", "set", "network.proxy", far.url).fine()
    rocmenv(*words).fine()
    assert len(far.asked) == 3
    assert "is not known" in rocmenv(*words, no_proxy=FAR).refused()
    assert "is not known" in rocmenv(*words, ROCMENV_PROXY="none").refused()
    assert len(far.asked) == 3


def test_a_certificate_by_setting_and_variable(rocmenv: Runner, certificate: Path) -> None:
    with serving(Site({"/rocm/apt/": PAGE}), certificate) as site:
        words = (*LIST, f"{site.url}/rocm")
        refused = rocmenv(*words)
        assert "certificate" in refused.refused()
        assert "rocmenv config set network.ca FILE" in refused.hint
        rocmenv(*words, ROCMENV_CA=str(certificate)).fine()
        rocmenv(*words, SSL_CERT_FILE=str(certificate)).fine()
        rocmenv("config", "set", "network.ca", str(certificate)).fine()
        rocmenv(*words).fine()


def test_tries_and_time_by_setting(rocmenv: Runner, site: Site) -> None:
    site.always["/rocm/apt/"] = 503
    words = (*LIST, f"{site.url}/rocm")
    rocmenv(*words, ROCMENV_RETRIES="0").refused()
    assert len(site.seen) == 1
    site.always["/rocm/apt/"] = ("wait", 3)
    site.files["/rocm/apt/"] = PAGE
    message = rocmenv(*words, ROCMENV_RETRIES="0", ROCMENV_TIMEOUT="1")
    assert "does not answer in time" in message.refused()
    assert "network.timeout" in message.hint


def test_a_netrc_file_by_its_variable(rocmenv: Runner, site: Site, project: Path) -> None:
    site.files["/rocm/apt/"] = PAGE
    path = project / "netrc"
    path.write_text("machine 127.0.0.1 login me password s3cret")
    path.chmod(0o600)
    rocmenv(*LIST, f"{site.url}/rocm", NETRC=str(path)).fine()
    assert site.seen[0].headers["Authorization"] == "Basic bWU6czNjcmV0"


def test_no_list_of_settings_shows_a_password(rocmenv: Runner) -> None:
    secret = {
        "network.proxy": "http://me:s3cret@p.example.org:3128",
        "legacy.mirror": "https://me:s3cret@m.example.org/rocm",
    }
    for key, value in secret.items():
        done = rocmenv("config", "set", key, value)
        assert "s3cret" not in done.fine() + done.err
        assert rocmenv("config", "get", key).fine() == f"{value}\n"
    listed = rocmenv("config", "list").fine()
    as_json = rocmenv("config", "list", "--json").fine()
    assert "s3cret" not in listed + as_json
    assert "http://p.example.org:3128" in listed
    row = json.loads(as_json)["settings"]["network.proxy"]
    assert row["value"] == "http://p.example.org:3128"


def test_a_setting_that_does_not_fit_is_told_before_anything_is_asked(
    rocmenv: Runner, site: Site
) -> None:
    result = rocmenv(*LIST, f"{site.url}/rocm", ROCMENV_RATE="10MB")
    assert "`500K` or `10M`" in result.refused()
    assert site.seen == []
