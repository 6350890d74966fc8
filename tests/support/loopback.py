"""An HTTP server on loopback for tests, which tell it only how to answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.client import HTTPMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = Callable[[str, str, HTTPMessage], str | None]
"""Of the method, the path and the headers; None is 401."""


class QuietHandler(BaseHTTPRequestHandler):
    """A request handler that keeps its log lines to itself."""

    def log_message(self, *_: object) -> None:
        pass

    def body(self) -> bytes:
        """What was sent with the request."""
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))


class Loopback:
    """Serves with `handler` from its making until `close`."""

    def __init__(self, handler: type[QuietHandler], path: str = "") -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}{path}"

    def close(self) -> None:
        """End the server and its thread."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def answering(answer: Answer) -> Iterator[str]:
    """The address of a server that answers GET and PUT so."""

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            text = answer(self.command, self.path, self.headers)
            self.send_response(401 if text is None else 200)
            self.end_headers()
            self.wfile.write((text or "").encode())

        do_PUT = do_GET

    with closing(Loopback(Handler)) as server:
        yield server.url
