"""A web server on 127.0.0.1 whose faults can be switched while it runs."""

from __future__ import annotations

import hashlib
import ssl
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PIECE = 16 * 1024


@dataclass
class Request:
    """One request that came: its path, its headers, and the port that it came from."""

    path: str
    headers: dict[str, str]
    port: int = 0


@dataclass
class Site:
    """What the server does.

    `files` maps a path (`/a/b`) to content. `script` maps a path to actions for its next
    requests, one each; without an action the file is served with Range support. Actions:
    a number is a status, `("cut", N)` sends N bytes and closes, `("say", BODY, TYPE)` sends
    another body with status 200, `("wait", SECONDS)` waits before it serves,
    `("drip", SECONDS)` waits between pieces, `("redirect", URL)` redirects,
    `("whole",)` ignores Range, `("busy", SECONDS)` is 503 with Retry-After,
    `("part", FIRST)` answers a range with the bytes from FIRST on. `headers` are further
    ones for a path's file.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    script: dict[str, list[object]] = field(default_factory=dict)
    seen: list[Request] = field(default_factory=list)
    always: dict[str, object] = field(default_factory=dict)
    headers: dict[str, dict[str, str]] = field(default_factory=dict)
    etag: Callable[[bytes], str | None] = lambda body: f'"{hashlib.sha256(body).hexdigest()[:16]}"'
    modified: bool = True
    url: str = ""

    def count(self, path: str) -> int:
        return sum(request.path == path for request in self.seen)


@contextmanager
def serving(site: Site, certificate: Path | None = None) -> Iterator[Site]:
    """`site` on a free port; its `url` is set, without a final slash.

    With `certificate` (a PEM file with its key) the connection is encrypted.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            _answer(self, site)

        def do_CONNECT(self) -> None:
            self.send_error(502)

        def log_message(self, *_args: object) -> None:
            pass

    with running(Handler, certificate) as site.url:
        yield site


@contextmanager
def running(
    handler: Callable[..., BaseHTTPRequestHandler], certificate: Path | None = None
) -> Iterator[str]:
    """A server on a free port, whose address is given; `certificate` encrypts the way to it."""
    server = _Server(("127.0.0.1", 0), handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http{'s' if certificate else ''}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_args: object) -> None:
        pass  # clients that break off are what is tested here


def _answer(handler: BaseHTTPRequestHandler, site: Site) -> None:
    path = handler.path
    port = handler.client_address[1]
    site.seen.append(Request(path, dict(handler.headers.items()), port))
    queue = site.script.get(path)
    action = queue.pop(0) if queue else site.always.get(path)
    if isinstance(action, int):
        _send(handler, action, b"<html>error</html>", {"Content-Type": "text/html"})
        return
    words = action if isinstance(action, tuple) else ("",)
    if words[0] == "say":
        _send(handler, 200, words[1], {"Content-Type": words[2]})
    elif words[0] == "redirect":
        _send(handler, 302, b"Found. Redirecting", {"Location": words[1]})
    elif words[0] == "busy":
        _send(handler, 503, b"", {"Retry-After": str(words[1])})
    elif path not in site.files:
        _send(handler, 404, b"<html>no such file</html>", {"Content-Type": "text/html"})
    else:
        _serve_file(handler, site, path, words)


def _serve_file(
    handler: BaseHTTPRequestHandler, site: Site, path: str, words: tuple[object, ...]
) -> None:
    body = site.files[path]
    if words[0] == "wait":
        time.sleep(float(str(words[1])))
    headers = {"Content-Type": "application/octet-stream", **site.headers.get(path, {})}
    etag = site.etag(body)
    if etag:
        headers["ETag"] = etag
    if site.modified:
        headers["Last-Modified"] = formatdate(1_700_000_000, usegmt=True)
    if etag and handler.headers.get("If-None-Match") == etag:
        _send(handler, 304, b"", headers)
        return
    span = _span(handler, headers, len(body), words)
    if span is not None and span.start >= len(body) > 0:
        _send(handler, 416, b"", {"Content-Range": f"bytes */{len(body)}"})
        return
    status = 200 if span is None else 206
    if span is not None:
        headers["Content-Range"] = f"bytes {span.start}-{span.stop - 1}/{len(body)}"
    part = body if span is None else body[span.start : span.stop]
    _head(handler, status, len(part), headers)
    if words[0] == "cut":
        handler.wfile.write(part[: int(str(words[1]))])
        handler.close_connection = True
        return
    for offset in range(0, len(part), PIECE):
        handler.wfile.write(part[offset : offset + PIECE])
        if words[0] == "drip":
            handler.wfile.flush()
            time.sleep(float(str(words[1])))


def _span(
    handler: BaseHTTPRequestHandler, headers: dict[str, str], size: int, words: tuple[object, ...]
) -> range | None:
    """The bytes to send; None for all of them, as no others were asked for."""
    if words[0] == "part":
        return range(int(str(words[1])), size)
    asked = handler.headers.get("Range", "").removeprefix("bytes=")
    condition = handler.headers.get("If-Range")
    fresh = condition is None or condition in (headers.get("ETag"), headers.get("Last-Modified"))
    if words[0] == "whole" or not asked or not fresh:
        return None
    first, _, last = asked.partition("-")
    if not first:
        return range(max(0, size - int(last)), size)
    return range(int(first), min(size, int(last) + 1) if last else size)


def _head(handler: BaseHTTPRequestHandler, status: int, size: int, more: dict[str, str]) -> None:
    handler.send_response(status)
    for name, value in more.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(size))
    handler.end_headers()


def _send(handler: BaseHTTPRequestHandler, status: int, body: bytes, more: dict[str, str]) -> None:
    _head(handler, status, len(body), more)
    handler.wfile.write(body)
