"""A real proxy on 127.0.0.1: whole addresses for http, CONNECT for https, both with a password."""

from __future__ import annotations

import http.client
import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import urlsplit

from tests.fetch.server import running


@dataclass
class Proxy:
    """What the proxy does and saw.

    `hosts` maps a name to the port on 127.0.0.1 that it stands for. `wants` is the header
    that it asks for. `status` is the answer to every request, 0 for the real one.
    """

    hosts: dict[str, int] = field(default_factory=dict)
    wants: str | None = None
    status: int = 0
    asked: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    url: str = ""

    @property
    def address(self) -> str:
        return self.url.partition("://")[2]


@contextmanager
def proxying(proxy: Proxy, certificate: Path | None = None) -> Iterator[Proxy]:
    """`proxy` on a free port; `certificate` encrypts the way to it."""
    handler = type("Handler", (_Handler,), {"proxy": proxy})
    with running(handler, certificate) as proxy.url:
        yield proxy


def _place(proxy: Proxy, host: str, port: int) -> tuple[str, int]:
    return ("127.0.0.1", proxy.hosts[host]) if host in proxy.hosts else (host, port)


def _join(near: socket.socket, far: socket.socket) -> None:
    other = {near: far, far: near}
    while True:
        for ready in select.select([near, far], [], [])[0]:
            data = ready.recv(1 << 16)
            if not data:
                return
            other[ready].sendall(data)


class _Handler(BaseHTTPRequestHandler):
    proxy: Proxy
    protocol_version = "HTTP/1.1"

    def do_CONNECT(self) -> None:
        if self._refused():
            return
        host, _, port = self.path.rpartition(":")
        with socket.create_connection(_place(self.proxy, host.strip("[]"), int(port))) as far:
            self.send_response(200)
            self.end_headers()
            _join(self.connection, far)
        self.close_connection = True

    def do_GET(self) -> None:
        if self._refused():
            return
        parts = urlsplit(self.path)
        place = _place(self.proxy, parts.hostname or "", parts.port or 80)
        far = http.client.HTTPConnection(*place)
        far.request("GET", parts.path, headers={"Host": self.headers["Host"]})
        reply = far.getresponse()
        body = reply.read()
        far.close()
        self.send_response(reply.status)
        self.send_header("Content-Length", str(len(body)))
        if location := reply.headers["Location"]:
            self.send_header("Location", location)
        self.end_headers()
        self.wfile.write(body)

    def _refused(self) -> bool:
        self.proxy.asked.append(f"{self.command} {self.path}")
        self.proxy.headers.append(dict(self.headers.items()))
        status = self.proxy.status
        if self.proxy.wants and self.headers.get("Proxy-Authorization") != self.proxy.wants:
            status = 407
        if status:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()
        return bool(status)

    def log_message(self, *_args: object) -> None:
        pass
