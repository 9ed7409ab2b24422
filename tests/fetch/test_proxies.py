"""Which proxy is asked, and what is said when it does not help."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path

import pytest

from rocmenv.errors import TransferError
from rocmenv.fetch.certificates import Certificates
from rocmenv.fetch.network import Network
from rocmenv.fetch.proxies import Proxies
from rocmenv.fetch.transfer import Downloads
from tests.fetch.proxy import Proxy, proxying
from tests.fetch.server import Site, serving

FAR = "repo.example.invalid"


def through(tmp_path: Path, environ: Mapping[str, str], setting: str | None = None) -> Downloads:
    network = Network(retries=0, timeout=5, proxies=Proxies.of(environ, setting))
    return Downloads(tmp_path / "cache", network=network)


def port_of(site: Site) -> int:
    return int(site.url.rpartition(":")[2])


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"])
@pytest.mark.parametrize("with_scheme", [True, False])
def test_every_spelling_of_the_variables(
    site: Site, tmp_path: Path, name: str, *, with_scheme: bool
) -> None:
    site.files["/x"] = b"far"
    with proxying(Proxy(hosts={FAR: port_of(site)})) as proxy:
        downloads = through(tmp_path, {name: proxy.url if with_scheme else proxy.address})
        assert downloads.read(f"http://{FAR}/x") == b"far"
        assert proxy.asked == [f"GET http://{FAR}/x"]
    assert site.seen[0].headers["Host"] == FAR


@pytest.mark.parametrize("name", ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"])
def test_encrypted_addresses_go_through_a_tunnel(
    certificate: Path, tmp_path: Path, name: str
) -> None:
    with serving(Site({"/x": b"far"}), certificate) as site, proxying(Proxy()) as proxy:
        network = Network(
            proxies=Proxies.of({name: proxy.url}, None),
            certificates=Certificates(extra=str(certificate)),
        )
        downloads = Downloads(tmp_path / "cache", network=network)
        assert downloads.read(f"{site.url}/x") == b"far"
        assert downloads.read(f"{site.url}/x") == b"far"
        assert proxy.asked == [f"CONNECT 127.0.0.1:{port_of(site)}"]
        assert "Proxy-Authorization" not in site.seen[0].headers


def test_small_letters_come_first_and_an_empty_one_means_none(site: Site, tmp_path: Path) -> None:
    site.files["/x"] = b"near"
    with proxying(Proxy()) as right, proxying(Proxy()) as wrong:
        both = {"http_proxy": right.url, "HTTP_PROXY": wrong.url, "all_proxy": wrong.url}
        through(tmp_path, both).read(f"{site.url}/x")
        through(tmp_path, {"http_proxy": "", "HTTP_PROXY": wrong.url}).read(f"{site.url}/x")
        assert (len(right.asked), len(wrong.asked)) == (1, 0)


def test_the_setting_beats_the_variables(site: Site, tmp_path: Path) -> None:
    site.files["/x"] = b"near"
    with proxying(Proxy()) as right, proxying(Proxy()) as wrong:
        through(tmp_path, {"http_proxy": wrong.url}, right.url).read(f"{site.url}/x")
        through(tmp_path, {"http_proxy": wrong.url}, "none").read(f"{site.url}/x")
        assert (len(right.asked), len(wrong.asked)) == (1, 0)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_with_a_password(certificate: Path, tmp_path: Path, scheme: str) -> None:
    secured = certificate if scheme == "https" else None
    wanted = "Basic bWU6cy9AYw=="  # me:s/@c
    with serving(Site({"/x": b"far"}), secured) as site, proxying(Proxy(wants=wanted)) as proxy:
        trusted = Certificates(extra=str(certificate))
        for account, is_right in (("me:s%2F%40c@", True), ("me:s3cret@", False), ("", False)):
            proxies = Proxies.of({f"{scheme}_proxy": f"http://{account}{proxy.address}"}, None)
            network = Network(retries=0, proxies=proxies, certificates=trusted)
            downloads = Downloads(tmp_path / "cache", network=network)
            if is_right:
                assert downloads.read(f"{site.url}/x") == b"far"
                continue
            with pytest.raises(TransferError) as caught:
                downloads.read(f"{site.url}/x")
            assert "407" in caught.value.message
            assert "s3cret" not in caught.value.message
            assert "NAME:PASSWORD@" in (caught.value.hint or "")
        assert all("Authorization" not in seen.headers for seen in site.seen)
        assert all("Proxy-Authorization" not in seen.headers for seen in site.seen)


def test_the_way_to_a_proxy_may_be_encrypted(site: Site, certificate: Path, tmp_path: Path) -> None:
    site.files["/x"] = b"far"
    with proxying(Proxy(hosts={FAR: port_of(site)}), certificate) as proxy:
        network = Network(
            proxies=Proxies.of({"ALL_PROXY": proxy.url}, None),
            certificates=Certificates(extra=str(certificate)),
        )
        downloads = Downloads(tmp_path / "cache", network=network)
        assert downloads.read(f"http://{FAR}/x") == b"far"
        with pytest.raises(TransferError, match="cannot be used for https") as caught:
            downloads.read("https://127.0.0.1:1/x")
        assert proxy.url.replace("https:", "http:") in (caught.value.hint or "")


def test_a_proxy_that_does_not_listen_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    environ = {"ALL_PROXY": f"http://me:s3cret@127.0.0.1:{port}"}
    for scheme in ("http", "https"):
        with pytest.raises(TransferError, match=f"the proxy `http://127.0.0.1:{port}`") as caught:
            through(tmp_path, environ).read(f"{scheme}://{FAR}/x")
        assert "refused" in caught.value.message
        assert "network.proxy" in (caught.value.hint or "")
    with pytest.raises(TransferError, match=r"the host `no-proxy\.invalid:3128` is not known"):
        through(tmp_path, {"http_proxy": "no-proxy.invalid:3128"}).read(f"http://{FAR}/x")


@pytest.mark.parametrize("status", [403, 502])
def test_a_tunnel_that_is_refused_is_the_proxys(tmp_path: Path, status: int) -> None:
    with proxying(Proxy(status=status)) as proxy:
        network = Network(
            retries=1, pause=0.01, proxies=Proxies.of({"https_proxy": proxy.url}, None)
        )
        with pytest.raises(TransferError, match=rf"the proxy .* \(HTTP {status}\)"):
            Downloads(tmp_path / "cache", network=network).read(f"https://{FAR}/x")
        assert len(proxy.asked) == (2 if status == 502 else 1)


def test_what_a_proxy_says_in_place_of_a_server_is_marked(tmp_path: Path) -> None:
    """Its page looks like the server's."""
    with proxying(Proxy(status=418)) as proxy:
        words = rf"is refused \(HTTP 418, through the proxy `{proxy.url}`\)"
        with pytest.raises(TransferError, match=words):
            through(tmp_path, {"http_proxy": proxy.url}).read(f"http://{FAR}/x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("socks5://me:s3cret@127.0.0.1:1080", "socks5://127.0.0.1:1080"),
        ("ftp://127.0.0.1:21", "ftp://127.0.0.1:21"),
        ("http://me:s3cret@host:port", "is not the address of an http proxy (all_proxy)"),
        ("http://", "is not the address"),
    ],
)
def test_what_is_no_proxy_is_refused_with_its_origin(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(TransferError) as caught:
        through(tmp_path, {"all_proxy": text}).read(f"http://{FAR}/x")
    assert message in caught.value.message
    assert "s3cret" not in f"{caught.value.message}{caught.value.hint}"
    assert "all_proxy" in (caught.value.hint or "")
    assert ("SOCKS" in (caught.value.hint or "")) == text.startswith("socks")


@pytest.mark.parametrize(
    ("entry", "host", "port", "is_direct"),
    [
        ("*", "any.invalid", 80, True),
        ("example.org", "example.org", 80, True),
        ("example.org", "sub.example.org", 80, True),
        ("example.org", "badexample.org", 80, False),
        (".example.org", "sub.example.org", 80, True),
        (".example.org", "example.org", 80, True),
        ("*.example.org", "sub.example.org", 80, True),
        ("Example.ORG", "example.org", 80, True),
        ("example.org.", "example.org", 80, True),
        ("example.org:8080", "example.org", 8080, True),
        ("example.org:8080", "example.org", 80, False),
        ("127.0.0.1", "127.0.0.1", 80, True),
        ("127.0.0.1:81", "127.0.0.1", 80, False),
        ("10.0.0.0/8", "10.1.2.3", 80, True),
        ("10.0.0.0/8", "11.1.2.3", 80, False),
        ("10.1.2.3/8", "10.9.9.9", 80, True),
        ("::1", "::1", 80, True),
        ("[::1]:80", "::1", 80, True),
        ("fd00::/8", "fd00::5", 80, True),
        ("0.0.1", "127.0.0.1", 80, False),
        ("other.invalid, example.org", "example.org", 80, True),
        ("other.invalid example.org", "example.org", 80, True),
        ("", "example.org", 80, False),
        (".", "example.org", 80, False),
    ],
)
@pytest.mark.parametrize("name", ["no_proxy", "NO_PROXY"])
def test_what_goes_without_a_proxy(
    entry: str, host: str, port: int, name: str, *, is_direct: bool
) -> None:
    proxies = Proxies.of({"http_proxy": "http://p.invalid:3128", name: entry}, None)
    assert (proxies.find("http", host, port) is None) == is_direct


def test_a_proxy_shows_no_password_of_its_own() -> None:
    proxies = Proxies.of({"http_proxy": "http://me:s3cret@p.invalid:3128"}, None)
    found = proxies.find("http", "h", 80)
    assert found is not None
    assert "s3cret" not in repr(proxies) + repr(found)
    assert found.shown == "http://p.invalid:3128"
