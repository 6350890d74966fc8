"""HTTPS on loopback with a certificate for each name, from an authority that only this run trusts."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import trustme
from hypercorn.asyncio import serve
from hypercorn.config import Config

HTTPS_PORT = 443
MOST_AT_ONCE = 256
"""Requests that are answered at the same time; a function's answer or a message of a queue may take long."""
_IDLE_SECONDS = 75
_POLL_SECONDS = 0.05


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


class _Settings(Config):
    """Hypercorn's settings, with a context of our own."""

    ssl_enabled = True

    def __init__(self, context: ssl.SSLContext, listening: socket.socket) -> None:
        super().__init__()
        self._context = context
        self.bind = [f"fd://{listening.detach()}"]
        self.keep_alive_timeout = _IDLE_SECONDS
        self.loglevel = "WARNING"
        self.graceful_timeout = 1
        self.shutdown_timeout = 5

    def create_ssl_context(self) -> ssl.SSLContext:
        """The context that has a certificate for each name."""
        return self._context


class _Loop(asyncio.SelectorEventLoop):
    """An idle client does not answer the end of TLS, for which asyncio would wait half a minute."""

    async def create_server(self, *arguments: Any, **options: Any) -> asyncio.Server:
        """Close without waiting long for the client."""
        return await super().create_server(*arguments, ssl_shutdown_timeout=_POLL_SECONDS, **options)

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """A client that did not answer is no error."""
        if not isinstance(context.get("exception"), TimeoutError):
            super().default_exception_handler(context)


class Listener:
    """Serves from its construction until `close`, with a thread for each request."""

    def __init__(self, front: Answers, authority: Authority, port: int = HTTPS_PORT) -> None:
        self._front = front
        self._ended = threading.Event()
        self._workers = ThreadPoolExecutor(MOST_AT_ONCE, thread_name_prefix="front")
        listening = socket.create_server(("127.0.0.1", port))
        self.port: int = listening.getsockname()[1]
        settings = _Settings(authority.context, listening)
        self._thread = threading.Thread(target=self._serve, args=(settings,), name="front", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening. Safe to call twice."""
        self._ended.set()
        self._thread.join(timeout=20)
        self._workers.shutdown(wait=False, cancel_futures=True)

    def _serve(self, settings: _Settings) -> None:
        app: Any = self._app
        with asyncio.Runner(loop_factory=_Loop) as runner:
            runner.run(serve(app, settings, shutdown_trigger=self._until_ended))

    async def _until_ended(self) -> None:
        while not self._ended.is_set():
            await asyncio.sleep(_POLL_SECONDS)

    async def _app(self, scope: Any, receive: Any, send: Any) -> None:
        """ASGI 3.0: one request, read whole, answered whole."""
        if scope["type"] != "http":
            return
        request = await _received(scope, receive)
        loop = asyncio.get_running_loop()
        answer = await loop.run_in_executor(self._workers, self._front.answer, request)
        length = {"content-length": str(len(answer.body))}
        named = {**length, **{name.lower(): value for name, value in answer.headers}}
        headers = [(name.encode(), value.encode("latin-1")) for name, value in named.items()]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if request.method == "HEAD" else answer.body})


async def _received(scope: Any, receive: Any) -> HttpRequest:
    pieces, more = list[bytes](), True
    while more:
        message = await receive()
        pieces.append(message.get("body", b""))
        more = message.get("more_body", False)
    return HttpRequest(
        method=scope["method"],
        path=scope["raw_path"].decode("ascii"),
        query=scope["query_string"].decode("ascii"),
        headers=tuple(
            (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]
        ),
        body=b"".join(pieces),
    )
