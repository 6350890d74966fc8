"""HTTPS on loopback with a certificate for each name, from an authority that only this run trusts."""

from __future__ import annotations

import logging
import socket
import ssl
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any, Protocol

import trustme

HTTPS_PORT = 443
MOST_WAITING = 256
"""Connections that were not yet accepted: a function opens many at once."""
_IDLE_SECONDS = 75
_POLL_SECONDS = 0.05
_SMALL_BYTES = 65_536
"""A body of fewer bytes is sent together with its head."""
_WITHOUT_BODY = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as it was received."""

    method: str
    path: str
    """As it was sent, with its percent signs."""
    query: str
    headers: tuple[tuple[str, str], ...]
    """Names in small letters."""
    body: bytes = b""

    def header(self, name: str) -> str:
        """The values of a header, joined; "" without one."""
        return ", ".join(value for found, value in self.headers if found == name)

    @property
    def host(self) -> str:
        """The name that was asked, without a port."""
        return self.header("host").partition(":")[0]


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A whole answer."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


class Answers(Protocol):
    """What a listener serves."""

    def answer(self, request: HttpRequest) -> HttpAnswer:
        """The answer to one request; called in a separate thread for each."""


class Authority:
    """A certificate authority with a certificate for every name, made when it is first asked for."""

    def __init__(self) -> None:
        self._authority = trustme.CA()
        self._contexts: dict[str, ssl.SSLContext] = {}
        self.pem: bytes = self._authority.cert_pem.bytes()
        self.context = self._context("localhost")
        self.context.sni_callback = self._choose

    def _choose(self, connection: ssl.SSLObject, name: str | None, _context: ssl.SSLContext) -> None:
        if name:
            connection.context = self._context(name)

    def _context(self, name: str) -> ssl.SSLContext:
        if name not in self._contexts:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._authority.issue_cert(name).configure_cert(context)
            self._contexts[name] = context
        return self._contexts[name]


class Listener:
    """Serves from its construction until `close`, with a thread for each connection.

    Whatever takes long in it, TLS, hashes and files, is done by several threads at the same time.
    """

    def __init__(self, front: Answers, authority: Authority, port: int = HTTPS_PORT) -> None:
        self._server = _Server(front, authority.context, port)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_POLL_SECONDS,), name="front", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop listening, and end connections that are open. Safe to call twice."""
        self._server.shutdown()
        self._thread.join(timeout=20)
        self._server.server_close()


class _Server(ThreadingTCPServer):
    """Connections on loopback."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = MOST_WAITING

    def __init__(self, front: Answers, context: ssl.SSLContext, port: int) -> None:
        self.front = front
        self.context = context
        self.open: set[ssl.SSLSocket] = set()
        super().__init__(("127.0.0.1", port), _Connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        del request, client_address
        error = sys.exception()
        if not isinstance(error, OSError):  # of a client that hangs up, or does not trust us
            LOG.error("a request was not answered", exc_info=error)

    def server_close(self) -> None:
        super().server_close()
        for connection in list(self.open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Connection(BaseHTTPRequestHandler):
    """One connection: one request after the other, each read whole and answered whole."""

    server: _Server
    protocol_version = "HTTP/1.1"
    timeout = _IDLE_SECONDS
    disable_nagle_algorithm = True

    def setup(self) -> None:
        self.request.settimeout(_IDLE_SECONDS)
        self.request = self.server.context.wrap_socket(self.request, server_side=True)
        self.server.open.add(self.request)
        super().setup()

    def finish(self) -> None:
        super().finish()
        self.server.open.discard(self.request)
        self.request.close()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing: a line for every request would hide what a person looks for."""

    def _answer(self) -> None:
        # http.server takes slashes away from the beginning of `self.path`.
        path, _, query = self.requestline.split()[1].partition("?")
        headers = tuple((name.lower(), value) for name, value in self.headers.items())
        request = HttpRequest(self.command, path, query, headers, self._body())
        answer = self.server.front.answer(request)
        body = b"" if answer.status in _WITHOUT_BODY else answer.body
        named = {"date": formatdate(usegmt=True), "content-length": str(len(body))}
        named |= {name.lower(): value for name, value in answer.headers}
        if answer.status in _WITHOUT_BODY:
            del named["content-length"]
        status = f"HTTP/1.1 {answer.status} {_phrase(answer.status)}\r\n"
        lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
        head = f"{status}{lines}\r\n".encode("latin-1")
        if self.command == "HEAD" or len(body) < _SMALL_BYTES:
            self.wfile.write(head if self.command == "HEAD" else head + body)
        else:
            self.wfile.write(head)
            self.wfile.write(body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = do_PATCH = do_OPTIONS = _answer

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        pieces = list[bytes]()
        while length := int(self.rfile.readline().partition(b";")[0], 16):
            pieces.append(self.rfile.read(length))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass  # trailers
        return b"".join(pieces)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
