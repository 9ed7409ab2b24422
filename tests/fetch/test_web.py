"""Requests: connections used again, redirects, accounts, certificates, odd addresses."""

from __future__ import annotations

import gc
import gzip
import hashlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rocmenv.errors import TransferError
from rocmenv.fetch.accounts import Accounts
from rocmenv.fetch.certificates import Certificates
from rocmenv.fetch.network import Network
from rocmenv.fetch.proxies import Proxies
from rocmenv.fetch.transfer import Downloads, NotThereError
from rocmenv.fetch.web import is_same_server
from rocmenv.model.release import Artifact
from tests.fetch.proxy import Proxy, proxying
from tests.fetch.server import Site, serving

ME = "Basic bWU6czNjcmV0"  # me:s3cret


@contextmanager
def raw_server(*replies: bytes, host: str = "127.0.0.1") -> Iterator[tuple[str, list[bytes]]]:
    """A server that sends these bytes, one for each connection; its address and what it read."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    server = socket.create_server((host, 0), family=family)
    asked: list[bytes] = []

    def serve() -> None:
        for reply in replies:
            try:
                near, _ = server.accept()
            except OSError:
                return
            with near:
                asked.append(near.recv(1 << 16))
                near.sendall(reply)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    shown = f"[{host}]" if ":" in host else host
    try:
        yield f"http://{shown}:{server.getsockname()[1]}", asked
    finally:
        server.close()
        thread.join(5)


# Connections.


def test_a_connection_is_used_again(site: Site, downloads: Downloads) -> None:
    site.files |= {f"/{n}": b"x" * n for n in range(1, 6)}
    for n in range(1, 6):
        assert downloads.read(f"{site.url}/{n}") == b"x" * n
    with pytest.raises(NotThereError):
        downloads.read(f"{site.url}/none")
    assert len({request.port for request in site.seen}) == 1


def test_a_connection_that_was_closed_meanwhile_is_opened_again(downloads: Downloads) -> None:
    reply = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n"
    with raw_server(reply + b"a", reply + b"b", reply + b"c") as (url, asked):
        assert [downloads.read(f"{url}/x") for _ in range(3)] == [b"a", b"b", b"c"]
        assert len(asked) == 3


def test_a_length_that_is_none_is_passed_over(downloads: Downloads) -> None:
    endless = f"HTTP/1.1 200 OK\r\nContent-Length: {'1' * 5000}\r\n\r\nok".encode()
    with raw_server(endless) as (url, _):
        assert downloads.read(f"{url}/x") == b"ok"


def test_a_reply_that_was_not_read_gives_its_connection_up(
    site: Site, downloads: Downloads
) -> None:
    site.files |= {"/large": b"x" * 3_000_000, "/small": b"y"}
    with pytest.raises(TransferError, match="larger than 10 bytes"):
        downloads.read(f"{site.url}/large", limit=10)
    assert downloads.read(f"{site.url}/small") == b"y"
    assert len({request.port for request in site.seen}) == 2


def test_nothing_stays_behind(site: Site, tmp_path: Path) -> None:
    site.files["/x"] = b"y"
    downloads = Downloads(tmp_path / "cache")
    downloads.read(f"{site.url}/x")
    before = threading.active_count()
    del downloads
    gc.disable()  # closing must not wait for a cycle to be found
    try:
        until = time.monotonic() + 5
        while threading.active_count() >= before and time.monotonic() < until:
            time.sleep(0.02)
        assert threading.active_count() < before
    finally:
        gc.enable()


# Addresses.


def test_an_address_of_version_6(downloads: Downloads) -> None:
    try:
        probe = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("no IPv6 on this machine")
    probe.close()
    reply = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    with raw_server(reply, host="::1") as (url, asked):
        assert downloads.read(f"{url}/x") == b"ok"
        assert f"Host: {url.removeprefix('http://')}\r\n".encode() in asked[0]


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        ("/dist-10.1.0.dev0+abc.tar.gz", "/dist-10.1.0.dev0%2Babc.tar.gz"),
        ("/a b", "/a%20b"),
        ("/ä", "/%C3%A4"),
        ("/a%2Bb%20c", "/a%2Bb%20c"),
        ("/x?a=b+c&d=%20", "/x?a=b+c&d=%20"),
        ("/x#part", "/x"),
        ("", "/"),
        ("/~u/a:b@c", "/~u/a:b@c"),
    ],
)
def test_how_a_path_is_asked_for(site: Site, downloads: Downloads, typed: str, asked: str) -> None:
    site.files[asked] = b"y"
    assert downloads.read(site.url + typed) == b"y"


# Bodies.


def test_a_reply_in_chunks_without_length(downloads: Downloads) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    whole = head + b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    with raw_server(whole, head + b"3\r\nabc\r\n2\r\nd", whole) as (url, _):
        assert downloads.read(f"{url}/x") == b"abcde"
        assert downloads.read(f"{url}/x") == b"abcde"


def test_a_reply_until_the_connection_ends(downloads: Downloads) -> None:
    with raw_server(b"HTTP/1.0 200 OK\r\n\r\nabc") as (url, _):
        assert downloads.read(f"{url}/x") == b"abc"


@pytest.mark.parametrize("name", ["InRelease", "Packages.gz"])
def test_what_a_proxy_packed_on_the_way(site: Site, downloads: Downloads, name: str) -> None:
    """Text that was packed is unpacked; a file that is packed itself stays as it is."""
    packed = gzip.compress(b"Origin: x\n" * 100)
    site.files[f"/{name}"] = packed
    site.headers[f"/{name}"] = {"Content-Encoding": "gzip"}
    content = downloads.read(f"{site.url}/{name}")
    assert content == (packed if name.endswith(".gz") else gzip.decompress(packed))


def test_an_encoding_that_cannot_be_undone_is_named(site: Site, downloads: Downloads) -> None:
    site.files["/x"] = b"\x00" * 100
    for encoding in ("gzip", "br"):
        site.headers["/x"] = {"Content-Encoding": encoding}
        with pytest.raises(TransferError, match=f"content encoding `{encoding}`"):
            downloads.read(f"{site.url}/x")


def test_a_bomb_stops_at_the_limit(site: Site, downloads: Downloads) -> None:
    site.files["/x"] = gzip.compress(bytes(1 << 24))
    site.headers["/x"] = {"Content-Encoding": "gzip"}
    with pytest.raises(TransferError, match="larger than 100000 bytes"):
        downloads.read(f"{site.url}/x", limit=100_000)


def test_a_packed_file_that_was_packed_again_is_told(site: Site, downloads: Downloads) -> None:
    body = b"!<arch>\n" + bytes(2000)
    site.files["/x.deb"] = gzip.compress(body)
    site.headers["/x.deb"] = {"Content-Encoding": "gzip"}
    wanted = Artifact(f"{site.url}/x.deb", "x.deb", len(body), hashlib.sha256(body).hexdigest())
    with pytest.raises(TransferError, match="content encoding gzip.* gzip instead of ar"):
        downloads.fetch(wanted)


# Redirects.


def test_a_redirect_may_be_relative_and_lead_elsewhere(site: Site, downloads: Downloads) -> None:
    with serving(Site({"/far": b"y"})) as other:
        site.always |= {
            "/a/b": ("redirect", "../c"),
            "/c": ("redirect", f"{other.url}/far"),
        }
        assert downloads.read(f"{site.url}/a/b") == b"y"


def test_a_long_way_of_redirects_ends(site: Site, downloads: Downloads) -> None:
    site.always |= {f"/{n}": ("redirect", f"/{n + 1}") for n in range(30)}
    with pytest.raises(TransferError, match="redirects in a circle"):
        downloads.read(f"{site.url}/0")
    assert len(site.seen) < 15


def test_a_captive_portal_is_named(site: Site, downloads: Downloads) -> None:
    """The page of another host comes in place of the file."""
    with serving(Site()) as portal:
        portal.always["/login"] = ("say", b"<html>Please log in</html>", "text/html")
        site.always["/rocm.tar.gz"] = ("redirect", f"{portal.url}/login")
        with pytest.raises(TransferError) as caught:
            downloads.fetch(Artifact(f"{site.url}/rocm.tar.gz", "rocm.tar.gz"))
        message = caught.value.message
        assert f"text/html, from `{portal.url}/login`), a web page instead of gzip" in message
        assert "login page" in (caught.value.hint or "")
    site.always["/x"] = 511
    with pytest.raises(TransferError, match="wants a login"):
        downloads.read(f"{site.url}/x")


# Accounts.


def netrc(tmp_path: Path, text: str, mode: int = 0o600) -> Path:
    path = tmp_path / "netrc"
    path.write_text(text)
    path.chmod(mode)
    return path


def with_netrc(tmp_path: Path, text: str, mode: int = 0o600) -> Downloads:
    accounts = Accounts.of({"NETRC": str(netrc(tmp_path, text, mode))}, Path("/nonexistent"))
    return Downloads(tmp_path / "cache", network=Network(retries=0, accounts=accounts))


@pytest.mark.parametrize(
    "text",
    [
        "machine 127.0.0.1 login me password s3cret\n",
        "machine 127.0.0.1\n\tlogin me\n\tpassword s3cret\n",
        'machine 127.0.0.1 login "me" password "s3cret"',
        'machine 127.0.0.1 login me password "s\\3cret"',
        "# machine 127.0.0.1 login no password no\nmachine 127.0.0.1 login me password s3cret",
        "default login me password s3cret",
        "machine other login a password b\ndefault login me password s3cret",
        "machine 127.0.0.1 login me account x password s3cret\ndefault login no password no",
        "macdef init\nmachine 127.0.0.1 login no\n\nmachine 127.0.0.1 login me password s3cret",
    ],
)
def test_the_netrc_file(site: Site, tmp_path: Path, text: str) -> None:
    site.files["/x"] = b"y"
    with_netrc(tmp_path, text).read(f"{site.url}/x")
    assert site.seen[0].headers["Authorization"] == ME


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ('machine 127.0.0.1 login me password "a b\\"#c"', "Basic bWU6YSBiIiNj"),
        ("machine 127.0.0.1 login me password #x%2F:y", "Basic bWU6I3glMkY6eQ=="),
        ("machine 127.0.0.1 login me password ä", "Basic bWU6w6Q="),
    ],
)
def test_odd_passwords(site: Site, tmp_path: Path, text: str, header: str) -> None:
    site.files["/x"] = b"y"
    with_netrc(tmp_path, text).read(f"{site.url}/x")
    assert site.seen[0].headers["Authorization"] == header


@pytest.mark.parametrize(
    "text",
    ["", "machine other login me password s3cret", "machine", "login me password s3cret", "\0\xff"],
)
def test_a_file_without_the_host_sends_nothing(site: Site, tmp_path: Path, text: str) -> None:
    site.files["/x"] = b"y"
    with_netrc(tmp_path, text).read(f"{site.url}/x")
    assert "Authorization" not in site.seen[0].headers


def test_the_address_beats_the_file(site: Site, tmp_path: Path) -> None:
    site.files["/x"] = b"y"
    downloads = with_netrc(tmp_path, "default login no password no")
    downloads.read(site.url.replace("://", "://me:s3cret@") + "/x")
    assert site.seen[0].headers["Authorization"] == ME


def test_the_file_in_the_home_is_found(site: Site, tmp_path: Path) -> None:
    site.files["/x"] = b"y"
    path = netrc(tmp_path, "default login me password s3cret").rename(tmp_path / ".netrc")
    network = Network(accounts=Accounts.of({}, tmp_path))
    Downloads(tmp_path / "cache", network=network).read(f"{site.url}/x")
    assert site.seen[0].headers["Authorization"] == ME
    path.unlink()
    Downloads(tmp_path / "cache", network=network).read(f"{site.url}/x")
    assert "Authorization" not in site.seen[1].headers


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_file_that_others_can_read_is_not_used(site: Site, tmp_path: Path, mode: int) -> None:
    site.always["/x"] = 401
    with pytest.raises(TransferError, match="HTTP 401") as caught:
        with_netrc(tmp_path, "default login me password s3cret", mode).read(f"{site.url}/x")
    assert "Authorization" not in site.seen[0].headers
    assert "others can read it: `chmod 600`" in (caught.value.hint or "")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_of_another_user_is_not_used(site: Site, tmp_path: Path) -> None:
    site.always["/x"] = 401
    downloads = with_netrc(tmp_path, "default login me password s3cret")
    os.chown(tmp_path / "netrc", 12345, 12345)
    with pytest.raises(TransferError) as caught:
        downloads.read(f"{site.url}/x")
    assert "Authorization" not in site.seen[0].headers
    assert "belongs to another user" in (caught.value.hint or "")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_cannot_be_read_is_told(site: Site, tmp_path: Path) -> None:
    site.always["/x"] = 403
    with pytest.raises(NotThereError) as caught:
        with_netrc(tmp_path, "default login me password s3cret", 0).read(f"{site.url}/x")
    assert "cannot be read" in (caught.value.hint or "")


def test_passwords_stay_with_their_host(site: Site, tmp_path: Path) -> None:
    """What a redirect names is another place, also by another port or name."""
    with serving(Site({"/x": b"y"})) as other:
        site.always["/x"] = ("redirect", f"{other.url}/x")
        for entry in ("default", "machine 127.0.0.1"):
            downloads = with_netrc(tmp_path, f"{entry} login me password s3cret")
            assert downloads.read(f"{site.url}/x") == b"y"
        assert [s.headers.get("Authorization") for s in site.seen] == [ME, ME]
        # The file names the other server by its host, too; `default` is for nobody's redirect.
        assert [s.headers.get("Authorization") for s in other.seen] == [None, ME]


def test_the_account_of_an_address_stays_for_redirects_of_its_server(
    site: Site, downloads: Downloads
) -> None:
    site.files["/new"] = b"y"
    for target in ("new", "/new", f"{site.url}/new"):
        site.always["/old"] = ("redirect", target)
        downloads.read(site.url.replace("://", "://me:s3cret@") + "/old")
    assert [seen.headers.get("Authorization") for seen in site.seen] == [ME] * 6


def test_the_default_account_is_for_no_host_that_a_redirect_names(tmp_path: Path) -> None:
    """A proxy plays both hosts."""
    hosts: dict[str, int] = {}
    plain, other = "repo.example.invalid", "evil.example.invalid"
    with serving(Site()) as site, proxying(Proxy(hosts)) as proxy:
        hosts |= dict.fromkeys((plain, other), int(site.url.rpartition(":")[2]))
        path = netrc(tmp_path, "default login me password s3cret")
        network = Network(
            retries=0,
            proxies=Proxies.of({"http_proxy": proxy.url}, None),
            accounts=Accounts.of({"NETRC": str(path)}, tmp_path),
        )
        downloads = Downloads(tmp_path / "cache", network=network)
        site.files["/b"] = b"y"
        for host in (plain, other):
            site.always["/a"] = ("redirect", f"http://{host}/b")
            downloads.read(f"http://{plain}/a")
        sent = [headers.get("Authorization") for headers in proxy.headers]
        assert sent == [ME, ME, ME, None]


@pytest.mark.parametrize(
    ("first", "other", "is_same"),
    [
        (("http", "h", 80), ("http", "h", 80), True),
        (("http", "h", 80), ("https", "h", 443), True),
        (("http", "h", 80), ("https", "h", 8443), False),
        (("http", "h", 8080), ("https", "h", 443), False),
        (("https", "h", 443), ("http", "h", 80), False),
        (("http", "h", 80), ("https", "g", 443), False),
        (("http", "h", 80), ("http", "h", 81), False),
    ],
)
def test_which_redirects_stay_with_a_server(
    first: tuple[str, str, int], other: tuple[str, str, int], *, is_same: bool
) -> None:
    assert is_same_server(first, other) == is_same


# Certificates.


def trusting(tmp_path: Path, certificates: Certificates) -> Downloads:
    return Downloads(
        tmp_path / "cache", network=Network(retries=0, timeout=5, certificates=certificates)
    )


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
def test_the_variables_for_certificates(certificate: Path, tmp_path: Path, name: str) -> None:
    with serving(Site({"/x": b"y"}), certificate) as site:
        certificates = Certificates.of({name: str(certificate)}, None)
        assert trusting(tmp_path, certificates).read(f"{site.url}/x") == b"y"
        with pytest.raises(TransferError, match="not accepted") as caught:
            trusting(tmp_path, Certificates.of({}, None)).read(f"{site.url}/x")
        assert "rocmenv config set network.ca FILE" in (caught.value.hint or "")
        assert site.count("/x") == 1


@pytest.mark.parametrize("name", ["SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "network.ca"])
def test_a_folder_of_certificates(certificate: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "certificates"
    folder.mkdir()
    openssl_hash = _hash(certificate)
    (folder / f"{openssl_hash}.0").write_bytes(certificate.read_bytes())
    extra = str(folder) if name == "network.ca" else None
    certificates = Certificates.of({name: str(folder)}, extra)
    with serving(Site({"/x": b"y"}), certificate) as site:
        assert trusting(tmp_path, certificates).read(f"{site.url}/x") == b"y"


def _hash(certificate: Path) -> str:
    import subprocess  # noqa: PLC0415 - for this test alone

    command = ["openssl", "x509", "-hash", "-noout", "-in", str(certificate)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_the_setting_adds_to_the_systems_certificates(certificate: Path, tmp_path: Path) -> None:
    context = Certificates(extra=str(certificate)).context()
    plain = Certificates().context()
    assert context.cert_store_stats()["x509"] == plain.cert_store_stats()["x509"] + 1
    assert len(Certificates(file=str(certificate)).context().get_ca_certs()) <= 1


@pytest.mark.parametrize(
    ("environ", "extra", "words"),
    [
        ({"SSL_CERT_FILE": "/no/such/x.pem"}, None, ("no such file", "(SSL_CERT_FILE)")),
        ({"SSL_CERT_DIR": "/no/such"}, None, ("no such file", "(SSL_CERT_DIR)")),
        ({"CURL_CA_BUNDLE": "/etc/passwd"}, None, ("no certificate in PEM", "(CURL_CA_BUNDLE)")),
        ({}, "/no/such/x.pem", ("no such file", "(network.ca)")),
        ({}, "/etc/passwd", ("no certificate in PEM", "(network.ca)")),
    ],
)
def test_certificates_that_cannot_be_used_are_named(
    tmp_path: Path, environ: dict[str, str], extra: str | None, words: tuple[str, ...]
) -> None:
    with pytest.raises(TransferError) as caught:
        trusting(tmp_path, Certificates.of(environ, extra)).read("https://127.0.0.1:9/x")
    for word in words:
        assert word in caught.value.message
    assert next(iter(environ), "network.ca") in (caught.value.hint or "")
